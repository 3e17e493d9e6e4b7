/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, thread domains and parent domains. */
#ifndef MLX5_PD_H
#define MLX5_PD_H

#include "providers/mlx5/mlx5.h"

/* A thread domain: its threads run one at a time and have a separate register. */
struct mlx5_td {
	struct verbs_td vtd;
	struct mlx5_bfreg *bfreg;
};

/* @opaque: memory that memcpy requests need; @copiers: number of queue pairs with such requests */
struct mlx5_pd {
	struct verbs_pd vpd;
	uint32_t pdn;
	pthread_mutex_t lock; /* protects the rest */
	struct ibv_mr *opaque;
	unsigned int copiers;
};

/* context.c */
int mlx5_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int mlx5_dealloc_pd(struct ibv_pd *pd);

/* domain.c */
int mlx5_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr);
int mlx5_dealloc_td(struct ibv_td *td);
int mlx5_alloc_parent_domain(struct verbs_pd *pd);

#endif
