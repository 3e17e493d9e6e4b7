/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Read fields of a packet, and place them in keys. */
#include "tests/adapters/lab/device/mlx5_key.h"

#include <endian.h>
#include <string.h>
#include "tests/adapters/lab/device/mlx5_steering.h"

static uint32_t l3_of(const struct mlx5_headers *h)
{
	return h->ip_version == 4 ? 1 : h->ip_version == 6 ? 2 : 0;
}

static uint32_t mac_field(const struct mlx5_headers *h, unsigned field)
{
	switch (field) {
	case DMAC_HIGH:
		return h->dmac >> 16;
	case DMAC_LOW:
		return h->dmac & 0xffff;
	case SMAC_HIGH:
		return h->smac >> 16;
	case SMAC_LOW:
		return h->smac & 0xffff;
	case SMAC_32_47:
		return h->smac >> 32;
	case SMAC_0_31:
		return h->smac;
	case ETHERTYPE:
		return h->ethertype;
	case VLAN_KIND:
		return h->vlan_kind;
	case VLAN_TAG:
		return h->vlan;
	case VLAN_PRIORITY:
		return h->vlan >> 12;
	case VLAN_ID:
		return h->vlan & 0xfff;
	case SECOND_KIND:
		return h->second_kind;
	case SECOND_TAG:
		return h->second_vlan;
	case SECOND_PRIORITY:
		return h->second_vlan >> 12;
	default:
		return h->second_vlan & 0xfff;
	}
}

static uint32_t ip_field(const struct mlx5_headers *h, unsigned field)
{
	switch (field) {
	case FRAGMENT:
		return h->fragment;
	case L3_TYPE:
		return l3_of(h);
	case L4_TYPE:
		return h->l4;
	case IP_VERSION:
		return h->ip_version;
	case IHL:
		return h->ihl;
	case TTL:
		return h->ttl;
	case DSCP:
		return h->dscp;
	case ECN:
		return h->ecn;
	case PROTOCOL:
		return h->ip_protocol;
	case SPORT:
		return h->sport;
	case DPORT:
		return h->dport;
	case FLAGS:
		return h->tcp_flags;
	case FLAGS_8:
		return h->tcp_flags & 0xff;
	case LABEL:
		return h->flow_label;
	case SEQUENCE:
		return h->seq;
	case ACKNOWLEDGEMENT:
		return h->ack;
	case MPLS:
		return h->mpls;
	default:
		return field < DST_0 ? h->src[field - SRC_0] : h->dst[field - DST_0];
	}
}

/* Return a word of the tunnel that the packet has. */
static uint32_t tunnel_word(const struct mlx5_packet *p, unsigned i)
{
	return p->gpe[i] | p->geneve[i] | p->gtpu[i];
}

/* The device's configuration of the parsers: mlx5_steering.c reports the same. */
static uint32_t parser_value(const struct mlx5_packet *p, unsigned parser)
{
	switch (parser) {
	case PARSER_OF_ICMP:
		return p->icmp[0] | p->gtpu[0];
	case PARSER_OF_ICMP_DATA:
		return p->icmp[1] | p->gtpu[1];
	case PARSER_OF_ICMPV6:
		return p->icmpv6[0];
	case PARSER_OF_ICMPV6_DATA:
		return p->icmpv6[1];
	case PARSER_OF_GENEVE:
		return p->geneve_option;
	case PARSER_OF_MPLS_GRE:
		return p->mpls_gre;
	case PARSER_OF_MPLS_UDP:
		return p->mpls_udp;
	default:
		return p->gtpu_extension;
	}
}

static uint32_t packet_field(const struct mlx5_packet *p, unsigned field)
{
	if (field >= REG_C0 && field <= REG_C7)
		return p->reg_c[field - REG_C0];
	if (field >= PARSER_0 && field <= PARSER_7)
		return parser_value(p, field - PARSER_0);
	switch (field) {
	case VNI:
		return p->vni;
	case GRE:
		return p->gre;
	case GRE_KEY:
		return p->gre_key;
	case TUNNEL_0:
	case TUNNEL_1:
		return tunnel_word(p, field - TUNNEL_0);
	case ICMP_TYPE:
		return (p->icmp[0] | p->icmpv6[0]) >> 16;
	case ICMP_DATA:
		return p->icmp[1] | p->icmpv6[1];
	case REG_A:
		return p->reg_a;
	case FUNCTION:
		return p->function;
	case WIRE:
		return !p->from_wire;
	case QUEUE:
		return p->queue;
	case PARSERS_OK:
		return p->geneve_option ? 1u << PARSER_OF_GENEVE : 0;
	case BTH_OPCODE:
		return p->bth[0] >> 24;
	case BTH_QP:
		return p->bth[1] & 0xffffff;
	default:
		return p->bth[2] >> 31;
	}
}

static uint32_t field_of(const struct mlx5_packet *p, unsigned field)
{
	const struct mlx5_headers *h = &p->headers[!!(field & INNER)];

	field &= ~(unsigned)INNER;
	if (field <= SECOND_ID)
		return mac_field(h, field);
	return field <= MPLS ? ip_field(h, field) : packet_field(p, field);
}

static void places_fill(const struct mlx5_packet *p, const struct key_layout *layout, uint8_t *key,
			size_t size)
{
	uint32_t words[WIDE_KEY_SIZE / 4] = { 0 };

	for (const struct key_place *place = layout->places; place->field; place++)
		words[place->word] |= field_of(p, place->field) << place->low;
	for (size_t i = 0; i < size / 4; i++) {
		uint32_t word = htobe32(words[i]);

		memcpy(key + 4 * i, &word, sizeof(word));
	}
}

bool mlx5_key_make(const struct mlx5_packet *p, int format, unsigned lookup, uint8_t key[KEY_SIZE])
{
	const struct key_layout *layout = format ? key_layouts_1 : key_layouts_0;

	memset(key, 0, KEY_SIZE);
	if (lookup == NO_LOOKUP)
		return true;
	while (layout->places[0].field && layout->lookup != lookup)
		layout++;
	if (!layout->places[0].field)
		return false;
	places_fill(p, layout, key, KEY_SIZE);
	return true;
}

bool mlx5_key_make_wide(const struct mlx5_packet *p, unsigned definer_format,
			uint8_t key[WIDE_KEY_SIZE])
{
	const struct key_layout *layout = key_layouts_wide;

	while (layout->places[0].field && layout->lookup != definer_format)
		layout++;
	if (!layout->places[0].field)
		return false;
	places_fill(p, layout, key, WIDE_KEY_SIZE);
	return true;
}
