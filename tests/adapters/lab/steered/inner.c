/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of tunnels, of the headers inside of them, of ICMP and of registers: frames that have the
 * values of a rule, and frames that differ in one of them. */
#include <arpa/inet.h>
#include "tests/adapters/lab/steered/steered.h"

enum {
	MOST = 256,
	OUTER_HEADERS = 42, /* bytes of Ethernet, IPv4 and UDP */
	IP_HEADERS = 34,
	FIELDS = 12,
	INNER = 32, /* words of the inner headers */
	LIST_END = WORDS,
};

/* A frame with bytes behind its IP header, or behind its UDP header, and another frame behind them.
 */
struct packet {
	struct frame outer;
	uint8_t bytes[32];
	size_t length;
	const struct frame *inner;
	bool without_mac; /* the inner frame begins with its IP header */
	struct lab_origin from;
};

static size_t packet_build(const struct packet *p, uint8_t bytes[MOST])
{
	size_t at = p->outer.protocol == UDP ? OUTER_HEADERS : IP_HEADERS;
	size_t skip = p->without_mac ? 14 : 0;
	uint8_t inner[FRAME];

	memset(bytes, 0, MOST);
	frame_build(&p->outer, bytes);
	memcpy(bytes + at, p->bytes, p->length);
	at += p->length;
	if (!p->inner)
		return FRAME;
	frame_build(p->inner, inner);
	memcpy(bytes + at, inner + skip, FRAME - skip);
	return at + FRAME - skip;
}

/* A field of a rule, and what changes it in the packet. */
struct compared {
	struct field field;
	uint32_t value;
	enum {
		BYTE,	  /* of the bytes behind the headers */
		REGISTER, /* C, by number; 8: A */
		INNER_DST,
		INNER_DPORT,
		INNER_DMAC,
		INNER_PROTOCOL,
		NOTHING,
	} where;
	unsigned index;
};

static void change(struct packet *p, struct frame *inner, const struct compared *c)
{
	if (p->inner) {
		*inner = *p->inner;
		p->inner = inner;
	}
	if (c->where == BYTE)
		p->bytes[c->index] ^= 1 << c->index % 2;
	else if (c->where == REGISTER)
		*(c->index == 8 ? &p->from.reg_a : &p->from.reg_c[c->index]) ^= 4;
	else if (c->where == INNER_DST)
		inner->dst[3] ^= 2;
	else if (c->where == INNER_DPORT)
		inner->dport ^= 2;
	else if (c->where == INNER_DMAC)
		inner->dmac ^= 2;
	else if (c->where == INNER_PROTOCOL)
		inner->protocol = TCP;
}

static void check(const struct packet *p, uint64_t at, const char *what)
{
	uint8_t bytes[MOST];
	size_t length = packet_build(p, bytes);

	bytes_end_at(bytes, length, &p->from, NULL, 0, at, what);
}

/* Check that a rule with all fields matches only the packet that has them. */
static void compare(const char *name, uint8_t criteria, const struct packet *p,
		    const struct compared *fields, bool sends)
{
	struct match mask = { 0 }, value = { 0 };

	for (const struct compared *c = fields; c->field.word != LIST_END; c++) {
		/* The version of IP is compared as a number. */
		if (c->field.word % INNER == ip_version.word && c->field.high == ip_version.high)
			set(&mask, c->field, c->value);
		else
			set_all(&mask, c->field);
		set(&value, c->field, c->value);
	}
	rule_make(matcher_make(table_make(1), 0, criteria, &mask), &value, 1,
		  sends ? &drop : &to[1]);
	rules_sync();
	check(p, sends ? LAB_DROP_TX : tir_at[1], name);
	for (const struct compared *c = fields; c->field.word != LIST_END; c++) {
		struct packet other = *p;
		struct frame inner;

		if (c->where == NOTHING)
			continue;
		change(&other, &inner, c);
		check(&other, sends ? LAB_ALLOW_TX : LAB_DROP_RX, name);
	}
}

static void vxlan(void)
{
	struct packet p = { plain, { 8, 0, 0, 0, 0x12, 0x34, 0x56, 0 }, 8, &plain };
	const struct compared fields[] = {
		{ { 21, 31, 8 }, 0x123456, BYTE, 6 },
		{ { INNER + 2, 31, 0 }, plain.dmac >> 16, INNER_DMAC },
		{ { INNER + 3, 31, 16 }, plain.dmac & 0xffff, INNER_DMAC },
		{ { INNER + 4, 12, 9 }, 4, NOTHING },
		{ { INNER + 4, 31, 24 }, UDP, INNER_PROTOCOL },
		{ { INNER + 15, 31, 0 }, plain.dst[3], INNER_DST },
		{ { INNER + 7, 15, 0 }, plain.dport, INNER_DPORT },
		{ { LIST_END } },
	};

	p.outer.dport = 4789;
	compare("VXLAN", 6, &p, fields, false);
}

static void inner_ipv6(void)
{
	struct frame inner = plain;
	struct packet p = { plain, { 8, 0, 0, 0, 0x12, 0x34, 0x56, 0 }, 8, &inner };
	const struct compared fields[] = {
		{ { INNER + 0, 31, 0 }, plain.smac >> 16, NOTHING },
		{ { INNER + 1, 31, 16 }, plain.smac & 0xffff, NOTHING },
		{ { INNER + 2, 31, 0 }, plain.dmac >> 16, INNER_DMAC },
		{ { INNER + 3, 31, 16 }, plain.dmac & 0xffff, INNER_DMAC },
		{ { INNER + 4, 12, 9 }, 6, NOTHING },
		{ { INNER + 12, 31, 0 }, plain.dst[0], NOTHING },
		{ { INNER + 15, 31, 0 }, plain.dst[3], INNER_DST },
		{ { INNER + 11, 31, 0 }, plain.src[3], NOTHING },
		{ { INNER + 4, 31, 24 }, UDP, INNER_PROTOCOL },
		{ { INNER + 7, 15, 0 }, plain.dport, INNER_DPORT },
		{ { LIST_END } },
	};

	inner.ethertype = IPV6;
	p.outer.dport = 4789;
	compare("IPv6 in VXLAN", 4, &p, fields, false);
}

static void gre(void)
{
	struct packet p = { plain, { 0x20, 0, 0x08, 0, 0x11, 0x22, 0x33, 0x44 }, 8, &plain, true };
	const struct compared fields[] = {
		{ { 16, 29, 29 }, 1, NOTHING },
		{ { 19, 15, 0 }, 0x0800, BYTE, 3 },
		{ { 20, 31, 0 }, 0x11223344, BYTE, 7 },
		{ { LIST_END } },
	};

	p.outer.protocol = 47;
	compare("GRE", 2, &p, fields, false);
}

static void geneve(void)
{
	struct packet p = { plain,
			    { 2, 0x80, 0x65, 0x58, 0xab, 0xcd, 0xef, 0, 1, 2, 3, 1, 0xca, 0xfe, 0,
			      7 },
			    16,
			    &plain };
	const struct compared fields[] = {
		{ { 22, 31, 8 }, 0xabcdef, BYTE, 4 },
		{ { 22, 0, 0 }, 1, NOTHING },
		{ { 25, 21, 16 }, 2, NOTHING },
		{ { 25, 15, 0 }, 0x6558, BYTE, 2 },
		{ { 64 + 9, 31, 0 }, 0xcafe0007, BYTE, 15 },
		{ { LIST_END } },
	};

	p.outer.dport = 6081;
	compare("GENEVE", 0x12, &p, fields, false);
}

static void gtpu(void)
{
	struct packet p = { plain, { 0x30, 0xff, 0, 0, 0x01, 0x02, 0x03, 0x04 }, 8, &plain, true };
	const struct compared fields[] = {
		{ { 64 + 10, 31, 0 }, 0x01020304, BYTE, 7 },
		{ { 64 + 11, 31, 24 }, 0xff, BYTE, 1 },
		{ { 64 + 11, 23, 16 }, 0x30, BYTE, 0 },
		{ { LIST_END } },
	};

	p.outer.dport = 2152;
	compare("GTPU", 0x10, &p, fields, false);
}

static void gpe(void)
{
	struct packet p = { plain, { 0x0c, 0, 0, 3, 0x77, 0x88, 0x99, 0 }, 8, &plain };
	const struct compared fields[] = {
		{ { 64 + 4, 23, 0 }, 0x778899, BYTE, 6 },
		{ { 64 + 5, 31, 24 }, 3, BYTE, 3 },
		{ { 64 + 5, 23, 16 }, 0x0c, BYTE, 0 },
		{ { LIST_END } },
	};

	p.outer.dport = 4790;
	compare("VXLAN-GPE", 0x10, &p, fields, false);
}

static void icmp(void)
{
	struct packet p = { plain, { 8, 1, 0, 0, 0x11, 0x22, 0x33, 0x44 }, 8 };
	const struct compared fields[] = {
		{ { 4, 12, 9 }, 4, NOTHING },
		{ { 4, 31, 24 }, 1, NOTHING },
		{ { 64 + 8, 31, 24 }, 8, BYTE, 0 },
		{ { 64 + 8, 23, 16 }, 1, BYTE, 1 },
		{ { 64 + 6, 31, 0 }, 0x11223344, BYTE, 7 },
		{ { LIST_END } },
	};

	p.outer.protocol = 1;
	compare("ICMP", 0x11, &p, fields, false);
}

static void icmpv6(void)
{
	struct packet p = { plain, { 0 }, 0 };
	const struct compared fields[] = {
		{ { 4, 12, 9 }, 4, NOTHING },
		{ { 4, 31, 24 }, 58, NOTHING },
		{ { 64 + 8, 15, 8 }, 128, BYTE, 0 },
		{ { 64 + 7, 31, 0 }, 0x55667788, BYTE, 7 },
		{ { LIST_END } },
	};

	memcpy(p.bytes, (uint8_t[]){ 128, 0, 0, 0, 0x55, 0x66, 0x77, 0x88 }, 8);
	p.length = 8;
	p.outer.protocol = 58;
	compare("ICMPv6", 0x11, &p, fields, false);
}

static void mpls(void)
{
	struct packet p = { plain, { 0x12, 0x34, 0x5b, 0x40 }, 4 };
	const struct compared fields[] = {
		{ { 48 + 3, 31, 12 }, 0x12345, BYTE, 0 },
		{ { 48 + 3, 11, 9 }, 5, NOTHING },
		{ { 48 + 3, 8, 8 }, 1, BYTE, 2 },
		{ { 48 + 3, 7, 0 }, 0x40, BYTE, 3 },
		{ { LIST_END } },
	};

	p.outer.dport = 6635;
	compare("MPLS over UDP", 8, &p, fields, false);
}

static void sequences(void)
{
	struct packet p = { plain,
			    { 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x50, 2 },
			    14 };
	const struct compared fields[] = {
		{ { 64 + 1, 31, 0 }, 0x11223344, BYTE, 4 },
		{ { 64 + 3, 31, 0 }, 0x55667788, BYTE, 9 },
		{ { LIST_END } },
	};

	p.outer.protocol = TCP;
	compare("numbers of TCP", 0x10, &p, fields, false);
}

static void registers(void)
{
	struct packet p = { plain, { 0 }, 0 };
	struct compared fields[10] = {
		{ { 48 + 12, 31, 0 }, 0xa0a, REGISTER, 8 }, [9] = { { LIST_END } }
	};

	for (unsigned i = 0; i < 8; i++) {
		fields[1 + i] = (struct compared){ { 48 + 11 - i, 31, 0 }, 0x100 + i, REGISTER, i };
		p.from.reg_c[i] = 0x100 + i;
	}
	p.from.reg_a = 0xa0a;
	compare("registers", 8, &p, fields, true);
}

/* Parsers that a program names by their numbers. */
static void samples(void)
{
	struct packet p = { plain, { 8, 1, 0, 0, 0x11, 0x22, 0x33, 0x44 }, 8 };
	struct match mask = { 0 }, value = { 0 };
	struct packet other = p;

	p.outer.protocol = other.outer.protocol = 1;
	set_all(&mask, (struct field){ 80, 31, 0 });
	set(&value, (struct field){ 80, 31, 0 }, 0x11223344);
	set(&mask, (struct field){ 81, 31, 0 }, 1);
	set(&value, (struct field){ 81, 31, 0 }, 1);
	set(&mask, (struct field){ 82, 31, 0 }, 0xff000000);
	set(&value, (struct field){ 82, 31, 0 }, 0x08000000);
	rule_make(matcher_make(table_make(1), 0, 0x20, &mask), &value, 1, &to[1]);
	rules_sync();
	check(&p, tir_at[1], "samples");
	other.bytes[4] ^= 1;
	check(&other, LAB_DROP_RX, "another sample");
	other = p;
	other.bytes[0] ^= 1;
	check(&other, LAB_DROP_RX, "another part of a sample");
}

const struct test inner_tests[] = {
	{ "inner-vxlan", vxlan },
	{ "inner-ipv6", inner_ipv6 },
	{ "inner-gre", gre },
	{ "inner-geneve", geneve },
	{ "inner-gtpu", gtpu },
	{ "inner-gpe", gpe },
	{ "fields-icmp", icmp },
	{ "fields-icmpv6", icmpv6 },
	{ "fields-mpls", mpls },
	{ "fields-sequences", sequences },
	{ "fields-registers", registers, MLX5DV_DR_DOMAIN_TYPE_NIC_TX },
	{ "fields-samples", samples },
	{ 0 },
};
