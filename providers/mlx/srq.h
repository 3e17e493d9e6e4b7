/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues: srq.c. */
#ifndef PROVIDERS_MLX_SRQ_H
#define PROVIDERS_MLX_SRQ_H

#include "providers/mlx/wqe.h"

/*
 * Free requests form a list of slot numbers. The adapter follows the list in the ring. This library
 * follows its own copy, which the adapter cannot write.
 */
struct mlx_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t srqn;
	uint32_t mask;
	uint32_t shift;
	uint32_t max_sge;
	uint32_t head, tail; /* ends of the list of free requests; the last request is never used */
	uint16_t posted;
	uint32_t *next;
	uint64_t *wr_ids;
	char *ring;
	__be32 *record;
	struct kit_buf buf;
	struct dbrec_pool *records;
	atomic_uint said; /* as in mlx_rq */
};

static inline struct mlx_srq *to_msrq(struct ibv_srq *srq)
{
	return (struct mlx_srq *)srq;
}

/* Check the attributes. @types: bit n is set if the device supports type n of enum ibv_srq_type;
 * @max_wr, @max_sge: limits of the device */
int mlx_srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr, unsigned int types,
		  uint32_t max_wr, uint32_t max_sge);
/* Allocate the memory and put all requests into the free list. After a failure call mlx_srq_free(),
 * which accepts a half-built SRQ. */
int mlx_srq_make(struct mlx_srq *srq, struct dbrec_pool *records, const struct ibv_srq_attr *attr,
		 struct kit_memory memory);
void mlx_srq_free(struct mlx_srq *srq);
/* Operations that the providers put into their tables. */
int mlx_destroy_srq(struct verbs_srq *vsrq);
int mlx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* Append a request to the list of free requests. The caller holds the lock. */
static inline void mlx_srq_link(struct mlx_srq *srq, uint32_t index)
{
	struct mlx_srq_next_seg *last = (void *)(srq->ring + ((size_t)srq->tail << srq->shift));

	last->next_wqe_index = htobe16(index);
	srq->next[srq->tail] = index;
	srq->tail = index;
}

/* Free a completed request. Ignore an @index outside the ring. */
static inline void mlx_srq_done(struct mlx_srq *srq, uint32_t index)
{
	if (unlikely(index > srq->mask))
		return;
	spinlock_lock(&srq->lock);
	mlx_srq_link(srq, index);
	spinlock_unlock(&srq->lock);
}

/* The adapter has given up a request: post it once more, behind all others. Return: false if @index
 * cannot be a posted request. */
bool mlx_srq_again(struct mlx_srq *srq, uint32_t index);

#endif
