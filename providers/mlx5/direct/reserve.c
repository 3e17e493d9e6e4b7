/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pair numbers that the program assigns itself. The firmware reserves them in blocks. This
 * library allocates the numbers of the newest block in order, and frees a used-up block when all
 * its numbers are returned.
 */
#include "providers/mlx5/direct/direct.h"

enum {
	IN_SIZE = 0x20,
	OUT_SIZE = 0x10,
	LOG_MAX = 24,
};

struct mlx5_qpn_block {
	LIST_ENTRY(mlx5_qpn_block) entry;
	struct mlx5dv_devx_obj *object;
	uint32_t first, count;
	uint32_t next; /* index of the next number to allocate */
	uint32_t out;  /* number of allocated numbers that are not returned */
	bool *taken;
};

static struct mlx5_qpn_block *block_new(struct mlx5_context *ctx)
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

static void block_free(struct mlx5_qpn_block *block)
{
	LIST_REMOVE(block, entry);
	mlx5_fw_destroy(block->object);
	free(block->taken);
	free(block);
}

MLX5DV_EXPORT int mlx5dv_reserved_qpn_alloc(struct ibv_context *ibctx, uint32_t *qpn)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct mlx5_qpn_block *block;
	int r = 0;

	if (!ctx)
		return EOPNOTSUPP;
	if (!mlx5_fw_has_object(ctx, MLX5_FW_OBJ_RESERVED_QPN)) {
		verbs_err(ibctx, "%s: the firmware reserves none", __func__);
		return mlx5dv_errno(-EOPNOTSUPP);
	}
	pthread_mutex_lock(&ctx->qpn_lock);
	block = LIST_FIRST(&ctx->qpn_blocks);
	errno = ENOMEM;
	if (!block || block->next == block->count)
		block = block_new(ctx);
	if (block) {
		block->taken[block->next] = true;
		block->out++;
		*qpn = block->first + block->next++;
	} else {
		r = errno;
	}
	pthread_mutex_unlock(&ctx->qpn_lock);
	return r;
}

MLX5DV_EXPORT int mlx5dv_reserved_qpn_dealloc(struct ibv_context *ibctx, uint32_t qpn)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct mlx5_qpn_block *block;
	int r = -EINVAL;

	if (!ctx)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ctx->qpn_lock);
	LIST_FOREACH(block, &ctx->qpn_blocks, entry)
		if (qpn - block->first < block->count)
			break;
	if (block && block->taken[qpn - block->first]) {
		block->taken[qpn - block->first] = false;
		if (!--block->out && block->next == block->count)
			block_free(block);
		r = 0;
	}
	pthread_mutex_unlock(&ctx->qpn_lock);
	if (r < 0)
		verbs_err(ibctx, "%s: 0x%x is not one that was reserved", __func__, qpn);
	return mlx5dv_errno(r);
}

void mlx5_qpn_blocks_free(struct mlx5_context *ctx)
{
	while (!LIST_EMPTY(&ctx->qpn_blocks))
		block_free(LIST_FIRST(&ctx->qpn_blocks));
	pthread_mutex_destroy(&ctx->qpn_lock);
}
