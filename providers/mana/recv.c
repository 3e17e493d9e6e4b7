/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. A doorbell announces at most 255 of them. */
#include "providers/mana/rc.h"

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct mana_rc *qp,
						       const struct ibv_recv_wr *wr)
{
	enum kit_fault fault = KIT_FAULT_FULL;
	uint64_t value = atomic_load_explicit(&qp->state, memory_order_relaxed);
	uint32_t limit = qp->rq.max_post;

	if (!limit) {
		fault = KIT_FAULT_NO_QUEUE;
	} else if (qp->rq.max_sge < 0) {
		fault = KIT_FAULT_STATE;
	} else if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge) {
		fault = KIT_FAULT_NUM_SGE;
		value = (uint32_t)wr->num_sge;
		limit = qp->rq.max_sge;
	} else if (wr->num_sge && !wr->sg_list) {
		fault = KIT_FAULT_SG_LIST;
	}
	return kit_recv_refuse(&qp->vqp.qp, &qp->rq.said, fault, value, limit);
}

static int raw_refuse(struct ibv_qp *qp)
{
	verbs_err(qp->context, "qp 0x%x: ibv_post_recv: the program writes receives by itself",
		  qp->qp_num);
	return EOPNOTSUPP;
}

static inline void one_post(struct mana_rq *rq, uint32_t posted, const struct ibv_recv_wr *wr)
{
	uint32_t units = mana_recv_write(&rq->ring, wr->sg_list, wr->num_sge, 0);

	rq->received[posted & rq->mask] = (struct mana_received){ wr->wr_id, rq->ring.head };
	/* release: a poll that finds the number also finds the receive */
	atomic_store_explicit(&rq->posted, posted + 1, memory_order_release);
	mana_recv_head_write(&rq->ring, wr->num_sge, 0);
	mana_ring_move(&rq->ring, units);
}

int mana_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mana_rc *qp = to_mrc(ibqp);
	struct mana_rq *rq = &qp->rq;
	uint32_t posted, room, sge_limit, count = 0;

	if (unlikely(ibqp->qp_type != IBV_QPT_RC)) {
		*bad_wr = wr;
		return raw_refuse(ibqp);
	}
	spinlock_lock(&rq->lock);
	sge_limit = (uint32_t)rq->max_sge + 1; /* 0 in states that accept no receives */
	posted = atomic_load_explicit(&rq->posted, memory_order_relaxed);
	/* acquire: pairs with the release of the poll that freed the place */
	room = rq->max_post - (posted - atomic_load_explicit(&rq->completed, memory_order_acquire));
	for (; wr; wr = wr->next, room--) {
		if (unlikely(!room) || unlikely((uint32_t)wr->num_sge >= sge_limit) ||
		    unlikely(wr->num_sge && !wr->sg_list))
			break;
		one_post(rq, posted++, wr);
		if (unlikely(++count == DB_COUNT_MAX)) {
			mana_announce(qp->doorbells, DB_RECV, &rq->ring, count);
			count = 0;
		}
	}
	if (likely(count))
		mana_announce(qp->doorbells, DB_RECV, &rq->ring, count);
	spinlock_unlock(&rq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(qp, wr);
}
