/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs of dynamically connected transport (DC). */
#ifndef MLX5_DC_H
#define MLX5_DC_H

#include "providers/mlx5/qp.h"

static inline const struct mlx5dv_dc_init_attr *mlx5_dc_of(const struct mlx5dv_qp_init_attr *dv)
{
	return dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC ? &dv->dc_init_attr : NULL;
}
/* Check the attributes of mlx5dv_create_qp(), with or without DC. */
int mlx5_dc_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		  const struct mlx5dv_qp_init_attr *dv);
void mlx5_dci_request(const struct mlx5dv_qp_init_attr *dv, struct mlx5_ib_create_qp *cmd);
int mlx5_create_dct(struct mlx5_qp *qp, const struct verbs_create_qp *in);
int mlx5_modify_dct(struct mlx5_qp *qp, const struct verbs_modify_qp *in);
int mlx5_destroy_dct(struct mlx5_qp *qp);

#endif
