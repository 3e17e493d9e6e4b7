/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of direct verbs share. */
#ifndef MLX4_DIRECT_H
#define MLX4_DIRECT_H

#include "providers/mlx4/mlx4.h"

#define MLX4DV_EXPORT __attribute__((visibility("default")))

/* Return the context as that of mlx4. If it belongs to another device, log this and return NULL
 * with errno. */
struct mlx4_context *mlx4dv_context(struct ibv_context *ctx, const char *function);

#endif
