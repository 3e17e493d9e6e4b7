/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. */
#include "providers/ionic/wqe.h"

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int
recv_refuse(struct ionic_qp *qp, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	uint64_t value = (uint32_t)wr->num_sge;
	uint32_t limit = fault == KIT_FAULT_FULL     ? qp->rq.mask
			 : fault == KIT_FAULT_LENGTH ? LENGTH_MAX
						     : (uint32_t)qp->rq.max_sge;

	if (qp->rq.max_sge < 0) {
		fault = KIT_FAULT_STATE;
		value = qp->vqp.qp.state;
	}
	return kit_recv_refuse(&qp->vqp.qp, &qp->rq.said, fault, value, limit);
}

/* Return whether a receive fits. The place behind the head must be free as well, because one place
 * of a ring always stays free. */
FLAT bool has_room(const struct ionic_rq *rq)
{
	uint32_t behind = (rq->head + 1) & rq->mask;

	/* acquire: pairs with the release of a poll, which has read the receive */
	return !atomic_load_explicit(&rq->received[rq->head].posted, memory_order_acquire) &&
	       !atomic_load_explicit(&rq->received[behind].posted, memory_order_acquire);
}

FLAT enum kit_fault recv_check(const struct ionic_rq *rq, const struct ibv_recv_wr *wr,
			       uint32_t *ret_length)
{
	if (unlikely((uint32_t)wr->num_sge >= (uint32_t)rq->max_sge + 1))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	if (unlikely(!lengths_fit(wr->sg_list, wr->num_sge, rq->spec, ret_length)))
		return KIT_FAULT_LENGTH;
	return unlikely(!has_room(rq)) ? KIT_FAULT_FULL : KIT_FAULT_NONE;
}

/* Write a receive. The total length is in the bits that hold the immediate data of a send. */
FLAT void recv_write(struct ionic_rq *rq, const struct ibv_recv_wr *wr, uint32_t length)
{
	struct ionic_received *received = &rq->received[rq->head];
	char *wqe = rq->ring + ((size_t)rq->head << rq->shift);
	uint32_t count = wr->num_sge;

	uint64_t form = list_write(wqe, wr->sg_list, count, rq->spec);

	place_clear(wqe, &received->extent, list_extent(count, rq->spec));
	word_write(wqe + AT_HEAD, (uint64_t)count << HEAD_COUNT_SHIFT | form | length);
	position_write(wqe, rq->head);
	received->wr_id = wr->wr_id;
	/* release: pairs with the acquire of a poll */
	atomic_store_explicit(&received->posted, true, memory_order_release);
	rq->head = (rq->head + 1) & rq->mask;
}

/* Announce the receives from @before on, and release the lock. */
FLAT void recv_end(struct ionic_rq *rq, uint32_t before)
{
	if (unlikely(rq->head == before))
		;
	else if (likely(!rq->wq.cmb))
		ionic_ring(rq->doorbell, rq->number, rq->head);
	else
		ionic_copy_announce(&rq->wq, before, rq->head, rq->doorbell, rq->number);
	spinlock_unlock(&rq->lock);
}

int ionic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct ionic_qp *qp = to_ioqp(ibqp);
	struct ionic_rq *rq = &qp->rq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t before;

	spinlock_lock(&rq->lock);
	before = rq->head;
	for (; wr; wr = wr->next) {
		uint32_t length;

		fault = recv_check(rq, wr, &length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		recv_write(rq, wr, length);
	}
	recv_end(rq, before);
	return likely(!fault) ? 0 : recv_refuse(qp, wr, fault);
}
