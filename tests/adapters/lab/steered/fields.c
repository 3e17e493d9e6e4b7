/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every field that a matcher of formats 1 to 3 can have. */
#include "tests/adapters/lab/steered/steered.h"

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
	rules_sync();
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

const struct test field_tests[] = {
	{ "fields-vlan", fields_vlan },		  { "fields-source", fields_source },
	{ "fields-addresses", fields_addresses }, { "fields-ipv4", fields_ipv4 },
	{ "fields-ipv6", fields_ipv6 },		  { 0 },
};
