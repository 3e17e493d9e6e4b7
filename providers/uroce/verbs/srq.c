/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include <string.h>

#include "providers/uroce/verbs/verbs.h"

int uroce_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vsrq->srq.context);
	struct ibv_srq_attr *attr = &in->attr->attr;
	int r;

	if ((in->attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    in->attr->srq_type != IBV_SRQT_BASIC) {
		verbs_err(vsrq->srq.context,
			  "create_srq: type %d is not supported: only the basic one",
			  in->attr->srq_type);
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
		r = uroce_rq_alloc(&srq->rq, attr->max_wr, attr->max_sge);
	if (r < 0)
		return r;
	atomic_fetch_add(&((struct uroce_pd *)vsrq->srq.pd)->users, 1);
	vsrq->srq.handle = atomic_fetch_add(&ctx->dev->host->next_handle, 1);
	vsrq->srq_num = vsrq->srq.handle;
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->rq.max_sge;
	return 0;
}

/* A new ring of @max_wr entries with what is posted. Under srq->lock. */
static int srq_resize(struct uroce_srq *srq, uint32_t max_wr)
{
	uint32_t used = srq->rq.head - srq->rq.tail;
	struct uroce_rq larger;
	int r;

	if (max_wr < used || max_wr > UROCE_MAX_WR)
		return -EINVAL;
	r = uroce_rq_alloc(&larger, max_wr, srq->rq.max_sge);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < used; i++)
		memcpy(rq_wqe(&larger, i), rq_wqe(&srq->rq, srq->rq.tail + i), larger.stride);
	larger.head = used;
	free(srq->rq.ring);
	srq->rq = larger;
	return 0;
}

int uroce_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	int r = 0;

	uroce_lock(&srq->lock);
	if (in->mask & IBV_SRQ_MAX_WR)
		r = srq_resize(srq, in->attr->max_wr);
	if (!r && (in->mask & IBV_SRQ_LIMIT)) {
		if (in->attr->srq_limit > srq->rq.size)
			r = -EINVAL;
		else
			srq->limit = in->attr->srq_limit;
	}
	uroce_unlock(&srq->lock);
	if (r == -EINVAL)
		verbs_err(
			vsrq->srq.context,
			"srq 0x%x: modify: %u receives, limit %u: more than %u, or than are posted",
			vsrq->srq.handle, in->attr->max_wr, in->attr->srq_limit, srq->rq.size);
	return r;
}

int uroce_query_srq(struct verbs_srq *vsrq, struct ibv_srq_attr *ret_attr)
{
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;

	uroce_lock(&srq->lock);
	*ret_attr = (struct ibv_srq_attr){ .max_wr = srq->rq.size,
					   .max_sge = srq->rq.max_sge,
					   .srq_limit = srq->limit };
	uroce_unlock(&srq->lock);
	return 0;
}

int uroce_destroy_srq(struct verbs_srq *vsrq)
{
	struct uroce_srq *srq = (struct uroce_srq *)vsrq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vsrq->srq.context);

	if (atomic_load(&srq->qps)) {
		verbs_err(vsrq->srq.context, "srq 0x%x: %u queue pairs still use it",
			  vsrq->srq.handle, atomic_load(&srq->qps));
		return -EBUSY;
	}
	uroce_event_purge(ctx, &vsrq->srq, &srq->events_raised);
	verbs_srq_wait_events(vsrq, srq->events_raised);
	atomic_fetch_sub(&((struct uroce_pd *)vsrq->srq.pd)->users, 1);
	free(srq->rq.ring);
	return 0;
}
