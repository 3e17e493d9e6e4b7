/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of queue pair numbers that the firmware reserves for the program. */
#include "providers/mlx5/qpn_block.h"
#include "providers/mlx5/firmware/firmware.h"

enum {
	IN_SIZE = 0x20,
	OUT_SIZE = 0x10,
	LOG_MAX = 24,
};

struct mlx5_qpn_block *mlx5_qpn_block_new(struct mlx5_context *ctx)
{
	unsigned int log = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL_2, 0x20) >> 8 & 0x1f;
	uint32_t in[IN_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};
	struct mlx5_qpn_block *block;

	log = min_of(log, (unsigned int)LOG_MAX);
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->count = 1u << log;
	block->taken = calloc(block->count, sizeof(*block->taken));
	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_RESERVED_QPN);
	fw_set(in, 0xc, log << 24);
	if (block->taken)
		block->object = mlx5_fw_create(&ctx->vctx.context, "mlx5dv_reserved_qpn_alloc", in,
					       sizeof(in), out, sizeof(out));
	if (!block->object) {
		free(block->taken);
		free(block);
		return NULL;
	}
	block->first = block->object->object_id;
	LIST_INSERT_HEAD(&ctx->qpn_blocks, block, entry);
	return block;
}

void mlx5_qpn_block_free(struct mlx5_qpn_block *block)
{
	LIST_REMOVE(block, entry);
	mlx5_fw_destroy(block->object);
	free(block->taken);
	free(block);
}

void mlx5_qpn_blocks_free(struct mlx5_context *ctx)
{
	while (!LIST_EMPTY(&ctx->qpn_blocks))
		mlx5_qpn_block_free(LIST_FIRST(&ctx->qpn_blocks));
	pthread_mutex_destroy(&ctx->qpn_lock);
}
