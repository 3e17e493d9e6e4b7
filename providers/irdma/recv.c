/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a queue pair and to a shared receive queue. The adapter finds receives by
 * the phase bit in their headers, without a doorbell. */
#include "providers/irdma/wqe.h"

FLAT bool recv_check(const struct ibv_recv_wr *wr, int max_sge, enum kit_fault *ret_fault)
{
	uint64_t length;

	if (unlikely((uint32_t)wr->num_sge >= (uint32_t)max_sge + 1))
		*ret_fault = KIT_FAULT_NUM_SGE;
	else if (unlikely(wr->num_sge && !wr->sg_list))
		*ret_fault = KIT_FAULT_SG_LIST;
	else if (unlikely(!lengths_fit(wr->sg_list, wr->num_sge, &length)))
		*ret_fault = KIT_FAULT_LENGTH;
	else
		return true;
	return false;
}

/* Write a receive. @third: word 2, @valid: the phase bit */
FLAT void recv_write(char *wqe, const struct ibv_recv_wr *wr, uint64_t third, uint32_t even_extra,
		     bool old_format, uint64_t valid)
{
	uint32_t count = wr->num_sge;

	if (unlikely(!count)) {
		word_write(wqe, 0);
		word_write(wqe + AT_SECOND, old_format ? 0 : valid);
	}
	list_write(wqe, wqe + IRDMA_QUANTUM, wr->sg_list, count, count && !(count & 1), old_format,
		   valid);
	word_write(wqe + AT_THIRD, third);
	header_write(wqe, count_field(count, even_extra) | valid);
}

/* ---- queue pairs */

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int
recv_refuse(struct irdma_qp *qp, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	uint64_t value = (uint32_t)wr->num_sge;
	uint32_t limit = fault == KIT_FAULT_FULL     ? qp->rq.size - 1
			 : fault == KIT_FAULT_LENGTH ? FRAGMENT_MAX
						     : (uint32_t)qp->rq.max_sge;

	if (qp->srq) {
		fault = KIT_FAULT_NO_QUEUE;
	} else if (qp->rq.max_sge < 0) {
		fault = KIT_FAULT_STATE;
		value = qp->vqp.qp.state;
	}
	return kit_recv_refuse(&qp->vqp.qp, &qp->rq.said, fault, value, limit);
}

/* Announce the receives since @before and release the lock. */
FLAT void recv_end(struct irdma_qp *qp, uint32_t before)
{
	struct irdma_rq *rq = &qp->rq;
	bool flush;

	/* release: pairs with the acquire of a poll */
	atomic_store_explicit(&rq->posted, rq->head, memory_order_release);
	flush = unlikely(atomic_load_explicit(&rq->over, memory_order_relaxed)) &&
		rq->head != before &&
		atomic_load_explicit(&rq->tail, memory_order_relaxed) == before;
	spinlock_unlock(&rq->lock);
	if (unlikely(flush))
		irdma_flush(qp, false, true);
}

int irdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct irdma_qp *qp = to_iqp(ibqp);
	struct irdma_rq *rq = &qp->rq;
	enum kit_fault fault = KIT_FAULT_FULL;
	uint32_t before, left = 0;

	spinlock_lock(&rq->lock);
	before = rq->head;
	/* acquire: pairs with the release of a poll, which has read the number of the request */
	if (likely(rq->max_sge >= 0))
		left = rq->size - 1 -
		       (before - atomic_load_explicit(&rq->tail, memory_order_acquire));
	for (; wr; wr = wr->next, left--, rq->head++) {
		uint32_t place = rq->head & (rq->size - 1);

		if (unlikely(!left) || !recv_check(wr, rq->max_sge, &fault))
			break;
		recv_write(rq->ring + ((size_t)place << rq->shift) * IRDMA_QUANTUM, wr, 0,
			   rq->even_extra, rq->old_format, rq->head & rq->size ? 0 : IRDMA_VALID);
		rq->wr_ids[place] = wr->wr_id;
	}
	recv_end(qp, before);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr, fault);
}

/* ---- shared receive queues */

__attribute__((noinline, cold)) static int
srq_refuse(struct irdma_srq *srq, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	uint32_t limit = fault == KIT_FAULT_FULL     ? srq->size - 1
			 : fault == KIT_FAULT_LENGTH ? FRAGMENT_MAX
						     : (uint32_t)srq->max_sge;

	return kit_srq_refuse(&srq->vsrq.srq, &srq->said, fault, (uint32_t)wr->num_sge, limit);
}

/* A completion has the number of the request from word 2 of the receive. */
int irdma_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct irdma_srq *srq = to_isrq(ibsrq);
	enum kit_fault fault = KIT_FAULT_FULL;
	uint32_t left;

	spinlock_lock(&srq->lock);
	/* acquire: pairs with the release of a poll */
	left = srq->size - 1 - (srq->head - atomic_load_explicit(&srq->tail, memory_order_acquire));
	for (; wr; wr = wr->next, left--, srq->head++) {
		uint32_t place = srq->head & (srq->size - 1);

		if (unlikely(!left) || left > srq->size - 1 ||
		    !recv_check(wr, srq->max_sge, &fault))
			break;
		recv_write(srq->ring + ((size_t)place << srq->shift) * IRDMA_QUANTUM, wr, wr->wr_id,
			   0, false, srq->head & srq->size ? 0 : IRDMA_VALID);
	}
	/* release: the device sees the receives before their number */
	barrier_to_device();
	word_write(srq->shadow, srq->head & (srq->size - 1));
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr, fault);
}
