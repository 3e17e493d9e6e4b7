/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules: the value that the fields of a matcher have, and the actions on such packets. */
#include "providers/mlx5/steering/steering.h"

static struct mlx5dv_dr_rule *rule_new(struct mlx5dv_dr_matcher *matcher, size_t count,
				       struct mlx5dv_dr_action *actions[])
{
	struct mlx5dv_dr_rule *rule;

	if (count > (SIZE_MAX - sizeof(*rule)) / sizeof(actions[0]))
		return NULL;
	rule = calloc(1, sizeof(*rule) + count * sizeof(actions[0]));
	if (!rule)
		return NULL;
	rule->matcher = matcher;
	rule->action_count = count;
	for (size_t i = 0; i < count; i++)
		rule->actions[i] = actions[i];
	return rule;
}

static void references_take(struct mlx5dv_dr_rule *rule)
{
	dr_use(&rule->matcher->users);
	for (size_t i = 0; i < rule->action_count; i++)
		dr_use(&rule->actions[i]->users);
}

static void references_drop(struct mlx5dv_dr_rule *rule)
{
	for (size_t i = 0; i < rule->action_count; i++)
		dr_leave(&rule->actions[i]->users);
	dr_leave(&rule->matcher->users);
}

MLX5DV_EXPORT struct mlx5dv_dr_rule *
mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher *matcher, struct mlx5dv_flow_match_parameters *value,
		      size_t num_actions, struct mlx5dv_dr_action *actions[])
{
	struct mlx5dv_dr_rule *rule = rule_new(matcher, num_actions, actions);
	int r;

	if (!rule)
		return mlx5dv_fail(-ENOMEM);
	r = dr_root_rule_create(rule, value);
	if (r < 0) {
		free(rule);
		return mlx5dv_fail(r);
	}
	references_take(rule);
	return rule;
}

MLX5DV_EXPORT int mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule *rule)
{
	int r = dr_root_rule_destroy(rule);

	if (r < 0)
		return mlx5dv_errno(r);
	references_drop(rule);
	free(rule);
	return 0;
}
