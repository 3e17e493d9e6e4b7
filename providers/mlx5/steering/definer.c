/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definers: objects of the firmware that select fields for the key of wide entries. A matcher with
 * one definer has one level. The definer contains the mask, and entries contain only the tag.
 */
#include "providers/mlx5/steering/steering.h"

enum {
	OBJECT_SIZE = 0x90,
	FORMAT_AT = 0x20,
	MASK_AT = 0x70,
	NUMBER_MAX = 0xff, /* largest number that an entry can contain */
	FORMATS = 64,
};

#define MOVES(...) ((const struct dr_move[]){ __VA_ARGS__, { 0 } })
#define VERSION(k, s)                                                \
	{                                                            \
		DR_CODE_VERSION_OF_VALUE, k, s, DR_L3_L4, DR_VERSION \
	}
#define VLAN(k, s)                                         \
	{                                                  \
		DR_CODE_VLAN, k, s, DR_L3_L4, DR_VLAN_KIND \
	}
#define L4(k, s)                                        \
	{                                               \
		DR_CODE_L4, k, s, DR_L3_L4, DR_PROTOCOL \
	}
#define INNER_VERSION(k, s)                                                     \
	{                                                                       \
		DR_CODE_VERSION_OF_VALUE, k, s, DR_INNER + DR_L3_L4, DR_VERSION \
	}
#define INNER_VLAN(k, s)                                              \
	{                                                             \
		DR_CODE_VLAN, k, s, DR_INNER + DR_L3_L4, DR_VLAN_KIND \
	}
#define PORTS(b, k)                              \
	{ (b) + DR_TCP_PORTS, k, 0, DR_ALL },    \
	{                                        \
		(b) + DR_UDP_PORTS, k, 0, DR_ALL \
	}
#define WORDS(w, k)                                                                            \
	{ w, k, 0, DR_ALL }, { (w) + 1, (k) + 1, 0, DR_ALL }, { (w) + 2, (k) + 2, 0, DR_ALL }, \
	{                                                                                      \
		(w) + 3, (k) + 3, 0, DR_ALL                                                    \
	}
#define IPV4(b, k)                                      \
	{ (b) + DR_SRC_IP + 3, k, 0, DR_ALL },          \
	{                                               \
		(b) + DR_DST_IP + 3, (k) + 1, 0, DR_ALL \
	}

static const struct definer {
	uint8_t format;
	struct dr_layout layout;
	const struct dr_move *of_ipv4; /* moves that need an outer IPv4 header; NULL: none */
	uint8_t source;		       /* word of the key with the source; 0: none */
} definers[] = {
	{ 0,
	  { .codes = { VERSION(4, 20), VLAN(4, 16) },
	    .moves = MOVES({ DR_REG_C0, 0, 0, DR_ALL }, { DR_REG_C0 - 1, 1, 0, DR_ALL },
			   { DR_DMAC, 2, 0, DR_ALL }, { DR_DMAC_VLAN, 3, 0, DR_HIGH },
			   { DR_SMAC_TYPE, 3, 0, DR_LOW }, { DR_L3_L4, 4, 15, DR_FRAGMENT },
			   { DR_DMAC_VLAN, 4, 0, DR_LOW }, { DR_SMAC, 6, 0, DR_ALL },
			   { DR_SMAC_TYPE, 7, 0, DR_HIGH }, { DR_L3_L4, 7, 0, 0xff }) } },
	{ 2,
	  { .codes = { { DR_CODE_VERSION_NUMBER, 1, 28, DR_L3_L4, DR_VERSION } },
	    .moves = MOVES({ DR_REG_A, 0, 0, DR_ALL }, { DR_TTL, 1, 12, DR_LENGTH },
			   { DR_L3_L4, 1, 0, DR_DSCP | DR_ECN }, { DR_TTL, 1, 8, DR_HOPS },
			   { DR_L3_L4, 1, -24, DR_PROTOCOL }, PORTS(0, 6),
			   { DR_L3_L4, 7, 12, DR_FRAGMENT }, { DR_L3_L4, 7, 16, DR_FLAGS }) } },
	{ 16,
	  { .codes = { VERSION(6, 22), L4(6, 20), VLAN(6, 18) },
	    .moves = MOVES(WORDS(DR_TUNNEL_HEADER, 0), { DR_REG_A, 5, 0, DR_ALL },
			   { DR_L3_L4, 7, 17, DR_FRAGMENT }, { DR_MISC, 7, 0, DR_NUMBER }) },
	  NULL,
	  6 },
	{ 22,
	  { .codes = { VERSION(3, 20), L4(3, 18), VLAN(3, 16) },
	    .moves = MOVES(PORTS(0, 2), { DR_L3_L4, 3, 15, DR_FRAGMENT },
			   { DR_DMAC_VLAN, 3, 0, DR_LOW }, { DR_REG_C0, 4, 0, DR_ALL },
			   { DR_DMAC, 5, 0, DR_ALL }, { DR_SMAC, 6, 0, DR_ALL },
			   { DR_SMAC_TYPE, 7, 0, DR_HIGH }, { DR_DMAC_VLAN, 7, -16, DR_HIGH }) },
	  MOVES(IPV4(0, 0)) },
	{ 24,
	  { .codes = { VERSION(7, 6), VLAN(7, 2), INNER_VERSION(7, 22), INNER_VLAN(7, 18) },
	    .moves = MOVES({ DR_REG_C0 - 2, 0, 0, DR_ALL }, { DR_REG_C0 - 3, 1, 0, DR_ALL },
			   { DR_REG_C0, 2, 0, DR_ALL }, { DR_REG_C0 - 1, 3, 0, DR_ALL },
			   PORTS(0, 6), { DR_INNER + DR_L3_L4, 7, 0, DR_PROTOCOL },
			   { DR_INNER + DR_L3_L4, 7, 4, DR_FRAGMENT },
			   { DR_L3_L4, 7, -16, DR_PROTOCOL }, { DR_L3_L4, 7, -12, DR_FRAGMENT }) },
	  MOVES(IPV4(0, 4)) },
	{ 25,
	  { .codes = { VERSION(6, 20), VLAN(6, 16), INNER_VERSION(6, 28), INNER_VLAN(6, 24) },
	    .moves = MOVES(PORTS(DR_INNER, 2), { DR_TUNNEL_HEADER, 3, 0, DR_ALL },
			   { DR_TUNNEL_HEADER + 1, 4, 0, DR_ALL }, { DR_TCP_PORTS, 6, 0, DR_LOW },
			   { DR_UDP_PORTS, 6, 0, DR_LOW }) },
	  MOVES(IPV4(DR_INNER, 0)) },
	{ 28,
	  { .codes = { VERSION(7, 6), VLAN(7, 2), INNER_VERSION(7, 22), INNER_VLAN(7, 18) },
	    .moves = MOVES(PORTS(DR_INNER, 0), { DR_GTPU_TEID, 1, 0, DR_ALL }, PORTS(0, 6),
			   { DR_INNER + DR_L3_L4, 7, 0, DR_PROTOCOL },
			   { DR_INNER + DR_L3_L4, 7, 4, DR_FRAGMENT },
			   { DR_L3_L4, 7, -16, DR_PROTOCOL }, { DR_L3_L4, 7, -12, DR_FRAGMENT }) },
	  MOVES(IPV4(DR_INNER, 2), IPV4(0, 4)) },
	{ 33,
	  { .codes = { VERSION(3, 20), VLAN(3, 16) },
	    .moves = MOVES(PORTS(0, 2), { DR_L3_L4, 3, 15, DR_FRAGMENT },
			   { DR_DMAC_VLAN, 3, 0, DR_LOW }, { DR_TTL, 7, 12, DR_LENGTH },
			   { DR_TTL, 7, 8, DR_HOPS }, { DR_L3_L4, 7, -24, DR_PROTOCOL }) },
	  MOVES(IPV4(0, 0)) },
};

/* The source and destination addresses of IPv6 need two definers. */
static const struct definer source_ipv6 = {
	.format = 26,
	.layout = { .codes = { { DR_CODE_VERSION_OF_VALUE, 4, 20, DR_L3_L4, DR_VERSION },
			       VLAN(4, 16),
			       { DR_CODE_VLAN, 5, 16, DR_SECOND_KIND, DR_OUTER_SECOND } },
		    .moves = MOVES(WORDS(DR_SRC_IP, 0), { DR_L3_L4, 4, 15, DR_FRAGMENT },
				   { DR_DMAC_VLAN, 4, 0, DR_LOW },
				   { DR_SECOND_VLAN, 5, -16, DR_HIGH }, { DR_SMAC, 6, 0, DR_ALL },
				   { DR_SMAC_TYPE, 7, 0, DR_HIGH },
				   { DR_L3_L4, 7, -16, DR_PROTOCOL }, { DR_L3_L4, 7, 0, 0xff }) },
};
static const struct definer destination_ipv6 = {
	.format = 6,
	.layout = { .moves = MOVES(WORDS(DR_DST_IP, 0), PORTS(0, 6),
				   { DR_L3_L4, 7, 12, DR_FRAGMENT },
				   { DR_L3_L4, 7, 16, DR_FLAGS }) },
};

/* ---- builders */

static bool has_format(const struct dr_side *side, const struct definer *definer)
{
	return side->domain->caps.definers >> definer->format & 1;
}

static void source_take(struct dr_builder *b, const struct definer *definer, struct dr_match *mask)
{
	if (!definer->source || !dr_match_has(mask, DR_SOURCE_PORT, DR_LOW))
		return;
	b->is_source = true;
	b->source_word = definer->source;
	mask->words[DR_SOURCE_PORT] &= ~DR_LOW;
	dr_key_or(b->mask, definer->source, DR_LOW);
}

/* Add the fields of a definer to a builder, and remove them from the mask. */
static void definer_take(struct dr_builder *b, const struct definer *definer, struct dr_match *mask)
{
	bool is_ipv4 = dr_match_version(mask, 0) == 4;

	*b = (struct dr_builder){ .lookup = DR_LOOKUP_WIDE };
	dr_layout_add(b, &definer->layout, mask);
	if (is_ipv4)
		dr_moves_add(b, definer->of_ipv4, mask);
	source_take(b, definer, mask);
}

/* ---- objects */

static int object_make(struct dr_side *side, unsigned int i, const struct definer *definer,
		       struct dr_builder *b)
{
	uint32_t in[OBJECT_SIZE / 4] = {}, out[FW_HEAD / 4] = {};
	struct mlx5dv_devx_obj *object;

	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_DEFINER);
	fw_set(in, FORMAT_AT, definer->format);
	memcpy((char *)in + MASK_AT, b->mask, DR_WIDE_KEY_SIZE);
	object = mlx5_fw_create(side->domain->context, "CREATE_GENERAL_OBJECT", in, sizeof(in), out,
				sizeof(out));
	if (!object)
		return -errno;
	if (object->object_id > NUMBER_MAX || object->object_id == DR_LOOKUP_NONE) {
		mlx5_fw_destroy(object);
		return -EOPNOTSUPP;
	}
	side->definers[i] = object;
	side->definer_formats[i] = definer->format;
	b->lookup = DR_LOOKUP_WIDE | object->object_id;
	return 0;
}

void dr_definers_free(struct dr_side *side)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(side->definers); i++) {
		if (side->definers[i])
			mlx5_fw_destroy(side->definers[i]);
		side->definers[i] = NULL;
	}
}

/* ---- the choice */

/* Try a list of definers, which together must serve the whole mask. */
static int try(struct dr_side *side, const struct dr_match *mask, const struct definer *const *list,
	       unsigned int count, struct dr_builder *builders)
{
	struct dr_match left = *mask;
	int r = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (!has_format(side, list[i]))
			return -EOPNOTSUPP;
		definer_take(&builders[i], list[i], &left);
	}
	if (!dr_match_is_empty(&left, 0, DR_MATCH_WORDS))
		return -EOPNOTSUPP;
	for (unsigned int i = 0; !r && i < count; i++)
		r = object_make(side, i, list[i], &builders[i]);
	if (r < 0)
		dr_definers_free(side);
	return r;
}

static int try_ipv6(struct dr_side *side, const struct dr_match *mask, struct dr_builder *builders,
		    unsigned int *ret_count)
{
	const struct definer *const list[] = { &source_ipv6, &destination_ipv6 };

	if (dr_match_version(mask, 0) != 6 || dr_match_is_empty(mask, DR_SRC_IP, DR_SRC_IP + 4))
		return -EOPNOTSUPP;
	*ret_count = dr_match_is_empty(mask, DR_DST_IP, DR_DST_IP + 4) ? 1 : 2;
	return try(side, mask, list, *ret_count, builders);
}

int dr_definers_make(struct dr_side *side, const struct dr_match *mask,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count)
{
	struct dr_match wanted = *mask;
	int r = -EOPNOTSUPP;

	if (!side->domain->caps.format || !side->domain->caps.definers)
		return r;
	/* The receiving half of the switch has packets from the wire only. */
	if (dr_is_switch(side->domain) && side->half == DR_RECEIVE)
		wanted.words[DR_SOURCE_PORT] &= ~DR_LOW;
	for (unsigned int i = 0; r < 0 && i < ARRAY_SIZE(definers); i++) {
		const struct definer *one = &definers[i];

		*ret_count = 1;
		if (one->format > source_ipv6.format && r < 0)
			r = try_ipv6(side, &wanted, builders, ret_count);
		if (r < 0) {
			*ret_count = 1;
			r = try(side, &wanted, &one, 1, builders);
		}
	}
	return r;
}
