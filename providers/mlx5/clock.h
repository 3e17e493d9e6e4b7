/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of the adapter. */
#ifndef MLX5_CLOCK_H
#define MLX5_CLOCK_H

#include "providers/mlx5/mlx5.h"

void mlx5_clock_open(struct mlx5_context *ctx);
int mlx5_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);
/*
 * Read the clock page. -EOPNOTSUPP: the kernel has no such page; -EBUSY: the kernel has not
 * finished its update of the page.
 */
int mlx5_clock_info_read(const struct mlx5_context *ctx, struct mlx5dv_clock_info *ret_info);
/* Return the nanoseconds for which a reading is valid. The context must have the page. */
uint64_t mlx5_clock_info_period(const struct mlx5_context *ctx);

#endif
