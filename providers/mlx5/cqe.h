/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entries of a completion queue: whose they are, and what a completion changes. */
#ifndef MLX5_CQE_H
#define MLX5_CQE_H

#include "providers/mlx5/mlx5.h"

static const struct mlx_cqe_format mlx5_cqe_format = {
	.size = sizeof(struct mlx5_cqe64),
	.owner = MLX5_CQE_OWNER_MASK,
	.unwritten = MLX5_CQE_INVALID << 4,
	.opcode_mask = 0xf0,
	.resize = MLX5_CQE_RESIZE_CQ << 4,
};

static inline bool mlx5_cqe_is_responder(unsigned int opcode)
{
	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

#endif
