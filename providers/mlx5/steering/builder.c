/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Builders. Each builder takes some fields out of the mask, and places them in the key of a lookup
 * type. The adapter can serve the mask if no field is left at the end.
 */
#include "providers/mlx5/steering/steering.h"

struct choice {
	const struct dr_caps *caps;
	const struct dr_layouts *layouts;
	enum dr_half half;
	bool has_source;      /* keys can contain the function that sent the packet */
	struct dr_match mask; /* fields without a builder so far */
	struct dr_builder *builders;
	unsigned int count;
};

static struct dr_builder *builder_new(struct choice *choice, uint16_t lookup)
{
	struct dr_builder *b = &choice->builders[choice->count++];

	*b = (struct dr_builder){ .lookup = lookup };
	return b;
}

static void layout_use(struct choice *choice, const struct dr_layout *layout)
{
	struct dr_builder *b = builder_new(choice, layout->lookup[choice->half]);

	dr_layout_add(b, layout, &choice->mask);
	dr_builder_finish(b);
}

/* Use the layout if the remaining mask has a field of it. */
static bool layout_try(struct choice *choice, const struct dr_layout *layout)
{
	if (!dr_match_has_any(&choice->mask, layout))
		return false;
	layout_use(choice, layout);
	return true;
}

static bool has(const struct choice *choice, unsigned int word, uint32_t bits)
{
	return dr_match_has(&choice->mask, word, bits);
}

/* ---- headers that packets have outside and inside of a tunnel */

static void ethernet_add(struct choice *choice, bool inner)
{
	const struct dr_layouts *l = choice->layouts;
	unsigned int base = inner ? DR_INNER : 0;
	bool src = has(choice, base + DR_SMAC, DR_ALL) || has(choice, base + DR_SMAC_TYPE, DR_HIGH);
	bool dst = has(choice, base + DR_DMAC, DR_ALL) || has(choice, base + DR_DMAC_VLAN, DR_HIGH);

	if (src)
		layout_use(choice, dst ? &l->ethernet_both[inner] : &l->ethernet_src[inner]);
	if (has(choice, base + DR_DMAC, DR_ALL) || has(choice, base + DR_DMAC_VLAN, DR_ALL) ||
	    has(choice, base + DR_SMAC_TYPE, DR_LOW) ||
	    has(choice, base + DR_L3_L4, DR_VERSION | DR_VLAN_KIND) ||
	    has(choice, DR_SECOND_VLAN, inner ? DR_LOW : DR_HIGH) ||
	    has(choice, DR_SECOND_KIND, inner ? DR_INNER_SECOND : DR_OUTER_SECOND))
		layout_use(choice, &l->ethernet_dst[inner]);
}

static void ip_add(struct choice *choice, bool inner, unsigned int version)
{
	const struct dr_layouts *l = choice->layouts;

	if (version == 4) {
		layout_try(choice, &l->ipv4_misc[inner]);
		layout_try(choice, &l->ipv4_ports[inner]);
	} else if (version == 6) {
		layout_try(choice, &l->ipv6_dst[inner]);
		layout_try(choice, &l->ipv6_src[inner]);
		layout_try(choice, &l->ipv6_ports[inner]);
	}
}

/* ---- parsers, which programs of the firmware configure: each has a word of a key */

static bool has_parser(const struct choice *choice, enum dr_parser parser)
{
	return choice->caps->protocols >> parser & 1;
}

static uint8_t parser_word(uint8_t id)
{
	return 3 - id % 4;
}

static struct dr_builder *parser_builder(struct choice *choice, uint8_t id)
{
	return builder_new(choice, choice->layouts->parsers[id > 3]);
}

/* Move a word of the mask into the key. The parser @id fills this word of the key. */
static void parser_take(struct choice *choice, struct dr_builder *b, unsigned int word, uint8_t id)
{
	const struct dr_move moves[] = { { word, parser_word(id), 0, DR_ALL }, { 0 } };

	dr_moves_add(b, moves, &choice->mask);
}

static bool parser_try(struct choice *choice, unsigned int word, enum dr_parser parser, uint8_t id)
{
	struct dr_builder *b;

	if (!has_parser(choice, parser) || id > 7 || !has(choice, word, DR_ALL))
		return false;
	b = parser_builder(choice, id);
	parser_take(choice, b, word, id);
	dr_builder_finish(b);
	return true;
}

static void samples_add(struct choice *choice, bool high)
{
	struct dr_builder *b = NULL;
	unsigned int used = 0;

	for (unsigned int i = 0; i < DR_PART_WORDS; i += 2) {
		uint32_t *value = &choice->mask.words[DR_SAMPLES + i], *id = value + 1;

		if ((!*value && !*id) || *id > 7 || (*id > 3) != high || used >> *id & 1)
			continue;
		used |= 1u << *id;
		if (!b)
			b = parser_builder(choice, *id);
		parser_take(choice, b, DR_SAMPLES + i, *id);
		*id = 0;
	}
	if (b)
		dr_builder_finish(b);
}

static void gtpu_parsers_add(struct choice *choice, bool high)
{
	const struct dr_parsers *p = &choice->caps->parsers;
	const struct {
		enum dr_parser parser;
		uint8_t word, id;
	} words[] = {
		{ DR_PARSER_GTPU_DW_0, DR_GTPU_DW_0, p->gtpu_dw_0 },
		{ DR_PARSER_GTPU_TEID, DR_GTPU_TEID, p->gtpu_teid },
		{ DR_PARSER_GTPU_DW_2, DR_GTPU_DW_2, p->gtpu_dw_2 },
		{ DR_PARSER_GTPU_EXTENSION, DR_GTPU_EXTENSION, p->gtpu_extension },
	};
	struct dr_builder *b = NULL;

	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		if (!has_parser(choice, words[i].parser) || (words[i].id > 3) != high ||
		    words[i].id > 7 || !has(choice, words[i].word, DR_ALL))
			continue;
		if (!b)
			b = parser_builder(choice, words[i].id);
		parser_take(choice, b, words[i].word, words[i].id);
	}
	if (b)
		dr_builder_finish(b);
}

/* ---- tunnels: a mask has the fields of one of them */

static void geneve_exists_add(struct choice *choice)
{
	const struct dr_move moves[] = {
		{ DR_GENEVE, 2, (int8_t)(23 + choice->caps->parsers.geneve_option), DR_OPTION },
		{ 0 }
	};
	struct dr_builder *b;

	if (!choice->layouts->parser_ok || !choice->caps->has_option_exists ||
	    !has(choice, DR_GENEVE, DR_OPTION))
		return;
	b = builder_new(choice, choice->layouts->parser_ok);
	dr_moves_add(b, moves, &choice->mask);
	dr_builder_finish(b);
}

static bool geneve_add(struct choice *choice)
{
	bool found = false;

	if (choice->caps->format || has_parser(choice, DR_PARSER_GENEVE))
		found = layout_try(choice, &choice->layouts->geneve);
	found |= parser_try(choice, DR_GENEVE_OPTION, DR_PARSER_GENEVE_OPTION,
			    choice->caps->parsers.geneve_option);
	if (found)
		geneve_exists_add(choice);
	return found;
}

static bool gtpu_add(struct choice *choice)
{
	unsigned int before = choice->count;

	gtpu_parsers_add(choice, false);
	gtpu_parsers_add(choice, true);
	if (has_parser(choice, DR_PARSER_GTPU))
		layout_try(choice, &choice->layouts->gtpu);
	return choice->count > before;
}

static void tunnel_add(struct choice *choice)
{
	const struct dr_layouts *l = choice->layouts;

	if ((choice->caps->format || has_parser(choice, DR_PARSER_VXLAN_GPE)) &&
	    layout_try(choice, &l->vxlan_gpe))
		return;
	if (geneve_add(choice) || gtpu_add(choice))
		return;
	layout_try(choice,
		   choice->caps->has_tunnel_header ? &l->tunnel_header_full : &l->tunnel_header);
}

static void mpls_add(struct choice *choice)
{
	const struct dr_parsers *p = &choice->caps->parsers;

	if (!parser_try(choice, DR_MPLS_GRE, DR_PARSER_MPLS_GRE, p->mpls_gre))
		parser_try(choice, DR_MPLS_UDP, DR_PARSER_MPLS_UDP, p->mpls_udp);
}

/* Add fields of ICMP by two parsers. The first parser has type and code, the second has the data.
 */
static void icmp_parsers_add(struct choice *choice, bool six)
{
	const uint8_t *ids = choice->caps->parsers.icmp[six];
	const struct dr_move moves[] = {
		{ DR_ICMP, parser_word(ids[0]), six ? 16 : 0, six ? DR_LOW : DR_HIGH },
		{ six ? DR_ICMPV6_DATA : DR_ICMP_DATA, parser_word(ids[1]), 0, DR_ALL },
		{ 0 },
	};
	struct dr_builder *b = parser_builder(choice, ids[0]);

	dr_moves_add(b, moves, &choice->mask);
	dr_builder_finish(b);
}

static void icmp_add(struct choice *choice)
{
	static const enum dr_parser parsers[] = { DR_PARSER_ICMP, DR_PARSER_ICMPV6 };

	for (int six = 0; six < 2; six++) {
		if (!has(choice, DR_ICMP, six ? DR_LOW : DR_HIGH) &&
		    !has(choice, six ? DR_ICMPV6_DATA : DR_ICMP_DATA, DR_ALL))
			continue;
		if (choice->layouts->icmp[six].moves)
			layout_use(choice, &choice->layouts->icmp[six]);
		else if (has_parser(choice, parsers[six]))
			icmp_parsers_add(choice, six);
		return;
	}
}

/* ---- the source of a packet: a function of the adapter, and a queue */

static void source_add(struct choice *choice)
{
	static const struct dr_move queue[] = { { DR_MISC, 1, 0, DR_NUMBER }, { 0 } };
	struct dr_builder *b;
	bool port = has(choice, DR_SOURCE_PORT, DR_LOW), sqn = has(choice, DR_MISC, DR_NUMBER);

	if (!choice->has_source || (!port && !sqn))
		return;
	b = builder_new(choice, choice->layouts->source);
	b->source_key = choice->layouts->source_key;
	b->source_shift = choice->layouts->source_shift;
	dr_moves_add(b, queue, &choice->mask);
	if (sqn)
		dr_key_or(b->mask, 1, DR_NUMBER);
	if (port) {
		b->is_source = true;
		choice->mask.words[DR_SOURCE_PORT] &= ~DR_LOW;
		dr_key_or(b->mask, 0, DR_LOW);
	}
	if (port && choice->half == DR_RECEIVE)
		dr_key_or(b->mask, b->source_key, 1u << b->source_shift);
	dr_builder_finish(b);
}

/* ---- the choice */

static void outer_add(struct choice *choice, unsigned int version)
{
	const struct dr_layouts *l = choice->layouts;

	layout_try(choice, &l->reg_a);
	layout_try(choice, &l->regs_0);
	layout_try(choice, &l->regs_1);
	source_add(choice);
	ethernet_add(choice, false);
	ip_add(choice, false, version);
	tunnel_add(choice);
	layout_try(choice, &l->l4_misc[0]);
	layout_try(choice, &l->mpls[0]);
	mpls_add(choice);
	icmp_add(choice);
	layout_try(choice, &l->gre);
}

static void inner_add(struct choice *choice, unsigned int version)
{
	const struct dr_layouts *l = choice->layouts;

	if (has(choice, DR_VXLAN, DR_VNI))
		layout_use(choice, &l->ethernet_tunnel);
	ethernet_add(choice, true);
	ip_add(choice, true, version);
	layout_try(choice, &l->l4_misc[1]);
	layout_try(choice, &l->mpls[1]);
}

static bool is_version(unsigned int version)
{
	return !version || version == 4 || version == 6;
}

int dr_mask_check(const struct dr_match *mask)
{
	uint32_t port = mask->words[DR_SOURCE_PORT] & DR_LOW;

	if (!is_version(dr_match_version(mask, 0)) || !is_version(dr_match_version(mask, DR_INNER)))
		return -EOPNOTSUPP;
	return !port || port == DR_LOW ? 0 : -EOPNOTSUPP;
}

int dr_builders_make(const struct mlx5dv_dr_domain *domain, enum dr_half half,
		     const struct dr_match *mask, uint8_t criteria,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count)
{
	struct choice choice = {
		.caps = &domain->caps,
		.layouts = domain->caps.format ? &dr_layouts_1 : &dr_layouts_0,
		.half = half,
		.has_source = domain->type != MLX5DV_DR_DOMAIN_TYPE_NIC_TX,
		.mask = *mask,
		.builders = builders,
	};
	/* The receiving half of the switch has packets from the wire only. */
	bool from_wire = domain->type == MLX5DV_DR_DOMAIN_TYPE_FDB && half == DR_RECEIVE &&
			 dr_match_has(mask, DR_SOURCE_PORT, DR_LOW);

	if (from_wire)
		choice.mask.words[DR_SOURCE_PORT] &= ~DR_LOW;
	if (!criteria || (from_wire && dr_match_is_empty(&choice.mask, 0, DR_MATCH_WORDS)))
		dr_builder_finish(builder_new(&choice, DR_LOOKUP_NONE));
	outer_add(&choice, dr_match_version(mask, 0));
	inner_add(&choice, dr_match_version(mask, DR_INNER));
	samples_add(&choice, false);
	samples_add(&choice, true);
	if (choice.layouts->bth.moves)
		layout_try(&choice, &choice.layouts->bth);
	if (!choice.count)
		return -EINVAL;
	if (!dr_match_is_empty(&choice.mask, 0, DR_MATCH_WORDS))
		return -EOPNOTSUPP;
	*ret_count = choice.count;
	return 0;
}
