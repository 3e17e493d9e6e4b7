/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of headers: translate the changes of a program to the format of the adapter. A program
 * names a field. The adapter needs the number of a word of the packet, and the bits in this word.
 */
#include "providers/mlx5/steering/action.h"

enum {
	FIELD_ETHERTYPE = 0x03,
	FIELD_TTL = 0x0a,
	FIELD_HOP_LIMIT = 0x47,
	FIELD_REG_A = 0x49,
	FIELD_REG_B = 0x50,
	FIELD_TCP_SEQ = 0x59,
	FIELD_TCP_ACK = 0x5b,
	FIELDS = 0x74,
	PARSER = 0xff, /* the word depends on the number of the parser */
	PARSER_WORD = 0x89,
	PARSERS = 8,
	FORMAT_REGISTERS = 2, /* first format with other words for registers */
	SHIFT_BIAS = 0x20,    /* added to the shifts of formats 1 to 3 */
	WORD_BITS = 32,
	LIST_ORDER_MIN = 3, /* changes of 64 bytes, log2 */
};

/* Operations. The values are those of the programming interface. */
enum operation {
	SET = 1,
	ADD,
	COPY,
};

/* Fields of different headers of one layer do not exist in one packet. */
enum {
	LAYER_IPV4 = 1,
	LAYER_IPV6 = 2,
	LAYER_L3 = LAYER_IPV4 | LAYER_IPV6,
	LAYER_TCP = 4,
	LAYER_UDP = 8,
	LAYER_L4 = LAYER_TCP | LAYER_UDP,
};

struct place {
	uint8_t word, first, last; /* bits */
};

/* Places of a field: for format 0, for format 1, and the word for later formats. */
static const struct field {
	struct place early, late;
	uint8_t latest_word, layer;
} fields[FIELDS] = {
	[0x01] = { { 0x01, 16, 47 }, { 0x08, 0, 31 }, 0x08, 0 },	  /* SMAC_47_16 */
	[0x02] = { { 0x01, 0, 15 }, { 0x09, 16, 31 }, 0x09, 0 },	  /* SMAC_15_0 */
	[0x03] = { { 0x02, 32, 47 }, { 0x01, 0, 15 }, 0x01, 0 },	  /* ETHERTYPE */
	[0x04] = { { 0x00, 16, 47 }, { 0x00, 0, 31 }, 0x00, 0 },	  /* DMAC_47_16 */
	[0x05] = { { 0x00, 0, 15 }, { 0x01, 16, 31 }, 0x01, 0 },	  /* DMAC_15_0 */
	[0x06] = { { 0x04, 0, 5 }, { 0x0e, 18, 23 }, 0x0e, 0 },		  /* IP_DSCP */
	[0x07] = { { 0x08, 48, 56 }, { 0x19, 16, 24 }, 0x19, LAYER_TCP }, /* TCP_FLAGS */
	[0x08] = { { 0x08, 0, 15 }, { 0x18, 16, 31 }, 0x18, LAYER_TCP },  /* TCP_SPORT */
	[0x09] = { { 0x08, 16, 31 }, { 0x18, 0, 15 }, 0x18, LAYER_TCP },  /* TCP_DPORT */
	[0x0a] = { { 0x04, 8, 15 }, { 0x0e, 8, 15 }, 0x0e, LAYER_IPV4 },  /* IP_TTL */
	[0x0b] = { { 0x08, 0, 15 }, { 0x18, 16, 31 }, 0x18, LAYER_UDP },  /* UDP_SPORT */
	[0x0c] = { { 0x08, 16, 31 }, { 0x18, 0, 15 }, 0x18, LAYER_UDP },  /* UDP_DPORT */
	[0x0d] = { { 0x06, 32, 63 }, { 0x4c, 0, 31 }, 0x4c, LAYER_IPV6 }, /* SIPV6_127_96 */
	[0x0e] = { { 0x06, 0, 31 }, { 0x4d, 0, 31 }, 0x4d, LAYER_IPV6 },  /* SIPV6_95_64 */
	[0x0f] = { { 0x07, 32, 63 }, { 0x4e, 0, 31 }, 0x4e, LAYER_IPV6 }, /* SIPV6_63_32 */
	[0x10] = { { 0x07, 0, 31 }, { 0x4f, 0, 31 }, 0x4f, LAYER_IPV6 },  /* SIPV6_31_0 */
	[0x11] = { { 0x03, 32, 63 }, { 0x44, 0, 31 }, 0x44, LAYER_IPV6 }, /* DIPV6_127_96 */
	[0x12] = { { 0x03, 0, 31 }, { 0x45, 0, 31 }, 0x45, LAYER_IPV6 },  /* DIPV6_95_64 */
	[0x13] = { { 0x05, 32, 63 }, { 0x46, 0, 31 }, 0x46, LAYER_IPV6 }, /* DIPV6_63_32 */
	[0x14] = { { 0x05, 0, 31 }, { 0x47, 0, 31 }, 0x47, LAYER_IPV6 },  /* DIPV6_31_0 */
	[0x15] = { { 0x03, 0, 31 }, { 0x40, 0, 31 }, 0x40, LAYER_IPV4 },  /* SIPV4 */
	[0x16] = { { 0x03, 32, 63 }, { 0x41, 0, 31 }, 0x41, LAYER_IPV4 }, /* DIPV4 */
	[0x17] = { { 0x02, 0, 15 }, { 0x02, 0, 15 }, 0x02, 0 },		  /* FIRST_VID */
	[0x47] = { { 0x04, 8, 15 }, { 0x0e, 8, 15 }, 0x0e, LAYER_IPV6 },  /* IPV6_HOPLIMIT */
	[0x49] = { { 0x16, 0, 31 }, { 0x7c, 0, 31 }, 0x7c, 0 },		  /* METADATA_REGA */
	[0x50] = { { 0x16, 32, 63 }, { 0x7b, 0, 31 }, 0x7b, 0 },	  /* METADATA_REGB */
	[0x51] = { { 0x0c, 32, 63 }, { 0x90, 0, 31 }, 0x94, 0 },	  /* METADATA_REGC_0 */
	[0x52] = { { 0x0c, 0, 31 }, { 0x91, 0, 31 }, 0x95, 0 },		  /* METADATA_REGC_1 */
	[0x53] = { { 0x0d, 32, 63 }, { 0x8e, 0, 31 }, 0x92, 0 },	  /* METADATA_REGC_2 */
	[0x54] = { { 0x0d, 0, 31 }, { 0x8f, 0, 31 }, 0x93, 0 },		  /* METADATA_REGC_3 */
	[0x55] = { { 0x0e, 32, 63 }, { 0x8c, 0, 31 }, 0x90, 0 },	  /* METADATA_REGC_4 */
	[0x56] = { { 0x0e, 0, 31 }, { 0x8d, 0, 31 }, 0x91, 0 },		  /* METADATA_REGC_5 */
	[0x59] = { { 0x09, 32, 63 }, { 0x5e, 0, 31 }, 0x5e, 0 },	  /* TCP_SEQ_NUM */
	[0x5b] = { { 0x09, 0, 31 }, { 0x5f, 0, 31 }, 0x5f, 0 },		  /* TCP_ACK_NUM */
	[0x6e] = { { 0 }, { PARSER, 0, 31 }, PARSER, 0 },		  /* GTPU_TEID */
	[0x73] = { { 0x04, 6, 7 }, { 0x0e, 16, 17 }, 0x0e, 0 },		  /* IP_ECN */
};

static int place_find(const struct mlx5dv_dr_domain *domain, unsigned int number, struct place *ret,
		      uint8_t *ret_layer)
{
	const struct field *field = number < FIELDS ? &fields[number] : &fields[0];
	const struct dr_caps *caps = &domain->caps;

	*ret = caps->format ? field->late : field->early;
	*ret_layer = field->layer;
	if (!ret->last)
		return -EINVAL;
	if (ret->word == PARSER) {
		if (!caps->has_parser_change || !(caps->protocols >> DR_PARSER_GTPU_TEID & 1) ||
		    caps->parsers.gtpu_teid >= PARSERS)
			return -EINVAL;
		ret->word = PARSER_WORD - caps->parsers.gtpu_teid;
	} else if (caps->format >= FORMAT_REGISTERS) {
		ret->word = field->latest_word;
	}
	return 0;
}

/* Check a register: only sent packets have register A, and only received packets have register B.
 */
static int register_check(const struct mlx5dv_dr_domain *domain, unsigned int number)
{
	if (number == FIELD_REG_A && domain->type != MLX5DV_DR_DOMAIN_TYPE_NIC_TX)
		return -EINVAL;
	if (number == FIELD_REG_B && domain->type != MLX5DV_DR_DOMAIN_TYPE_NIC_RX)
		return -EINVAL;
	return 0;
}

static bool may_add(unsigned int number)
{
	return number == FIELD_TTL || number == FIELD_HOP_LIMIT || number == FIELD_TCP_SEQ ||
	       number == FIELD_TCP_ACK;
}

/* ---- one change */

/* A change in the format of a program: bits of fields. */
struct change {
	enum operation operation;
	unsigned int to, to_offset, from, from_offset, length;
	uint32_t data;
};

static struct change change_read(__be64 bytes)
{
	uint64_t value = be64toh(bytes);
	uint32_t high = value >> 32, low = value;
	struct change c = {
		.operation = high >> 28,
		.to = high >> 16 & 0xfff,
		.to_offset = high >> 8 & 0x1f,
		.length = high & 0x1f ?: WORD_BITS,
		.data = low,
	};

	if (c.operation == COPY) {
		c.from = c.to;
		c.from_offset = c.to_offset;
		c.to = low >> 16 & 0xfff;
		c.to_offset = low >> 8 & 0x1f;
	}
	return c;
}

/* Find the word and the bits of a part of a field. */
static int part_find(const struct mlx5dv_dr_domain *domain, unsigned int number,
		     unsigned int offset, unsigned int length, struct place *ret,
		     uint8_t *ret_layer)
{
	int r = register_check(domain, number);

	if (!r)
		r = place_find(domain, number, ret, ret_layer);
	if (r < 0)
		return r;
	if (offset + length > ret->last - ret->first + 1u)
		return -EINVAL;
	ret->first += offset;
	return 0;
}

static void words_put(uint8_t ret[DR_CHANGE_SIZE], uint32_t first, uint32_t second)
{
	__be32 words[] = { htobe32(first), htobe32(second) };

	memcpy(ret, words, sizeof(words));
}

static uint32_t shift_of(const struct mlx5dv_dr_domain *domain, const struct place *place)
{
	return (uint32_t)(place->first + (domain->caps.format ? SHIFT_BIAS : 0)) << 8;
}

static uint32_t head_of(const struct mlx5dv_dr_domain *domain, enum operation operation,
			const struct place *to, unsigned int length)
{
	static const uint8_t early[] = { [SET] = 2, [ADD] = 3, [COPY] = 1 };
	static const uint8_t late[] = { [SET] = 6, [ADD] = 7, [COPY] = 5 };
	uint8_t code = domain->caps.format ? late[operation] : early[operation];

	if (!domain->caps.format && operation != COPY)
		length %= WORD_BITS;
	return (uint32_t)code << 24 | (uint32_t)to->word << 16 | shift_of(domain, to) | length;
}

/* A change, and the words of a packet that it uses. */
struct translated {
	uint8_t bytes[DR_CHANGE_SIZE];
	uint8_t to, from, layer;
};

static int copy_translate(const struct mlx5dv_dr_domain *domain, const struct change *c,
			  struct translated *ret)
{
	struct place to, from;
	uint8_t from_layer;
	int r = part_find(domain, c->from, c->from_offset, c->length, &from, &from_layer);

	if (!r)
		r = part_find(domain, c->to, c->to_offset, c->length, &to, &ret->layer);
	if (r < 0)
		return r;
	words_put(ret->bytes, head_of(domain, COPY, &to, c->length),
		  (uint32_t)from.word << 16 | shift_of(domain, &from));
	ret->to = to.word;
	ret->from = from.word;
	return 0;
}

static int change_translate(const struct mlx5dv_dr_domain *domain, const struct change *c,
			    struct translated *ret)
{
	unsigned int length = c->length;
	struct place to;
	int r;

	if (c->operation == COPY)
		return copy_translate(domain, c, ret);
	if (c->operation != SET && c->operation != ADD)
		return -EOPNOTSUPP;
	if (c->operation == ADD && !may_add(c->to))
		return -EINVAL;
	r = c->operation == ADD ? part_find(domain, c->to, 0, 0, &to, &ret->layer)
				: part_find(domain, c->to, c->to_offset, length, &to, &ret->layer);
	if (r < 0)
		return r;
	if (c->operation == ADD)
		length = to.last - to.first + 1;
	words_put(ret->bytes, head_of(domain, c->operation, &to, length), c->data);
	ret->to = ret->from = to.word;
	return 0;
}

/* ---- a list of changes */

static int layers_add(uint8_t *layers, uint8_t layer)
{
	*layers |= layer;
	if ((*layers & LAYER_L3) == LAYER_L3)
		return -EOPNOTSUPP;
	return (*layers & LAYER_L4) == LAYER_L4 ? -EINVAL : 0;
}

int dr_changes_translate(const struct mlx5dv_dr_domain *domain, const __be64 *from, size_t count,
			 uint8_t ret[][DR_CHANGE_SIZE], unsigned int *ret_count)
{
	unsigned int used = 0;
	uint8_t layers = 0;
	int before = -1; /* word that the previous command writes */

	for (size_t i = 0; i < count; i++) {
		struct change c = change_read(from[i]);
		struct translated t = {};
		int r = change_translate(domain, &c, &t);

		if (!r)
			r = layers_add(&layers, t.layer);
		if (r < 0)
			return r;
		/* The adapter executes commands in pairs. Put an empty command between two commands
		 * of a pair that depend on each other. */
		if (used % 2 && (t.to == before || t.from == before)) {
			if (count + used - i >= 2 * count)
				return -EINVAL;
			memset(ret[used++], 0, DR_CHANGE_SIZE);
		}
		memcpy(ret[used++], t.bytes, DR_CHANGE_SIZE);
		before = t.to;
	}
	*ret_count = used;
	return 0;
}

/* ---- storage */

static unsigned int order_of(unsigned int count)
{
	unsigned int order = LIST_ORDER_MIN;

	while (1u << order < count)
		order++;
	return order;
}

static int list_store(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		      unsigned int count, struct dr_changes *ret)
{
	int r = dr_chunk_alloc(&domain->pools[DR_POOL_CHANGES], order_of(count), &ret->chunk);

	if (r < 0)
		return r;
	r = dr_chunk_write(&ret->chunk, 0, from, (size_t)count * DR_CHANGE_SIZE);
	if (r < 0) {
		dr_chunk_free(&ret->chunk);
		return r;
	}
	ret->has_chunk = true;
	ret->index = (dr_chunk_address(&ret->chunk, 0) - domain->caps.changes_at) / DR_ENTRY_SIZE;
	return 0;
}

int dr_changes_store(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		     unsigned int count, bool is_header, struct dr_changes *ret)
{
	ret->count = count;
	memcpy(ret->first, from, DR_CHANGE_SIZE);
	ret->is_inline = count == 1 && !is_header && domain->caps.format;
	if (ret->is_inline)
		return 0;
	return domain->patterns ? dr_pattern_use(domain, from, count, is_header, ret)
				: list_store(domain, from, count, ret);
}

void dr_changes_free(struct mlx5dv_dr_domain *domain, struct dr_changes *changes)
{
	if (changes->has_chunk)
		dr_chunk_free(&changes->chunk);
	if (changes->pattern)
		dr_pattern_leave(domain, changes);
}
