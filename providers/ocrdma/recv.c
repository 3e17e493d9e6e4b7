/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives to the ring of a queue pair. */
#include "providers/ocrdma/wqe.h"

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int
recv_refuse(struct oc_qp *qp, const struct ibv_recv_wr *wr, enum oc_post_state state)
{
	const struct kit_rq_limits limits = {
		.none = !qp->rq.mask,
		.closed = state == OC_POST_REFUSED,
		.max_post = qp->rq.mask,
		.max_sge = qp->rq.max_sge,
	};

	return kit_post_recv_refuse(&qp->vqp.qp, &qp->rq.said, wr, &limits);
}

/* Note a receive for its completion. */
FLAT void posted_put(struct oc_rq *rq, uint32_t head, uint64_t wr_id)
{
	rq->wr_ids[head & rq->mask] = wr_id;
	/* release: pairs with the acquire of a poll, which reads the wr_id */
	atomic_store_explicit(&rq->head, head + 1, memory_order_release);
}

/* Post receives of any kind. The caller holds the lock, and this function releases it. */
SEPARATE static int recv_rest(struct oc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct oc_rq *rq = &qp->rq;
	enum oc_post_state state = atomic_load_explicit(&rq->post_state, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);

	for (; wr; wr = wr->next, head++) {
		if (state == OC_POST_REFUSED || !ring_room(head, &rq->tail, rq->mask) ||
		    (uint32_t)wr->num_sge > rq->max_sge || (wr->num_sge && !wr->sg_list))
			break;
		if (state == OC_POST_ANNOUNCED)
			receive_put(slot_of(rq->ring, head & rq->mask, rq->stride), 0, wr);
		posted_put(rq, head, wr->wr_id);
		if (state == OC_POST_ANNOUNCED)
			announce(rq->doorbell, rq->announcement);
	}
	spinlock_unlock(&rq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr, state);
}

SEPARATE static int recv_contended(struct oc_qp *qp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return recv_rest(qp, wr, bad_wr);
}

/* Receives of one entry make no function call. */
int oc_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct oc_qp *qp = to_oc_qp(ibqp);
	struct oc_rq *rq = &qp->rq;
	uint32_t head, room = 0;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&rq->head, memory_order_relaxed);
	if (likely(atomic_load_explicit(&rq->post_state, memory_order_relaxed) ==
		   OC_POST_ANNOUNCED) &&
	    likely(rq->max_sge))
		room = ring_room(head, &rq->tail, rq->mask);
	for (; wr; wr = wr->next, head++, room--) {
		uint32_t *to;

		if (unlikely(!room) || unlikely(wr->num_sge != 1) || unlikely(!wr->sg_list))
			return recv_rest(qp, wr, bad_wr);
		to = slot_of(rq->ring, head & rq->mask, rq->stride);
		words_put(to, size_word(HEADER + ENTRY) | REQUEST_LIST | REQUEST_SIGNALED);
		to[AT_LENGTH] = htole32(wr->sg_list->length);
		entry_put(to + AT_BODY, wr->sg_list);
		posted_put(rq, head, wr->wr_id);
		announce(rq->doorbell, rq->announcement);
	}
	spinlock_unlock(&rq->lock);
	return 0;
}
