/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments that are refused, each with its errno. */
#include "tests/adapters/lab/steered/steered.h"

enum {
	MASK_TOO_LONG = 452,
	UNKNOWN_CRITERIA = 0x80,
	UNKNOWN_SYNC = 8,
};

static void refused(const char *what, const void *made, int error)
{
	if (!made && errno == error)
		return;
	fprintf(stderr, "%s: %s instead of %s\n", what, made ? "made" : strerror(errno),
		strerror(error));
	exit(1);
}

static void *create(struct mlx5dv_dr_table *table, uint8_t criteria, struct match *mask)
{
	errno = 0;
	return mlx5dv_dr_matcher_create(table, 3, criteria, (void *)mask);
}

static void masks(void)
{
	struct mlx5dv_dr_table *table = table_make(1);
	struct {
		struct match match;
		uint32_t more;
	} longer = { .match.size = MASK_TOO_LONG };
	struct match mask = { 0 };

	refused("unknown criteria", create(table, UNKNOWN_CRITERIA, &mask), EINVAL);
	refused("a mask of 452 bytes", create(table, 1, &longer.match), EINVAL);
	refused("no field", create(table, 1, &mask), EINVAL);
	set_all(&mask, dst_0);
	refused("an address without a version", create(table, 1, &mask), EINVAL);
	refused("criteria without the field", create(table, 2, &mask), EINVAL);
	set_all(&mask, dmac_high);
	refused("another field, and an address without a version", create(table, 1, &mask),
		EOPNOTSUPP);
	set_all(&mask, ip_version);
	refused("all bits of the version", create(table, 1, &mask), EOPNOTSUPP);
	errno = 0;
	refused("a root table as destination", mlx5dv_dr_action_create_dest_table(table_make(0)),
		EINVAL);
	keep(MADE_MATCHER, create(table, 0, NULL), "a matcher of everything");
	must(mlx5dv_dr_domain_sync(domain, UNKNOWN_SYNC) == EOPNOTSUPP, "an unknown flag");
	must(!mlx5dv_dr_domain_sync(domain, 0) && !mlx5dv_dr_domain_sync(domain, 7), "flags");
}

static void *rule(struct mlx5dv_dr_matcher *matcher, struct match *value, size_t count,
		  struct mlx5dv_dr_action *first, struct mlx5dv_dr_action *second)
{
	struct mlx5dv_dr_action *actions[] = { first, second };

	errno = 0;
	return mlx5dv_dr_rule_create(matcher, (void *)value, count, actions);
}

static struct mlx5dv_dr_matcher *version_matcher(struct mlx5dv_dr_table *table)
{
	struct match mask = { 0 };

	set(&mask, ip_version, 4);
	set(&mask, dst_0, 0xffff);
	return matcher_make(table, 1, 1, &mask);
}

static void values(void)
{
	struct mlx5dv_dr_matcher *matcher = version_matcher(table_make(1));
	struct match value = { 0 };

	set(&value, ip_version, 4);
	set(&value, dst_0, 0x10000);
	refused("bits outside the mask", rule(matcher, &value, 1, drop, NULL), EINVAL);
	set(&value, dst_0, 1);
	set(&value, ip_version, 0);
	refused("another version", rule(matcher, &value, 1, drop, NULL), EOPNOTSUPP);
	set(&value, ip_version, 4);
	value.size = 10;
	refused("a size that is no multiple of 4", rule(matcher, &value, 1, drop, NULL), EINVAL);
	value.size = MASK_TOO_LONG;
	refused("a value of 452 bytes", rule(matcher, &value, 1, drop, NULL), EINVAL);
	value.size = sizeof(value.words);
	keep(MADE_RULE, rule(matcher, &value, 0, NULL, NULL), "a rule without actions");
}

static void actions(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2), *foreign;
	struct mlx5dv_dr_matcher *matcher = version_matcher(first);
	struct mlx5dv_dr_action *tag = tag_make(1), *counter = counter_make(0), *go, *away;
	struct mlx5dv_dr_domain *other =
		mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	struct match value = { 0 };

	must(other, "another domain");
	foreign = mlx5dv_dr_table_create(other, 1);
	go = keep(MADE_ACTION, mlx5dv_dr_action_create_dest_table(second), "table");
	away = mlx5dv_dr_action_create_dest_table(foreign);
	must(foreign && away, "table of another domain");
	set(&value, ip_version, 4);
	refused("two destinations", rule(matcher, &value, 2, drop, go), EOPNOTSUPP);
	refused("one destination twice", rule(matcher, &value, 2, to[0], to[1]), EINVAL);
	refused("a tag twice", rule(matcher, &value, 2, tag, tag), EINVAL);
	refused("a tag behind the destination", rule(matcher, &value, 2, to[0], tag), EOPNOTSUPP);
	refused("a table of another domain", rule(matcher, &value, 1, away, NULL), EINVAL);
	keep(MADE_RULE, rule(matcher, &value, 2, drop, counter), "a counter behind the end");
	must(mlx5dv_dr_domain_destroy(other) == EBUSY, "a domain in use");
	must(!mlx5dv_dr_action_destroy(away) && !mlx5dv_dr_table_destroy(foreign) &&
		     !mlx5dv_dr_domain_destroy(other),
	     "end of the other domain");
}

const struct test refusal_tests[] = {
	{ "refused-masks", masks },
	{ "refused-values", values },
	{ "refused-actions", actions },
	{ 0 },
};
