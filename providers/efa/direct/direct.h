/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of direct verbs share. */
#ifndef EFA_DIRECT_H
#define EFA_DIRECT_H

#include <string.h>

#include "providers/efa/efa.h"

#define EFADV_EXPORT __attribute__((visibility("default")))

/* Whether the caller's struct, of @inlen bytes, has the whole member. */
#define HAS_MEMBER(type, member, inlen) \
	((inlen) >= offsetof(type, member) + sizeof(((type *)0)->member))

/* The context as efa's; NULL, with a line and errno, when it is of another device. */
struct efa_context *efadv_context(struct ibv_context *ctx, const char *function);

/* The caller's struct is too short, or asks for what is not known. -EINVAL, with a line. */
int efadv_refuse(struct ibv_context *ctx, const char *function, uint32_t inlen);

/*
 * The caller's struct as this library knows it: what he does not have is 0, and what is not known
 * here has to be.
 */
bool efadv_copy_in(void *to, size_t size, const void *from, uint32_t inlen);

#endif
