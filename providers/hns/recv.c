/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives to the ring of a queue pair or to a shared queue. */
#include "providers/hns/wqe.h"

/* Write the entries whose length is not 0. On HIP08 a special segment ends the list. On other
 * adapters clear the remaining segments. */
FLAT void list_put(const struct hns_rq *rq, char *wqe, const struct ibv_recv_wr *wr)
{
	const char *end = wqe + (size_t)rq->wqe_sge * SEGMENT;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (unlikely(!sge->length))
			continue;
		segment_put(wqe, sge->addr, sge->length, sge->lkey);
		wqe += SEGMENT;
	}
	if (rq->ends) {
		segment_put(wqe, 0, LENGTH_END, LKEY_END);
		return;
	}
	for (; wqe < end; wqe += SEGMENT)
		segment_put(wqe, 0, 0, 0);
}

/* Announce receives up to @head. */
FLAT void rq_ring(struct hns_rq *rq, uint32_t head)
{
	rq->head = head;
	barrier_to_device();
	if (likely(rq->recorded))
		*(volatile uint32_t *)rq->record = head & 0xffff;
	else
		hns_doorbell_ring(rq->doorbell, rq->tag | (uint64_t)(head & 0xffff)
								  << HNS_DB_INDEX_SHIFT);
}

static enum kit_fault recv_check(const struct hns_rq *rq, const struct ibv_recv_wr *wr, bool room)
{
	/* max_sge is -1 in states that accept no receives. Each receive then exceeds the limit of
	 * 0. */
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1;

	if (unlikely((uint32_t)wr->num_sge >= sge_limit))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	return likely(room) ? KIT_FAULT_NONE : KIT_FAULT_FULL;
}

/* ---- the ring of a queue pair */

/* Log why a receive is refused and return the errno. @max_sge: hns_rq.max_sge, read under the lock
 */
__attribute__((noinline, cold)) static int
recv_refuse(struct hns_qp *qp, const struct ibv_recv_wr *wr, enum kit_fault fault, int max_sge)
{
	struct hns_rq *rq = &qp->rq;

	if (!rq->max_post)
		return kit_recv_refuse(&qp->vqp.qp, &rq->said, KIT_FAULT_NO_QUEUE, 0, 0);
	if (max_sge < 0)
		return kit_recv_refuse(&qp->vqp.qp, &rq->said, KIT_FAULT_STATE, qp->vqp.qp.state,
				       0);
	return kit_recv_refuse(&qp->vqp.qp, &rq->said, fault, (uint32_t)wr->num_sge,
			       fault == KIT_FAULT_FULL ? rq->max_post : (uint32_t)max_sge);
}

/* Post receives of any kind from @head on. The caller holds the lock, and this function releases
 * it. */
SEPARATE static int post_rest(struct hns_qp *qp, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr, uint32_t head)
{
	struct hns_rq *rq = &qp->rq;
	uint32_t end = rq->head + hns_room(rq->head, &rq->tail, rq->max_post);
	enum kit_fault fault = KIT_FAULT_NONE;
	bool flushes = rq->flushes;
	int max_sge = rq->max_sge;

	for (; wr; wr = wr->next, head++) {
		uint32_t slot = head & rq->mask;

		fault = recv_check(rq, wr, head != end);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		list_put(rq, rq->ring + ((size_t)slot << rq->shift), wr);
		rq->wr_ids[slot] = wr->wr_id;
	}
	if (likely(head != rq->head))
		rq_ring(rq, head);
	spinlock_unlock(&rq->lock);
	if (unlikely(flushes))
		hns_qp_flush(qp);
	return likely(!fault) ? 0 : recv_refuse(qp, wr, fault, max_sge);
}

SEPARATE static int post_contended(struct hns_qp *qp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&qp->rq.lock);
	return post_rest(qp, wr, bad_wr, qp->rq.head);
}

/* Receives with one entry make no function call. */
int hns_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct hns_qp *qp = to_hqp(ibqp);
	struct hns_rq *rq = &qp->rq;
	uint32_t head, end;

	if (unlikely(!spinlock_try(&rq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = rq->head;
	end = likely(rq->plain) ? head + hns_room(head, &rq->tail, rq->max_post) : head;
	for (; wr; wr = wr->next, head++) {
		uint32_t slot = head & rq->mask;
		char *wqe = rq->ring + ((size_t)slot << rq->shift);
		const struct ibv_sge *sge = wr->sg_list;

		if (unlikely(head == end) || unlikely(wr->num_sge != 1) || unlikely(!sge) ||
		    unlikely(!sge->length))
			return post_rest(qp, wr, bad_wr, head);
		segment_put(wqe, sge->addr, sge->length, sge->lkey);
		for (uint32_t i = 1; i < rq->wqe_sge; i++)
			segment_put(wqe + (size_t)i * SEGMENT, 0, 0, 0);
		rq->wr_ids[slot] = wr->wr_id;
	}
	if (likely(head != rq->head))
		rq_ring(rq, head);
	spinlock_unlock(&rq->lock);
	return 0;
}

/* ---- shared queues */

__attribute__((noinline, cold)) static int
srq_refuse(struct hns_srq *srq, const struct ibv_recv_wr *wr, enum kit_fault fault)
{
	struct hns_rq *rq = &srq->rq;

	return kit_srq_refuse(&srq->vsrq.srq, &rq->said, fault, (uint32_t)wr->num_sge,
			      fault == KIT_FAULT_FULL ? rq->max_post : (uint32_t)rq->max_sge);
}

/* Take the first free receive. The caller has checked that the queue is not full. */
FLAT uint32_t free_take(struct hns_srq *srq)
{
	uint32_t word = srq->low, index;

	while (!srq->free[word])
		word++;
	index = word * 64 + __builtin_ctzll(srq->free[word]);
	srq->free[word] &= srq->free[word] - 1;
	srq->low = word;
	return index;
}

int hns_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct hns_srq *srq = to_hsrq(ibsrq);
	struct hns_rq *rq = &srq->rq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t head, end, index;

	spinlock_lock(&rq->lock);
	head = rq->head;
	end = head + hns_room(head, &rq->tail, rq->max_post);
	for (; wr; wr = wr->next, head++) {
		fault = recv_check(rq, wr, head != end);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		index = free_take(srq);
		list_put(rq, rq->ring + ((size_t)index << rq->shift), wr);
		rq->wr_ids[index] = wr->wr_id;
		srq->indices[head & rq->mask] = htole32(index);
	}
	if (likely(head != rq->head))
		rq_ring(rq, head);
	spinlock_unlock(&rq->lock);
	return likely(!fault) ? 0 : srq_refuse(srq, wr, fault);
}
