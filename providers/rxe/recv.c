/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a QP's own ring or to an SRQ's. The kernel needs no doorbell. */
#include "providers/rxe/rxe.h"
#include "providers/rxe/wqe.h"

static inline enum kit_fault recv_build(const struct rxe_recv_queue *rq, uint32_t producer,
					const struct ibv_recv_wr *wr)
{
	struct rxe_recv_wqe *wqe = rxe_queue_slot(&rq->queue, producer);
	uint32_t num_sge = wr->num_sge; /* a negative number becomes larger than every limit */
	uint64_t length;

	if (unlikely(rxe_queue_full(&rq->queue, producer)))
		return KIT_FAULT_FULL;
	if (unlikely(num_sge > rq->max_sge))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	wqe->wr_id = wr->wr_id;
	length = rxe_sge_copy(wqe->dma.sge, wr->sg_list, num_sge);
	rxe_dma_init(&wqe->dma, length, num_sge);
	return unlikely(length > UINT32_MAX) ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/*
 * Post requests up to the first refused one, to which @bad_wr then points. Inlining into both
 * callers saves a tenth of the instructions of a post.
 */
__attribute__((always_inline)) static inline enum kit_fault
recv_post(struct rxe_recv_queue *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t producer;

	spinlock_lock(&rq->lock);
	producer = rxe_queue_producer(&rq->queue);
	for (; wr; wr = wr->next) {
		fault = recv_build(rq, producer, wr);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		producer = rxe_queue_next(&rq->queue, producer);
	}
	rxe_queue_publish(&rq->queue, producer);
	spinlock_unlock(&rq->lock);
	return fault;
}

int rxe_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rxe_qp *qp = to_rqp(ibqp);
	enum kit_fault fault;

	if (unlikely(!bad_wr || !wr))
		return EINVAL;
	*bad_wr = wr;
	if (unlikely(!qp->rq.queue.buf))
		return rxe_recv_fault(qp, KIT_FAULT_NO_QUEUE, 0);
	if (unlikely(ibqp->state == IBV_QPS_RESET))
		return rxe_recv_fault(qp, KIT_FAULT_STATE, 0);
	*bad_wr = NULL;
	fault = recv_post(&qp->rq, wr, bad_wr);
	if (unlikely(fault))
		return rxe_recv_fault(qp, fault, (*bad_wr)->num_sge);
	return 0;
}

/*
 * Unlike rxe_post_recv(), accept an empty list and a NULL @bad_wr: programs rely on it, because the
 * provider of other releases accepts both.
 */
int rxe_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rxe_srq *srq = to_rsrq(ibsrq);
	struct ibv_recv_wr *ignored;
	enum kit_fault fault;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = NULL;
	fault = recv_post(&srq->rq, wr, bad_wr);
	if (unlikely(fault))
		return rxe_srq_recv_fault(srq, fault, (*bad_wr)->num_sge);
	return 0;
}
