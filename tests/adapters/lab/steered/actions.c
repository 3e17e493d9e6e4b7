/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions that add and remove headers. Each rule has a list of actions, and the frame is compared
 * at its end. */
#include <arpa/inet.h>
#include "tests/adapters/lab/steered/steered.h"

#define L2	 MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL
#define L3	 MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL
#define STRIP_L2 MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2
#define STRIP_L3 MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2

enum {
	TUNNEL = 50, /* bytes of Ethernet, IPv4, UDP and VXLAN */
	GRE_TUNNEL = 38,
	MACS = 12,
	ETHERNET = 14,
	MOST = 256,
};

/* Bytes of a frame while the expected frame is built. */
struct bytes {
	uint8_t at[MOST];
	size_t length;
};

static struct bytes bytes_of(const struct frame *f)
{
	struct bytes b;

	b.length = frame_build(f, b.at);
	return b;
}

static void bytes_remove(struct bytes *b, size_t at, size_t length)
{
	memmove(b->at + at, b->at + at + length, b->length - at - length);
	b->length -= length;
}

static void bytes_insert(struct bytes *b, size_t at, const void *from, size_t length)
{
	memmove(b->at + at + length, b->at + at, b->length - at);
	memcpy(b->at + at, from, length);
	b->length += length;
}

static void ends(const struct bytes *from, const struct bytes *expected, uint64_t at,
		 const char *what)
{
	bytes_end_at(from->at, from->length, NULL, expected->at, expected->length, at, what);
}

static void insert_tag(struct bytes *b, uint32_t tag)
{
	uint32_t bytes = htonl(tag);

	bytes_insert(b, MACS, &bytes, sizeof(bytes));
}

static struct mlx5dv_dr_action *encap(enum mlx5dv_flow_action_packet_reformat_type type,
				      size_t size)
{
	static uint8_t header[TUNNEL] = { 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45 };

	return act(mlx5dv_dr_action_create_packet_reformat(domain, 0, type, size, header));
}

static void insert_header(struct bytes *b, int type)
{
	static const uint8_t header[TUNNEL] = { 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45 };

	if (type == L3)
		bytes_remove(b, 0, ETHERNET);
	bytes_insert(b, 0, header, TUNNEL);
}

/* ---- VLAN tags */

static void pop(void)
{
	struct mlx5dv_dr_action *pop = act(mlx5dv_dr_action_create_pop_vlan());
	struct mlx5dv_dr_action *tag = tag_make(0x33), *counter = counter_make(2);
	struct mlx5dv_dr_action *lists[][6] = {
		{ pop, to[0] },
		{ pop, pop, to[1] },
		{ tag, counter, pop, to[2] },
		{ pop, counter, to[3] },
	};
	const size_t lengths[] = { 2, 3, 4, 3 };
	struct frame f = plain;
	struct bytes b, expected;

	rules_for(table_make(1), lists, lengths, 4);
	f.vlan = 0x123;
	expected = b = bytes_of(&f);
	bytes_remove(&expected, MACS, 4);
	ends(&b, &expected, tir_at[0], "a tag");
	f.dmac = plain.dmac + 1;
	b = bytes_of(&f);
	expected = b;
	insert_tag(&b, 0x88a80456);
	bytes_remove(&expected, MACS, 4);
	ends(&b, &expected, tir_at[1], "two tags");
	f.dmac = plain.dmac + 2;
	expected = b = bytes_of(&f);
	bytes_remove(&expected, MACS, 4);
	ends(&b, &expected, tir_at[2], "flow tag, counter and tag");
	must(last_end.has_tag && last_end.tag == 0x33 && last_end.counter == 0x702,
	     "flow tag and counter");
	f.dmac = plain.dmac + 3;
	expected = b = bytes_of(&f);
	bytes_remove(&expected, MACS, 4);
	ends(&b, &expected, tir_at[3], "a tag and a counter");
	must(last_end.counter == 0x702, "counter");
	f.dmac = plain.dmac + 4;
	lost(&f, "another address");
}

/* Sent packets: tags, headers of tunnels, counters. */
static void push(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *one =
		act(mlx5dv_dr_action_create_push_vlan(domain, htonl(0x81000123)));
	struct mlx5dv_dr_action *two =
		act(mlx5dv_dr_action_create_push_vlan(domain, htonl(0x88a80456)));
	struct mlx5dv_dr_action *l2 = encap(L2, TUNNEL), *l3 = encap(L3, TUNNEL);
	struct mlx5dv_dr_action *counter = counter_make(5);
	struct mlx5dv_dr_action *go = act(mlx5dv_dr_action_create_dest_table(second));
	struct mlx5dv_dr_action *lists[][6] = {
		{ one, go },	 { one, two, go }, { l2, go },	     { l3, counter, go },
		{ one, l2, go }, { two, l3 },	   { counter, one }, { one, two, l2 },
	};
	const size_t lengths[] = { 2, 3, 2, 3, 3, 2, 2, 3 };
	static const struct {
		uint32_t tags[2];
		int type;
	} effects[] = {
		{ { 0x81000123 }, 0 },	{ { 0x81000123, 0x88a80456 }, 0 },
		{ { 0 }, L2 },		{ { 0 }, L3 },
		{ { 0x81000123 }, L2 }, { { 0x88a80456 }, L3 },
		{ { 0x81000123 }, 0 },	{ { 0x81000123, 0x88a80456 }, L2 },
	};
	struct frame f = plain;

	rules_for(first, lists, lengths, 8);
	for (unsigned i = 0; i < 8; i++) {
		struct bytes b, expected;

		f.dmac = plain.dmac + i;
		expected = b = bytes_of(&f);
		for (unsigned tag = 0; tag < 2; tag++) {
			if (effects[i].tags[tag])
				insert_tag(&expected, effects[i].tags[tag]);
		}
		if (effects[i].type == L3 && effects[i].tags[0])
			bytes_remove(&expected, MACS, 4);
		if (effects[i].type)
			insert_header(&expected, effects[i].type);
		ends(&b, &expected, LAB_ALLOW_TX, "tags and headers");
		must((i == 3 || i == 6) == (last_end.counter == 0x705), "counter");
	}
	f.dmac++;
	ends_at(&f, LAB_ALLOW_TX, -1, "another address");
}

/* ---- tunnels */

/* A frame of VXLAN around a frame. */
static struct bytes vxlan_of(const struct frame *inner, uint64_t dmac)
{
	static const uint8_t rest[] = { 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0x77, 0x66, 0 };
	struct frame outer = plain;
	struct bytes b, in = bytes_of(inner);

	outer.dmac = dmac;
	outer.protocol = UDP;
	b = bytes_of(&outer);
	b.length = TUNNEL;
	memcpy(b.at + 36, rest, sizeof(rest));
	memcpy(b.at + TUNNEL, in.at, in.length);
	b.length += in.length;
	return b;
}

/* A frame of GRE around a packet of IPv4. */
static struct bytes gre_of(const struct frame *inner, uint64_t dmac)
{
	static const uint8_t gre[] = { 0, 0, 8, 0 };
	struct frame outer = plain;
	struct bytes b, in = bytes_of(inner);

	outer.dmac = dmac;
	outer.protocol = 47;
	b = bytes_of(&outer);
	memcpy(b.at + 34, gre, sizeof(gre));
	b.length = GRE_TUNNEL;
	memcpy(b.at + GRE_TUNNEL, in.at + ETHERNET, in.length - ETHERNET);
	b.length += in.length - ETHERNET;
	return b;
}

static void decap_l2(void)
{
	struct mlx5dv_dr_action *strip =
		act(mlx5dv_dr_action_create_packet_reformat(domain, 0, STRIP_L2, 0, NULL));
	struct mlx5dv_dr_action *pop = act(mlx5dv_dr_action_create_pop_vlan());
	struct mlx5dv_dr_action *tag = tag_make(9), *counter = counter_make(1);
	struct mlx5dv_dr_action *lists[][6] = {
		{ strip, to[0] },
		{ strip, tag, to[1] },
		{ strip, tag, pop, to[2] },
		{ counter, strip, to[3] },
	};
	const size_t lengths[] = { 2, 3, 4, 3 };
	struct frame inner = plain;
	struct bytes b, expected;

	inner.vlan = 0x5;
	rules_for(table_make(1), lists, lengths, 4);
	for (unsigned i = 0; i < 4; i++) {
		b = vxlan_of(&inner, plain.dmac + i);
		expected = bytes_of(&inner);
		if (i == 2)
			bytes_remove(&expected, MACS, 4);
		ends(&b, &expected, tir_at[i], "the inner frame");
		must(last_end.has_tag == (i == 1 || i == 2), "flow tag");
		must(last_end.counter == (i == 3 ? 0x701 : 0), "counter");
	}
}

static void decap_l3(void)
{
	static uint8_t short_header[] = { 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 8, 0 };
	static uint8_t long_header[] = { 2, 1,	2,  3,	  4, 5, 6,    7, 8,
					 9, 10, 11, 0x81, 0, 1, 0x23, 8, 0 };
	struct mlx5dv_dr_action *untagged = act(mlx5dv_dr_action_create_packet_reformat(
		domain, 0, STRIP_L3, sizeof(short_header), short_header));
	struct mlx5dv_dr_action *tagged = act(mlx5dv_dr_action_create_packet_reformat(
		domain, 0, STRIP_L3, sizeof(long_header), long_header));
	struct mlx5dv_dr_action *tag = tag_make(9), *counter = counter_make(1);
	struct mlx5dv_dr_action *lists[][6] = {
		{ untagged, to[0] },
		{ tagged, tag, to[1] },
		{ untagged, tag, counter, to[2] },
	};
	const size_t lengths[] = { 2, 3, 4 };
	struct frame inner = plain;
	struct bytes b, expected;

	rules_for(table_make(1), lists, lengths, 3);
	for (unsigned i = 0; i < 3; i++) {
		b = gre_of(&inner, plain.dmac + i);
		expected = bytes_of(&inner);
		bytes_remove(&expected, 0, ETHERNET);
		if (i == 1)
			bytes_insert(&expected, 0, long_header, sizeof(long_header));
		else
			bytes_insert(&expected, 0, short_header, sizeof(short_header));
		ends(&b, &expected, tir_at[i], "the inner packet");
		must(last_end.has_tag == (i > 0), "flow tag");
	}
}

const struct test action_tests[] = {
	{ "pop", pop },
	{ "push", push, MLX5DV_DR_DOMAIN_TYPE_NIC_TX },
	{ "decap-l2", decap_l2 },
	{ "decap-l3", decap_l3 },
	{ 0 },
};
