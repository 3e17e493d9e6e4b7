/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that create and destroy rules and matchers of one domain at the same time. */
#include <pthread.h>
#include "tests/adapters/lab/steered/steered.h"

enum {
	THREADS = 8,
	EACH = 40, /* rules of a thread */
};

static struct mlx5dv_dr_table *table;
static struct mlx5dv_dr_matcher *matcher;
static struct mlx5dv_dr_rule *rules[THREADS][EACH];

static struct mlx5dv_dr_rule *rule(unsigned address)
{
	struct match value = { 0 };

	set(&value, ip_version, 4);
	set(&value, dst_0, address);
	return mlx5dv_dr_rule_create(matcher, (void *)&value, 1, &to[address % TIRS]);
}

static uint32_t address_of(unsigned thread, unsigned i)
{
	return 0x0a000000 + i * THREADS + thread;
}

/* Create a matcher with a rule, and destroy both. */
static void other_matcher(unsigned thread)
{
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *own;
	struct mlx5dv_dr_rule *last;

	set_all(&mask, ethertype);
	set(&value, ethertype, 0x9000 + thread);
	own = mlx5dv_dr_matcher_create(table, thread, 1, (void *)&mask);
	must(own, "matcher of a thread");
	last = mlx5dv_dr_rule_create(own, (void *)&value, 1, &drop);
	must(last && !mlx5dv_dr_rule_destroy(last) && !mlx5dv_dr_matcher_destroy(own),
	     "end of a matcher of a thread");
}

static void *work(void *arg)
{
	unsigned thread = (uintptr_t)arg;

	for (unsigned i = 0; i < EACH; i++) {
		rules[thread][i] = rule(address_of(thread, i));
		must(rules[thread][i], "rule of a thread");
		if (i % 8 == thread)
			other_matcher(thread);
		if (i % 2)
			must(!mlx5dv_dr_rule_destroy(rules[thread][i - 1]), "end of a rule");
		if (i % 16 == thread)
			must(!mlx5dv_dr_domain_sync(domain,
						    MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW |
							    MLX5DV_DR_DOMAIN_SYNC_FLAGS_MEM),
			     "sync");
	}
	return NULL;
}

static void threads(void)
{
	struct match mask = { 0 };
	pthread_t ids[THREADS];
	struct frame f = plain;

	table = table_make(1);
	set(&mask, ip_version, 4);
	set_all(&mask, dst_0);
	matcher = matcher_make(table, 4, 1, &mask);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(!pthread_create(&ids[i], NULL, work, (void *)i), "thread");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	rules_sync();
	for (unsigned i = 0; i < THREADS * EACH; i++) {
		f.dst[3] = address_of(i % THREADS, i / THREADS);
		if (i / THREADS % 2)
			arrives(&f, f.dst[3] % TIRS, -1, "a rule of a thread");
		else
			lost(&f, "a rule that a thread destroyed");
	}
	for (unsigned i = 0; i < THREADS * EACH; i++) {
		if (i / THREADS % 2)
			must(!mlx5dv_dr_rule_destroy(rules[i % THREADS][i / THREADS]),
			     "end of a rule");
	}
	rules_sync();
	lost(&f, "no rule");
}

const struct test thread_tests[] = {
	{ "threads", threads },
	{ 0 },
};
