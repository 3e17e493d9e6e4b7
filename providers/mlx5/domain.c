/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Thread domains, each with a separate register, and parent domains. */
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/pd.h"

int mlx5_alloc_td(struct ibv_td *ibtd, const struct ibv_td_init_attr *unused)
{
	struct mlx5_td *td = (struct mlx5_td *)ibtd;

	td->bfreg = mlx5_bfreg_get_for_thread(to_mctx(ibtd->context));
	return 0;
}

int mlx5_dealloc_td(struct ibv_td *ibtd)
{
	struct mlx5_bfreg *bfreg = ((struct mlx5_td *)ibtd)->bfreg;

	if (bfreg)
		mlx5_bfreg_put_alone(to_mctx(ibtd->context), bfreg);
	return 0;
}

/* Do nothing. libibverbs keeps the parent domain, and creating a queue reads it. */
int mlx5_alloc_parent_domain(struct verbs_pd *unused)
{
	return 0;
}
