/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of opening a device that is the same for all devices. */
#ifndef PROVIDERS_KIT_CONTEXT_H
#define PROVIDERS_KIT_CONTEXT_H

#include "libibverbs/provider.h"

/* Check that the context does not belong to another process, because its rings and registers are in
 * the memory of that process. -EOPNOTSUPP: it does, which is logged. */
int kit_context_check(struct verbs_context *vctx, const struct verbs_open_context *in);
/* Log that the kernel refused a context with @r, and return @r. */
int kit_context_refused(struct verbs_context *vctx, int r);
/*
 * Open a context by the kernel's command, with the two functions above. @udata: data for the
 * driver, or NULL
 */
int kit_context_open(struct verbs_context *vctx, const struct verbs_open_context *in,
		     struct verbs_udata *udata);
/* Print the firmware's version as the driver's sysfs does: with at least @digits digits of the last
 * number. */
void kit_context_print_fw(struct ibv_device_attr *attr, uint64_t version, int digits);
/* Query a device and print the firmware's version. Like an operation of providers, with @digits of
 * kit_context_print_fw() in addition. */
int kit_context_query(struct ibv_context *ibctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr, int digits);
/* Query a device like kit_context_query(). The firmware's version has four numbers of one byte. */
int kit_context_query_bytes(struct ibv_context *ibctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr);
/* Clear IBV_DEVICE_MEM_MGT_EXTENSIONS, which promises local invalidation. A provider calls this if
 * only the kernel's own queue pairs have that. */
void kit_context_no_invalidation(struct ibv_device_attr_ex *attr);
/* Query a port by the kernel's command. Failures are logged. */
int kit_context_port(struct ibv_context *ibctx, unsigned int number,
		     struct ibv_port_attr *ret_attr);

#endif
