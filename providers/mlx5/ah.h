/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles, and the facts of a port that they need. */
#ifndef MLX5_AH_H
#define MLX5_AH_H

#include "providers/mlx5/mlx5.h"

struct mlx5_ah {
	struct ibv_ah ah;
	struct mlx5_wqe_av av;
	bool in_kernel, is_global;
	_Atomic(struct mlx5dv_devx_obj *) mapping; /* made by mlx5dv_map_ah_to_qp(), or NULL */
};

static inline struct mlx5_ah *to_mah(struct ibv_ah *ah)
{
	return (struct mlx5_ah *)ah;
}

/* ah.c */
int mlx5_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int mlx5_destroy_ah(struct ibv_ah *ibah);
/* Return facts of a port: those read at open, or those of a new query. */
int mlx5_port_facts(struct ibv_context *ctx, uint8_t port_num, uint8_t *ret_link_layer,
		    uint8_t *ret_flags);

#endif
