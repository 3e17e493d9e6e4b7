/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include <string.h>

#include <infiniband/uroce.h>
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

/*
 * Assign a number to an XRC SRQ. From now on queue pairs of its domain find it and complete on its
 * CQ.
 */
static int xrc_begin(struct uroce_host *host, struct uroce_srq *srq)
{
	struct uroce_xrcd *xrcd = (struct uroce_xrcd *)srq->vsrq.xrcd;
	int r;

	srq->domain = xrcd->domain;
	srq->cq = to_ucq(srq->vsrq.cq);
	r = uroce_srqn_alloc(host, srq);
	if (r < 0)
		return r;
	atomic_fetch_add(&srq->cq->qps, 1);
	atomic_fetch_add(&xrcd->users, 1);
	return 0;
}

static void xrc_end(struct uroce_host *host, struct uroce_srq *srq)
{
	uroce_srqn_free(host, srq);
	atomic_fetch_sub(&srq->cq->qps, 1);
	atomic_fetch_sub(&((struct uroce_xrcd *)srq->vsrq.xrcd)->users, 1);
}

int uroce_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vsrq->srq.context);
	struct ibv_srq_attr *attr = &in->attr->attr;
	int r;

	if (vsrq->srq_type != IBV_SRQT_BASIC && vsrq->srq_type != IBV_SRQT_XRC) {
		verbs_err(vsrq->srq.context,
			  "create_srq: type %d is not supported: basic and XRC ones are",
			  vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > UROCE_MAX_WR || attr->max_sge > UROCE_MAX_SGE) {
		verbs_err(vsrq->srq.context,
			  "create_srq: %u receives (1 to %u), %u SGEs (at most %u)", attr->max_wr,
			  UROCE_MAX_WR, attr->max_sge, UROCE_MAX_SGE);
		return -EINVAL;
	}
	r = uroce_host_check(ctx->dev->host);
	if (!r)
		r = uroce_rq_alloc(&srq->rq, vsrq->srq.pd, UROCE_RES_TYPE_SHARED_RECEIVE_QUEUE,
				   attr->max_wr, attr->max_sge);
	if (r < 0)
		return r;
	vsrq->srq.handle = atomic_fetch_add(&ctx->dev->host->next_handle, 1);
	if (vsrq->srq_type == IBV_SRQT_XRC) {
		r = xrc_begin(ctx->dev->host, srq);
		if (r < 0) {
			uroce_memory_put(&srq->rq.memory);
			return r;
		}
	}
	uroce_pd_use(vsrq->srq.pd, 1);
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->rq.max_sge;
	return 0;
}

/* Return whether the posted receives and @limit fit into @max_wr. Under srq->lock. */
static bool srq_fits(const struct uroce_srq *srq, uint32_t max_wr, uint32_t limit)
{
	return srq->rq.head - srq->rq.tail <= max_wr && limit <= max_wr;
}

/* Move the posted receives into the ring of @rq, and swap the two rings. Under srq->lock. */
static void srq_take_over(struct uroce_srq *srq, struct uroce_rq *rq)
{
	uint32_t used = srq->rq.head - srq->rq.tail;
	struct uroce_rq old = srq->rq;

	for (uint32_t i = 0; i < used; i++)
		memcpy(rq_wqe(rq, i), rq_wqe(&srq->rq, srq->rq.tail + i), rq->stride);
	rq->head = used;
	srq->rq = *rq;
	*rq = old;
}

/*
 * Resize the ring. Its memory is allocated and freed without the lock, because the application may
 * provide the allocator.
 */
static int srq_resize(struct uroce_srq *srq, const struct verbs_modify_srq *in)
{
	const struct ibv_srq_attr *attr = in->attr;
	bool fits = false;
	struct uroce_rq rq;
	int r;

	if (!attr->max_wr || attr->max_wr > UROCE_MAX_WR)
		return -EINVAL;
	r = uroce_rq_alloc(&rq, srq->vsrq.srq.pd, UROCE_RES_TYPE_SHARED_RECEIVE_QUEUE, attr->max_wr,
			   srq->rq.max_sge);
	if (r < 0)
		return r;
	uroce_lock(&srq->lock);
	/* Make both changes or no change. */
	fits = srq_fits(srq, attr->max_wr, in->mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->limit);
	if (fits) {
		srq_take_over(srq, &rq);
		if (in->mask & IBV_SRQ_LIMIT)
			srq->limit = attr->srq_limit;
	}
	uroce_unlock(&srq->lock);
	uroce_memory_put(&rq.memory);
	return fits ? 0 : -EINVAL;
}

static int srq_arm(struct uroce_srq *srq, uint32_t limit)
{
	int r = -EINVAL;

	uroce_lock(&srq->lock);
	if (limit <= srq->rq.size) {
		srq->limit = limit;
		r = 0;
	}
	uroce_unlock(&srq->lock);
	return r;
}

int uroce_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	int r = uroce_host_check(ctx_host(vsrq->srq.context));

	if (r < 0)
		return r;
	if (in->mask & IBV_SRQ_MAX_WR)
		r = srq_resize(srq, in);
	else if (in->mask & IBV_SRQ_LIMIT)
		r = srq_arm(srq, in->attr->srq_limit);
	if (r == -EINVAL)
		verbs_err(
			vsrq->srq.context,
			"srq 0x%x: modify: mask 0x%x, %u receives (1 to %u, and no fewer than are "
			"posted and the limit), limit %u (at most the receives); it has %u",
			vsrq->srq.handle, in->mask, in->attr->max_wr, UROCE_MAX_WR,
			in->attr->srq_limit, srq->rq.size);
	return r;
}

int uroce_query_srq(struct verbs_srq *vsrq, struct ibv_srq_attr *ret_attr)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	int r = uroce_host_check(ctx_host(vsrq->srq.context));

	if (r < 0)
		return r;
	uroce_lock(&srq->lock);
	*ret_attr = (struct ibv_srq_attr){ .max_wr = srq->rq.size,
					   .max_sge = srq->rq.max_sge,
					   .srq_limit = srq->limit };
	uroce_unlock(&srq->lock);
	return 0;
}

int uroce_destroy_srq(struct verbs_srq *vsrq)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vsrq->srq.context);
	int r = uroce_host_check(ctx->dev->host);

	if (r < 0)
		return r;
	if (atomic_load(&srq->qps)) {
		verbs_err(vsrq->srq.context, "srq 0x%x: %u queue pairs still use it",
			  vsrq->srq.handle, atomic_load(&srq->qps));
		return -EBUSY;
	}
	if (srq->domain)
		xrc_end(ctx->dev->host, srq);
	uroce_event_purge(ctx, &vsrq->srq, &srq->events_raised);
	verbs_srq_wait_events(vsrq, srq->events_raised);
	uroce_pd_use(vsrq->srq.pd, -1);
	uroce_memory_put(&srq->rq.memory);
	return 0;
}
