/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pair numbers that the program assigns itself. The firmware reserves them in blocks. This
 * library allocates the numbers of the newest block in order, and frees a used-up block when all
 * its numbers are returned.
 */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/qpn_block.h"

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
		block = mlx5_qpn_block_new(ctx);
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
			mlx5_qpn_block_free(block);
		r = 0;
	}
	pthread_mutex_unlock(&ctx->qpn_lock);
	if (r < 0)
		verbs_err(ibctx, "%s: 0x%x is not one that was reserved", __func__, qpn);
	return mlx5dv_errno(r);
}
