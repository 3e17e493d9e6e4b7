/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows. */
#ifndef INFINIBAND_VERBS_MW_H
#define INFINIBAND_VERBS_MW_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>
#include <infiniband/verbs/mr.h>
#include <infiniband/verbs/pd.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct ibv_mw - a key for part of a region, granted and withdrawn by work requests
 *
 * @rkey: of the current binding; belongs to the peer once bound
 * @type: IBV_MW_TYPE_1 is bound by ibv_bind_mw(), IBV_MW_TYPE_2 by an IBV_WR_BIND_MW work request
 * Source: IBTA vol. 1, software transport interface (chapter 10), memory windows.
 */
struct ibv_mw {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t rkey;
	uint32_t handle;
	enum ibv_mw_type type;
};

/**
 * struct ibv_mw_bind_info - what a window is to open
 *
 * @mr: registered with IBV_ACCESS_MW_BIND
 * @length: bytes; 0 takes the right away
 * @mw_access_flags: OR of the REMOTE_ flags and ZERO_BASED of enum ibv_access_flags
 */
struct ibv_mw_bind_info {
	struct ibv_mr *mr;
	uint64_t addr;
	uint64_t length;
	unsigned int mw_access_flags;
};

/* A bind of a type 1 window; send_flags: OR of enum ibv_send_flags. */
struct ibv_mw_bind {
	uint64_t wr_id;
	unsigned int send_flags;
	struct ibv_mw_bind_info bind_info;
};

/**
 * ibv_alloc_mw(), ibv_dealloc_mw() - allocate and free a memory window
 */
static inline struct ibv_mw *ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const struct ibv_context_ops *ops = &pd->context->ops;

	if (!ops->alloc_mw) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return ops->alloc_mw(pd, type);
}

static inline int ibv_dealloc_mw(struct ibv_mw *mw)
{
	return mw->context->ops.dealloc_mw(mw);
}

/**
 * ibv_inc_rkey() - the key with the next tag: how the owner of a type 2 window picks a new one
 *
 * Return: @rkey with its low 8 bits, the part the consumer owns, counted up.
 */
static inline uint32_t ibv_inc_rkey(uint32_t rkey)
{
	return (rkey & 0xffffff00u) | ((rkey + 1) & 0xffu);
}

/**
 * ibv_bind_mw() - post the bind of a type 1 window on @qp's send queue
 *
 * @mw->rkey is the new key when the call returns; it is good once the work request completed.
 * Return: 0 or an errno value; EINVAL for a type 2 window or a range without region, EPERM when
 * window and region are of different PDs.
 */
static inline int ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	const struct ibv_mw_bind_info *info = &mw_bind->bind_info;

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	if (info->mr && info->mr->pd != mw->pd)
		return EPERM;
	if (!info->mr && (info->addr || info->length))
		return EINVAL;
	return mw->context->ops.bind_mw(qp, mw, mw_bind);
}

#ifdef __cplusplus
}
#endif

#endif
