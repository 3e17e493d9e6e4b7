/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Move fields of match parameters to the key of an entry. */
#include "providers/mlx5/steering/steering.h"

enum {
	CODE_MASK = 3,
	VERSION_MASK = 0xf,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
};

void dr_key_or(uint8_t *key, unsigned int word, uint32_t bits)
{
	__be32 value;

	memcpy(&value, key + 4 * word, sizeof(value));
	value |= htobe32(bits);
	memcpy(key + 4 * word, &value, sizeof(value));
}

static uint32_t shifted(uint32_t bits, int shift)
{
	return shift < 0 ? bits >> -shift : bits << shift;
}

bool dr_match_has(const struct dr_match *match, unsigned int word, uint32_t bits)
{
	return match->words[word] & bits;
}

bool dr_match_has_any(const struct dr_match *match, const struct dr_layout *layout)
{
	for (const struct dr_move *m = layout->moves; m && m->bits; m++) {
		if (dr_match_has(match, m->word, m->bits))
			return true;
	}
	return false;
}

bool dr_match_is_empty(const struct dr_match *match, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		if (match->words[i])
			return false;
	}
	return true;
}

/* ---- builders */

/* Return whether the kind of the L4 header can replace the protocol. The mask must select TCP or
 * UDP. */
static bool is_l4_known(const struct dr_match *mask, bool has_ports)
{
	uint32_t protocol = mask->words[DR_L3_L4] >> 24;

	return has_ports || protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP;
}

static uint32_t bits_take(struct dr_match *match, unsigned int word, uint32_t bits)
{
	uint32_t taken = match->words[word] & bits;

	match->words[word] &= ~bits;
	return taken;
}

void dr_moves_add(struct dr_builder *builder, const struct dr_move *moves, struct dr_match *mask)
{
	for (const struct dr_move *m = moves; m && m->bits; m++) {
		uint32_t bits = bits_take(mask, m->word, m->bits);

		if (!bits)
			continue;
		builder->moves[builder->move_count] = *m;
		builder->moves[builder->move_count++].bits = bits;
		dr_key_or(builder->mask, m->key, shifted(bits, m->shift));
	}
}

int dr_code_of(const struct dr_code *code, uint32_t bits)
{
	if (!bits)
		return 0;
	switch (code->kind) {
	case DR_CODE_VLAN:
		/* The lowest bit stands for the service tag. */
		return bits & (code->bits - 1) & code->bits ? 2 : 1;
	case DR_CODE_VERSION_NUMBER:
		return bits >> DR_VERSION_SHIFT;
	case DR_CODE_L4:
		return bits >> 24 == PROTOCOL_TCP ? 1 : bits >> 24 == PROTOCOL_UDP ? 2 : -EINVAL;
	default:
		return bits >> DR_VERSION_SHIFT == 4   ? 1
		       : bits >> DR_VERSION_SHIFT == 6 ? 2
						       : -EINVAL;
	}
}

/* Return the mask of a code in the key. */
static uint32_t code_mask(const struct dr_code *code, uint32_t bits)
{
	if (code->kind == DR_CODE_VERSION_NUMBER)
		return VERSION_MASK;
	return code->kind == DR_CODE_VERSION_OF_VALUE ? (uint32_t)dr_code_of(code, bits)
						      : CODE_MASK;
}

void dr_layout_add(struct dr_builder *builder, const struct dr_layout *layout,
		   struct dr_match *mask)
{
	bool has_ports = mask->words[DR_TCP_PORTS] || mask->words[DR_UDP_PORTS];

	dr_moves_add(builder, layout->moves, mask);
	for (unsigned int i = 0; i < DR_BUILDER_CODES; i++) {
		const struct dr_code *code = &layout->codes[i];
		uint32_t bits;

		if (code->kind == DR_CODE_L4 && !is_l4_known(mask, has_ports))
			continue;
		bits = code->kind ? bits_take(mask, code->word, code->bits) : 0;
		if (!bits)
			continue;
		builder->codes[builder->code_count++] = *code;
		dr_key_or(builder->mask, code->key, code_mask(code, bits) << code->shift);
	}
}

void dr_builder_finish(struct dr_builder *builder)
{
	/* The hash uses only bytes whose bits are all compared. */
	builder->byte_mask = 0;
	for (unsigned int i = 0; !dr_lookup_is_wide(builder->lookup) && i < DR_KEY_SIZE; i++)
		builder->byte_mask |= (builder->mask[i] == 0xff) << (DR_KEY_SIZE - 1 - i);
}

int dr_builder_tag(const struct dr_builder *builder, const struct dr_match *value, uint8_t *tag)
{
	for (unsigned int i = 0; i < builder->move_count; i++) {
		const struct dr_move *m = &builder->moves[i];
		uint32_t bits = value->words[m->word] & m->bits;

		if (bits)
			dr_key_or(tag, m->key, shifted(bits, m->shift));
	}
	for (unsigned int i = 0; i < builder->code_count; i++) {
		const struct dr_code *c = &builder->codes[i];
		int code = dr_code_of(c, value->words[c->word] & c->bits);

		if (code < 0)
			return code;
		dr_key_or(tag, c->key, (uint32_t)code << c->shift);
	}
	return 0;
}

/* ---- match parameters */

/* Bits of the criteria, in the order of the parts. */
static const uint8_t parts[] = { 1, 2, 4, 8, 0x10, 0x20, 0x40 };

int dr_match_read(const struct mlx5dv_flow_match_parameters *from, uint8_t criteria,
		  struct dr_match *ret)
{
	size_t words = from ? from->match_sz / sizeof(__be32) : 0;
	__be32 word = 0;

	if (from && from->match_sz > sizeof(ret->words))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < words; i++) {
		if (!(criteria & parts[i / DR_PART_WORDS])) {
			i |= DR_PART_WORDS - 1;
			continue;
		}
		memcpy(&word, (const char *)from->match_buf + i * sizeof(word), sizeof(word));
		ret->words[i] = be32toh(word);
	}
	word = 0;
	if (from && from->match_sz % sizeof(word) && criteria & parts[words / DR_PART_WORDS]) {
		memcpy(&word, (const char *)from->match_buf + words * sizeof(word),
		       from->match_sz % sizeof(word));
		ret->words[words] = be32toh(word);
	}
	return 0;
}

/* Read a part of a value. Return the bits that the mask does not have. */
static uint32_t part_read(const char *from, unsigned int words, const uint32_t *mask, uint32_t *ret)
{
	uint32_t extra = 0;

	for (unsigned int i = 0; i < words; i++) {
		__be32 word;

		memcpy(&word, from + i * sizeof(word), sizeof(word));
		ret[i] = be32toh(word);
		extra |= ret[i] & ~mask[i];
	}
	for (unsigned int i = words; i < DR_PART_WORDS; i++)
		ret[i] = 0;
	return extra;
}

int dr_value_read(const struct dr_match *mask, uint8_t criteria,
		  const struct mlx5dv_flow_match_parameters *from, struct dr_match *ret)
{
	unsigned int words = from->match_sz / sizeof(__be32);
	uint32_t extra = 0;

	if (from->match_sz > sizeof(ret->words) || from->match_sz % sizeof(__be32))
		return -EINVAL;
	ret->words[DR_L3_L4] = ret->words[DR_INNER + DR_L3_L4] = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		unsigned int at = i * DR_PART_WORDS;
		unsigned int left = words > at ? words - at : 0;

		if (criteria & parts[i])
			extra |= part_read((const char *)from->match_buf + at * sizeof(__be32),
					   min_of(left, (unsigned int)DR_PART_WORDS),
					   mask->words + at, ret->words + at);
	}
	if (extra)
		return -EINVAL;
	return dr_match_version(mask, 0) == dr_match_version(ret, 0) &&
			       dr_match_version(mask, DR_INNER) == dr_match_version(ret, DR_INNER)
		       ? 0
		       : -EOPNOTSUPP;
}
