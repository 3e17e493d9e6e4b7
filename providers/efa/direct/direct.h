/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of direct verbs share. */
#ifndef EFA_DIRECT_H
#define EFA_DIRECT_H

#include <string.h>

#include "providers/efa/efa.h"

#define EFADV_EXPORT __attribute__((visibility("default")))

/* True if the caller's struct of @inlen bytes has the whole member. */
#define HAS_MEMBER(type, member, inlen) \
	((inlen) >= offsetof(type, member) + sizeof(((type *)0)->member))

/* Return the context as that of efa. If it belongs to another device, log this and return NULL with
 * errno. */
struct efa_context *efadv_context(struct ibv_context *ctx, const char *function);

/* Log that the caller's struct is too short or has unknown bits. Return: -EINVAL. */
int efadv_refuse(struct ibv_context *ctx, const char *function, uint32_t inlen);

/*
 * Copy the caller's struct into the struct of this library. Missing members become 0. Return: false
 * if bytes beyond the known members are not 0.
 */
bool efadv_copy_in(void *to, size_t size, const void *from, uint32_t inlen);

#endif
