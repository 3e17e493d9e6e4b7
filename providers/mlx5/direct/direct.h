/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of direct verbs share. */
#ifndef MLX5_DIRECT_H
#define MLX5_DIRECT_H

#include "providers/mlx5/mlx5.h"

#define MLX5DV_EXPORT __attribute__((visibility("default")))

/* The context as mlx5's; NULL, with a line, when it is of another device. */
struct mlx5_context *mlx5dv_context(struct ibv_context *ctx, const char *function);

#endif
