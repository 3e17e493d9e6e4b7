/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of two processes that share a kernel context (ibv_import_device()). The data that the
 * first process exports are all that the second needs. No kernel command is involved.
 */
#include "providers/mlx5/direct/direct.h"

/* The exported data. The buffers of the caller may have any alignment. */
struct var_bytes {
	uint32_t handle;
	uint32_t page_id;
	uint32_t length;
	uint32_t reserved;
	uint64_t mmap_off;
};

struct umem_bytes {
	uint32_t handle;
	uint32_t umem_id;
};

struct obj_bytes {
	uint32_t handle;
	uint32_t type;
	uint32_t object_id;
	uint32_t reserved;
	uint64_t rx_icm_addr;
	uint8_t log_range;
	uint8_t reserved2[7];
};

MLX5DV_EXPORT void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t sizes_len)
{
	const struct mlx5dv_export_sizes ours = {
		.var_attrs_size = sizeof(struct var_bytes),
		.devx_umem_attrs_size = sizeof(struct umem_bytes),
		.devx_obj_attrs_size = sizeof(struct obj_bytes),
	};

	memset(sizes, 0, sizes_len);
	memcpy(sizes, &ours, min_of(sizes_len, sizeof(ours)));
}

MLX5DV_EXPORT int mlx5dv_var_export(struct mlx5dv_var *dv, void *data)
{
	const struct var_bytes bytes = {
		.handle = ((struct mlx5_var *)dv)->handle,
		.page_id = dv->page_id,
		.length = dv->length,
		.mmap_off = dv->mmap_off,
	};

	memcpy(data, &bytes, sizeof(bytes));
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_var *mlx5dv_var_import(struct ibv_context *ibctx, void *data)
{
	struct var_bytes bytes;
	struct mlx5_var *var;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	var = calloc(1, sizeof(*var));
	if (!var)
		return mlx5dv_fail(-ENOMEM);
	memcpy(&bytes, data, sizeof(bytes));
	*var = (struct mlx5_var){
		.dv = { .page_id = bytes.page_id,
			.length = bytes.length,
			.mmap_off = bytes.mmap_off },
		.context = ibctx,
		.handle = bytes.handle,
	};
	return &var->dv;
}

MLX5DV_EXPORT void mlx5dv_var_unimport(struct mlx5dv_var *dv)
{
	free(dv);
}

MLX5DV_EXPORT int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *dv, void *data)
{
	const struct umem_bytes bytes = {
		.handle = ((struct mlx5_umem *)dv)->handle,
		.umem_id = dv->umem_id,
	};

	memcpy(data, &bytes, sizeof(bytes));
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *ibctx,
							       void *data)
{
	struct umem_bytes bytes;
	struct mlx5_umem *umem;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return mlx5dv_fail(-ENOMEM);
	memcpy(&bytes, data, sizeof(bytes));
	*umem = (struct mlx5_umem){
		.dv = { .umem_id = bytes.umem_id },
		.context = ibctx,
		.handle = bytes.handle,
	};
	return &umem->dv;
}

MLX5DV_EXPORT void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *dv)
{
	free(dv);
}

MLX5DV_EXPORT int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data)
{
	const struct obj_bytes bytes = {
		.handle = obj->handle,
		.type = obj->type,
		.object_id = obj->object_id,
		.rx_icm_addr = obj->rx_icm_addr,
		.log_range = obj->log_range,
	};

	memcpy(data, &bytes, sizeof(bytes));
	return 0;
}

MLX5DV_EXPORT struct mlx5dv_devx_obj *mlx5dv_devx_obj_import(struct ibv_context *ibctx, void *data)
{
	struct mlx5dv_devx_obj *obj;
	struct obj_bytes bytes;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return mlx5dv_fail(-ENOMEM);
	memcpy(&bytes, data, sizeof(bytes));
	*obj = (struct mlx5dv_devx_obj){
		.context = ibctx,
		.handle = bytes.handle,
		.type = bytes.type,
		.object_id = bytes.object_id,
		.rx_icm_addr = bytes.rx_icm_addr,
		.log_range = bytes.log_range,
	};
	return obj;
}

MLX5DV_EXPORT void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj)
{
	free(obj);
}
