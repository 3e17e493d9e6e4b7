/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The format of completion queue entries. */
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

/* The opcode bits of the last byte of an entry, with the bits for data inside the entry. */
enum mlx5_kind {
	MLX5_KIND_SENT = MLX5_CQE_REQ << 4,
	MLX5_KIND_WRITE_IMM = MLX5_CQE_RESP_WR_IMM << 4,
	MLX5_KIND_SEND = MLX5_CQE_RESP_SEND << 4,
	MLX5_KIND_SEND_IMM = MLX5_CQE_RESP_SEND_IMM << 4,
	MLX5_KIND_SEND_INV = MLX5_CQE_RESP_SEND_INV << 4,
	MLX5_KIND_INLINE = MLX5_INLINE_SCATTER_32 | MLX5_INLINE_SCATTER_64,
	MLX5_KIND_MASK = 0xf0 | MLX5_KIND_INLINE,
};

/* Return whether an entry that is not MLX5_KIND_SENT is a successful receive without data in it. */
static inline bool mlx5_kind_is_received(unsigned int kind)
{
	return !(kind & MLX5_KIND_INLINE) && kind <= MLX5_KIND_SEND_INV;
}

enum {
	MLX5_CQE_APP_TAGS = 1, /* value of app: the entry is about tag matching */
};

static inline bool mlx5_cqe_is_responder(unsigned int opcode)
{
	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

#endif
