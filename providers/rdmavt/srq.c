/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include "providers/rdmavt/rdmavt.h"

static const char name[] = "shared receive queue";

int rvt_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	const struct ibv_srq_attr *attr = &in->attr->attr;
	struct rvt_ring_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(vsrq->srq.context, "ibv_create_srq_ex: type %d is not supported by %s",
			  vsrq->srq_type, to_vdev(vsrq->srq.context->device)->provider->name);
		return -EOPNOTSUPP;
	}
	r = uverbs_create_srq(vsrq, &request);
	if (r < 0)
		return r;
	r = rvt_recv_queue_map(&to_rsrq(&vsrq->srq)->rq, vsrq->srq.context, name, &resp,
			       attr->max_wr, attr->max_sge);
	if (r < 0)
		uverbs_destroy_srq(vsrq);
	return r;
}

/* Run the command. The kernel writes the place of a new ring to @ret_resp. */
static int srq_modify(struct verbs_srq *vsrq, const struct verbs_modify_srq *in,
		      struct rvt_ring_resp *ret_resp)
{
	uint64_t address = (uintptr_t)ret_resp;
	struct verbs_udata udata = { .in = &address, .in_len = sizeof(address) };
	struct verbs_modify_srq request = { .attr = in->attr, .mask = in->mask, .udata = &udata };

	return uverbs_modify_srq(vsrq, &request);
}

/*
 * The kernel moves posted receives to a new ring. Threads that post wait until it has done so. If
 * the new ring cannot be mapped, the queue is full until another call succeeds.
 */
static int srq_resize(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct rvt_recv_queue *rq = &to_rsrq(&vsrq->srq)->rq;
	struct rvt_ring_resp resp = {};
	uint32_t max_sge = rq->max_sge;
	int r;

	spinlock_lock(&rq->lock);
	r = srq_modify(vsrq, in, &resp);
	if (!r) {
		rvt_recv_queue_unmap(rq);
		r = rvt_recv_queue_map(rq, vsrq->srq.context, name, &resp, in->attr->max_wr,
				       max_sge);
	}
	spinlock_unlock(&rq->lock);
	return r;
}

int rvt_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct rvt_ring_resp unused = {};

	if (in->mask & IBV_SRQ_MAX_WR)
		return srq_resize(vsrq, in);
	return srq_modify(vsrq, in, &unused);
}

int rvt_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		rvt_recv_queue_unmap(&to_rsrq(&vsrq->srq)->rq);
	return r;
}
