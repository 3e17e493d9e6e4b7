/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a QP's own ring or to an SRQ's. The kernel needs no doorbell. */
#include <string.h>

#include "providers/siw/siw.h"

_Static_assert(sizeof(struct siw_sge) == sizeof(struct ibv_sge), "copied as it is");
_Static_assert(offsetof(struct siw_sge, lkey) == offsetof(struct ibv_sge, lkey), "");

int siw_recv_queue_map(struct siw_recv_queue *rq, struct ibv_context *ctx, const char *what,
		       uint64_t key, uint32_t count, uint32_t max_sge)
{
	int r = siw_ring_map(ctx, what, key, count, sizeof(struct siw_rqe), 0, &rq->ring);

	if (r < 0)
		return r;
	rq->slots = rq->ring.base;
	rq->mask = count - 1;
	rq->max_sge = min_of(max_sge, (uint32_t)SIW_MAX_SGE);
	return 0;
}

static inline enum kit_fault recv_build(struct siw_recv_queue *rq, const struct ibv_recv_wr *wr)
{
	struct siw_rqe *rqe = &rq->slots[rq->next & rq->mask];

	if (unlikely(siw_slot_taken(&rqe->flags)))
		return KIT_FAULT_FULL;
	if (unlikely(wr->num_sge < 0 || wr->num_sge > rq->max_sge))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	rqe->id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		memcpy(&rqe->sge[i], &wr->sg_list[i], sizeof(rqe->sge[i]));
	siw_slot_give(&rqe->flags, SIW_WQE_VALID);
	rq->next++;
	return KIT_FAULT_NONE;
}

/* Post the requests up to the first that is refused. */
static enum kit_fault recv_post(struct siw_recv_queue *rq, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr)
{
	enum kit_fault fault = KIT_FAULT_NONE;

	spinlock_lock(&rq->lock);
	for (; wr && !fault; wr = wr->next) {
		fault = recv_build(rq, wr);
		if (unlikely(fault))
			*bad_wr = wr;
	}
	spinlock_unlock(&rq->lock);
	return fault;
}

static uint32_t recv_limit(const struct siw_recv_queue *rq, enum kit_fault fault)
{
	return fault == KIT_FAULT_FULL ? rq->mask + 1 : (uint32_t)rq->max_sge;
}

/*
 * Accept an empty list and a NULL @bad_wr, here and in siw_post_srq_recv() and siw_post_send().
 * Other releases of this provider accept both, and programs rely on it.
 */
int siw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct siw_recv_queue *rq = &to_sqp(ibqp)->rq;
	enum kit_fault fault = KIT_FAULT_NO_QUEUE;
	struct ibv_recv_wr *ignored;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = wr;
	if (likely(rq->slots || !wr)) {
		*bad_wr = NULL;
		fault = recv_post(rq, wr, bad_wr);
	}
	if (likely(!fault))
		return 0;
	return kit_recv_refuse(ibqp, &rq->said, fault, (*bad_wr)->num_sge, recv_limit(rq, fault));
}

int siw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct siw_recv_queue *rq = &to_ssrq(ibsrq)->rq;
	struct ibv_recv_wr *ignored;
	enum kit_fault fault;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = NULL;
	fault = recv_post(rq, wr, bad_wr);
	if (likely(!fault))
		return 0;
	return kit_srq_refuse(ibsrq, &rq->said, fault, (*bad_wr)->num_sge, recv_limit(rq, fault));
}
