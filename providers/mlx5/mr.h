/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#ifndef MLX5_MR_H
#define MLX5_MR_H

#include "providers/mlx5/mlx5.h"

/* mr.c */
int mlx5_alloc_null_mr(struct verbs_mr *mr);
int mlx5_dereg_mr(struct verbs_mr *mr);

#endif
