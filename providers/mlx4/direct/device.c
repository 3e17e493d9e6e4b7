/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detection of mlx4 devices, capabilities, settings of a context, and queue pairs with attributes
 * of this device. */
#include "providers/mlx4/direct/direct.h"

struct mlx4_context *mlx4dv_context(struct ibv_context *ctx, const char *function)
{
	if (verbs_device_is(ctx->device, "mlx4"))
		return to_mctx(ctx);
	verbs_err(ctx, "%s: this is no device of mlx4", function);
	errno = EOPNOTSUPP;
	return NULL;
}

MLX4DV_EXPORT int mlx4dv_query_device(struct ibv_context *ctx_in, struct mlx4dv_context *attrs_out)
{
	const struct mlx4_context *ctx = mlx4dv_context(ctx_in, __func__);

	if (!ctx)
		return EOPNOTSUPP;
	attrs_out->version = 0;
	attrs_out->max_inl_recv_sz = ctx->max_inl_recv;
	attrs_out->comp_mask = 0;
	return 0;
}

/* Set the range size for consecutive numbers of the next work queues, which a table requires. */
static int range_set(struct mlx4_context *ctx, const uint8_t *log_size)
{
	pthread_mutex_lock(&ctx->qp_lock);
	ctx->log_wq_range = *log_size;
	pthread_mutex_unlock(&ctx->qp_lock);
	return 0;
}

static int allocators_set(struct mlx4_context *ctx, const struct mlx4dv_ctx_allocators *from)
{
	if (!from->alloc != !from->free) {
		verbs_err(&ctx->vctx.context,
			  "mlx4dv_set_context_attr: alloc and free are given together, or neither");
		return EINVAL;
	}
	ctx->allocator = (struct kit_allocator){ from->alloc, from->free, from->data };
	return 0;
}

MLX4DV_EXPORT int mlx4dv_set_context_attr(struct ibv_context *context,
					  enum mlx4dv_set_ctx_attr_type attr_type, void *attr)
{
	struct mlx4_context *ctx = mlx4dv_context(context, __func__);

	if (!ctx)
		return EOPNOTSUPP;
	if (attr_type == MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS)
		return allocators_set(ctx, attr);
	if (attr_type == MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ)
		return range_set(ctx, attr);
	verbs_err(context, "%s: attribute %d is not supported", __func__, attr_type);
	return EOPNOTSUPP;
}

MLX4DV_EXPORT struct ibv_qp *mlx4dv_create_qp(struct ibv_context *context,
					      struct ibv_qp_init_attr_ex *attr,
					      struct mlx4dv_qp_init_attr *mlx4_qp_attr)
{
	const struct verbs_create_qp in = { .attr = attr, .extended = true, .dv = mlx4_qp_attr };
	struct ibv_qp *qp;
	int r;

	if (!mlx4dv_context(context, __func__))
		return NULL;
	r = verbs_qp_create(context, __func__, &in, &qp);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	if (mlx4_qp_attr)
		mlx4_qp_attr->inl_recv_sz =
			to_mqp(qp)->rq.max_post ? 1u << to_mqp(qp)->rq.shift : 0;
	return qp;
}
