/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules: the value that the fields of a matcher have, and the actions on such packets. */
#include "providers/mlx5/steering/apply.h"

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

/* Add the source of packets to @tag: the function of a vport. Packets from the wire also have a
 * separate bit. */
static int source_tag(const struct dr_side *side, const struct dr_builder *b,
		      const struct dr_match *value, uint8_t *tag)
{
	uint16_t number = value->words[DR_SOURCE_PORT] & DR_LOW;
	const struct dr_vport *vport;
	int r = dr_vport_find(side->domain, number, &vport);

	if (r < 0)
		return r;
	dr_key_or(tag, b->source_word, vport->function);
	if (!dr_lookup_is_wide(b->lookup) && side->half == DR_RECEIVE && number != DR_VPORT_WIRE)
		dr_key_or(tag, b->source_key, 1u << b->source_shift);
	return 0;
}

/* Make the entries of a rule, without addresses. */
static int images_make(const struct dr_side *side, const struct dr_match *value,
		       struct dr_images *images)
{
	const struct dr_format *format = side->domain->format;

	images->domain = side->domain;
	images->levels = images->count = side->levels;
	images->crossing = NULL;
	for (unsigned int i = 0; i < side->levels; i++) {
		const struct dr_builder *b = &side->builders[i];
		uint8_t *image = images->image[i];
		int r;

		format->init(image, b->lookup, side->domain->caps.function, side->half);
		r = dr_builder_tag(b, value, dr_image_tag(image));
		if (!r && b->is_source)
			r = source_tag(side, b, value, dr_image_tag(image));
		if (r < 0)
			return r;
		if (i + 1 < side->levels)
			format->set_next(image, b[1].lookup, b[1].byte_mask);
	}
	return 0;
}

/* Return whether packets with this value can be in this half of the switch. Packets from the wire
 * are received, and packets of functions are sent. */
static bool is_possible(const struct dr_side *side, const struct dr_match *value)
{
	const struct dr_match *mask = &side->matcher->mask;
	bool receives = side->half == DR_RECEIVE;
	const struct dr_vport *wire;

	if (!dr_is_switch(side->domain))
		return true;
	if (dr_match_has(mask, DR_SOURCE_PORT, DR_LOW))
		return receives == ((value->words[DR_SOURCE_PORT] & DR_LOW) == DR_VPORT_WIRE);
	wire = dr_vport_wire(side->domain);
	if (dr_match_has(mask, DR_REG_C0, wire->reg_mask))
		return receives == ((value->words[DR_REG_C0] & wire->reg_mask) == wire->reg_value);
	return true;
}

static int side_add(struct mlx5dv_dr_rule *rule, struct dr_side *side, const struct dr_match *value,
		    const char *function)
{
	struct dr_images images;
	int r;

	if (!side->levels || !is_possible(side, value))
		return 0;
	r = images_make(side, value, &images);
	if (r < 0)
		return dr_refuse(side->domain->context, function,
				 "the value has a field that does not exist", r);
	r = dr_actions_apply(rule, side->half, &images);
	if (r < 0)
		return dr_refuse(side->domain->context, function, "the actions do not go together",
				 r);
	return dr_path_add(side, &rule->paths[side->half], &images);
}

static void paths_remove(struct mlx5dv_dr_rule *rule)
{
	for (int half = 0; half < DR_HALVES; half++)
		dr_path_remove(&rule->matcher->sides[half], &rule->paths[half]);
}

static int software_create(struct mlx5dv_dr_rule *rule, const char *function,
			   const struct mlx5dv_flow_match_parameters *from)
{
	struct mlx5dv_dr_matcher *matcher = rule->matcher;
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	struct dr_match value;
	int r = dr_value_read(&matcher->mask, matcher->criteria, from, &value);

	if (r < 0)
		return dr_refuse(domain->context, function,
				 "the value has a wrong size, or bits that the mask has not", r);
	dr_lock(domain);
	for (int half = 0; !r && half < DR_HALVES; half++)
		r = side_add(rule, &matcher->sides[half], &value, function);
	if (r < 0)
		paths_remove(rule);
	else
		TAILQ_INSERT_TAIL(&matcher->rules, rule, link);
	dr_unlock(domain);
	return r;
}

static void software_destroy(struct mlx5dv_dr_rule *rule)
{
	struct mlx5dv_dr_domain *domain = rule->matcher->table->domain;

	dr_lock(domain);
	TAILQ_REMOVE(&rule->matcher->rules, rule, link);
	paths_remove(rule);
	dr_unlock(domain);
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
