/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables: level 0 is the root table, which belongs to the kernel. */
#include "providers/mlx5/steering/steering.h"

MLX5DV_EXPORT struct mlx5dv_dr_table *mlx5dv_dr_table_create(struct mlx5dv_dr_domain *domain,
							     uint32_t level)
{
	struct mlx5dv_dr_table *table;

	if (level)
		return mlx5dv_fail(dr_refuse(domain->context, __func__,
					     "the domain has only tables of level 0", -EOPNOTSUPP));
	table = calloc(1, sizeof(*table));
	if (!table)
		return mlx5dv_fail(-ENOMEM);
	table->domain = domain;
	table->level = level;
	dr_use(&domain->users);
	return table;
}

MLX5DV_EXPORT int mlx5dv_dr_table_destroy(struct mlx5dv_dr_table *table)
{
	if (dr_is_used(&table->users))
		return EBUSY;
	dr_leave(&table->domain->users);
	free(table);
	return 0;
}
