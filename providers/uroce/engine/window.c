/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory windows: keys that open part of a region, bound and invalidated by work requests in the
 * order of their send queue. Type 2 windows belong to the QP that bound them and to its PD (type
 * 2B). Rules: IBTA vol. 1, software transport interface (chapter 10), memory windows.
 */
#include "providers/uroce/engine/engine.h"

#define WINDOW_WRITES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
/* IBV_ACCESS_LOCAL_WRITE has no effect on a window. The kernel's device accepts it, too. */
#define WINDOW_ACCESS                                                     \
	(WINDOW_WRITES | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED | \
	 IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT | IBV_ACCESS_LOCAL_WRITE)

static bool window_is_bound(const struct uroce_key *mw)
{
	return mw->parent;
}

/* Unbind a window, and wait until it is unused. Releases keys->lock during the wait. */
static void window_unbind(struct uroce_keys *keys, struct uroce_key *mw)
{
	uroce_key_withdraw(keys, mw);
	if (mw->parent)
		mw->parent->windows--;
	mw->parent = NULL;
}

static bool range_inside(const struct uroce_key *mr, uint64_t addr, uint64_t length)
{
	return addr >= mr->iova && addr - mr->iova <= mr->length &&
	       length <= mr->length - (addr - mr->iova);
}

/* Find the region of a bind, and check that it permits the bind. */
static int bind_region(struct uroce_keys *keys, const struct ibv_pd *pd,
		       const struct uroce_swqe *wqe, struct uroce_key **ret_mr)
{
	struct uroce_key *mr = uroce_key_at(keys, wqe->bind.mr_key);

	if (!mr || !mr->used || mr->mw_type || mr->key != wqe->bind.mr_key)
		return -EINVAL;
	if (!uroce_pd_is(mr->pd, pd) || !(mr->access & IBV_ACCESS_MW_BIND))
		return -EACCES;
	if ((wqe->bind.access & WINDOW_WRITES) && !(mr->access & IBV_ACCESS_LOCAL_WRITE))
		return -EACCES;
	if (!range_inside(mr, wqe->bind.addr, wqe->bind.length))
		return -EINVAL;
	*ret_mr = mr;
	return 0;
}

static int bind_check(const struct uroce_key *mw, const struct ibv_pd *pd,
		      const struct uroce_swqe *wqe)
{
	if (!uroce_pd_is(mw->pd, pd))
		return -EACCES;
	if (wqe->bind.access & ~WINDOW_ACCESS)
		return -EINVAL;
	if (mw->mw_type == IBV_MW_TYPE_1)
		return wqe->bind.access & IBV_ACCESS_ZERO_BASED ? -EINVAL : 0;
	/* A window of type 2 is bound only if it is unbound, and never with length 0. */
	return window_is_bound(mw) || !wqe->bind.length ? -EINVAL : 0;
}

static void window_bind(struct uroce_keys *keys, struct uroce_key *mw, struct uroce_key *mr,
			uint32_t qpn, const struct uroce_swqe *wqe)
{
	mw->parent = mr;
	mw->base = mr->base + (wqe->bind.addr - mr->iova);
	mw->length = wqe->bind.length;
	mw->iova = wqe->bind.access & IBV_ACCESS_ZERO_BASED ? 0 : wqe->bind.addr;
	mw->access = wqe->bind.access;
	mw->qpn = mw->mw_type == IBV_MW_TYPE_2 ? qpn : 0;
	uroce_key_publish(keys, mw);
}

static int bind_locked(struct uroce_keys *keys, const struct uroce_qp *qp,
		       const struct uroce_swqe *wqe)
{
	struct uroce_key *mw = uroce_key_at(keys, wqe->bind.rkey), *mr = NULL;
	const struct ibv_pd *pd = qp->vqp.qp.pd;
	int r;

	if (!mw || !mw->used || !mw->mw_type)
		return -EINVAL;
	r = bind_check(mw, pd, wqe);
	if (!r && wqe->bind.length)
		r = bind_region(keys, pd, wqe, &mr);
	if (r < 0)
		return r;
	if (mr)
		mr->windows++; /* first, so that the unbind cannot free the region */
	window_unbind(keys, mw);
	mw->key = wqe->bind.rkey;
	if (mr)
		window_bind(keys, mw, mr, qp->vqp.qp.qp_num, wqe);
	return 0;
}

int uroce_key_bind(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	struct uroce_keys *keys = qp->engine->keys;
	int r;

	uroce_lock(&keys->lock);
	r = bind_locked(keys, qp, wqe);
	uroce_unlock(&keys->lock);
	return r;
}

/* Invalidate a bound type 2 window. Only the QP that bound it may do so. */
static int invalidate_locked(struct uroce_keys *keys, const struct ibv_pd *pd, uint32_t qpn,
			     uint32_t key)
{
	struct uroce_key *mw = uroce_key_at(keys, key);

	if (!mw || !mw->used || mw->key != key || mw->mw_type != IBV_MW_TYPE_2 ||
	    !window_is_bound(mw))
		return -EINVAL;
	if (!uroce_pd_is(mw->pd, pd) || mw->qpn != qpn)
		return -EACCES;
	window_unbind(keys, mw);
	return 0;
}

int uroce_key_invalidate(struct uroce_keys *keys, const struct ibv_pd *pd, uint32_t qpn,
			 uint32_t key)
{
	int r;

	uroce_lock(&keys->lock);
	r = invalidate_locked(keys, pd, qpn, key);
	uroce_unlock(&keys->lock);
	return r;
}
