/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, to a QP's own ring or to an SRQ's. A record in memory is all the doorbell there
 * is. */
#include "providers/mlx4/mlx4.h"

static inline void segment_write(struct mlx4_wqe_data_seg *seg, uint32_t length, uint32_t lkey,
				 uint64_t addr)
{
	seg->byte_count = htobe32(length);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/* The list ends where the slot does, or at this. */
static inline void segment_end(struct mlx4_wqe_data_seg *seg)
{
	segment_write(seg, 0, MLX4_INVALID_LKEY, 0);
}

static inline void rq_build(struct mlx4_rq *rq, uint32_t slot, const struct ibv_recv_wr *wr)
{
	struct mlx4_wqe_data_seg *seg = (void *)(rq->ring + ((size_t)slot << rq->shift));
	const struct mlx4_wqe_data_seg *end = seg + rq->wqe_sge;
	const struct ibv_sge *sge = wr->sg_list, *last = sge + wr->num_sge;

	for (; sge < last; sge++)
		segment_write(seg++, sge->length, sge->lkey, sge->addr);
	if (seg < end)
		segment_end(seg);
	rq->wr_ids[slot] = wr->wr_id;
}

/* The errno of a refused receive. */
__attribute__((noinline, cold)) static int recv_refuse(struct ibv_qp *qp, struct mlx4_rq *rq,
						       const struct ibv_recv_wr *wr)
{
	enum kit_fault fault = KIT_FAULT_FULL;
	uint64_t value = 0;
	uint32_t limit = rq->max_post;

	if (!rq->max_post) {
		fault = KIT_FAULT_NO_QUEUE;
	} else if (rq->max_sge < 0) {
		fault = KIT_FAULT_STATE;
	} else if (wr->num_sge > rq->max_sge || wr->num_sge < 0) {
		fault = KIT_FAULT_NUM_SGE;
		value = (uint32_t)wr->num_sge;
		limit = rq->max_sge;
	} else if (wr->num_sge && !wr->sg_list) {
		fault = KIT_FAULT_SG_LIST;
	}
	return kit_recv_refuse(qp, &rq->said, fault, value, limit);
}

/* With the lock held; gives it back. */
__attribute__((always_inline)) static inline int
recv_locked(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_rq *rq = &to_mqp(ibqp)->rq;
	uint32_t head, room, sge_limit;

	head = rq->head;
	/* 0 in states in which nothing is taken. */
	sge_limit = (uint32_t)rq->max_sge + 1;
	/* acquire: pairs with the release of who polls, who has read the slots */
	room = rq->max_post - (head - atomic_load_explicit(&rq->tail, memory_order_acquire));
	/* A tail that the adapter's words drove past the head leaves none. */
	if (unlikely(room > rq->max_post))
		room = 0;
	for (; wr; wr = wr->next) {
		if (unlikely((uint32_t)wr->num_sge >= sge_limit || !room ||
			     (wr->num_sge && !wr->sg_list))) {
			*bad_wr = wr;
			break;
		}
		rq_build(rq, head & rq->mask, wr);
		head++;
		room--;
	}
	if (head != rq->head) {
		rq->head = head;
		barrier_to_device();
		*rq->record = htobe32(head & 0xffff);
	}
	spinlock_unlock(&rq->lock);
	return likely(!wr) ? 0 : recv_refuse(ibqp, rq, wr);
}

__attribute__((noinline, cold)) static int
recv_contended(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	spinlock_wait(&to_mqp(ibqp)->rq.lock);
	return recv_locked(ibqp, wr, bad_wr);
}

/* In the common case it calls nobody. */
int mlx4_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	if (unlikely(!spinlock_try(&to_mqp(ibqp)->rq.lock)))
		return recv_contended(ibqp, wr, bad_wr);
	return recv_locked(ibqp, wr, bad_wr);
}

static inline void srq_build(struct mlx4_srq *srq, uint32_t slot, const struct ibv_recv_wr *wr)
{
	char *wqe = srq->ring + ((size_t)slot << srq->shift);
	struct mlx4_wqe_data_seg *seg = (void *)(wqe + sizeof(struct mlx4_wqe_srq_next_seg));
	uint32_t n = wr->num_sge;

	for (uint32_t i = 0; i < n; i++)
		segment_write(&seg[i], wr->sg_list[i].length, wr->sg_list[i].lkey,
			      wr->sg_list[i].addr);
	if (n < srq->max_sge)
		segment_end(&seg[n]);
	srq->wr_ids[slot] = wr->wr_id;
}

__attribute__((noinline, cold)) static int srq_refuse(struct mlx4_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	enum kit_fault fault = KIT_FAULT_FULL;
	uint32_t limit = srq->mask;

	if ((uint32_t)wr->num_sge > srq->max_sge) {
		fault = KIT_FAULT_NUM_SGE;
		limit = srq->max_sge;
	} else if (wr->num_sge && !wr->sg_list) {
		fault = KIT_FAULT_SG_LIST;
	}
	return kit_srq_refuse(&srq->vsrq.srq, &srq->said, fault, (uint32_t)wr->num_sge, limit);
}

int mlx4_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_srq *srq = to_msrq(ibsrq);
	uint16_t posted;

	spinlock_lock(&srq->lock);
	posted = srq->posted;
	for (; wr; wr = wr->next) {
		if (unlikely((uint32_t)wr->num_sge > srq->max_sge || srq->head == srq->tail ||
			     (wr->num_sge && !wr->sg_list))) {
			*bad_wr = wr;
			break;
		}
		srq_build(srq, srq->head, wr);
		srq->head = srq->next[srq->head];
		posted++;
	}
	if (posted != srq->posted) {
		srq->posted = posted;
		barrier_to_device();
		*srq->record = htobe32(posted);
	}
	spinlock_unlock(&srq->lock);
	return likely(!wr) ? 0 : srq_refuse(srq, wr);
}
