/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. A receive of one entry takes one slot. */
#include "providers/cxgb4/wqe.h"

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct cx_qp *qp,
						       const struct ibv_recv_wr *wr, bool failed)
{
	const struct kit_rq_limits limits = {
		.none = !qp->rq.size,
		.closed = failed,
		.max_post = qp->vqp.cap.max_recv_wr,
		.max_sge = qp->rq.max_sge,
	};

	return kit_post_recv_refuse(&qp->vqp.qp, &qp->rq.said, wr, &limits);
}

FLAT int recv_room(const struct cx_rq *rq)
{
	/* acquire: pairs with the release of a poll, which has read the wr_id */
	return index_room(atomic_load_explicit(&rq->head, memory_order_relaxed),
			  atomic_load_explicit(&rq->tail, memory_order_acquire), rq->size);
}

/* Announce the receives from slot @from up to index @head, and release the lock. */
FLAT int recv_end(struct cx_qp *qp, uint16_t head, uint32_t from)
{
	struct cx_rq *rq = &qp->rq;

	if (likely(from != rq->ring.at)) {
		/* release: pairs with the acquire of a poll, which reads the wr_id */
		atomic_store_explicit(&rq->head, head, memory_order_release);
		status_put(rq->ring.status, STATUS_HEAD, head);
		ring_announce(&rq->ring, from, qp, IBV_QP_RQ_PSN);
	}
	spinlock_unlock(&rq->lock);
	return 0;
}

/* Post receives of any kind, behind those from slot @from up to index @head. The caller holds the
 * lock, and this function releases it. */
SEPARATE static int recv_rest(struct cx_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			      uint16_t head, uint32_t from)
{
	struct cx_rq *rq = &qp->rq;
	bool failed = qp_has_failed(qp);
	int room = rq->size && !failed
			   ? index_room(head, atomic_load_explicit(&rq->tail, memory_order_acquire),
					rq->size)
			   : 0;

	for (; wr; wr = wr->next, room--) {
		uint64_t words[RECV_WORDS];

		if (room <= 0 || (uint32_t)wr->num_sge > (uint32_t)rq->max_sge ||
		    (wr->num_sge && !wr->sg_list))
			break;
		rq->wr_ids[head] = wr->wr_id;
		cx_ring_put(&rq->ring, words, receive_put(words, head, wr));
		head = index_next(head, rq->size);
	}
	recv_end(qp, head, from);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr, failed);
}

SEPARATE static int recv_contended(struct cx_qp *qp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return recv_rest(qp, wr, bad_wr, atomic_load_explicit(&qp->rq.head, memory_order_relaxed),
			 qp->rq.ring.at);
}

/* Receives of one entry make no function call. */
int cx_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct cx_qp *qp = to_cqp(ibqp);
	struct cx_rq *rq = &qp->rq;
	uint16_t head;
	uint32_t from;
	int room;

	if (unlikely(!spinlock_try(&rq->lock)))
		return recv_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&rq->head, memory_order_relaxed);
	from = rq->ring.at;
	room = likely(rq->size) && likely(rq->max_sge) && likely(!qp_has_failed(qp)) ? recv_room(rq)
										     : 0;
	for (; wr; wr = wr->next, room--) {
		uint64_t *to = (uint64_t *)(void *)slot_of(&rq->ring, rq->ring.at);

		if (unlikely(room <= 0) || unlikely(wr->num_sge != 1) || unlikely(!wr->sg_list))
			return recv_rest(qp, wr, bad_wr, head, from);
		rq->wr_ids[head] = wr->wr_id;
		to[0] = wr_head(WR_RECV, 0, head, 2);
		to[1] = htobe64(LIST_WORD(1));
		sge_put(&to[2], wr->sg_list);
		if (unlikely(++rq->ring.at == rq->ring.slots))
			rq->ring.at = 0;
		head = index_next(head, rq->size);
	}
	return recv_end(qp, head, from);
}
