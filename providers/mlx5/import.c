/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Contexts, domains and memory of the adapter that another process created. The driver repeats its
 * answer to their creation. */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/mlx5/dm.h"
#include "providers/mlx5/import.h"
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/pd.h"

int mlx5_context_import(struct mlx5_context *ctx, const struct verbs_open_context *in)
{
	const struct uverbs_attr attrs[] = {
		uverbs_out(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &ctx->info, sizeof(ctx->info)),
	};
	struct verbs_udata udata = { .attrs = attrs, .attr_count = ARRAY_SIZE(attrs) };
	struct verbs_open_context open = *in;
	int r;

	open.udata = &udata;
	r = uverbs_open_context(&ctx->vctx, &open);
	if (r < 0 || !ctx->info.tot_bfregs)
		return r;
	verbs_err(&ctx->vctx.context,
		  "the context's doorbells are its own process's: this kernel has none on demand");
	return -EINVAL;
}

int mlx5_import_pd(struct ibv_pd *pd, uint32_t handle)
{
	struct mlx5_pd *mpd = (struct mlx5_pd *)pd;
	const struct uverbs_attr a[] = {
		uverbs_idr(MLX5_IB_ATTR_QUERY_PD_HANDLE, handle),
		uverbs_out(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &mpd->pdn, sizeof(mpd->pdn)),
	};
	int r = uverbs_ioctl(pd->context, UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		return r;
	pd->handle = handle;
	pthread_mutex_init(&mpd->lock, NULL);
	return 0;
}

void mlx5_unimport_pd(struct ibv_pd *pd)
{
	pthread_mutex_destroy(&((struct mlx5_pd *)pd)->lock);
}

int mlx5_import_dm(struct verbs_dm *vdm, uint32_t handle)
{
	uint64_t start = 0, length = 0;
	uint16_t page_index = 0;
	const struct uverbs_attr a[] = {
		uverbs_idr(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, handle),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &start, sizeof(start)),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page_index, sizeof(page_index)),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length, sizeof(length)),
	};
	int r = uverbs_ioctl(vdm->dm.context, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		return r;
	if (length > SIZE_MAX / 2)
		return -EPROTO;
	vdm->dm.handle = handle;
	vdm->length = length;
	return mlx5_dm_map((struct mlx5_dm *)vdm, start, page_index, length);
}

/* Unmap the pages in this process. The memory stays allocated for the other process. */
int mlx5_unimport_dm(struct verbs_dm *vdm)
{
	mlx5_dm_unmap((struct mlx5_dm *)vdm);
	return 0;
}
