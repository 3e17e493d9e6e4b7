/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlx5dv_init_obj() for programs linked before 2017: cq_uar points to the address. */
#include "providers/mlx5/direct/direct.h"
#include "util/symver.h"

COMPAT_SYMBOL("MLX5_1.0", int, mlx5dv_init_obj, struct mlx5dv_obj *obj, uint64_t obj_type)
{
	int r = mlx5dv_init_obj(obj, obj_type);

	if (!r && obj_type & MLX5DV_OBJ_CQ)
		obj->cq.out->cq_uar = &to_mcq(obj->cq.in)->uar;
	return r;
}
