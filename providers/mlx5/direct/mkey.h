/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys that stand for other keys' memory: what requests write into them. */
#ifndef MLX5_MKEY_H
#define MLX5_MKEY_H

#include "providers/mlx5/direct/direct.h"

struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct mlx5dv_devx_obj *object;
	uint16_t entries; /* of its list */
	uint64_t length;  /* of the memory that it stands for, as the last layout said */
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *dv)
{
	return (struct mlx5_mkey *)dv;
}

#endif
