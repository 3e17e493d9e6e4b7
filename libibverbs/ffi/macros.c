/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The macros of verbs.h that stand in for functions, as functions of the same names. The functions
 * of these names in libibverbs serve old programs. For example, its ibv_query_port() fills in a
 * shorter struct. This file must not call any of these names, because it would get the function of
 * this library.
 */
#include <errno.h>

#include <infiniband/verbs.h>

#include "libibverbs/ffi/ffi.h"

VERBS_FFI int ffi_query_port(struct ibv_context *context, uint8_t port_num,
			     struct ibv_port_attr *port_attr) __asm__("ibv_query_port");
VERBS_FFI struct ibv_mr *ffi_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				    int access) __asm__("ibv_reg_mr");
VERBS_FFI struct ibv_mr *ffi_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access) __asm__("ibv_reg_mr_iova");

int ffi_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_port);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return EOPNOTSUPP;
	}
	return vctx->query_port(context, port_num, port_attr, sizeof(*port_attr));
}

struct ibv_mr *ffi_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

struct ibv_mr *ffi_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, access);
}
