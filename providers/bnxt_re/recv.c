/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a queue pair and to a shared receive queue. */
#include "providers/bnxt_re/wqe.h"

static inline bool recv_check(const struct ibv_recv_wr *wr, int max_sge, enum kit_fault *ret_fault)
{
	if (unlikely((uint32_t)wr->num_sge >= (uint32_t)max_sge + 1))
		*ret_fault = KIT_FAULT_NUM_SGE;
	else if (unlikely(wr->num_sge && !wr->sg_list))
		*ret_fault = KIT_FAULT_SG_LIST;
	else
		return true;
	return false;
}

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int
recv_refuse(struct bnxt_re_qp *qp, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	uint64_t value = (uint32_t)wr->num_sge;
	uint32_t limit = fault == KIT_FAULT_FULL ? qp->rq.room : (uint32_t)qp->rq.max_sge;

	if (!qp->vqp.cap.max_recv_wr || qp->srq) {
		fault = KIT_FAULT_NO_QUEUE;
	} else if (qp->rq.max_sge < 0) {
		fault = KIT_FAULT_STATE;
		value = qp->vqp.qp.state;
	}
	return kit_recv_refuse(&qp->vqp.qp, &qp->rq.said, fault, value, limit);
}

static inline uint32_t recv_room(const struct bnxt_re_rq *rq)
{
	uint32_t posted = atomic_load_explicit(&rq->posted, memory_order_relaxed);

	/* acquire: pairs with the release of received_take() */
	return rq->room - (posted - atomic_load_explicit(&rq->released, memory_order_acquire));
}

/* Announce @count receives and release the lock. */
static inline void recv_end(struct bnxt_re_rq *rq, uint32_t count)
{
	uint32_t posted = atomic_load_explicit(&rq->posted, memory_order_relaxed);

	if (likely(count)) {
		/* release: pairs with the acquire of received_take() */
		atomic_store_explicit(&rq->posted, posted + count, memory_order_release);
		bnxt_re_ring(rq->doorbell, BNXT_RE_DB_RQ, rq->number, rq->tail | rq->epoch);
	}
	spinlock_unlock(&rq->lock);
}

int bnxt_re_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct bnxt_re_qp *qp = to_bqp(ibqp);
	struct bnxt_re_rq *rq = &qp->rq;
	enum kit_fault fault = KIT_FAULT_FULL;
	uint32_t room, left;

	spinlock_lock(&rq->lock);
	left = room = likely(rq->max_sge >= 0) ? recv_room(rq) : 0;
	for (; wr; wr = wr->next, left--) {
		if (unlikely(!left) || !recv_check(wr, rq->max_sge, &fault))
			break;
		recv_write(rq->ring + (size_t)rq->tail * rq->slots * SLOT, wr, rq->tail);
		rq->wr_ids[rq->tail] = wr->wr_id;
		if (unlikely(++rq->tail == rq->count)) {
			rq->tail = 0;
			rq->epoch ^= BNXT_RE_DB_EPOCH;
		}
	}
	recv_end(rq, room - left);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr, fault);
}

/* ---- shared receive queues */

__attribute__((noinline, cold)) static int
srq_refuse(struct bnxt_re_srq *srq, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	return kit_srq_refuse(&srq->vsrq.srq, &srq->said, fault, (uint32_t)wr->num_sge,
			      fault == KIT_FAULT_FULL ? srq->count - 1 : (uint32_t)srq->max_sge);
}

/* Announce the posted receives. Announce the limit as soon as there are more receives than the
 * limit. Release the lock. */
static inline void srq_end(struct bnxt_re_srq *srq, bool any)
{
	if (likely(any))
		bnxt_re_ring(srq->doorbell, BNXT_RE_DB_SRQ, srq->number, srq->tail | srq->epoch);
	if (unlikely(srq->arms) && srq->waiting > srq->limit) {
		srq->arms = false;
		bnxt_re_ring(srq->doorbell, BNXT_RE_DB_SRQ_ARM, srq->number, srq->limit);
	}
	spinlock_unlock(&srq->lock);
}

static inline void srq_write(struct bnxt_re_srq *srq, const struct ibv_recv_wr *wr)
{
	uint32_t tag = srq->free;

	srq->free = srq->next[tag];
	srq->next[tag] = tag;
	srq->wr_ids[tag] = wr->wr_id;
	srq->waiting++;
	recv_write(srq->ring + (size_t)srq->tail * STATIC_SLOTS * SLOT, wr, tag);
	if (unlikely(++srq->tail == srq->count)) {
		srq->tail = 0;
		srq->epoch ^= BNXT_RE_DB_EPOCH;
	}
}

int bnxt_re_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct bnxt_re_srq *srq = to_bsrq(ibsrq);
	enum kit_fault fault = KIT_FAULT_FULL;
	bool any = false;

	spinlock_lock(&srq->lock);
	for (; wr; wr = wr->next, any = true) {
		if (unlikely(srq->free == srq->last) || !recv_check(wr, srq->max_sge, &fault))
			break;
		srq_write(srq, wr);
	}
	srq_end(srq, any);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr, fault);
}
