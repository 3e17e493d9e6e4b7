/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Software steering of mlx5 on a played device: write rules, let frames enter the tables, and check
 * where each frame ends.
 *
 * usage: mlx5_steering CASE FILE   FILE: where the steering entries are written
 *        mlx5_steering             print the names of the cases
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include "tests/devices/scenario/lab.h"

enum {
	WORDS = 112, /* of a mask or a value */
	TIRS = 4,
	RULES = 4096,
	FRAME = 128,
	CREATE_TIR = 0x900,
	ALLOC_COUNTER = 0x939,
	COMMAND_WORDS = 68,
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	TCP = 6,
	UDP = 17,
};

static struct ibv_context *context;
static struct mlx5dv_dr_domain *domain;
static struct mlx5dv_devx_obj *tirs[TIRS];
static uint64_t tir_at[TIRS]; /* addresses of the TIRs */
static struct mlx5dv_dr_action *to[TIRS], *drop;
static struct mlx5dv_dr_rule *rules[RULES];
static unsigned checks;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- masks and values */

/* A field: word of the parameters, and its bits. */
struct field {
	unsigned word, high, low;
};

static const struct field smac_high = { 0, 31, 0 }, smac_low = { 1, 31, 16 },
			  ethertype = { 1, 15, 0 }, dmac_high = { 2, 31, 0 },
			  dmac_low = { 3, 31, 16 }, vlan_id = { 3, 11, 0 },
			  protocol = { 4, 31, 24 }, cvlan = { 4, 15, 15 },
			  ip_version = { 4, 12, 9 }, tcp_flags = { 4, 8, 0 }, dscp = { 4, 23, 18 },
			  tcp_sport = { 5, 31, 16 }, tcp_dport = { 5, 15, 0 }, ttl = { 6, 7, 0 },
			  udp_sport = { 7, 31, 16 }, udp_dport = { 7, 15, 0 },
			  src_0 = { 11, 31, 0 }, dst_0 = { 15, 31, 0 };

struct match {
	size_t size;
	uint32_t words[WORDS];
};

static void set(struct match *m, struct field f, uint32_t value)
{
	uint32_t bits = f.high - f.low == 31 ? ~0u : (1u << (f.high - f.low + 1)) - 1;

	m->size = sizeof(m->words);
	m->words[f.word] =
		htonl((ntohl(m->words[f.word]) & ~(bits << f.low)) | (value & bits) << f.low);
}

static void set_all(struct match *m, struct field f)
{
	set(m, f, ~0u);
}

static void set_mac(struct match *m, struct field high, struct field low, uint64_t mac)
{
	set(m, high, mac >> 16);
	set(m, low, mac & 0xffff);
}

/* Set the four words of an address, whose last word is @last. */
static void set_ipv6(struct match *m, struct field last, const uint32_t address[4])
{
	for (unsigned i = 0; i < 4; i++)
		set(m, (struct field){ last.word - 3 + i, 31, 0 }, address[i]);
}

/* ---- frames */

struct frame {
	uint64_t dmac, smac;
	uint16_t vlan, ethertype; /* vlan 0: no tag */
	uint32_t src[4], dst[4];  /* the address of IPv4 is the last word */
	uint8_t protocol, ttl, dscp;
	uint16_t sport, dport, flags;
};

static const struct frame plain = {
	.dmac = 0x001122334455,
	.smac = 0x00aabbccddee,
	.ethertype = IPV4,
	.src = { 0x20010db8, 1, 2, 0x0a630001 },
	.dst = { 0x20010db8, 3, 4, 0x0a000001 },
	.protocol = UDP,
	.ttl = 64,
	.sport = 1000,
	.dport = 4791,
};

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*at++ = value >> (8 * bytes);
	return at;
}

static uint8_t *put_ip(uint8_t *at, const struct frame *f)
{
	if (f->ethertype == IPV4) {
		at = put(at, 0x45000040u | (uint32_t)f->dscp << 18, 4);
		at = put(at, 0, 4);
		at = put(at, (uint32_t)f->ttl << 24 | (uint32_t)f->protocol << 16, 4);
		at = put(at, f->src[3], 4);
		return put(at, f->dst[3], 4);
	}
	at = put(at, 0x60000000u | (uint32_t)f->dscp << 22, 4);
	at = put(at, (uint32_t)f->protocol << 8 | f->ttl, 4);
	for (int i = 0; i < 4; i++)
		at = put(at, f->src[i], 4);
	for (int i = 0; i < 4; i++)
		at = put(at, f->dst[i], 4);
	return at;
}

static size_t build(const struct frame *f, uint8_t bytes[FRAME])
{
	uint8_t *at = bytes;

	memset(bytes, 0, FRAME);
	at = put(at, f->dmac, 6);
	at = put(at, f->smac, 6);
	if (f->vlan)
		at = put(at, 0x81000000u | f->vlan, 4);
	at = put(at, f->ethertype, 2);
	if (f->ethertype != IPV4 && f->ethertype != IPV6)
		return FRAME;
	at = put_ip(at, f);
	at = put(at, f->sport, 2);
	at = put(at, f->dport, 2);
	if (f->protocol == TCP)
		put(at + 8, 0x5000u | f->flags, 2);
	return FRAME;
}

/* ---- expectations: @tag -1: none */

static void ends_at(const struct frame *f, uint64_t at, int tag, const char *what)
{
	struct lab_steered end;
	uint8_t bytes[FRAME];
	size_t length = build(f, bytes);
	int r = lab_steer(0, bytes, length, &end);

	checks++;
	if (!r && end.at == at && (tag >= 0) == end.has_tag &&
	    (tag < 0 || end.tag == (uint32_t)tag))
		return;
	fprintf(stderr, "%s: %s: at 0x%llx instead of 0x%llx, tag %d instead of %d, %u entries\n",
		what, strerror(r), (unsigned long long)end.at, (unsigned long long)at,
		end.has_tag ? (int)end.tag : -1, tag, end.entries);
	exit(1);
}

static void arrives(const struct frame *f, unsigned tir, int tag, const char *what)
{
	ends_at(f, tir_at[tir], tag, what);
}

static void lost(const struct frame *f, const char *what)
{
	ends_at(f, LAB_DROP_RX, -1, what);
}

/* ---- objects */

static void tir_make(unsigned i)
{
	uint32_t in[COMMAND_WORDS] = { htonl(CREATE_TIR << 16) }, out[4] = { 0 };

	tirs[i] = mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
	must(tirs[i], "TIR");
	tir_at[i] = (uint64_t)(ntohl(out[2]) >> 24) << 32 | ntohl(out[3]);
	to[i] = mlx5dv_dr_action_create_dest_devx_tir(tirs[i]);
	must(to[i], "action");
}

static struct mlx5dv_dr_table *table_make(uint32_t level)
{
	struct mlx5dv_dr_table *table = mlx5dv_dr_table_create(domain, level);

	must(table, "table");
	return table;
}

static struct mlx5dv_dr_matcher *matcher_make(struct mlx5dv_dr_table *table, uint16_t priority,
					      uint8_t criteria, struct match *mask)
{
	struct mlx5dv_dr_matcher *matcher =
		mlx5dv_dr_matcher_create(table, priority, criteria, (void *)mask);

	must(matcher, "matcher");
	return matcher;
}

static struct mlx5dv_dr_action *tag_make(uint32_t tag)
{
	struct mlx5dv_dr_action *action = mlx5dv_dr_action_create_tag(tag);

	must(action, "tag");
	return action;
}

static struct mlx5dv_dr_rule *rule_make(struct mlx5dv_dr_matcher *matcher, struct match *value,
					size_t count, struct mlx5dv_dr_action *actions[])
{
	struct mlx5dv_dr_rule *rule = mlx5dv_dr_rule_create(matcher, (void *)value, count, actions);

	must(rule, "rule");
	return rule;
}

static void rule_end(struct mlx5dv_dr_rule *rule)
{
	must(!mlx5dv_dr_rule_destroy(rule), "end of a rule");
}

/* Wait until the device has all rules. */
static void settle(void)
{
	must(!mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW |
						    MLX5DV_DR_DOMAIN_SYNC_FLAGS_HW),
	     "sync");
}

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
	settle();
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
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, i % 3);
	for (unsigned i = 0; i < COUNT; i += 6)
		udp_rule(matcher, i);
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, i % 3 || !(i % 6));
	for (unsigned i = 0; i < COUNT; i++) {
		if (i % 3 || !(i % 6))
			rule_end(rules[i]);
	}
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		udp_check(i, false);
	must(!mlx5dv_dr_matcher_destroy(matcher), "end of the matcher");
	settle();
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
	settle();
	udp_check(0, true);
	rule_end(rules[0]);
	settle();
	arrives(&f, 3, 0x999, "the second rule");
	mlx5dv_dr_domain_allow_duplicate_rules(domain, false);
	errno = 0;
	must(!mlx5dv_dr_rule_create(matcher, (void *)&value, 2, actions) && errno == EEXIST,
	     "a duplicate");
	settle();
	arrives(&f, 3, 0x999, "the second rule, after a refusal");
	rule_end(second);
	settle();
	lost(&f, "no rule");
}

/* ---- matchers: priorities, and every field */

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
	settle();
	arrives(&f, 3, 3, "both addresses");
	lost(&other, "another destination");
	source = mac_matcher(table, 9, 2, 2);
	settle();
	arrives(&f, 3, 3, "the first matcher");
	arrives(&other, 2, 2, "the second matcher");
	mac_matcher(table, 1, 1, 1);
	settle();
	arrives(&f, 1, 1, "a matcher before the first");
	/* Of two matchers with one priority the newer one is the first. */
	last = mac_matcher(table, 1, 3, 4);
	settle();
	arrives(&f, 3, 4, "the newest matcher");
	rule_end(rules[4]);
	must(!mlx5dv_dr_matcher_destroy(last), "end of the newest matcher");
	rule_end(rules[3]);
	must(!mlx5dv_dr_matcher_destroy(both), "end of a matcher between others");
	settle();
	arrives(&f, 1, 1, "the first of two matchers");
	rule_end(rules[2]);
	must(!mlx5dv_dr_matcher_destroy(source), "end of the last matcher");
	settle();
	arrives(&f, 1, 1, "the only matcher");
	lost(&other, "the end of the table");
}

/* A rule for all fields of a frame that @fill selects. @change: another value of one field */
struct layer {
	const char *name;
	uint8_t criteria;
	void (*fill)(struct match *mask, struct match *value, const struct frame *f);
	struct frame frame;
	void (*change)(struct frame *f, unsigned which);
	unsigned changes;
};

static void fill_vlan(struct match *mask, struct match *value, const struct frame *f)
{
	set_mac(mask, dmac_high, dmac_low, ~0ull);
	set_mac(value, dmac_high, dmac_low, f->dmac);
	set_all(mask, cvlan);
	set_all(value, cvlan);
	set_all(mask, vlan_id);
	set(value, vlan_id, f->vlan);
	set_all(mask, ethertype);
	set(value, ethertype, f->ethertype);
}

static void change_vlan(struct frame *f, unsigned which)
{
	if (which == 0)
		f->dmac ^= 1;
	else if (which == 1)
		f->vlan ^= 1;
	else if (which == 2)
		f->vlan = 0;
	else
		f->ethertype = IPV6;
}

static void fill_source(struct match *mask, struct match *value, const struct frame *f)
{
	set_mac(mask, smac_high, smac_low, 0xffffffff0000);
	set_mac(value, smac_high, smac_low, f->smac & 0xffffffff0000);
	set_all(mask, ethertype);
	set(value, ethertype, f->ethertype);
}

static void change_source(struct frame *f, unsigned which)
{
	if (which == 0)
		f->smac ^= 0x10000;
	else
		f->ethertype++;
}

static void fill_addresses(struct match *mask, struct match *value, const struct frame *f)
{
	fill_source(mask, value, f);
	set_mac(mask, dmac_high, dmac_low, ~0ull);
	set_mac(value, dmac_high, dmac_low, f->dmac);
	set_all(mask, vlan_id);
	set(value, vlan_id, f->vlan);
}

static void change_addresses(struct frame *f, unsigned which)
{
	if (which == 2)
		f->dmac ^= 1ull << 47;
	else if (which == 3)
		f->vlan ^= 1;
	else
		change_source(f, which);
}

static void fill_ipv4(struct match *mask, struct match *value, const struct frame *f)
{
	set(mask, ip_version, 4);
	set(value, ip_version, 4);
	set_all(mask, src_0);
	set(value, src_0, f->src[3]);
	set(mask, dst_0, 0xffffff00);
	set(value, dst_0, f->dst[3] & 0xffffff00);
	set_all(mask, protocol);
	set(value, protocol, TCP);
	set_all(mask, tcp_sport);
	set(value, tcp_sport, f->sport);
	set_all(mask, tcp_dport);
	set(value, tcp_dport, f->dport);
	set(mask, tcp_flags, 0x12);
	set(value, tcp_flags, 0x02);
	set_all(mask, dscp);
	set(value, dscp, f->dscp);
	set_all(mask, ttl);
	set(value, ttl, f->ttl);
}

static void change_ipv4(struct frame *f, unsigned which)
{
	if (which == 0)
		f->src[3] ^= 1;
	else if (which == 1)
		f->dst[3] ^= 0x100;
	else if (which == 2)
		f->protocol = UDP;
	else if (which == 3)
		f->sport++;
	else if (which == 4)
		f->dport++;
	else if (which == 5)
		f->flags = 0x12;
	else if (which == 6)
		f->dscp++;
	else
		f->ttl--;
}

static void fill_ipv6(struct match *mask, struct match *value, const struct frame *f)
{
	const uint32_t all[4] = { ~0u, ~0u, ~0u, ~0u };

	set(mask, ip_version, 6);
	set(value, ip_version, 6);
	set_ipv6(mask, src_0, all);
	set_ipv6(value, src_0, f->src);
	set_ipv6(mask, dst_0, all);
	set_ipv6(value, dst_0, f->dst);
	set_all(mask, protocol);
	set(value, protocol, UDP);
	set_all(mask, udp_sport);
	set(value, udp_sport, f->sport);
	set_all(mask, udp_dport);
	set(value, udp_dport, f->dport);
	set_all(mask, dscp);
	set(value, dscp, f->dscp);
	set_all(mask, ttl);
	set(value, ttl, f->ttl);
}

static void change_ipv6(struct frame *f, unsigned which)
{
	if (which < 4)
		f->src[which] ^= 1;
	else if (which < 8)
		f->dst[which - 4] ^= 0x80000000;
	else
		change_ipv4(f, which - 8 < 1 ? 3 : which - 8 < 2 ? 4 : which - 8 < 3 ? 6 : 7);
}

/* Check that only a frame with all the values arrives. */
static void layer_check(const struct layer *l)
{
	struct mlx5dv_dr_action *actions[2] = { tag_make(0x5a), to[1] };
	struct match mask = { 0 }, value = { 0 };

	l->fill(&mask, &value, &l->frame);
	rule_make(matcher_make(table_make(1), 0, l->criteria, &mask), &value, 2, actions);
	settle();
	arrives(&l->frame, 1, 0x5a, l->name);
	for (unsigned i = 0; i < l->changes; i++) {
		struct frame other = l->frame;

		l->change(&other, i);
		lost(&other, l->name);
	}
}

static void fields_vlan(void)
{
	struct layer l = { "VLAN", 1, fill_vlan, plain, change_vlan, 4 };

	l.frame.vlan = 0x123;
	layer_check(&l);
}

static void fields_source(void)
{
	struct layer l = { "source", 1, fill_source, plain, change_source, 2 };

	layer_check(&l);
}

static void fields_addresses(void)
{
	struct layer l = { "addresses", 1, fill_addresses, plain, change_addresses, 4 };

	layer_check(&l);
}

static void fields_ipv4(void)
{
	struct layer l = { "IPv4", 1, fill_ipv4, plain, change_ipv4, 8 };

	l.frame.protocol = TCP;
	l.frame.flags = 0x02;
	l.frame.dscp = 0x2a;
	layer_check(&l);
}

static void fields_ipv6(void)
{
	struct layer l = { "IPv6", 1, fill_ipv6, plain, change_ipv6, 12 };

	l.frame.ethertype = IPV6;
	l.frame.dscp = 0x15;
	layer_check(&l);
}

/* ---- actions and tables */

static struct mlx5dv_dr_action *counter_make(uint32_t offset)
{
	uint32_t in[8] = { htonl(ALLOC_COUNTER << 16) }, out[4] = { 0 };
	struct mlx5dv_devx_obj *object =
		mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
	struct mlx5dv_dr_action *action =
		object ? mlx5dv_dr_action_create_flow_counter(object, offset) : NULL;

	must(action, "counter");
	return action;
}

/* Rules of the first table, one for each destination address, and a second table for all. */
static void tables(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go = mlx5dv_dr_action_create_dest_table(second);
	struct mlx5dv_dr_action *miss = mlx5dv_dr_action_create_default_miss();
	struct mlx5dv_dr_action *tag = tag_make(0x77), *counter = counter_make(3);
	struct mlx5dv_dr_action *lists[][3] = {
		{ go }, { drop }, { miss }, { counter, drop }, { tag, counter, go }, { to[2] },
	};
	const size_t lengths[] = { 1, 1, 1, 2, 3, 1 };
	struct match mask = { 0 }, all = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;

	must(go && miss, "actions");
	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(first, 1, 1, &mask);
	for (unsigned i = 0; i < 6; i++) {
		set_mac(&value, dmac_high, dmac_low, plain.dmac + i);
		rules[i] = rule_make(matcher, &value, lengths[i], lists[i]);
	}
	settle();
	lost(&f, "a table without rules");
	rule_make(matcher_make(second, 0, 0, &all), &all, 1, &to[3]);
	settle();
	arrives(&f, 3, -1, "a table behind a table");
	for (f.dmac++; f.dmac < plain.dmac + 4; f.dmac++)
		lost(&f, "drop and default miss");
	arrives(&f, 3, 0x77, "tag, counter and table");
	f.dmac++;
	arrives(&f, 2, -1, "a destination alone");
	f.dmac++;
	lost(&f, "no rule");
	must(mlx5dv_dr_table_destroy(second) == EBUSY && mlx5dv_dr_action_destroy(go) == EBUSY,
	     "users");
	rule_end(rules[0]);
	rule_end(rules[4]);
	settle();
	f.dmac = plain.dmac + 4;
	lost(&f, "a rule that is destroyed");
	must(!mlx5dv_dr_action_destroy(go), "end of an action");
}

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "one-rule", one_rule },
	{ "many-rules", many_rules },
	{ "growth", growth },
	{ "deletion", deletion },
	{ "duplicates", duplicates },
	{ "priorities", priorities },
	{ "fields-vlan", fields_vlan },
	{ "fields-source", fields_source },
	{ "fields-addresses", fields_addresses },
	{ "fields-ipv4", fields_ipv4 },
	{ "fields-ipv6", fields_ipv6 },
	{ "tables", tables },
};

static const struct test *test_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	}
	fprintf(stderr, "there is no case %s\n", name);
	exit(1);
}

static void objects_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	must(list && list[0], "device");
	context = mlx5dv_open_device(list[0], &attr);
	must(context, "context");
	domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	must(domain, "domain");
	for (unsigned i = 0; i < TIRS; i++)
		tir_make(i);
	drop = mlx5dv_dr_action_create_drop();
	must(drop, "drop");
}

int main(int argc, char **argv)
{
	const struct test *test;

	if (argc != 3) {
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
			puts(tests[i].name);
		return 0;
	}
	test = test_find(argv[1]);
	must(lab_steer && lab_icm, "the program runs without the played device");
	objects_open();
	test->run();
	must(!lab_icm(argv[2]), "file of the entries");
	printf("%s: %u frames\n", test->name, checks);
	return 0;
}
