/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dumps of a domain, and sizes of tables. */
#include <arpa/inet.h>
#include <unistd.h>
#include "tests/adapters/lab/steered/steered.h"

enum {
	DUMP = 1 << 16,
};

/* Return whether another library prints another record: the domain with its version, the device,
 * and the queue pairs that write entries. */
static bool is_own(const char *line)
{
	return !strncmp(line, "3000,", 5) || !strncmp(line, "3002,", 5) ||
	       !strncmp(line, "3005,", 5);
}

/* Copy a dump without what differs between two runs: addresses of this process, and its number. */
static void normalize(const char *from, char *ret)
{
	while (*from) {
		const char *end = strchr(from, '\n') + 1;

		while (!is_own(from) && from < end) {
			char *after = (char *)from;
			unsigned long long number = 0;

			if (!strncmp(from, "0x", 2))
				number = strtoull(from, &after, 16);
			if (number >> 44 || (number && number >> 8 == (unsigned)getpid())) {
				ret += sprintf(ret, "id");
				from = after;
			} else {
				*ret++ = *from++;
			}
		}
		from = end;
	}
	*ret = 0;
}

static void dump(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go = act(mlx5dv_dr_action_create_dest_table(second));
	struct mlx5dv_dr_action *pop = act(mlx5dv_dr_action_create_pop_vlan());
	struct mlx5dv_dr_action *tag = tag_make(0x77), *counter = counter_make(2);
	struct mlx5dv_dr_action *lists[][6] = {
		{ drop },
		{ pop, go },
		{ tag, counter, pop, to[2] },
		{ counter, go },
	};
	const size_t lengths[] = { 1, 2, 4, 2 };
	char *text = NULL, *normal = malloc(2 * DUMP);
	struct match all = { 0 };
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out && normal, "memory");
	must(mlx5dv_dump_dr_domain(NULL, domain) == -EINVAL, "no file");
	must(mlx5dv_dump_dr_rule(out, NULL) == -EINVAL, "no rule");
	rules_for(first, lists, lengths, 4);
	rule_make(matcher_make(second, 3, 0, &all), &all, 1, &to[1]);
	rules_sync();
	must(mlx5dv_dump_dr_domain(out, domain) >= 0, "dump of the domain");
	must(mlx5dv_dump_dr_table(out, second) >= 0, "dump of a table");
	must(!fclose(out) && size < DUMP, "dump");
	normalize(text, normal);
	record_text(normal);
	free(normal);
	free(text);
}

/* A matcher of wide entries has the size that the program requests, or cannot be created. */
static void layout(void)
{
	struct mlx5dv_dr_matcher_layout want = { .flags = MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE,
						 .log_num_of_rules_hint = 6 };
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;
	int r;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(table_make(1), 1, 1, &mask);
	for (unsigned i = 0; i < 10; i++) {
		set_mac(&value, dmac_high, dmac_low, plain.dmac + i);
		rule_make(matcher, &value, 1, &to[i % TIRS]);
	}
	r = mlx5dv_dr_matcher_set_layout(matcher, &want);
	must(!r || r == EOPNOTSUPP, "layout");
	for (unsigned i = 10; !r && i < 100; i++) {
		set_mac(&value, dmac_high, dmac_low, plain.dmac + i);
		rule_make(matcher, &value, 1, &to[i % TIRS]);
	}
	rules_sync();
	for (unsigned i = 0; i < (r ? 10 : 100); i++, f.dmac++)
		arrives(&f, i % TIRS, -1, "a table of a wanted size");
	lost(&f, "another address");
	want.flags = 4;
	must(mlx5dv_dr_matcher_set_layout(matcher, &want) == EOPNOTSUPP, "unknown flag");
	want.flags = MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE;
	want.log_num_of_rules_hint = 21;
	must(mlx5dv_dr_matcher_set_layout(matcher, &want) == EOPNOTSUPP, "too many rules");
}

const struct test dump_tests[] = {
	{ "dump", dump },
	{ "layout", layout },
	{ 0 },
};
