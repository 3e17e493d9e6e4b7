/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules: many of them, their ends, matchers, tables and actions. */
#include "tests/adapters/lab/steered/steered.h"

static struct mlx5dv_dr_rule *rules[RULES];

/* ---- rules for an address of IPv4 and a port of UDP */

static struct mlx5dv_dr_matcher *udp_matcher(struct mlx5dv_dr_table *table)
{
	struct match mask = { 0 };

	set(&mask, ip_version, 4);
	set_all(&mask, dst_0);
	set_all(&mask, protocol);
	set_all(&mask, udp_dport);
	return matcher_make(table, 0, 1, &mask);
}

static void udp_rule(struct mlx5dv_dr_matcher *matcher, unsigned i)
{
	struct mlx5dv_dr_action *actions[2] = { tag_make(0x100 + i), to[i % TIRS] };
	struct match value = { 0 };

	set(&value, ip_version, 4);
	set(&value, dst_0, 0x0a000001 + i);
	set(&value, protocol, UDP);
	set(&value, udp_dport, 4791);
	rules[i] = rule_make(matcher, &value, 2, actions);
}

static struct frame udp_frame(unsigned i)
{
	struct frame f = plain;

	f.dst[3] += i;
	return f;
}

/* Check a frame of rule @i, and frames that differ from it in one field. */
static void udp_check(unsigned i, bool there)
{
	struct frame f = udp_frame(i), other = f;

	if (there)
		arrives(&f, i % TIRS, 0x100 + i, "a frame of a rule");
	else
		lost(&f, "a frame of no rule");
	other.dst[3] ^= 0x01000000;
	lost(&other, "another address");
	other = f;
	other.dport++;
	lost(&other, "another port");
	other = f;
	other.protocol = TCP;
	lost(&other, "another protocol");
	other = f;
	other.ethertype = IPV6;
	lost(&other, "another version of IP");
	other = f;
	other.src[3]++;
	other.smac++;
	other.sport++;
	other.ttl--;
	if (there)
		arrives(&other, i % TIRS, 0x100 + i, "fields that no rule compares");
}

static void some_rules(unsigned count)
{
	struct mlx5dv_dr_matcher *matcher = udp_matcher(table_make(1));

	for (unsigned i = 0; i < count; i++)
		udp_rule(matcher, i);
	rules_sync();
	for (unsigned i = 0; i < count; i++)
		udp_check(i, true);
	udp_check(count, false);
}

static void one_rule(void)
{
	some_rules(1);
}

/* More rules than entries: tables grow, and rules collide. */
static void many_rules(void)
{
	some_rules(40);
}

static void growth(void)
{
	some_rules(600);
}

/* Destroy rules at the beginning, within and at the end of lists of collisions. */
static void deletion(void)
{
	enum {
		COUNT = 60
	};
	struct mlx5dv_dr_matcher *matcher = udp_matcher(table_make(1));

	for (unsigned i = 0; i < COUNT; i++)
		udp_rule(matcher, i);
	for (unsigned i = 0; i < COUNT; i += 3)
		rule_end(rules[i]);
	rules_sync();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, i % 3);
	for (unsigned i = 0; i < COUNT; i += 6)
		udp_rule(matcher, i);
	rules_sync();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, i % 3 || !(i % 6));
	record();
	for (unsigned i = 0; i < COUNT; i++) {
		if (i % 3 || !(i % 6))
			rule_end(rules[i]);
	}
	rules_sync();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, false);
	must(!end(matcher), "end of the matcher");
	rules_sync();
	udp_check(0, false);
}

/* Of two rules with one value the older one matches. */
static void duplicates(void)
{
	struct mlx5dv_dr_matcher *matcher = udp_matcher(table_make(1));
	struct mlx5dv_dr_action *actions[2] = { tag_make(0x999), to[3] };
	struct mlx5dv_dr_rule *second;
	struct match value = { 0 };
	struct frame f = udp_frame(0);

	udp_rule(matcher, 0);
	set(&value, ip_version, 4);
	set(&value, dst_0, 0x0a000001);
	set(&value, protocol, UDP);
	set(&value, udp_dport, 4791);
	second = rule_make(matcher, &value, 2, actions);
	rules_sync();
	udp_check(0, true);
	rule_end(rules[0]);
	rules_sync();
	arrives(&f, 3, 0x999, "the second rule");
	mlx5dv_dr_domain_allow_duplicate_rules(domain, false);
	errno = 0;
	must(!mlx5dv_dr_rule_create(matcher, (void *)&value, 2, actions) && errno == EEXIST,
	     "a duplicate");
	rules_sync();
	arrives(&f, 3, 0x999, "the second rule, after a refusal");
	record();
	rule_end(second);
	rules_sync();
	lost(&f, "no rule");
}

/* ---- matchers and their priorities */

/* A matcher of MAC addresses with a rule: @fields 1: destination, 2: source, 3: both */
static struct mlx5dv_dr_matcher *mac_matcher(struct mlx5dv_dr_table *table, uint16_t priority,
					     unsigned fields, unsigned tag)
{
	struct mlx5dv_dr_action *actions[2] = { tag_make(tag), to[fields] };
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;

	if (fields & 1) {
		set_mac(&mask, dmac_high, dmac_low, ~0ull);
		set_mac(&value, dmac_high, dmac_low, plain.dmac);
	}
	if (fields & 2) {
		set_mac(&mask, smac_high, smac_low, ~0ull);
		set_mac(&value, smac_high, smac_low, plain.smac);
	}
	matcher = matcher_make(table, priority, 1, &mask);
	rules[tag] = rule_make(matcher, &value, 2, actions);
	return matcher;
}

static void priorities(void)
{
	struct mlx5dv_dr_table *table = table_make(1);
	struct mlx5dv_dr_matcher *both = mac_matcher(table, 5, 3, 3), *source, *last;
	struct frame f = plain, other = plain;

	other.dmac++;
	rules_sync();
	arrives(&f, 3, 3, "both addresses");
	lost(&other, "another destination");
	source = mac_matcher(table, 9, 2, 2);
	rules_sync();
	arrives(&f, 3, 3, "the first matcher");
	arrives(&other, 2, 2, "the second matcher");
	mac_matcher(table, 1, 1, 1);
	rules_sync();
	arrives(&f, 1, 1, "a matcher before the first");
	/* Of two matchers with one priority the newer one is the first. */
	last = mac_matcher(table, 1, 3, 4);
	rules_sync();
	arrives(&f, 3, 4, "the newest matcher");
	rule_end(rules[4]);
	must(!end(last), "end of the newest matcher");
	rule_end(rules[3]);
	must(!end(both), "end of a matcher between others");
	rules_sync();
	arrives(&f, 1, 1, "the first of two matchers");
	rule_end(rules[2]);
	must(!end(source), "end of the last matcher");
	rules_sync();
	arrives(&f, 1, 1, "the only matcher");
	lost(&other, "the end of the table");
}

/* ---- actions and tables */

/* Rules of the first table, one for each destination address, and a second table for all. */
static void tables(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go =
		keep(MADE_ACTION, mlx5dv_dr_action_create_dest_table(second), "table");
	struct mlx5dv_dr_action *miss =
		keep(MADE_ACTION, mlx5dv_dr_action_create_default_miss(), "default miss");
	struct mlx5dv_dr_action *tag = tag_make(0x77), *counter = counter_make(3);
	struct mlx5dv_dr_action *lists[][3] = {
		{ go }, { drop }, { miss }, { counter, drop }, { tag, counter, go }, { to[2] },
	};
	const size_t lengths[] = { 1, 1, 1, 2, 3, 1 };
	struct match mask = { 0 }, all = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(first, 1, 1, &mask);
	for (unsigned i = 0; i < 6; i++) {
		set_mac(&value, dmac_high, dmac_low, plain.dmac + i);
		rules[i] = rule_make(matcher, &value, lengths[i], lists[i]);
	}
	rules_sync();
	lost(&f, "a table without rules");
	rule_make(matcher_make(second, 0, 0, &all), &all, 1, &to[3]);
	rules_sync();
	arrives(&f, 3, -1, "a table behind a table");
	for (f.dmac++; f.dmac < plain.dmac + 4; f.dmac++)
		lost(&f, "drop and default miss");
	arrives(&f, 3, 0x77, "tag, counter and table");
	f.dmac++;
	arrives(&f, 2, -1, "a destination alone");
	f.dmac++;
	lost(&f, "no rule");
	must(end(second) == EBUSY && end(go) == EBUSY && end(matcher) == EBUSY, "users");
	rule_end(rules[0]);
	rule_end(rules[4]);
	rules_sync();
	f.dmac = plain.dmac + 4;
	lost(&f, "a rule that is destroyed");
	must(!end(go), "end of an action");
}

/* Packets that a process sends leave the adapter, unless a rule drops them. */
static void sending(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go =
		keep(MADE_ACTION, mlx5dv_dr_action_create_dest_table(second), "table");
	struct mlx5dv_dr_action *counter = counter_make(1);
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;

	set_mac(&mask, smac_high, smac_low, ~0ull);
	set_mac(&value, smac_high, smac_low, f.smac);
	matcher = matcher_make(first, 1, 1, &mask);
	rules_sync();
	ends_at(&f, LAB_ALLOW_TX, -1, "no rule");
	rule_make(matcher, &value, 2, (struct mlx5dv_dr_action *[]){ counter, go });
	matcher = matcher_make(second, 1, 1, &mask);
	rule_make(matcher, &value, 2, (struct mlx5dv_dr_action *[]){ drop, counter });
	rules_sync();
	ends_at(&f, LAB_DROP_TX, -1, "a rule that drops");
	f.smac++;
	ends_at(&f, LAB_ALLOW_TX, -1, "another address");
	/* Queues receive, they do not send. */
	errno = 0;
	must(!mlx5dv_dr_rule_create(matcher, (void *)&value, 1, &to[0]) && errno == EOPNOTSUPP,
	     "a TIR for sent packets");
}

/* From a rule of the kernel's table to a table of the library. */
static void root(void)
{
	struct mlx5dv_dr_table *first = table_make(0), *table = table_make(1);
	struct mlx5dv_dr_action *go =
		keep(MADE_ACTION, mlx5dv_dr_action_create_dest_table(table), "table");
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *addresses;
	struct mlx5dv_dr_rule *entry;
	struct frame f = plain;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	set_mac(&value, dmac_high, dmac_low, plain.dmac);
	addresses = matcher_make(first, 2, 1, &mask);
	entry = rule_make(addresses, &value, 1, &go);
	set_mac(&value, dmac_high, dmac_low, plain.dmac + 1);
	rule_make(addresses, &value, 1, &drop);
	udp_rule(udp_matcher(table), 0);
	rules_sync();
	root_ends_at(&f, tir_at[0], 0x100, "a rule of the table");
	f.dport++;
	root_ends_at(&f, LAB_DROP_RX, -1, "no rule of the table");
	f.dmac++;
	root_ends_at(&f, LAB_DROP_RX, -1, "a root rule that drops");
	f.dmac++;
	root_passes(&f, "no root rule");
	must(end(table) == EBUSY, "a table in use");
	rule_end(entry);
	f = plain;
	root_passes(&f, "a root rule that is destroyed");
}

/* If the program enables it, memory without rules is returned to the kernel. */
static void reclaim(void)
{
	enum {
		COUNT = 40
	};
	struct mlx5dv_dr_table *table = table_make(1);
	struct mlx5dv_dr_matcher *matcher = udp_matcher(table);

	for (unsigned i = 0; i < COUNT; i++)
		udp_rule(matcher, i);
	rules_sync();
	udp_check(0, true);
	for (unsigned i = 0; i < COUNT; i++)
		rule_end(rules[i]);
	must(!end(matcher) && !end(table), "end of matcher and table");
	mlx5dv_dr_domain_set_reclaim_device_memory(domain, true);
	must(!mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_MEM), "sync of memory");
	record();
}

const struct test rule_tests[] = {
	{ "one-rule", one_rule },
	{ "many-rules", many_rules },
	{ "growth", growth },
	{ "deletion", deletion },
	{ "duplicates", duplicates },
	{ "priorities", priorities },
	{ "tables", tables },
	{ "reclaim", reclaim },
	{ "root", root },
	{ "sending", sending, MLX5DV_DR_DOMAIN_TYPE_NIC_TX },
	{ 0 },
};
