/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Contexts of functions that this process owns, and their operations of verbs. */
#include "providers/mlx5/pd.h"
#include "providers/mlx5/vfio/function.h"

bool mlx5_vfio_is(const struct ibv_context *ctx)
{
	return ((const struct verbs_device *)ctx->device)->provider == &vfio_provider;
}

struct vfio_context *vfio_of(struct ibv_context *ctx, const char *function)
{
	if (mlx5_vfio_is(ctx))
		return to_vfio(ctx);
	verbs_err(ctx, "%s: the device was not opened by mlx5dv_get_vfio_device_list()", function);
	errno = EOPNOTSUPP;
	return NULL;
}

static void context_init(struct vfio_context *v)
{
	pthread_mutex_t *const locks[] = { &v->vector_lock, &v->iova_lock, &v->pool_lock,
					   &v->command_lock, &v->event_lock };

	for (unsigned int i = 0; i < ARRAY_SIZE(locks); i++)
		pthread_mutex_init(locks[i], NULL);
	v->container = v->group = v->fd = v->done_fd = -1;
	LIST_INIT(&v->free);
	LIST_INIT(&v->blocks);
}

/* Accepts a context that was opened in part. */
static void context_close(struct verbs_context *vctx)
{
	struct vfio_context *v = (struct vfio_context *)vctx;

	vfio_events_close(v);
	vfio_function_stop(v);
	vfio_commands_close(v);
	vfio_pool_close(v);
	vfio_iova_close(v);
	vfio_bus_close(v);
	free(v->page_requests.given);
}

static int context_open(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct vfio_context *v = (struct vfio_context *)vctx;
	int r;

	context_init(v);
	r = vfio_bus_open(v);
	if (!r)
		r = vfio_iova_open(v);
	if (!r)
		r = vfio_pool_open(v);
	if (!r)
		r = vfio_commands_open(v);
	if (!r)
		r = vfio_bus_enable(v);
	if (!r)
		r = vfio_function_start(v);
	if (!r)
		r = vfio_events_open(v);
	if (r < 0)
		context_close(vctx);
	else
		vctx->context.num_comp_vectors = v->vector_count;
	return r;
}

static const struct verbs_ops vfio_ops = {
	.open_context = context_open,
	.close_context = context_close,
	.alloc_pd = vfio_alloc_pd,
	.dealloc_pd = vfio_dealloc_pd,
	.reg_mr = vfio_reg_mr,
	.dereg_mr = vfio_dereg_mr,
};

const struct verbs_provider vfio_provider = {
	.size = sizeof(vfio_provider),
	.name = "mlx5_vfio",
	.driver_id = RDMA_DRIVER_MLX5,
	.sizes = {
		.context = sizeof(struct vfio_context),
		.pd = sizeof(struct mlx5_pd),
		.mr = sizeof(struct vfio_mr),
	},
	.ops = &vfio_ops,
};
