/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of another process. */
#ifndef MLX5_IMPORT_H
#define MLX5_IMPORT_H

#include "providers/mlx5/mlx5.h"

int mlx5_context_import(struct mlx5_context *ctx, const struct verbs_open_context *in);
int mlx5_import_pd(struct ibv_pd *pd, uint32_t handle);
void mlx5_unimport_pd(struct ibv_pd *pd);
int mlx5_import_dm(struct verbs_dm *vdm, uint32_t handle);
int mlx5_unimport_dm(struct verbs_dm *vdm);

#endif
