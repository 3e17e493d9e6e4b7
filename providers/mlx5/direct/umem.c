/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the program that the firmware's objects use. */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/vfio.h"

/* Bit mask of all page sizes that a device may have. */
#define PAGE_SIZES_ALL (~0ull << 12)

static int umem_make(struct mlx5_umem *umem, const struct mlx5dv_devx_umem_in *in)
{
	bool dmabuf = in->comp_mask & MLX5DV_UMEM_MASK_DMABUF;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, &umem->handle),
		uverbs_u64(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, (uintptr_t)in->addr),
		uverbs_u64(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, in->size),
		uverbs_u32(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, in->access),
		uverbs_out(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->dv.umem_id,
			   sizeof(umem->dv.umem_id)),
		/* Kernels that do not know the attribute choose the page size. */
		uverbs_when(in->pgsz_bitmap,
			    uverbs_optional(uverbs_u64(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP,
						       in->pgsz_bitmap))),
		uverbs_when(dmabuf, uverbs_fd(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, in->dmabuf_fd)),
	};

	if (mlx5_vfio_is(umem->context))
		return mlx5_vfio_umem_make(umem, in);
	return uverbs_ioctl(umem->context, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG,
			    a, ARRAY_SIZE(a), NULL);
}

static int umem_check(struct ibv_context *ctx, const char *function,
		      const struct mlx5dv_devx_umem_in *in)
{
	if (!comp_mask_ok(in->comp_mask, MLX5DV_UMEM_MASK_DMABUF)) {
		verbs_err(ctx, "%s: comp_mask 0x%llx (0x%x is possible)", function,
			  (unsigned long long)in->comp_mask, MLX5DV_UMEM_MASK_DMABUF);
		return -EOPNOTSUPP;
	}
	if (in->comp_mask & MLX5DV_UMEM_MASK_DMABUF && in->dmabuf_fd < 0) {
		verbs_err(ctx, "%s: dmabuf_fd %d is no descriptor", function, in->dmabuf_fd);
		return -EBADF;
	}
	return 0;
}

/* Register the memory and keep it out of child processes. */
static int umem_protect_and_make(struct mlx5_umem *umem, const struct mlx5dv_devx_umem_in *in)
{
	bool dmabuf = in->comp_mask & MLX5DV_UMEM_MASK_DMABUF;
	int r;

	if (dmabuf)
		return umem_make(umem, in);
	if (verbs_dontfork_range(in->addr, in->size))
		return -errno;
	umem->addr = in->addr;
	umem->size = in->size;
	r = umem_make(umem, in);
	if (r < 0)
		verbs_dofork_range(in->addr, in->size);
	return r;
}

static struct mlx5dv_devx_umem *umem_reg(struct ibv_context *ctx, const char *function,
					 const struct mlx5dv_devx_umem_in *in)
{
	struct mlx5_umem *umem;
	int r;

	if (!mlx5dv_has_firmware(ctx, function))
		return NULL;
	r = umem_check(ctx, function, in);
	umem = r < 0 ? NULL : calloc(1, sizeof(*umem));
	if (!umem)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	umem->context = ctx;
	r = umem_protect_and_make(umem, in);
	if (r < 0) {
		verbs_err(ctx, "%s: %zu bytes at %p: %s", function, in->size, in->addr,
			  strerror(-r));
		free(umem);
		return mlx5dv_fail(r);
	}
	return &umem->dv;
}

MLX5DV_EXPORT struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ctx, void *addr,
							    size_t size, uint32_t access)
{
	const struct mlx5dv_devx_umem_in in = {
		.addr = addr,
		.size = size,
		.access = access,
		.pgsz_bitmap = PAGE_SIZES_ALL,
	};

	return umem_reg(ctx, __func__, &in);
}

MLX5DV_EXPORT struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *ctx,
							       struct mlx5dv_devx_umem_in *umem_in)
{
	return umem_reg(ctx, __func__, umem_in);
}

MLX5DV_EXPORT int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *dv)
{
	struct mlx5_umem *umem = (struct mlx5_umem *)dv;
	const struct uverbs_attr a[] = { uverbs_idr(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE,
						    umem->handle) };
	int r = umem->map ? mlx5_vfio_umem_free(umem)
			  : uverbs_ioctl(umem->context, MLX5_IB_OBJECT_DEVX_UMEM,
					 MLX5_IB_METHOD_DEVX_UMEM_DEREG, a, ARRAY_SIZE(a), NULL);

	if (r < 0) {
		verbs_err(umem->context, "umem %u: cannot be given back: %s", dv->umem_id,
			  strerror(-r));
		return mlx5dv_errno(r);
	}
	if (umem->addr)
		verbs_dofork_range(umem->addr, umem->size);
	free(umem);
	return 0;
}
