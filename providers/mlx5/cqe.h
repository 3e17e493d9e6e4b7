/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of a completion queue: whose they are, and what a completion changes. */
#ifndef MLX5_CQE_H
#define MLX5_CQE_H

#include "providers/mlx5/mlx5.h"

enum {
	MLX5_CQE_NONE = 0xf0, /* as op_own of an entry that is the adapter's */
};

static inline struct mlx5_cqe64 *mlx5_cqe_at(const struct mlx5_cq *cq, uint32_t n)
{
	return (struct mlx5_cqe64 *)(cq->first + (size_t)(n & cq->mask) * cq->stride);
}

/* The entry's op_own, read once, when the adapter has written it; else MLX5_CQE_NONE. */
static inline uint8_t mlx5_cqe_valid(const struct mlx5_cq *cq, const struct mlx5_cqe64 *cqe,
				     uint32_t n)
{
	uint8_t op_own = *(const volatile uint8_t *)&cqe->op_own;

	if (op_own >= MLX5_CQE_NONE || (op_own & MLX5_CQE_OWNER_MASK) != !!(n & (cq->mask + 1)))
		return MLX5_CQE_NONE;
	return op_own;
}

static inline bool mlx5_cqe_is_responder(unsigned int opcode)
{
	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

/* What the program has taken is the adapter's again. */
static inline void mlx5_cq_publish(struct mlx5_cq *cq)
{
	cq->record[0] = htobe32(cq->consumer & 0xffffff);
}

#endif
