/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. The rings of queue pairs and of SRQs are the same. */
#include "providers/vmw_pvrdma/pvrdma.h"

/* Announce receives up to @index to the device. */
static inline void recv_end(struct pvrdma_rq *rq, uint32_t index)
{
	if (unlikely(index == rq->ring.index))
		return;
	rq->ring.index = index;
	barrier_to_device();
	/* release: the requests are visible before the tail */
	atomic_store_explicit(&rq->ring.words->tail, index, memory_order_release);
	barrier_to_device();
	mmio_write_32(rq->reg, rq->doorbell);
}

/* Post receives of any kind from @index on. Return: the first refused receive, or NULL. */
__attribute__((noinline)) static struct ibv_recv_wr *
recv_rest(struct pvrdma_rq *rq, struct ibv_recv_wr *wr, uint32_t index, uint32_t room)
{
	/* 0 in states that accept no receives. */
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1;

	for (; wr; wr = wr->next) {
		struct pvrdma_rq_wqe_hdr *wqe = pvrdma_ring_slot(&rq->ring, index);
		struct pvrdma_sge *sge = (struct pvrdma_sge *)(wqe + 1);

		if (unlikely((uint32_t)wr->num_sge >= sge_limit || !room ||
			     (wr->num_sge && !wr->sg_list)))
			break;
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = wr->num_sge;
		for (int i = 0; i < wr->num_sge; i++)
			pvrdma_sge_write(&sge[i], &wr->sg_list[i]);
		index = pvrdma_ring_next(&rq->ring, index);
		room--;
	}
	recv_end(rq, index);
	return wr;
}

/* Post receives of one entry, as most are, without a function call. */
static inline struct ibv_recv_wr *recv_post(struct pvrdma_rq *rq, struct ibv_recv_wr *wr)
{
	uint32_t index = rq->ring.index, mask = rq->ring.mask;
	uint32_t room = likely(rq->max_sge > 0) ? pvrdma_ring_room(&rq->ring) : 0;

	for (; wr; wr = wr->next) {
		struct pvrdma_rq_wqe_hdr *wqe;

		if (unlikely(wr->num_sge != 1) || unlikely(!room) || unlikely(!wr->sg_list)) {
			/* The first receive has no entry, and the queue allows none. */
			if (!rq->max_sge)
				room = pvrdma_ring_room(&rq->ring);
			return recv_rest(rq, wr, index, room);
		}
		wqe = pvrdma_ring_slot(&rq->ring, index);
		wqe->wr_id = wr->wr_id;
		wqe->num_sge = 1;
		pvrdma_sge_write((struct pvrdma_sge *)(wqe + 1), wr->sg_list);
		index = (index + 1) & mask;
		room--;
	}
	recv_end(rq, index);
	return NULL;
}

static struct kit_rq_limits limits_of(const struct pvrdma_rq *rq)
{
	return (struct kit_rq_limits){
		.none = !rq->ring.entries,
		.closed = rq->max_sge < 0,
		.max_post = rq->ring.entries,
		.max_sge = rq->max_sge,
	};
}

/* Log why a receive is refused and return the errno. */
__attribute__((noinline, cold)) static int recv_refuse(struct ibv_qp *qp, struct pvrdma_rq *rq,
						       const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = limits_of(rq);

	return kit_post_recv_refuse(qp, &rq->said, wr, &limits);
}

int pvrdma_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct pvrdma_rq *rq = &to_pqp(ibqp)->rq;

	spinlock_lock(&rq->lock);
	wr = recv_post(rq, wr);
	spinlock_unlock(&rq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return recv_refuse(ibqp, rq, wr);
}

__attribute__((noinline, cold)) static int srq_refuse(struct pvrdma_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = limits_of(&srq->rq);

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->rq.said, wr, &limits);
}

int pvrdma_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct pvrdma_srq *srq = to_psrq(ibsrq);

	spinlock_lock(&srq->rq.lock);
	wr = recv_post(&srq->rq, wr);
	spinlock_unlock(&srq->rq.lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}
