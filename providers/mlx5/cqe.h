/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of a completion queue: whose they are, and what a completion changes. */
#ifndef MLX5_CQE_H
#define MLX5_CQE_H

#include "providers/mlx5/mlx5.h"

enum {
	MLX5_CQE_NONE = 0xf0, /* as op_own of an entry that is the adapter's */
};

static const struct mlx_cqe_format mlx5_cqe_format = {
	.size = sizeof(struct mlx5_cqe64),
	.owner = MLX5_CQE_OWNER_MASK,
	.unwritten = MLX5_CQE_INVALID << 4,
	.opcode_mask = 0xf0,
	.resize = MLX5_CQE_RESIZE_CQ << 4,
};

/* The entry's op_own, when the adapter has written it; else MLX5_CQE_NONE. */
static inline uint8_t mlx5_cqe_valid(const struct mlx_cq *cq, const struct mlx5_cqe64 *cqe,
				     uint32_t n)
{
	int last = mlx_cqe_valid(cq, &mlx5_cqe_format, cqe, n);

	return last == MLX_CQE_NONE ? MLX5_CQE_NONE : last;
}

static inline bool mlx5_cqe_is_responder(unsigned int opcode)
{
	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

#endif
