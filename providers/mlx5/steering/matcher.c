/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matchers: the fields of a packet that rules compare. The matchers of a table are a chain: the
 * anchor of the table leads to the first level of the first matcher. Packets that match no rule of
 * a matcher come to its end anchor, which leads to the next matcher.
 */
#include "providers/mlx5/steering/steering.h"

/* ---- the chain */

/* Return the anchor that leads to a matcher. */
static struct dr_hash *anchor_before(struct mlx5dv_dr_matcher *matcher)
{
	struct mlx5dv_dr_matcher *before = TAILQ_PREV(matcher, dr_matchers, link);

	return before ? before->end : matcher->table->anchor;
}

/* Let an anchor lead to a matcher, or out of the table if it is NULL. */
static int anchor_set(struct mlx5dv_dr_table *table, struct dr_hash *anchor,
		      struct mlx5dv_dr_matcher *matcher)
{
	struct dr_target to;

	if (!matcher)
		return dr_anchor_write(table->domain, anchor, table->domain->caps.miss, NULL);
	to = dr_hash_target(matcher->start);
	matcher->start->pointing = &anchor->entries[0];
	return dr_anchor_write(table->domain, anchor, 0, &to);
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
static int chain_connect(struct mlx5dv_dr_matcher *matcher)
{
	struct mlx5dv_dr_table *table = matcher->table;
	int r = anchor_set(table, matcher->end, TAILQ_NEXT(matcher, link));

	if (!r)
		r = dr_hash_write(matcher, matcher->start);
	return r ? r : anchor_set(table, anchor_before(matcher), matcher);
}

/* Take a matcher out of the chain. If a write fails, the adapter is unusable anyway. */
static void chain_remove(struct mlx5dv_dr_matcher *matcher)
{
	struct dr_hash *before = anchor_before(matcher);
	struct mlx5dv_dr_matcher *next = TAILQ_NEXT(matcher, link);

	TAILQ_REMOVE(&matcher->table->matchers, matcher, link);
	anchor_set(matcher->table, before, next);
}

/* ---- matchers of tables above level 0 */

static void hashes_free(struct mlx5dv_dr_matcher *matcher)
{
	dr_hash_free(matcher->table->domain, matcher->start);
	dr_hash_free(matcher->table->domain, matcher->end);
}

static int hashes_make(struct mlx5dv_dr_matcher *matcher)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	int r = dr_hash_new(domain, 0, DR_LOOKUP_NONE, 0, &matcher->end);

	if (!r)
		r = dr_hash_new(domain, 0, matcher->builders[0].lookup,
				matcher->builders[0].byte_mask, &matcher->start);
	if (r < 0)
		return r;
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

	if (matcher->criteria >= DR_CRITERIA_END)
		return dr_refuse(domain->context, function, "the criteria have an unknown bit",
				 -EINVAL);
	r = dr_match_read(mask, matcher->criteria, &matcher->mask);
	if (r < 0)
		return dr_refuse(domain->context, function, "the mask is longer than 448 bytes", r);
	r = dr_builders_make(&matcher->mask, matcher->criteria, matcher->builders,
			     &matcher->levels);
	if (r < 0)
		return dr_refuse(domain->context, function,
				 "the mask has no field, or a field that is not served", r);
	pthread_mutex_lock(&domain->lock);
	r = hashes_make(matcher);
	if (r < 0)
		hashes_free(matcher);
	pthread_mutex_unlock(&domain->lock);
	return r;
}

static void software_destroy(struct mlx5dv_dr_matcher *matcher)
{
	pthread_mutex_lock(&matcher->table->domain->lock);
	chain_remove(matcher);
	hashes_free(matcher);
	pthread_mutex_unlock(&matcher->table->domain->lock);
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
