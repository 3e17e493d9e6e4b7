/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Matchers: the fields of a packet that the rules of a matcher compare. */
#include "providers/mlx5/steering/steering.h"

MLX5DV_EXPORT struct mlx5dv_dr_matcher *
mlx5dv_dr_matcher_create(struct mlx5dv_dr_table *table, uint16_t priority,
			 uint8_t match_criteria_enable, struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_matcher *matcher = calloc(1, sizeof(*matcher));
	int r;

	if (!matcher)
		return mlx5dv_fail(-ENOMEM);
	matcher->table = table;
	r = dr_root_matcher_create(matcher, priority, match_criteria_enable, mask);
	if (r < 0) {
		free(matcher);
		return mlx5dv_fail(r);
	}
	dr_use(&table->users);
	return matcher;
}

MLX5DV_EXPORT int mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher *matcher)
{
	int r;

	if (dr_is_used(&matcher->users))
		return EBUSY;
	r = dr_root_matcher_destroy(matcher);
	if (r < 0)
		return mlx5dv_errno(r);
	dr_leave(&matcher->table->users);
	free(matcher);
	return 0;
}
