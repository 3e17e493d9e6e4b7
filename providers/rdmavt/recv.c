/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a QP's own ring or to an SRQ's. The kernel needs no doorbell. */
#include <string.h>

#include "providers/rdmavt/rdmavt.h"

_Static_assert(sizeof(struct rvt_wqe_sge) == sizeof(struct ibv_sge), "copied as it is");
_Static_assert(offsetof(struct rvt_wqe_sge, lkey) == offsetof(struct ibv_sge, lkey), "");

/* A substitute for the ring of a queue pair without receives. It is always full, and no code writes
 * to it. */
static const struct rvt_rwq no_ring;

void rvt_recv_queue_unmap(struct rvt_recv_queue *rq)
{
	kit_page_unmap(&rq->ring);
	rq->wq = (struct rvt_rwq *)&no_ring;
	rq->last = 0;
}

int rvt_recv_queue_map(struct rvt_recv_queue *rq, struct ibv_context *ctx, const char *what,
		       const struct rvt_ring_resp *resp, uint32_t max_wr, uint32_t max_sge)
{
	uint32_t stride = sizeof(struct rvt_rwqe) +
			  min_of(max_sge, (uint32_t)USHRT_MAX) * sizeof(struct rvt_wqe_sge);
	int r = rvt_ring_map(ctx, what, resp, max_wr, stride, &rq->ring);

	if (r < 0)
		return r;
	rq->wq = rq->ring.base;
	rq->last = max_wr;
	rq->max_sge = min_of(max_sge, (uint32_t)RVT_MAX_SGE);
	rq->stride = stride;
	return 0;
}

static inline struct rvt_rwqe *recv_slot(const struct rvt_recv_queue *rq, uint32_t index)
{
	return (struct rvt_rwqe *)(void *)((char *)rq->wq->wq + (size_t)index * rq->stride);
}

/* Write a request into slot @head. The kernel checks its keys when it uses them. */
static inline enum kit_fault recv_build(const struct rvt_recv_queue *rq, uint32_t head,
					uint32_t next, const struct ibv_recv_wr *wr)
{
	struct rvt_rwqe *rwqe = recv_slot(rq, head);
	uint32_t num_sge = wr->num_sge; /* a negative number becomes larger than every limit */

	if (unlikely(num_sge > rq->max_sge))
		return KIT_FAULT_NUM_SGE;
	/* acquire: pairs with the kernel's release when it has read a slot */
	if (unlikely(next == rvt_index_load(&rq->wq->tail.val, memory_order_acquire)))
		return KIT_FAULT_FULL;
	if (unlikely(num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	rwqe->wr_id = wr->wr_id;
	rwqe->num_sge = num_sge;
	for (uint32_t i = 0; i < num_sge; i++)
		memcpy(&rwqe->sg_list[i], &wr->sg_list[i], sizeof(rwqe->sg_list[i]));
	return KIT_FAULT_NONE;
}

/* Post the requests up to the first refused one, to which @bad_wr then points. */
__attribute__((always_inline)) static inline enum kit_fault
recv_post(struct rvt_recv_queue *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t head, next;

	spinlock_lock(&rq->lock);
	/* relaxed: this side's index, which is only written under the same lock */
	head = min_of(rvt_index_load(&rq->wq->head.val, memory_order_relaxed), rq->last);
	for (; wr; wr = wr->next) {
		next = head == rq->last ? 0 : head + 1;
		fault = recv_build(rq, head, next, wr);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		head = next;
		/* release: pairs with the kernel's acquire before it reads the slots */
		rvt_index_store(&rq->wq->head.val, head, memory_order_release);
	}
	spinlock_unlock(&rq->lock);
	return fault;
}

static uint32_t recv_limit(const struct rvt_recv_queue *rq, enum kit_fault fault)
{
	return fault == KIT_FAULT_FULL ? rq->last : rq->max_sge;
}

__attribute__((noinline, cold)) static int recv_refuse(struct rvt_qp *qp, enum kit_fault fault,
						       const struct ibv_recv_wr *wr)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (!qp->rq.ring.base)
		return kit_recv_refuse(ibqp, &qp->said, KIT_FAULT_NO_QUEUE, 0, 0);
	return kit_recv_refuse(ibqp, &qp->said, fault,
			       fault == KIT_FAULT_STATE ? ibqp->state : (uint32_t)wr->num_sge,
			       recv_limit(&qp->rq, fault));
}

/*
 * The kernel does not notice a receive that is posted in the state ERR, and would never complete
 * it. Accept an empty list and a NULL @bad_wr, here and in rvt_post_srq_recv() and rvt_post_send().
 * Other releases of this provider accept both, and programs rely on it.
 */
int rvt_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rvt_qp *qp = to_rqp(ibqp);
	enum kit_fault fault = KIT_FAULT_STATE;
	struct ibv_recv_wr *ignored;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = wr;
	if (likely(ibqp->state != IBV_QPS_RESET && ibqp->state != IBV_QPS_ERR)) {
		*bad_wr = NULL;
		fault = recv_post(&qp->rq, wr, bad_wr);
	}
	if (likely(!fault))
		return 0;
	return *bad_wr ? recv_refuse(qp, fault, *bad_wr) : 0;
}

int rvt_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct rvt_srq *srq = to_rsrq(ibsrq);
	struct ibv_recv_wr *ignored;
	enum kit_fault fault;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = NULL;
	fault = recv_post(&srq->rq, wr, bad_wr);
	if (likely(!fault))
		return 0;
	return kit_srq_refuse(ibsrq, &srq->rq.said, fault, (uint32_t)(*bad_wr)->num_sge,
			      recv_limit(&srq->rq, fault));
}
