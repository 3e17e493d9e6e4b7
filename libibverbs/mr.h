/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr_explain.c: why a registration was refused. */
#ifndef LIBIBVERBS_MR_H
#define LIBIBVERBS_MR_H

#include "libibverbs/explain.h"

/* Log a cause that was found before the kernel was called. Return: -EINVAL. */
_cold_ int mr_explain_access(struct ibv_context *ctx, const char *verb, unsigned int access);
_cold_ int mr_explain_range(struct ibv_context *ctx, const char *verb, uint64_t start,
			    uint64_t length);
_cold_ int mr_explain_rereg(struct ibv_context *ctx, const char *rule);

/* Log why the device refused with @r. */
_cold_ void mr_explain_register(const char *verb, const struct verbs_reg_mr *in, int r);
_cold_ void mr_explain_dmabuf(const char *verb, const struct verbs_reg_dmabuf_mr *in, int r);
_cold_ void mr_explain_rereg_command(struct verbs_mr *mr, const struct verbs_rereg_mr *in, int r);

/*
 * Append "; ..." to @why if the text of /proc/self/maps shows that [start, start + length) is not
 * valid memory of this process.
 * @write: the device will write to it
 */
void mr_explain_mapping(struct text *why, const char *maps, uint64_t start, uint64_t length,
			bool write);

/* Do what the public function @verb does. Messages name @verb. */
int mr_register(const char *verb, const struct verbs_reg_mr *in, struct ibv_mr **ret_mr);
/* Register a region with a DMA handle. */
int mr_register_ex(const char *verb, const struct verbs_reg_mr_ex *in, struct ibv_mr **ret_mr);

#endif
