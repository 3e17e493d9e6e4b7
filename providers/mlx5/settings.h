/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Environment variables of this provider. */
#ifndef MLX5_SETTINGS_H
#define MLX5_SETTINGS_H

#include "providers/mlx5/mlx5.h"

/* settings.c: environment variables for the memory of queues and for the size of completions.
 * -EINVAL: the size does not exist. */
struct kit_memory mlx5_memory(uint64_t type);
int mlx5_cq_size(struct ibv_context *ctx, const struct mlx5dv_cq_init_attr *dv, uint32_t *ret_size);

/* Return whether MLX5_SCATTER_TO_CQE allows the adapter to write received data into completions. */
bool mlx5_setting_scatters(void);
/* Set the number and the use of doorbell registers by MLX5_TOTAL_UUARS and related variables. */
int mlx5_setting_registers(struct mlx5_context *ctx);

#endif
