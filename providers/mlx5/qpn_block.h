/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of queue pair numbers that the firmware reserves for the program. */
#ifndef MLX5_QPN_BLOCK_H
#define MLX5_QPN_BLOCK_H

#include "providers/mlx5/mlx5.h"

struct mlx5_qpn_block {
	LIST_ENTRY(mlx5_qpn_block) entry;
	struct mlx5dv_devx_obj *object;
	uint32_t first, count;
	uint32_t next; /* index of the next number to allocate */
	uint32_t out;  /* count of allocated numbers that the program has not returned */
	bool *taken;
};

/* Reserve a block, and make it the first of the list. The caller holds qpn_lock. NULL: the firmware
 * has refused; errno is set. */
struct mlx5_qpn_block *mlx5_qpn_block_new(struct mlx5_context *ctx);
/* The caller holds qpn_lock. */
void mlx5_qpn_block_free(struct mlx5_qpn_block *block);
/* Free all blocks when the context closes. */
void mlx5_qpn_blocks_free(struct mlx5_context *ctx);

#endif
