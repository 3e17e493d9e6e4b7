/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions that need more than a plain kernel command. */
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/mr.h"

/* Set the key of the null region. Writes to it are discarded, and reads fail. */
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
