/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include "providers/rxe/rxe.h"

int rxe_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct rxe_srq *srq = to_rsrq(&vsrq->srq);
	struct rxe_create_srq_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_srq(vsrq, &request);

	if (r < 0)
		return r;
	srq->rq.max_sge = in->attr->attr.max_sge;
	r = rxe_queue_map(vsrq->srq.context, "shared receive queue", &resp.mi,
			  sizeof(struct rxe_recv_wqe) + srq->rq.max_sge * sizeof(struct rxe_sge),
			  &srq->rq.queue);
	if (r < 0)
		uverbs_destroy_srq(vsrq);
	return r;
}

/*
 * Run the command. If the ring is resized, the kernel writes the place of the new ring to @ret_mi.
 */
static int srq_modify(struct verbs_srq *vsrq, const struct verbs_modify_srq *in,
		      struct mminfo *ret_mi)
{
	struct rxe_modify_srq_cmd cmd = { .mmap_info_addr = (uintptr_t)ret_mi };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_modify_srq request = { .attr = in->attr, .mask = in->mask, .udata = &udata };

	return uverbs_modify_srq(vsrq, &request);
}

/* Resize the ring. The kernel moves posted receives to the new ring, and threads that post wait. */
static int srq_resize(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct rxe_recv_queue *rq = &to_rsrq(&vsrq->srq)->rq;
	struct rxe_queue queue;
	struct mminfo mi = {};
	int r;

	spinlock_lock(&rq->lock);
	r = srq_modify(vsrq, in, &mi);
	if (!r)
		r = rxe_queue_map(
			vsrq->srq.context, "shared receive queue", &mi,
			sizeof(struct rxe_recv_wqe) + rq->max_sge * sizeof(struct rxe_sge), &queue);
	if (!r) {
		rxe_queue_unmap(&rq->queue);
		rq->queue = queue;
	}
	spinlock_unlock(&rq->lock);
	return r;
}

int rxe_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct mminfo unused = {};

	if (in->mask & IBV_SRQ_MAX_WR)
		return srq_resize(vsrq, in);
	return srq_modify(vsrq, in, &unused);
}

int rxe_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		rxe_queue_unmap(&to_rsrq(&vsrq->srq)->rq.queue);
	return r;
}
