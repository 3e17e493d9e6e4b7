/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions that are no plain kernel commands. */
#include "providers/mlx5/mlx5.h"

/* A key that each process has: what is written to it is nowhere, and nothing can be read. */
int mlx5_alloc_null_mr(struct verbs_mr *mr)
{
	const struct mlx5_ib_alloc_ucontext_resp *info = &to_mctx(mr->ibv_mr.context)->info;

	if (!(info->comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY))
		return -EOPNOTSUPP;
	mr->ibv_mr.lkey = info->dump_fill_mkey;
	return 0;
}

int mlx5_dereg_mr(struct verbs_mr *mr)
{
	return mr->mr_type == VERBS_MR_NULL ? 0 : uverbs_dereg_mr(mr);
}
