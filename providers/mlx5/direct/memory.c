/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All types of memory of the adapter, regions of DMA buffers, and the clock. */
#include <sys/mman.h>

#include "libibverbs/uverbs/uverbs.h"
#include "providers/mlx5/clock.h"
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/dm.h"

enum {
	MMAP_CMD_SHIFT = 8,
};

MLX5DV_EXPORT struct ibv_dm *mlx5dv_alloc_dm(struct ibv_context *ibctx,
					     struct ibv_alloc_dm_attr *dm_attr,
					     struct mlx5dv_alloc_dm_attr *mlx5_dm_attr)
{
	const struct verbs_alloc_dm in = { .attr = dm_attr, .dv = mlx5_dm_attr };
	struct verbs_dm *dm;
	int r = 0;

	if (!mlx5dv_context(ibctx, __func__))
		return NULL;
	if ((unsigned int)mlx5_dm_attr->type > MLX5DV_DM_TYPE_ENCAP_SW_ICM) {
		verbs_err(ibctx, "%s: type %d is not known", __func__, mlx5_dm_attr->type);
		r = -EOPNOTSUPP;
	} else if (mlx5_dm_attr->comp_mask || dm_attr->comp_mask) {
		verbs_err(ibctx, "%s: comp_mask is not 0", __func__);
		r = -EINVAL;
	}
	if (!r)
		r = verbs_dm_alloc(ibctx, &in, &dm);
	return r < 0 ? mlx5dv_fail(r) : &dm->dm;
}

MLX5DV_EXPORT struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
						  uint64_t iova, int fd, int access,
						  int mlx5_access)
{
	struct uverbs_attr flags = uverbs_u32(MLX5_IB_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, mlx5_access);
	struct verbs_udata udata = { .attrs = &flags, .attr_count = mlx5_access != 0 };
	const struct verbs_reg_dmabuf_mr in = {
		.pd = pd,
		.offset = offset,
		.length = length,
		.iova = iova,
		.fd = fd,
		.access = access,
		.udata = &udata,
	};
	struct ibv_mr *mr = NULL;
	int r;

	if (!mlx5dv_context(pd->context, __func__))
		return NULL;
	if (mlx5_access & ~MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT) {
		verbs_err(pd->context, "%s: mlx5_access 0x%x (0x%x is possible)", __func__,
			  mlx5_access, MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
		r = -EINVAL;
	} else {
		r = verbs_mr_register_dmabuf(__func__, &in, &mr);
	}
	return r < 0 ? mlx5dv_fail(r) : mr;
}

static int op_ask(struct mlx5_dm *dm, uint8_t op, uint64_t *ret_start, uint16_t *ret_page)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm->vdm.dm.handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, ret_start,
			   sizeof(*ret_start)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, ret_page,
			   sizeof(*ret_page)),
	};

	return uverbs_ioctl(dm->vdm.dm.context, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, a,
			    ARRAY_SIZE(a), NULL);
}

static int op_map(struct mlx5_dm *dm, uint8_t op, void **ret_at)
{
	struct mlx5_context *ctx = to_mctx(dm->vdm.dm.context);
	struct kit_page *pages = realloc(dm->op_pages, (dm->op_count + 1) * sizeof(*dm->op_pages));
	uint64_t start = 0, key;
	uint16_t page = 0;
	int r;

	if (!pages)
		return -ENOMEM;
	dm->op_pages = pages;
	r = op_ask(dm, op, &start, &page);
	if (r < 0)
		return r;
	key = (uint64_t)MLX5_IB_MMAP_DEVICE_MEM << MMAP_CMD_SHIFT | (page & 0xff) |
	      (uint64_t)(page >> 8) << 16;
	r = kit_page_map(&ctx->vctx.context, key * ctx->page_size,
			 ROUND_UP(start % ctx->page_size + dm->vdm.length, (size_t)ctx->page_size),
			 PROT_READ | PROT_WRITE, &pages[dm->op_count]);
	if (r < 0)
		return r;
	*ret_at = (char *)pages[dm->op_count++].base + start % ctx->page_size;
	return 0;
}

MLX5DV_EXPORT void *mlx5dv_dm_map_op_addr(struct ibv_dm *ibdm, uint8_t op)
{
	void *at;
	int r;

	if (!mlx5dv_context(ibdm->context, __func__))
		return NULL;
	r = op_map((struct mlx5_dm *)ibdm, op, &at);
	if (r < 0) {
		verbs_err(ibdm->context, "%s: dm %u: operation %u: %s", __func__, ibdm->handle, op,
			  strerror(-r));
		return mlx5dv_fail(r);
	}
	return at;
}

MLX5DV_EXPORT int mlx5dv_get_clock_info(struct ibv_context *ibctx,
					struct mlx5dv_clock_info *clock_info)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	int r;

	if (!ctx)
		return EOPNOTSUPP;
	r = mlx5_clock_info_read(ctx, clock_info);
	if (r == -EOPNOTSUPP) {
		verbs_err(ibctx, "%s: the kernel says nothing of the device's clock", __func__);
		r = -EINVAL;
	}
	return mlx5dv_errno(r);
}
