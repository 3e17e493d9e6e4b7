/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random tables, matchers and rules that come and go while frames pass. Each frame must end where
 * an interpreter of the API lets it end: the first matcher by priority that has a rule for the
 * frame decides. STEERED_SEED chooses the rules, and STEERED_RULES their number.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include "tests/adapters/lab/steered/random.h"

enum {
	TABLES = 4, /* of levels 1 to 4; rules lead to higher levels only */
	MATCHERS = 6,
	RULES_EACH = 512, /* of a matcher at a time */
	LISTENERS = 8,	  /* rules that stay, whose frames pass all the time */
	SMAC_LOW = 0x02,  /* number of the field in a change */
};

struct world_rule {
	struct pieces value;
	struct mlx5dv_dr_rule *rule;
	int tag;      /* -1: none */
	int new_smac; /* the low 16 bits that the rule writes; -1: none */
	int to;	      /* TIR, or behind the TIRs a table; -1: drop */
};

struct world_matcher {
	struct mlx5dv_dr_matcher *matcher; /* NULL: there is none */
	struct pieces masks;
	unsigned version; /* of IP, if it is compared */
	uint16_t priority;
	unsigned count;
	struct world_rule rules[RULES_EACH];
};

struct world_table {
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_action *go;
	struct world_matcher matchers[MATCHERS];
};

static struct world_table world[TABLES];
static struct mlx5dv_dr_action *tags[8], *smacs[4];
static atomic_bool is_over;
static unsigned made;

/* ---- the interpreter */

/* Return the matcher with the lowest priority above @above. */
static struct world_matcher *matcher_next(struct world_table *t, int above)
{
	struct world_matcher *best = NULL;

	for (int i = 0; i < MATCHERS; i++) {
		struct world_matcher *m = &t->matchers[i];

		if (m->matcher && m->priority > above && (!best || m->priority < best->priority))
			best = m;
	}
	return best;
}

static struct world_rule *rule_find(struct world_matcher *m, const struct pieces *value)
{
	for (unsigned i = 0; i < m->count; i++)
		if (pieces_match(&m->rules[i].value, value, &m->masks))
			return &m->rules[i];
	return NULL;
}

static const struct world_rule *rule_first(struct world_table *t, const struct frame *f)
{
	struct pieces value = pieces_of(f);
	struct world_matcher *m = matcher_next(t, -1);

	for (; m; m = matcher_next(t, m->priority)) {
		const struct world_rule *rule = rule_find(m, &value);

		if (rule)
			return rule;
	}
	return NULL;
}

/* Return the address at which a frame ends, and apply the changes of the rules to the frame. */
static uint64_t end_of(struct frame *f, int *ret_tag)
{
	int table = 0;

	*ret_tag = -1;
	for (;;) {
		const struct world_rule *rule = rule_first(&world[table], f);

		if (!rule || rule->to < 0)
			return LAB_DROP_RX;
		if (rule->tag >= 0)
			*ret_tag = rule->tag;
		if (rule->new_smac >= 0)
			f->smac = (f->smac & ~0xffffull) | rule->new_smac;
		if (rule->to < TIRS)
			return tir_at[rule->to];
		table = rule->to - TIRS;
	}
}

static void frame_check(const struct frame *f)
{
	uint8_t bytes[FRAME], after[FRAME];
	struct frame g = *f;
	int tag;
	uint64_t at = end_of(&g, &tag);

	frame_build(f, bytes);
	frame_build(&g, after);
	/* The header and the tag of a frame that is dropped have no meaning. */
	bytes_end_at(bytes, FRAME, NULL, at == LAB_DROP_RX ? NULL : after, FRAME, at,
		     "a random frame");
	must(at == LAB_DROP_RX ||
		     (last_end.has_tag == (tag >= 0) && (tag < 0 || last_end.tag == (uint32_t)tag)),
	     "the tag of a random frame");
}

/* ---- rules come and go */

static void matcher_open(struct world_table *t, struct world_matcher *m)
{
	struct pieces all;
	struct match mask;

	memset(&all, 0xff, sizeof(all));
	do {
		m->priority = 1 + random_below(1000);
		for (int i = 0; i < MATCHERS; i++)
			if (&t->matchers[i] != m && t->matchers[i].matcher &&
			    t->matchers[i].priority == m->priority)
				m->priority = 0;
	} while (!m->priority);
	m->masks = random_masks(&m->version);
	all.of[PIECE_VERSION] = m->version;
	mask = pieces_write(&all, &m->masks);
	m->matcher = mlx5dv_dr_matcher_create(t->table, m->priority, 1, (void *)&mask);
	must(m->matcher, "a random matcher");
	m->count = 0;
}

/* Draw what a rule of table @table does. Return the number of its actions. */
static unsigned actions_draw(struct world_rule *r, int table, struct mlx5dv_dr_action *actions[])
{
	unsigned count = 0;

	r->tag = r->new_smac = r->to = -1;
	if (!random_below(8)) {
		actions[count++] = drop;
		return count;
	}
	if (!random_below(4)) {
		unsigned i = random_below(sizeof(smacs) / sizeof(smacs[0]));

		r->new_smac = i;
		actions[count++] = smacs[i];
	}
	if (random_below(2)) {
		r->tag = random_below(sizeof(tags) / sizeof(tags[0]));
		actions[count++] = tags[r->tag];
	}
	if (table + 1 < TABLES && !random_below(3)) {
		r->to = table + 1 + random_below(TABLES - table - 1);
		actions[count++] = world[r->to].go;
		r->to += TIRS;
	} else {
		r->to = random_below(TIRS);
		actions[count++] = to[r->to];
	}
	return count;
}

static bool is_compared(const struct world_matcher *m, enum piece from, enum piece behind)
{
	for (int i = from; i < (int)behind; i++)
		if (m->masks.of[i])
			return true;
	return false;
}

/* Return whether an adapter can have the rule. A rule with ports needs a protocol with ports. */
static bool is_possible(const struct world_matcher *m, const struct pieces *value)
{
	if (m->masks.of[PIECE_VERSION] && value->of[PIECE_VERSION] != m->version)
		return false;
	if (is_compared(m, PIECE_UDP_SPORT, PIECE_TCP_SPORT))
		return value->of[PIECE_PROTOCOL] == UDP;
	return !is_compared(m, PIECE_TCP_SPORT, PIECES) || value->of[PIECE_PROTOCOL] == TCP;
}

static void rule_open(int table, struct world_matcher *m)
{
	struct mlx5dv_dr_action *actions[4];
	struct world_rule *r = &m->rules[m->count];
	struct frame f = random_frame();
	struct match value;
	unsigned count;

	if (m->count == RULES_EACH)
		return;
	r->value = pieces_of(&f);
	if (rule_find(m, &r->value) || !is_possible(m, &r->value))
		return;
	count = actions_draw(r, table, actions);
	value = pieces_write(&r->value, &m->masks);
	r->rule = mlx5dv_dr_rule_create(m->matcher, (void *)&value, count, actions);
	must(r->rule, "a random rule");
	m->count++;
	made++;
}

static void rule_close(struct world_matcher *m, unsigned i)
{
	must(!mlx5dv_dr_rule_destroy(m->rules[i].rule), "end of a random rule");
	m->rules[i] = m->rules[--m->count];
}

static void matcher_close(struct world_matcher *m)
{
	while (m->count)
		rule_close(m, m->count - 1);
	must(!mlx5dv_dr_matcher_destroy(m->matcher), "end of a random matcher");
	m->matcher = NULL;
}

static void step(void)
{
	int table = random_below(TABLES);
	struct world_matcher *m = &world[table].matchers[random_below(MATCHERS)];

	if (!m->matcher)
		matcher_open(&world[table], m);
	else if (!random_below(1000))
		matcher_close(m);
	else if (m->count && !random_below(4))
		rule_close(m, random_below(m->count));
	else
		rule_open(table, m);
}

/* ---- frames of rules that stay */

/* Return a frame that no random rule matches, because its values occur in no random frame. */
static struct frame listener_frame(unsigned i)
{
	struct frame f = plain;

	f.dmac = 0xfdffff000000ull | i;
	f.smac = 0xf9ffffffffffull;
	f.vlan = 0xfff;
	f.ethertype = 0xeeee;
	return f;
}

static void listeners_open(uint16_t priority)
{
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(world[0].table, priority, 1, &mask);
	for (unsigned i = 0; i < LISTENERS; i++) {
		set_mac(&value, dmac_high, dmac_low, listener_frame(i).dmac);
		rule_make(matcher, &value, 1, &to[i % TIRS]);
	}
}

static void *frames_pass(void *arg)
{
	unsigned long *passed = arg;

	for (; !atomic_load(&is_over); ++*passed) {
		unsigned i = *passed % LISTENERS;
		struct frame f = listener_frame(i);
		struct lab_steered end;
		uint8_t bytes[FRAME];

		frame_build(&f, bytes);
		must(!lab_steer(0, bytes, FRAME, NULL, &end) && end.at == tir_at[i % TIRS],
		     "a frame of a rule that stays");
	}
	return NULL;
}

/* ---- the case */

static void world_open(void)
{
	for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		tags[i] = tag_make(i);
	for (unsigned i = 0; i < sizeof(smacs) / sizeof(smacs[0]); i++) {
		uint64_t change = htobe64(1ull << 60 | (uint64_t)SMAC_LOW << 48 | 16ull << 32 | i);

		smacs[i] = act(mlx5dv_dr_action_create_modify_header(domain, 0, sizeof(change),
								     (__be64 *)&change));
	}
	for (int i = 0; i < TABLES; i++) {
		world[i].table = table_make(1 + i);
		world[i].go = act(mlx5dv_dr_action_create_dest_table(world[i].table));
	}
	listeners_open(60000);
}

static void world_close(void)
{
	for (int i = 0; i < TABLES; i++)
		for (int j = 0; j < MATCHERS; j++)
			if (world[i].matchers[j].matcher)
				matcher_close(&world[i].matchers[j]);
}

/* Return a frame that a rule of the first table matches, or any frame. */
static struct frame frame_draw(void)
{
	struct frame f = random_frame();

	for (int tries = 0; tries < 20 && !rule_first(&world[0], &f); tries++)
		f = random_frame();
	return f;
}

static void random_rules(void)
{
	const char *number = getenv("STEERED_RULES");
	unsigned wanted = number ? atoi(number) : 2000;
	unsigned long passed = 0;
	pthread_t thread;

	world_open();
	rules_sync();
	must(!pthread_create(&thread, NULL, frames_pass, &passed), "thread");
	while (made < wanted) {
		for (unsigned i = 0; i < 100; i++)
			step();
		rules_sync();
		for (unsigned i = 0; i < 100; i++) {
			struct frame f = frame_draw();

			frame_check(&f);
		}
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	must(passed, "no frame passed meanwhile");
	world_close();
	rules_sync();
}

const struct test random_tests[] = {
	{ "random", random_rules },
	{ 0 },
};
