/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Builders: each takes some fields out of the match parameters, and places them in the key of a
 * lookup type of formats 1 to 3. A mask is served if no field is left. Fields of inner headers, of
 * tunnels and of registers have no builder yet.
 */
#include "providers/mlx5/steering/steering.h"

/* Words of the match parameters. */
enum {
	SMAC = 0,
	SMAC_ETHERTYPE = 1, /* low half of the address, then the type */
	DMAC = 2,
	DMAC_VLAN = 3, /* low half of the address, then priority, CFI and id of the VLAN */
	L3_L4 = 4,     /* protocol, DSCP, ECN, kinds of tags, fragment, version, flags of TCP */
	TCP_PORTS = 5,
	TTL = 6, /* and the length of the header */
	UDP_PORTS = 7,
	SRC_IP = 8, /* four words; IPv4 has the last one */
	DST_IP = 12,
	MISC = 16,
	SECOND_VLAN = MISC + 2,
	SECOND_KIND = MISC + 3,
	FLOW_LABEL = MISC + 7,
	PART_WORDS = 16,
};

/* Bits of these words. */
#define ALL	     0xffffffffu
#define HIGH	     0xffff0000u
#define LOW	     0x0000ffffu
#define PROTOCOL     0xff000000u
#define TRAFFIC	     0x00ff0000u /* DSCP and ECN */
#define CVLAN	     0x00008000u
#define SVLAN	     0x00004000u
#define FRAGMENT     0x00002000u
#define VERSION	     0x00001e00u
#define FLAGS	     0x000001ffu
#define HOPS	     0x000000ffu
#define LENGTH	     0x0000f000u
#define SECOND_CVLAN 0x80000000u
#define SECOND_SVLAN 0x20000000u
#define LABEL	     0x000fffffu

enum {
	VERSION_SHIFT = 9,
	MOVES_MAX = 8,
	CODES_MAX = 3,
	CODE_MASK = 3,
};

/* Bits of a word go to a word of the key, @shift bits to the left; negative: to the right. */
struct move {
	uint8_t word, key;
	int8_t shift;
	uint32_t bits;
};

/* A code of two bits in the key. */
struct code {
	enum {
		CODE_NONE,
		CODE_VERSION, /* 1: IPv4, 2: IPv6 */
		CODE_VLAN,    /* 1: service tag, 2: customer tag */
		CODE_SECOND_VLAN,
	} kind;
	uint8_t key, shift;
};

struct dr_layout {
	uint16_t lookup;
	struct code codes[CODES_MAX];
	struct move moves[MOVES_MAX]; /* those with bits */
};

#define ETHERNET(mac, mac_low)                                                                       \
	.codes = { { CODE_VERSION, 0, 20 }, { CODE_VLAN, 0, 16 }, { CODE_SECOND_VLAN, 3, 16 } },     \
	.moves = {                                                                                   \
		{ mac, 1, 0, ALL },	  { mac_low, 2, 0, HIGH },    { SMAC_ETHERTYPE, 2, 0, LOW }, \
		{ DMAC_VLAN, 0, 0, LOW }, { L3_L4, 0, 15, FRAGMENT }, { SECOND_VLAN, 3, -16, HIGH }, \
	}

static const struct dr_layout nothing = { .lookup = DR_LOOKUP_NONE };

static const struct dr_layout ethernet_dst = { .lookup = 0x0003, ETHERNET(DMAC, DMAC_VLAN) };
static const struct dr_layout ethernet_src = { .lookup = 0x0005, ETHERNET(SMAC, SMAC_ETHERTYPE) };

static const struct dr_layout ethernet_both = {
	.lookup = 0x000b,
	.codes = { { CODE_VERSION, 2, 4 }, { CODE_VLAN, 2, 0 } },
	.moves = { { DMAC, 0, 0, ALL },
		   { SMAC, 1, 0, ALL },
		   { DMAC_VLAN, 2, 0, HIGH },
		   { DMAC_VLAN, 3, 16, LOW },
		   { SMAC_ETHERTYPE, 3, -16, HIGH } },
};

static const struct dr_layout ipv4_ports = {
	.lookup = 0x0007,
	.moves = { { SRC_IP + 3, 0, 0, ALL },
		   { DST_IP + 3, 1, 0, ALL },
		   { TCP_PORTS, 2, 0, ALL },
		   { UDP_PORTS, 2, 0, ALL },
		   { L3_L4, 3, 12, FRAGMENT },
		   { L3_L4, 3, 16, FLAGS },
		   { L3_L4, 3, -8, TRAFFIC },
		   { L3_L4, 3, -24, PROTOCOL } },
};

static const struct dr_layout ipv4_misc = {
	.lookup = 0x000d,
	.moves = { { TTL, 2, 16, HOPS }, { TTL, 2, 12, LENGTH } },
};

static const struct dr_layout ipv6_dst = {
	.lookup = 0x0107,
	.moves = { { DST_IP, 0, 0, ALL },
		   { DST_IP + 1, 1, 0, ALL },
		   { DST_IP + 2, 2, 0, ALL },
		   { DST_IP + 3, 3, 0, ALL } },
};

static const struct dr_layout ipv6_src = {
	.lookup = 0x0109,
	.moves = { { SRC_IP, 0, 0, ALL },
		   { SRC_IP + 1, 1, 0, ALL },
		   { SRC_IP + 2, 2, 0, ALL },
		   { SRC_IP + 3, 3, 0, ALL } },
};

static const struct dr_layout ipv6_ports = {
	.lookup = 0x0009,
	.moves = { { L3_L4, 0, 0, TRAFFIC },
		   { TTL, 0, 8, HOPS },
		   { L3_L4, 0, -24, PROTOCOL },
		   { TCP_PORTS, 1, 0, ALL },
		   { UDP_PORTS, 1, 0, ALL },
		   { FLOW_LABEL, 2, 0, LABEL },
		   { L3_L4, 3, 12, FRAGMENT },
		   { L3_L4, 3, 16, FLAGS } },
};

/* ---- keys */

static void key_or(uint8_t *key, unsigned int word, uint32_t bits)
{
	__be32 value;

	memcpy(&value, key + 4 * word, sizeof(value));
	value |= htobe32(bits);
	memcpy(key + 4 * word, &value, sizeof(value));
}

static uint32_t bits_take(struct dr_match *match, unsigned int word, uint32_t bits)
{
	uint32_t taken = match->words[word] & bits;

	match->words[word] &= ~bits;
	return taken;
}

static void moves_apply(const struct dr_layout *layout, struct dr_match *match, uint8_t *key)
{
	for (const struct move *m = layout->moves; m < layout->moves + MOVES_MAX && m->bits; m++) {
		uint32_t bits = bits_take(match, m->word, m->bits);

		if (bits)
			key_or(key, m->key, m->shift < 0 ? bits >> -m->shift : bits << m->shift);
	}
}

/* Take the bits that a code stands for. */
static uint32_t code_take(const struct code *code, struct dr_match *match)
{
	switch (code->kind) {
	case CODE_VERSION:
		return bits_take(match, L3_L4, VERSION);
	case CODE_VLAN:
		return bits_take(match, L3_L4, CVLAN | SVLAN);
	case CODE_SECOND_VLAN:
		return bits_take(match, SECOND_KIND, SECOND_CVLAN | SECOND_SVLAN);
	default:
		return 0;
	}
}

/* Return the code of a value, or -EINVAL. */
static int code_of(const struct code *code, uint32_t bits)
{
	if (!bits)
		return 0;
	if (code->kind == CODE_VERSION)
		return bits >> VERSION_SHIFT == 4 ? 1 : bits >> VERSION_SHIFT == 6 ? 2 : -EINVAL;
	return bits & (code->kind == CODE_VLAN ? CVLAN : SECOND_CVLAN) ? 2 : 1;
}

int dr_builder_tag(const struct dr_builder *builder, struct dr_match *value,
		   uint8_t tag[DR_KEY_SIZE])
{
	const struct dr_layout *layout = builder->layout;

	memset(tag, 0, DR_KEY_SIZE);
	moves_apply(layout, value, tag);
	for (const struct code *c = layout->codes; c < layout->codes + CODES_MAX; c++) {
		int code = code_of(c, code_take(c, value));

		if (code < 0)
			return code;
		key_or(tag, c->key, (uint32_t)code << c->shift);
	}
	return 0;
}

/* ---- choice of builders */

struct choice {
	struct dr_match mask; /* what is left of it */
	struct dr_builder *builders;
	unsigned int count;
};

static void builder_add(struct choice *choice, const struct dr_layout *layout)
{
	struct dr_builder *b = &choice->builders[choice->count++];

	*b = (struct dr_builder){ .layout = layout, .lookup = layout->lookup };
	moves_apply(layout, &choice->mask, b->mask);
	for (const struct code *c = layout->codes; c < layout->codes + CODES_MAX; c++) {
		if (code_take(c, &choice->mask))
			key_or(b->mask, c->key, (uint32_t)CODE_MASK << c->shift);
	}
	/* Bytes that are compared in part are no part of the hash. */
	for (unsigned int i = 0; i < DR_KEY_SIZE; i++)
		b->byte_mask |= (b->mask[i] == 0xff) << (DR_KEY_SIZE - 1 - i);
}

static bool has(const struct choice *choice, unsigned int word, uint32_t bits)
{
	return choice->mask.words[word] & bits;
}

/* Return whether a field that the layout moves is left. */
static bool has_any(const struct choice *choice, const struct dr_layout *layout)
{
	for (const struct move *m = layout->moves; m < layout->moves + MOVES_MAX && m->bits; m++) {
		if (has(choice, m->word, m->bits))
			return true;
	}
	return false;
}

static void ethernet_add(struct choice *choice)
{
	bool src = has(choice, SMAC, ALL) || has(choice, SMAC_ETHERTYPE, HIGH);
	bool dst = has(choice, DMAC, ALL) || has(choice, DMAC_VLAN, HIGH);

	if (src)
		builder_add(choice, dst ? &ethernet_both : &ethernet_src);
	if (has(choice, DMAC, ALL) || has(choice, DMAC_VLAN, ALL) ||
	    has(choice, SMAC_ETHERTYPE, LOW) || has(choice, L3_L4, VERSION | CVLAN | SVLAN) ||
	    has(choice, SECOND_VLAN, HIGH) || has(choice, SECOND_KIND, SECOND_CVLAN | SECOND_SVLAN))
		builder_add(choice, &ethernet_dst);
}

static void layouts_add(struct choice *choice, const struct dr_layout *const *layouts,
			unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		if (has_any(choice, layouts[i]))
			builder_add(choice, layouts[i]);
	}
}

static unsigned int version_of(const struct dr_match *match)
{
	return (match->words[L3_L4] & VERSION) >> VERSION_SHIFT;
}

static bool is_empty(const struct dr_match *match, unsigned int from)
{
	for (unsigned int i = from; i < DR_MATCH_WORDS; i++) {
		if (match->words[i])
			return false;
	}
	return true;
}

int dr_builders_make(const struct dr_match *mask, uint8_t criteria,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count)
{
	static const struct dr_layout *const of_ipv4[] = { &ipv4_misc, &ipv4_ports };
	static const struct dr_layout *const of_ipv6[] = { &ipv6_dst, &ipv6_src, &ipv6_ports };
	struct choice choice = { .mask = *mask, .builders = builders };
	unsigned int version = version_of(mask);

	if (version && version != 4 && version != 6)
		return -EOPNOTSUPP;
	ethernet_add(&choice);
	if (version == 4)
		layouts_add(&choice, of_ipv4, ARRAY_SIZE(of_ipv4));
	if (version == 6)
		layouts_add(&choice, of_ipv6, ARRAY_SIZE(of_ipv6));
	if (!criteria)
		builder_add(&choice, &nothing);
	if (!choice.count && is_empty(&choice.mask, PART_WORDS))
		return -EINVAL;
	if (!is_empty(&choice.mask, 0))
		return -EOPNOTSUPP;
	*ret_count = choice.count;
	return 0;
}

/* ---- match parameters */

int dr_match_read(const struct mlx5dv_flow_match_parameters *from, uint8_t criteria,
		  struct dr_match *ret)
{
	/* Bits of the criteria, in the order of the parts. */
	static const uint8_t parts[] = { 1, 2, 4, 8, 0x10, 0x20, 0x40 };
	__be32 words[DR_MATCH_WORDS] = {};

	if (from && from->match_sz > sizeof(words))
		return -EINVAL;
	if (from)
		memcpy(words, from->match_buf, from->match_sz);
	for (unsigned int i = 0; i < DR_MATCH_WORDS; i++)
		ret->words[i] = criteria & parts[i / PART_WORDS] ? be32toh(words[i]) : 0;
	return 0;
}

int dr_value_check(const struct dr_match *mask, const struct dr_match *value)
{
	for (unsigned int i = 0; i < DR_MATCH_WORDS; i++) {
		if (value->words[i] & ~mask->words[i])
			return -EINVAL;
	}
	return version_of(mask) == version_of(value) ? 0 : -EOPNOTSUPP;
}
