/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of receives, and what a state permits: recv.c, qp.c. */
#ifndef PROVIDERS_MLX_RECV_H
#define PROVIDERS_MLX_RECV_H

#include "providers/mlx/wqe.h"

struct mlx_rq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no receives */
	uint32_t mask;
	uint32_t shift;
	uint32_t max_post;
	uint32_t head;
	uint32_t wqe_sge; /* data segments of a slot */
	char *ring;
	uint64_t *wr_ids;
	__be32 *record; /* doorbell record; first word: number of posted receives */
	atomic_uint tail;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* Log why a receive is refused and return the errno. */
__attribute__((cold)) int mlx_recv_refuse(struct ibv_qp *qp, struct mlx_rq *rq,
					  const struct ibv_recv_wr *wr);

static inline void mlx_segment_write(struct mlx_data_seg *seg, uint32_t length, uint32_t lkey,
				     uint64_t addr)
{
	seg->byte_count = htobe32(length);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/* Write the segment that ends a list which does not fill its slot. */
static inline void mlx_segment_end(struct mlx_data_seg *seg)
{
	mlx_segment_write(seg, 0, MLX_INVALID_LKEY, 0);
}

static inline void mlx_rq_build(struct mlx_rq *rq, bool empty, uint32_t slot,
				const struct ibv_recv_wr *wr)
{
	struct mlx_data_seg *seg = (void *)(rq->ring + ((size_t)slot << rq->shift));
	const struct mlx_data_seg *end = seg + rq->wqe_sge;
	const struct ibv_sge *sge = wr->sg_list, *last = sge + wr->num_sge;

	for (; sge < last; sge++)
		if (empty || likely(sge->length))
			mlx_segment_write_sge(seg++, sge);
	if (seg < end)
		mlx_segment_end(seg);
	rq->wr_ids[slot] = wr->wr_id;
}

/* Report requests up to @head to the adapter and release the lock. */
MLX_FLAT int mlx_recv_end(struct mlx_rq *rq, uint32_t head)
{
	if (likely(head != rq->head)) {
		rq->head = head;
		barrier_to_device();
		rq->record[0] = htobe32(head & 0xffff);
	}
	spinlock_unlock(&rq->lock);
	return 0;
}

/*
 * Post receives of any kind from @head on. The caller holds the lock of the ring, and this function
 * releases it. @empty: also write entries of length 0 into the ring
 */
MLX_FLAT int mlx_recv_rest(struct ibv_qp *qp, struct mlx_rq *rq, bool empty, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad_wr, uint32_t head)
{
	/* 0 in states that accept no receives. */
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1;
	uint32_t end = head + mlx_room(head, &rq->tail, rq->max_post);

	for (; wr; wr = wr->next) {
		if (unlikely((uint32_t)wr->num_sge >= sge_limit || head == end ||
			     (wr->num_sge && !wr->sg_list))) {
			*bad_wr = wr;
			break;
		}
		mlx_rq_build(rq, empty, head & rq->mask, wr);
		head++;
	}
	mlx_recv_end(rq, head);
	return likely(!wr) ? 0 : mlx_recv_refuse(qp, rq, wr);
}

/* The out-of-line instance of mlx_recv_rest() of a provider. */
typedef int mlx_recv_others(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			    uint32_t head);

/*
 * Post receives that have one entry, without a function call. @others posts the rest from the first
 * receive that differs. The caller holds the lock of the ring, and this function releases it.
 */
MLX_FLAT int mlx_recv_locked(struct ibv_qp *qp, struct mlx_rq *rq, bool empty,
			     struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			     mlx_recv_others *others)
{
	bool open_end = rq->wqe_sge > 1;
	uint32_t head = rq->head, end = head;

	if (likely(rq->max_sge > 0))
		end += mlx_room(head, &rq->tail, rq->max_post);
	for (; wr; wr = wr->next) {
		uint32_t slot = head & rq->mask;
		struct mlx_data_seg *seg = (void *)(rq->ring + ((size_t)slot << rq->shift));

		if (unlikely(wr->num_sge != 1))
			return others(qp, wr, bad_wr, head);
		if (unlikely(head == end))
			return others(qp, wr, bad_wr, head);
		if (unlikely(!wr->sg_list))
			return others(qp, wr, bad_wr, head);
		if (!empty && unlikely(!wr->sg_list->length))
			return others(qp, wr, bad_wr, head);
		mlx_segment_write_sge(seg, wr->sg_list);
		if (open_end)
			mlx_segment_end(seg + 1);
		rq->wr_ids[slot] = wr->wr_id;
		head++;
	}
	return mlx_recv_end(rq, head);
}

/* ---- queue pairs: qp.c */

/* Set the limits of posting that belong to the new state: *sq_max_sge of the send queue, and
 * max_sge of @rq. */
void mlx_post_limits_set(struct verbs_qp *vqp, enum ibv_qp_state state, int *sq_max_sge,
			 struct mlx_rq *rq);
/* Check whether a type 1 window can be bound to @info. Return: 0 or a positive errno. */
MLX_FLAT int mlx_bind_check(struct ibv_qp *qp, const struct ibv_mw *mw,
			    const struct ibv_mw_bind_info *info)
{
	if (info->mr && to_vmr(info->mr)->access & IBV_ACCESS_ZERO_BASED) {
		verbs_err(qp->context, "mw 0x%x: ibv_bind_mw: mr 0x%x is zero-based", mw->rkey,
			  info->mr->rkey);
		return EINVAL;
	}
	return 0;
}

#endif
