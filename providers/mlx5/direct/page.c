/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages of device registers and numbers of device tables for the exclusive use of a program. */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/vfio.h"

/* ---- doorbells */

/* @bfreg, @doorbell: the register that is given back; both are NULL for a page of the context */
struct devx_uar {
	struct mlx5dv_devx_uar dv;
	struct ibv_context *context;
	struct mlx5_bfreg *bfreg, *doorbell;
};

static void uar_fill(struct devx_uar *uar, char *reg, uint32_t page_id, uint64_t mmap_offset)
{
	uar->dv.base_addr = reg - (uintptr_t)reg % MLX5_UAR_SIZE;
	uar->dv.reg_addr = reg;
	uar->dv.page_id = page_id;
	uar->dv.mmap_off = mmap_offset;
}

/* Use the page of the context, which otherwise serves only completion queues. */
static int uar_share(struct devx_uar *uar)
{
	struct mlx5_context *ctx = to_mctx(uar->context);

	if (ctx->cq_uar_page_id < 0) {
		verbs_err(&ctx->vctx.context,
			  "mlx5dv_devx_alloc_uar: the kernel has no uncached page of doorbells");
		return -EOPNOTSUPP;
	}
	uar_fill(uar, ctx->cq_uar + MLX5_BFREG_FIRST, ctx->cq_uar_page_id, ctx->cq_uar_offset);
	return 0;
}

static int uar_uncached(struct devx_uar *uar)
{
	struct mlx5_context *ctx = to_mctx(uar->context);

	if (ctx->bfregs) {
		verbs_err(uar->context,
			  "mlx5dv_devx_alloc_uar: the kernel has no uncached page of doorbells");
		return -EOPNOTSUPP;
	}
	uar->doorbell = mlx5_doorbell_get(ctx);
	if (!uar->doorbell)
		return -errno;
	uar_fill(uar, uar->doorbell->reg, uar->doorbell->index, uar->doorbell->mmap_offset);
	return 0;
}

/* Ask for the firmware's number of the page that holds the register. */
static int page_id_ask(const struct mlx5_bfreg *bfreg, struct ibv_context *ctx,
		       uint32_t *ret_page_id)
{
	const struct uverbs_attr a[] = {
		uverbs_u32(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, bfreg->index),
		uverbs_out(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, ret_page_id, sizeof(*ret_page_id)),
	};
	int r;

	*ret_page_id = bfreg->index;
	if (!bfreg->legacy)
		return 0;
	r = uverbs_ioctl(ctx, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, a, ARRAY_SIZE(a),
			 NULL);
	if (r < 0)
		verbs_err(ctx,
			  "mlx5dv_devx_alloc_uar: the kernel has no page number of register %u: %s",
			  bfreg->index, strerror(-r));
	return r;
}

static int uar_blueflame(struct devx_uar *uar)
{
	struct mlx5_context *ctx = to_mctx(uar->context);
	struct mlx5_bfreg *bfreg = mlx5_bfreg_get_alone(ctx);
	uint32_t page_id;
	int r;

	if (!bfreg)
		return -errno;
	r = page_id_ask(bfreg, uar->context, &page_id);
	if (r < 0) {
		mlx5_bfreg_put_alone(ctx, bfreg);
		return r;
	}
	uar->bfreg = bfreg;
	uar_fill(uar, bfreg->reg, page_id, bfreg->mmap_offset);
	return 0;
}

static int uar_of_vfio(struct devx_uar *uar, uint32_t flags)
{
	uint32_t page_id;
	char *reg;
	int r = mlx5_vfio_uar(uar->context, flags, &reg, &page_id);

	if (!r)
		uar_fill(uar, reg, page_id, 0);
	return r;
}

static int uar_make(struct devx_uar *uar, uint32_t flags)
{
	if (mlx5_vfio_is(uar->context))
		return uar_of_vfio(uar, flags);
	if (flags & MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED)
		return uar_uncached(uar);
	return flags & MLX5DV_UAR_ALLOC_TYPE_NC ? uar_share(uar) : uar_blueflame(uar);
}

MLX5DV_EXPORT struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *ibctx,
							    uint32_t flags)
{
	const uint32_t known = MLX5DV_UAR_ALLOC_TYPE_NC | MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED;
	struct devx_uar *uar;
	int r;

	if (!mlx5dv_has_firmware(ibctx, __func__))
		return NULL;
	if (flags & ~known) {
		verbs_err(ibctx, "%s: flags 0x%x (0x%x are possible)", __func__, flags, known);
		return mlx5dv_fail(-EOPNOTSUPP);
	}
	uar = calloc(1, sizeof(*uar));
	if (!uar)
		return mlx5dv_fail(-ENOMEM);
	uar->context = ibctx;
	r = uar_make(uar, flags);
	if (r < 0) {
		free(uar);
		return mlx5dv_fail(r);
	}
	return &uar->dv;
}

MLX5DV_EXPORT void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *dv)
{
	struct devx_uar *uar = (struct devx_uar *)dv;

	if (uar->doorbell)
		mlx5_doorbell_put(to_mctx(uar->context), uar->doorbell);
	if (uar->bfreg)
		mlx5_bfreg_put_alone(to_mctx(uar->context), uar->bfreg);
	free(uar);
}

MLX5DV_EXPORT int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *dv)
{
	struct devx_uar *uar = (struct devx_uar *)dv;
	int fd = mlx5_vfio_is(uar->context) ? -EOPNOTSUPP
					    : uverbs_export_dmabuf(uar->context, dv->mmap_off);

	if (fd < 0) {
		verbs_err(uar->context, "%s: page 0x%x: %s", __func__, dv->page_id, strerror(-fd));
		errno = -fd;
		return -1;
	}
	return fd;
}

/* ---- doorbells of emulated devices */

MLX5DV_EXPORT struct mlx5dv_var *mlx5dv_alloc_var(struct ibv_context *ibctx, uint32_t flags)
{
	struct mlx5_var *var;
	uint64_t offset = 0;
	int r;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	if (flags & ~MLX5DV_VAR_ALLOC_FLAG_TLP) {
		verbs_err(ibctx, "%s: flags 0x%x (0x%x is possible)", __func__, flags,
			  MLX5DV_VAR_ALLOC_FLAG_TLP);
		return mlx5dv_fail(-EOPNOTSUPP);
	}
	var = calloc(1, sizeof(*var));
	if (!var)
		return mlx5dv_fail(-ENOMEM);
	{
		const struct uverbs_attr a[] = {
			uverbs_new_idr(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, &var->handle),
			uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset)),
			uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &var->dv.length,
				   sizeof(var->dv.length)),
			uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &var->dv.page_id,
				   sizeof(var->dv.page_id)),
			uverbs_when(flags, uverbs_u32(MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS, flags)),
		};

		r = uverbs_ioctl(ibctx, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, a,
				 ARRAY_SIZE(a), NULL);
	}
	if (r < 0) {
		verbs_err(ibctx, "%s: %s", __func__, strerror(-r));
		free(var);
		return mlx5dv_fail(r);
	}
	var->context = ibctx;
	var->dv.mmap_off = offset;
	return &var->dv;
}

MLX5DV_EXPORT void mlx5dv_free_var(struct mlx5dv_var *dv)
{
	struct mlx5_var *var = (struct mlx5_var *)dv;
	const struct uverbs_attr a[] = { uverbs_idr(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE,
						    var->handle) };
	int r = uverbs_ioctl(var->context, MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		verbs_err(var->context, "%s: page 0x%x: %s", __func__, dv->page_id, strerror(-r));
	free(var);
}

/* ---- entries of the table of rates */

struct pp {
	struct mlx5dv_pp dv;
	struct ibv_context *context;
	uint32_t handle;
};

static int pp_make(struct pp *pp, size_t size, const void *context, uint32_t flags)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, &pp->handle),
		uverbs_in(MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, context, size),
		uverbs_u32(MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, flags),
		uverbs_out(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &pp->dv.index, sizeof(pp->dv.index)),
	};

	return uverbs_ioctl(pp->context, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, a,
			    ARRAY_SIZE(a), NULL);
}

MLX5DV_EXPORT struct mlx5dv_pp *mlx5dv_pp_alloc(struct ibv_context *ibctx, size_t pp_context_sz,
						const void *pp_context, uint32_t flags)
{
	struct pp *pp;
	int r;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	if (flags & ~MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX || pp_context_sz > UINT16_MAX) {
		verbs_err(ibctx, "%s: flags 0x%x (0x%x is possible), %zu bytes", __func__, flags,
			  MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX, pp_context_sz);
		return mlx5dv_fail(pp_context_sz > UINT16_MAX ? -EINVAL : -EOPNOTSUPP);
	}
	pp = calloc(1, sizeof(*pp));
	if (!pp)
		return mlx5dv_fail(-ENOMEM);
	pp->context = ibctx;
	r = pp_make(pp, pp_context_sz, pp_context, flags);
	if (r < 0) {
		verbs_err(ibctx, "%s: %s", __func__, strerror(-r));
		free(pp);
		return mlx5dv_fail(r);
	}
	return &pp->dv;
}

MLX5DV_EXPORT void mlx5dv_pp_free(struct mlx5dv_pp *dv)
{
	struct pp *pp = (struct pp *)dv;
	const struct uverbs_attr a[] = { uverbs_idr(MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE,
						    pp->handle) };
	int r = uverbs_ioctl(pp->context, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		verbs_err(pp->context, "%s: rate %u: %s", __func__, dv->index, strerror(-r));
	free(pp);
}

/* ---- event queues */

MLX5DV_EXPORT int mlx5dv_devx_query_eqn(struct ibv_context *ibctx, uint32_t vector, uint32_t *eqn)
{
	const struct uverbs_attr a[] = {
		uverbs_u32(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, vector),
		uverbs_out(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, eqn, sizeof(*eqn)),
	};
	int r;

	if (mlx5_vfio_is(ibctx))
		return mlx5dv_errno(mlx5_vfio_eqn(ibctx, vector, eqn));
	if (!mlx5dv_context(ibctx, __func__))
		return EOPNOTSUPP;
	r = uverbs_ioctl(ibctx, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, a,
			 ARRAY_SIZE(a), NULL);
	if (r < 0)
		verbs_err(ibctx, "%s: vector %u: %s", __func__, vector, strerror(-r));
	return mlx5dv_errno(r);
}
