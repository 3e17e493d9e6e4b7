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

/* ---- rules of tables above level 0 */

static int value_read(const struct mlx5dv_dr_matcher *matcher,
		      const struct mlx5dv_flow_match_parameters *from, struct dr_match *ret)
{
	int r = from->match_sz % sizeof(uint32_t) ? -EINVAL : 0;

	if (!r)
		r = dr_match_read(from, matcher->criteria, ret);
	return r ? r : dr_value_check(&matcher->mask, ret);
}

/* Make the entries of a rule, without addresses. */
static int images_make(const struct mlx5dv_dr_matcher *matcher, struct dr_match *value,
		       uint8_t images[][DR_IMAGE_SIZE])
{
	for (unsigned int i = 0; i < matcher->levels; i++) {
		const struct dr_builder *b = &matcher->builders[i];
		uint8_t tag[DR_KEY_SIZE];
		int r = dr_builder_tag(b, value, tag);

		if (r < 0)
			return r;
		dr_entry_init(images[i], b->lookup, matcher->table->domain->caps.function);
		dr_entry_set_tag(images[i], tag);
		if (i + 1 < matcher->levels)
			dr_entry_set_next(images[i], b[1].lookup, b[1].byte_mask);
	}
	return 0;
}

static int software_create(struct mlx5dv_dr_rule *rule, const char *function,
			   const struct mlx5dv_flow_match_parameters *from)
{
	struct mlx5dv_dr_matcher *matcher = rule->matcher;
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	uint8_t images[DR_BUILDERS_MAX][DR_IMAGE_SIZE];
	struct dr_match value;
	int r = value_read(matcher, from, &value);

	if (!r)
		r = images_make(matcher, &value, images);
	if (r < 0)
		return dr_refuse(domain->context, function,
				 "the value has a wrong size, or bits that the mask has not", r);
	r = dr_actions_apply(rule, images[matcher->levels - 1]);
	if (r < 0)
		return dr_refuse(domain->context, function, "the actions do not go together", r);
	pthread_mutex_lock(&domain->lock);
	r = dr_path_add(rule, images);
	pthread_mutex_unlock(&domain->lock);
	return r;
}

static void software_destroy(struct mlx5dv_dr_rule *rule)
{
	struct mlx5dv_dr_domain *domain = rule->matcher->table->domain;

	pthread_mutex_lock(&domain->lock);
	dr_path_remove(rule);
	pthread_mutex_unlock(&domain->lock);
}

MLX5DV_EXPORT struct mlx5dv_dr_rule *
mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher *matcher, struct mlx5dv_flow_match_parameters *value,
		      size_t num_actions, struct mlx5dv_dr_action *actions[])
{
	struct mlx5dv_dr_rule *rule = rule_new(matcher, num_actions, actions);
	int r;

	if (!rule)
		return mlx5dv_fail(-ENOMEM);
	r = matcher->kernel ? dr_root_rule_create(rule, value)
			    : software_create(rule, __func__, value);
	if (r < 0) {
		free(rule);
		return mlx5dv_fail(r);
	}
	references_take(rule);
	return rule;
}

MLX5DV_EXPORT int mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule *rule)
{
	int r = 0;

	if (rule->kernel)
		r = dr_root_rule_destroy(rule);
	else
		software_destroy(rule);
	if (r < 0)
		return mlx5dv_errno(r);
	references_drop(rule);
	free(rule);
	return 0;
}
