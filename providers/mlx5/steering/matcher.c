/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matchers: the fields of a packet that rules compare. The matchers of a table are a chain: the
 * anchor of the table leads to the first level of the first matcher. Packets that match no rule of
 * a matcher come to its end anchor, which leads to the next matcher.
 */
#include "providers/mlx5/steering/action.h"

/* ---- the chain */

/* Return the anchor that leads to a matcher. */
static struct dr_hash *anchor_before(struct mlx5dv_dr_matcher *matcher, enum dr_half half)
{
	struct mlx5dv_dr_matcher *before = TAILQ_PREV(matcher, dr_matchers, link);

	return before ? before->sides[half].end : matcher->table->anchors[half];
}

/* Let an anchor lead to a matcher, or out of the table if it is NULL. */
static int anchor_set(struct mlx5dv_dr_domain *domain, struct dr_hash *anchor,
		      struct mlx5dv_dr_matcher *matcher, enum dr_half half)
{
	struct dr_hash *start = matcher ? matcher->sides[half].start : NULL;
	struct dr_target to;

	if (!matcher)
		return dr_anchor_write(domain, half, anchor, domain->caps.miss[half], NULL);
	to = dr_hash_target(start);
	start->pointing = &anchor->entries[0];
	return dr_anchor_write(domain, half, anchor, 0, &to);
}

/* A new matcher is before others of its priority. */
static void chain_insert(struct mlx5dv_dr_matcher *matcher)
{
	struct dr_matchers *list = &matcher->table->matchers;
	struct mlx5dv_dr_matcher *next;

	TAILQ_FOREACH(next, list, link) {
		if (next->priority >= matcher->priority)
			break;
	}
	if (next)
		TAILQ_INSERT_BEFORE(next, matcher, link);
	else
		TAILQ_INSERT_TAIL(list, matcher, link);
}

/* Connect a matcher from its end on: packets enter it when it is complete. */
static int side_connect(struct dr_side *side)
{
	struct mlx5dv_dr_matcher *matcher = side->matcher;
	int r = anchor_set(side->domain, side->end, TAILQ_NEXT(matcher, link), side->half);

	if (!r)
		r = dr_hash_write(side, side->start);
	return r ? r
		 : anchor_set(side->domain, anchor_before(matcher, side->half), matcher,
			      side->half);
}

static int chain_connect(struct mlx5dv_dr_matcher *matcher)
{
	int r = 0;

	for (int half = 0; !r && half < DR_HALVES; half++)
		r = matcher->sides[half].levels ? side_connect(&matcher->sides[half]) : 0;
	return r;
}

/* Take a matcher out of the chain. If a write fails, the adapter is unusable anyway. */
static void chain_remove(struct mlx5dv_dr_matcher *matcher)
{
	struct mlx5dv_dr_matcher *next = TAILQ_NEXT(matcher, link);

	for (int half = 0; half < DR_HALVES; half++) {
		if (matcher->sides[half].levels)
			anchor_set(matcher->table->domain, anchor_before(matcher, half), next,
				   half);
	}
	TAILQ_REMOVE(&matcher->table->matchers, matcher, link);
}

/* ---- sides */

static void side_free(struct dr_side *side)
{
	dr_hash_free(side->start);
	dr_hash_free(side->end);
	dr_definers_free(side);
	free(side->builders);
}

static void sides_free(struct mlx5dv_dr_matcher *matcher)
{
	for (int half = 0; half < DR_HALVES; half++)
		side_free(&matcher->sides[half]);
}

/* Choose the builders of a side. */
static int builders_choose(struct dr_side *side)
{
	struct mlx5dv_dr_matcher *matcher = side->matcher;
	unsigned int count;
	int r;

	side->builders = calloc(DR_BUILDERS_MAX, sizeof(*side->builders));
	if (!side->builders)
		return -ENOMEM;
	r = dr_definers_make(side, &matcher->mask, side->builders, &count);
	if (r < 0)
		r = dr_builders_make(side->domain, side->half, &matcher->mask, matcher->criteria,
				     side->builders, &count);
	if (r < 0)
		return r;
	/* Shrink the array. If realloc() fails, the larger array stays valid. */
	side->builders = realloc(side->builders, count * sizeof(*side->builders)) ?: side->builders;
	side->levels = count;
	return 0;
}

static int side_make(struct dr_side *side)
{
	int r = builders_choose(side);

	if (!r)
		r = dr_hash_new(side->domain, 0, DR_LOOKUP_NONE, 0, &side->end);
	if (!r)
		r = dr_hash_new(side->domain, 0, side->builders[0].lookup,
				side->builders[0].byte_mask, &side->start);
	return r;
}

static int sides_make(struct mlx5dv_dr_matcher *matcher)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	int r = 0;

	for (int half = 0; !r && half < DR_HALVES; half++) {
		struct dr_side *side = &matcher->sides[half];

		side->matcher = matcher;
		side->domain = domain;
		side->half = half;
		if (dr_has_half(domain, half))
			r = side_make(side);
	}
	return r;
}

/* ---- matchers of tables above level 0 */

static int chain_enter(struct mlx5dv_dr_matcher *matcher)
{
	int r;

	chain_insert(matcher);
	r = chain_connect(matcher);
	if (r < 0)
		chain_remove(matcher);
	return r;
}

static int software_create(struct mlx5dv_dr_matcher *matcher, const char *function,
			   const struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	int r;

	TAILQ_INIT(&matcher->rules);
	if (matcher->criteria >= DR_CRITERIA_END)
		return dr_refuse(domain->context, function, "the criteria have an unknown bit",
				 -EINVAL);
	r = dr_match_read(mask, matcher->criteria, &matcher->mask);
	if (r < 0)
		return dr_refuse(domain->context, function, "the mask is longer than 448 bytes", r);
	r = dr_mask_check(&matcher->mask);
	if (r < 0)
		return dr_refuse(domain->context, function,
				 "ip_version of the mask is not 4 or 6, or source_port is partial",
				 r);
	dr_lock(domain);
	r = sides_make(matcher);
	if (!r)
		r = chain_enter(matcher);
	if (r < 0)
		sides_free(matcher);
	dr_unlock(domain);
	return r < 0 ? dr_refuse(domain->context, function,
				 "the mask has no field, or a field that is not served", r)
		     : 0;
}

static void software_destroy(struct mlx5dv_dr_matcher *matcher)
{
	dr_lock(matcher->table->domain);
	chain_remove(matcher);
	sides_free(matcher);
	dr_unlock(matcher->table->domain);
}

MLX5DV_EXPORT struct mlx5dv_dr_matcher *
mlx5dv_dr_matcher_create(struct mlx5dv_dr_table *table, uint16_t priority,
			 uint8_t match_criteria_enable, struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_matcher *matcher = calloc(1, sizeof(*matcher));
	int r;

	if (!matcher)
		return mlx5dv_fail(-ENOMEM);
	matcher->table = table;
	matcher->priority = priority;
	matcher->criteria = match_criteria_enable;
	r = table->level ? software_create(matcher, __func__, mask)
			 : dr_root_matcher_create(matcher, priority, match_criteria_enable, mask);
	if (r < 0) {
		free(matcher);
		return mlx5dv_fail(r);
	}
	dr_use(&table->users);
	return matcher;
}

MLX5DV_EXPORT int mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher *matcher)
{
	int r = 0;

	if (dr_is_used(&matcher->users))
		return EBUSY;
	if (matcher->kernel)
		r = dr_root_matcher_destroy(matcher);
	else
		software_destroy(matcher);
	if (r < 0)
		return mlx5dv_errno(r);
	dr_leave(&matcher->table->users);
	free(matcher);
	return 0;
}

/* ---- layouts */

enum {
	LAYOUT_MARGIN = 6, /* distance from the size of a table to that of all memory, log2 */
};

/* Return whether each side has at most one level, of wide entries. Only tables of wide entries have
 * a fixed size. */
static bool is_wide(const struct mlx5dv_dr_matcher *matcher)
{
	for (int half = 0; half < DR_HALVES; half++) {
		const struct dr_side *side = &matcher->sides[half];

		if (side->levels > 1 ||
		    (side->levels == 1 && !dr_lookup_is_wide(side->builders[0].lookup)))
			return false;
	}
	return !matcher->kernel;
}

static int layout_check(const struct mlx5dv_dr_matcher *matcher,
			const struct mlx5dv_dr_matcher_layout *layout)
{
	const uint32_t known =
		MLX5DV_DR_MATCHER_LAYOUT_RESIZABLE | MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE;

	if (!is_wide(matcher) || layout->flags & ~known)
		return -EOPNOTSUPP;
	if (layout->flags & MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE &&
	    layout->log_num_of_rules_hint + LAYOUT_MARGIN > matcher->table->domain->caps.log_icm)
		return -EOPNOTSUPP;
	return 0;
}

static int layout_set(struct mlx5dv_dr_matcher *matcher,
		      const struct mlx5dv_dr_matcher_layout *layout)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	int r = 0;

	for (int half = 0; !r && half < DR_HALVES; half++) {
		if (matcher->sides[half].levels &&
		    layout->flags & MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE)
			r = dr_path_resize(&matcher->sides[half], layout->log_num_of_rules_hint);
	}
	if (r < 0)
		return r;
	matcher->fixed_size = !(layout->flags & MLX5DV_DR_MATCHER_LAYOUT_RESIZABLE);
	return dr_ring_drain(domain->ring);
}

MLX5DV_EXPORT int mlx5dv_dr_matcher_set_layout(struct mlx5dv_dr_matcher *matcher,
					       struct mlx5dv_dr_matcher_layout *layout)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	int r = layout_check(matcher, layout);

	if (r < 0)
		return mlx5dv_errno(dr_refuse(domain->context, __func__,
					      "the matcher has no layout, or not this one", r));
	dr_lock(domain);
	r = layout_set(matcher, layout);
	dr_unlock(domain);
	return mlx5dv_errno(r);
}
