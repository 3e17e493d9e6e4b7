/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes of headers. */
#include <arpa/inet.h>
#include <endian.h>
#include "tests/adapters/lab/steered/steered.h"

/* Fields, as the firmware numbers them. */
enum {
	SMAC_HIGH = 0x01,
	SMAC_LOW = 0x02,
	ETHERTYPE = 0x03,
	DMAC_HIGH = 0x04,
	DMAC_LOW = 0x05,
	DSCP = 0x06,
	TCP_FLAGS = 0x07,
	TCP_SPORT = 0x08,
	TCP_DPORT = 0x09,
	TTL = 0x0a,
	UDP_SPORT = 0x0b,
	UDP_DPORT = 0x0c,
	SRC_IPV6 = 0x0d, /* four words */
	DST_IPV6 = 0x11,
	SRC_IPV4 = 0x15,
	DST_IPV4 = 0x16,
	VLAN = 0x17,
	HOP_LIMIT = 0x47,
	REG_A = 0x49,
	REG_B = 0x50,
	REG_C0 = 0x51, /* six words */
	TCP_SEQ = 0x59,
	TCP_ACK = 0x5b,
	ECN = 0x73,
	CHANGES = 16,
};

static uint64_t set_bits(unsigned number, unsigned offset, unsigned length, uint32_t data)
{
	return htobe64(1ull << 60 | (uint64_t)number << 48 | (uint64_t)offset << 40 |
		       (uint64_t)(length & 31) << 32 | data);
}

static uint64_t add(unsigned number, uint32_t data)
{
	return htobe64(2ull << 60 | (uint64_t)number << 48 | data);
}

static uint64_t copy(unsigned from, unsigned from_offset, unsigned number, unsigned offset,
		     unsigned length)
{
	return htobe64(3ull << 60 | (uint64_t)from << 48 | (uint64_t)from_offset << 40 |
		       (uint64_t)(length & 31) << 32 | (uint64_t)number << 16 | offset << 8);
}

static struct mlx5dv_dr_action *modify(uint64_t *changes, unsigned count)
{
	return act(mlx5dv_dr_action_create_modify_header(domain, 0, count * sizeof(*changes),
							 (__be64 *)changes));
}

/* Let frames that differ in their address have a list of changes each. */
static void change(uint64_t changes[][CHANGES], const unsigned counts[], unsigned count,
		   const struct frame *from, const struct frame *expected)
{
	struct mlx5dv_dr_action *lists[CHANGES][6];
	size_t lengths[CHANGES];

	for (unsigned i = 0; i < count; i++) {
		lists[i][0] = modify(changes[i], counts[i]);
		lists[i][1] = to[i % TIRS];
		lengths[i] = 2;
	}
	rules_for(table_make(1), lists, lengths, count);
	for (unsigned i = 0; i < count; i++) {
		uint8_t bytes[FRAME], after[FRAME];
		struct frame f = from[i], g = expected[i];

		f.dmac = plain.dmac + i;
		if (g.dmac == plain.dmac)
			g.dmac = f.dmac;
		frame_build(&f, bytes);
		bytes_end_at(bytes, FRAME, NULL, after, frame_build(&g, after), tir_at[i % TIRS],
			     "a changed header");
	}
}

static void headers(void)
{
	uint64_t changes[][CHANGES] = {
		{ set_bits(DMAC_HIGH, 0, 32, 0x02000000), set_bits(DMAC_LOW, 0, 16, 0x42) },
		{ add(TTL, 0xff) },
		{ set_bits(SMAC_HIGH, 0, 32, 0x0a0b0c0d), set_bits(SMAC_LOW, 0, 16, 0xeeff),
		  set_bits(SRC_IPV4, 0, 32, 0x01020304), set_bits(DST_IPV4, 0, 32, 0x05060708) },
		{ set_bits(UDP_SPORT, 0, 16, 4444), set_bits(UDP_DPORT, 0, 16, 5555),
		  set_bits(DSCP, 0, 6, 0x21) },
		{ set_bits(TTL, 0, 8, 7) },
		/* The second change writes the word of the first one: a slot between them stays
		   empty. */
		{ set_bits(DST_IPV4, 0, 16, 0x1111), set_bits(DST_IPV4, 16, 16, 0x2222),
		  set_bits(SRC_IPV4, 8, 8, 0x33) },
		{ copy(SRC_IPV4, 0, DST_IPV4, 0, 32) },
		{ set_bits(SRC_IPV4, 0, 32, 0x0b0b0b0b), copy(SRC_IPV4, 0, DST_IPV4, 8, 16) },
	};
	const unsigned counts[] = { 2, 1, 4, 3, 1, 3, 1, 2 };
	struct frame from[8], expected[8];

	for (unsigned i = 0; i < 8; i++)
		from[i] = expected[i] = plain;
	expected[0].dmac = 0x020000000042;
	expected[1].ttl--;
	expected[2].smac = 0x0a0b0c0deeff;
	expected[2].src[3] = 0x01020304;
	expected[2].dst[3] = 0x05060708;
	expected[3].sport = 4444;
	expected[3].dport = 5555;
	expected[3].dscp = 0x21;
	expected[4].ttl = 7;
	expected[5].dst[3] = 0x22221111;
	expected[5].src[3] = (plain.src[3] & ~0xff00u) | 0x3300;
	expected[6].dst[3] = plain.src[3];
	expected[7].src[3] = 0x0b0b0b0b;
	expected[7].dst[3] = (plain.dst[3] & 0xff0000ff) | 0x0b0b00;
	change(changes, counts, 8, from, expected);
}

static void headers_ipv6(void)
{
	uint64_t changes[][CHANGES] = {
		{ set_bits(SRC_IPV6, 0, 32, 1), set_bits(SRC_IPV6 + 1, 0, 32, 2),
		  set_bits(SRC_IPV6 + 2, 0, 32, 3), set_bits(SRC_IPV6 + 3, 0, 32, 4) },
		{ set_bits(DST_IPV6, 0, 32, 5), set_bits(DST_IPV6 + 1, 0, 32, 6),
		  set_bits(DST_IPV6 + 2, 0, 32, 7), set_bits(DST_IPV6 + 3, 0, 32, 8) },
		{ add(HOP_LIMIT, 0xff), set_bits(TCP_SPORT, 0, 16, 1),
		  set_bits(TCP_DPORT, 0, 16, 2), set_bits(TCP_FLAGS, 0, 9, 0x1ff) },
		{ set_bits(VLAN, 0, 12, 0x321) },
	};
	const unsigned counts[] = { 4, 4, 4, 1 };
	struct frame from[4], expected[4];

	for (unsigned i = 0; i < 4; i++) {
		from[i] = plain;
		from[i].ethertype = IPV6;
		from[i].protocol = TCP;
		from[i].vlan = i == 3 ? 0x123 : 0;
		expected[i] = from[i];
	}
	for (unsigned i = 0; i < 4; i++) {
		expected[0].src[i] = 1 + i;
		expected[1].dst[i] = 5 + i;
	}
	expected[2].ttl--;
	expected[2].sport = 1;
	expected[2].dport = 2;
	expected[2].flags = 0x1ff;
	expected[3].vlan = 0x321;
	change(changes, counts, 4, from, expected);
}

/* Registers: a rule of the second table compares what a rule of the first one set. */
static void registers(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go = act(mlx5dv_dr_action_create_dest_table(second));
	uint64_t changes[] = {
		set_bits(REG_C0, 0, 32, 0x10),	   set_bits(REG_C0 + 1, 0, 32, 0x11),
		set_bits(REG_C0 + 2, 0, 32, 0x12), set_bits(REG_C0 + 3, 0, 32, 0x13),
		set_bits(REG_C0 + 4, 0, 32, 0x14), set_bits(REG_C0 + 5, 0, 32, 0x15),
		copy(SRC_IPV4, 0, REG_B, 0, 32),
	};
	struct mlx5dv_dr_action *lists[][6] = { { modify(changes, 7), go }, { go } };
	const size_t lengths[] = { 2, 1 };
	struct match mask = { 0 }, value = { 0 };
	struct frame f = plain;

	rules_for(first, lists, lengths, 2);
	for (unsigned i = 0; i < 6; i++) {
		const struct field reg = { 48 + 11 - i, 31, 0 };

		set_all(&mask, reg);
		set(&value, reg, 0x10 + i);
	}
	rule_make(matcher_make(second, 0, 8, &mask), &value, 1, &to[2]);
	rules_sync();
	arrives(&f, 2, -1, "registers");
	must(last_end.reg_b == plain.src[3] && last_end.reg_c[5] == 0x15, "register");
	f.dmac++;
	lost(&f, "registers that are 0");
}

/* Changes before and behind other actions. */
static void changes_with_others(void)
{
	uint64_t some[] = { add(TTL, 0xff), set_bits(SRC_IPV4, 0, 32, 9) },
		 one[] = { add(TTL, 0xfe) };
	struct mlx5dv_dr_action *pop = act(mlx5dv_dr_action_create_pop_vlan());
	struct mlx5dv_dr_action *both = modify(some, 2), *single = modify(one, 1);
	struct mlx5dv_dr_action *tag = tag_make(5), *counter = counter_make(4);
	struct mlx5dv_dr_action *lists[][6] = {
		{ pop, both, to[0] },
		{ tag, counter, both, to[1] },
		{ pop, single, tag, to[2] },
		{ counter, tag, pop, single, to[3] },
	};
	const size_t lengths[] = { 3, 4, 4, 5 };
	struct frame f = plain;

	f.vlan = 9;
	rules_for(table_make(1), lists, lengths, 4);
	for (unsigned i = 0; i < 4; i++) {
		struct frame after;

		f.dmac = plain.dmac + i;
		after = f;
		after.ttl -= i < 2 ? 1 : 2;
		if (i != 1)
			after.vlan = 0;
		if (i < 2)
			after.src[3] = 9;
		{
			uint8_t bytes[FRAME], expected[FRAME];

			frame_build(&f, bytes);
			frame_build(&after, expected);
			bytes_end_at(bytes, FRAME, NULL, expected, i == 1 ? FRAME : FRAME - 4,
				     tir_at[i], "a change and other actions");
		}
		must(last_end.has_tag == (i > 0), "flow tag");
	}
}

/* Lists of the same changes with other data share a pattern. */
static void changes_alike(void)
{
	struct mlx5dv_dr_action *lists[6][6];
	size_t lengths[6];
	struct frame f = plain;

	for (unsigned i = 0; i < 6; i++) {
		uint64_t some[9];

		for (unsigned j = 0; j < 9; j++)
			some[j] = j % 2 ? set_bits(DST_IPV4, 0, 32, 100 * i + j)
					: set_bits(SRC_IPV4, 0, 32, 200 * i + j);
		lists[i][0] = modify(some, i < 3 ? 2 : 9);
		lists[i][1] = to[i % TIRS];
		lengths[i] = 2;
	}
	rules_for(table_make(1), lists, lengths, 6);
	for (unsigned i = 0; i < 6; i++) {
		uint8_t bytes[FRAME], expected[FRAME];
		struct frame after;

		f.dmac = plain.dmac + i;
		after = f;
		after.src[3] = 200 * i + (i < 3 ? 0 : 8);
		after.dst[3] = 100 * i + (i < 3 ? 1 : 7);
		frame_build(&f, bytes);
		frame_build(&after, expected);
		bytes_end_at(bytes, FRAME, NULL, expected, FRAME, tir_at[i % TIRS], "a pattern");
	}
}

static void refuse(const char *what, uint64_t first, uint64_t second, int error)
{
	uint64_t changes[] = { first, second };

	errno = 0;
	must(!mlx5dv_dr_action_create_modify_header(domain, 0, (1 + !!second) * sizeof(first),
						    (__be64 *)changes) &&
		     errno == error,
	     what);
}

static void refused_changes(void)
{
	uint64_t one = set_bits(TTL, 0, 8, 1);

	refuse("addition to a VLAN", add(VLAN, 1), 0, EINVAL);
	refuse("an unknown operation", htobe64(4ull << 60), 0, EOPNOTSUPP);
	refuse("register A of a received packet", set_bits(REG_A, 0, 32, 1), 0, EINVAL);
	refuse("IPv4 and IPv6", set_bits(SRC_IPV4, 0, 32, 1), set_bits(DST_IPV6, 0, 32, 1),
	       EOPNOTSUPP);
	refuse("TCP and UDP", set_bits(TCP_SPORT, 0, 16, 1), set_bits(UDP_SPORT, 0, 16, 1), EINVAL);
	refuse("bits outside the field", set_bits(ETHERTYPE, 1, 16, 1), 0, EINVAL);
	refuse("an unknown field", set_bits(0x200, 0, 8, 1), 0, EINVAL);
	errno = 0;
	must(!mlx5dv_dr_action_create_modify_header(domain, 0, 7, (__be64 *)&one) &&
		     errno == EINVAL,
	     "7 bytes");
	errno = 0;
	must(!mlx5dv_dr_action_create_modify_header(domain, 0, 0, (__be64 *)&one) &&
		     errno == EINVAL,
	     "no change");
	errno = 0;
	must(!mlx5dv_dr_action_create_modify_header(domain, 2, 8, (__be64 *)&one) &&
		     errno == EINVAL,
	     "an unknown flag");
	refuse("none", 0, 0, EOPNOTSUPP);
}

const struct test change_tests[] = {
	{ "changes", headers },
	{ "changes-ipv6", headers_ipv6 },
	{ "changes-registers", registers },
	{ "changes-others", changes_with_others },
	{ "changes-alike", changes_alike },
	{ "refused-changes", refused_changes },
	{ 0 },
};
