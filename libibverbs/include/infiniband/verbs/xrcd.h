/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains. */
#ifndef INFINIBAND_VERBS_XRCD_H
#define INFINIBAND_VERBS_XRCD_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_xrcd_init_attr_mask {
	IBV_XRCD_INIT_ATTR_FD = 1 << 0,
	IBV_XRCD_INIT_ATTR_OFLAGS = 1 << 1,
	IBV_XRCD_INIT_ATTR_RESERVED = 1 << 2
};

/**
 * struct ibv_xrcd_init_attr - which domain
 *
 * @fd: a file; processes that give the same inode share the domain. -1: a domain of our own
 * @oflags: O_CREAT to make the domain when there is none, O_EXCL to fail when there is
 */
struct ibv_xrcd_init_attr {
	uint32_t comp_mask;
	int fd;
	int oflags;
};

/* XRC SRQs and XRC receive QPs of one domain work together. */
struct ibv_xrcd {
	struct ibv_context *context;
};

/**
 * ibv_open_xrcd(), ibv_close_xrcd() - open and close an XRC domain
 *
 * It lives until the last process closed it. Closing returns EBUSY while this process has objects
 * in it.
 * Source: IBTA vol. 1, annex A14.
 */
static inline struct ibv_xrcd *ibv_open_xrcd(struct ibv_context *context,
					     struct ibv_xrcd_init_attr *xrcd_init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, open_xrcd);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->open_xrcd(context, xrcd_init_attr);
}

static inline int ibv_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_context *vctx = verbs_get_ctx_op(xrcd->context, close_xrcd);

	return vctx ? vctx->close_xrcd(xrcd) : EOPNOTSUPP;
}

#ifdef __cplusplus
}
#endif

#endif
