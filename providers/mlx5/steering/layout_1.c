/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layouts of formats 1 to 3. */
#include "providers/mlx5/steering/layout.h"

#define BOTH(type)         \
	{                  \
		type, type \
	}
#define MOVES(...) ((const struct dr_move[]){ __VA_ARGS__, { 0 } })
#define OUTER_SECOND                            \
	{                                       \
		DR_SECOND_VLAN, 3, -16, DR_HIGH \
	}
#define INNER_SECOND                         \
	{                                    \
		DR_SECOND_VLAN, 3, 0, DR_LOW \
	}

#define ETHERNET(type, b, mac, mac_low, second, kinds)                                            \
	{                                                                                         \
		.lookup = BOTH(type),                                                             \
		.codes = { { DR_CODE_VERSION, 0, 20, (b) + DR_L3_L4, DR_VERSION },                \
			   { DR_CODE_VLAN, 0, 16, (b) + DR_L3_L4, DR_VLAN_KIND },                 \
			   { DR_CODE_VLAN, 3, 16, DR_SECOND_KIND, kinds } },                      \
		.moves = MOVES({ (b) + (mac), 1, 0, DR_ALL }, { (b) + (mac_low), 2, 0, DR_HIGH }, \
			       { (b) + DR_SMAC_TYPE, 2, 0, DR_LOW },                              \
			       { (b) + DR_DMAC_VLAN, 0, 0, DR_LOW },                              \
			       { (b) + DR_L3_L4, 0, 15, DR_FRAGMENT }, second),                   \
	}

#define ETHERNET_BOTH(type, b)                                                                   \
	{                                                                                        \
		.lookup = BOTH(type),                                                            \
		.codes = { { DR_CODE_VERSION, 2, 4, (b) + DR_L3_L4, DR_VERSION },                \
			   { DR_CODE_VLAN, 2, 0, (b) + DR_L3_L4, DR_VLAN_KIND } },               \
		.moves = MOVES({ (b) + DR_DMAC, 0, 0, DR_ALL }, { (b) + DR_SMAC, 1, 0, DR_ALL }, \
			       { (b) + DR_DMAC_VLAN, 2, 0, DR_HIGH },                            \
			       { (b) + DR_DMAC_VLAN, 3, 16, DR_LOW },                            \
			       { (b) + DR_SMAC_TYPE, 3, -16, DR_HIGH }),                         \
	}

#define IPV4_PORTS(type, b)                                                 \
	{                                                                   \
		.lookup = BOTH(type),                                       \
		.moves = MOVES({ (b) + DR_SRC_IP + 3, 0, 0, DR_ALL },       \
			       { (b) + DR_DST_IP + 3, 1, 0, DR_ALL },       \
			       { (b) + DR_TCP_PORTS, 2, 0, DR_ALL },        \
			       { (b) + DR_UDP_PORTS, 2, 0, DR_ALL },        \
			       { (b) + DR_L3_L4, 3, 12, DR_FRAGMENT },      \
			       { (b) + DR_L3_L4, 3, 16, DR_FLAGS },         \
			       { (b) + DR_L3_L4, 3, -8, DR_DSCP | DR_ECN }, \
			       { (b) + DR_L3_L4, 3, -24, DR_PROTOCOL }),    \
	}

#define IPV4_MISC(type, b)                                          \
	{                                                           \
		.lookup = BOTH(type),                               \
		.moves = MOVES({ (b) + DR_TTL, 2, 16, DR_HOPS },    \
			       { (b) + DR_TTL, 2, 12, DR_LENGTH }), \
	}

#define ADDRESS(type, word)                                                                 \
	{                                                                                   \
		.lookup = BOTH(type),                                                       \
		.moves = MOVES({ word, 0, 0, DR_ALL }, { (word) + 1, 1, 0, DR_ALL },        \
			       { (word) + 2, 2, 0, DR_ALL }, { (word) + 3, 3, 0, DR_ALL }), \
	}

#define IPV6_PORTS(type, b, label)                                                              \
	{                                                                                       \
		.lookup = BOTH(type),                                                           \
		.moves = MOVES({ (b) + DR_L3_L4, 0, 0, DR_DSCP | DR_ECN },                      \
			       { (b) + DR_TTL, 0, 8, DR_HOPS },                                 \
			       { (b) + DR_L3_L4, 0, -24, DR_PROTOCOL },                         \
			       { (b) + DR_TCP_PORTS, 1, 0, DR_ALL },                            \
			       { (b) + DR_UDP_PORTS, 1, 0, DR_ALL }, { label, 2, 0, DR_LABEL }, \
			       { (b) + DR_L3_L4, 3, 12, DR_FRAGMENT },                          \
			       { (b) + DR_L3_L4, 3, 16, DR_FLAGS }),                            \
	}

#define L4_MISC(type, seq, ack)                                                                    \
	{                                                                                          \
		.lookup = BOTH(type), .moves = MOVES({ ack, 1, 0, DR_ALL }, { seq, 2, 0, DR_ALL }) \
	}

#define ICMP(shift, bits, data)                                                      \
	{                                                                            \
		.lookup = BOTH(0x0113),                                              \
		.moves = MOVES({ data, 1, 0, DR_ALL }, { DR_ICMP, 2, shift, bits }), \
	}

#define HEADER                                     \
	{ DR_TUNNEL_HEADER, 0, 0, DR_ALL },        \
	{                                          \
		DR_TUNNEL_HEADER + 1, 1, 0, DR_ALL \
	}

const struct dr_layouts dr_layouts_1 = {
	.ethernet_dst = { ETHERNET(0x0003, 0, DR_DMAC, DR_DMAC_VLAN, OUTER_SECOND, DR_OUTER_SECOND),
			  ETHERNET(0x0004, DR_INNER, DR_DMAC, DR_DMAC_VLAN, INNER_SECOND,
				   DR_INNER_SECOND) },
	.ethernet_src = { ETHERNET(0x0005, 0, DR_SMAC, DR_SMAC_TYPE, OUTER_SECOND, DR_OUTER_SECOND),
			  ETHERNET(0x0006, DR_INNER, DR_SMAC, DR_SMAC_TYPE, INNER_SECOND,
				   DR_INNER_SECOND) },
	.ethernet_both = { ETHERNET_BOTH(0x000b, 0), ETHERNET_BOTH(0x000c, DR_INNER) },
	.ipv4_misc = { IPV4_MISC(0x000d, 0), IPV4_MISC(0x000f, DR_INNER) },
	.ipv4_ports = { IPV4_PORTS(0x0007, 0), IPV4_PORTS(0x0008, DR_INNER) },
	.ipv6_dst = { ADDRESS(0x0107, DR_DST_IP), ADDRESS(0x0108, DR_INNER + DR_DST_IP) },
	.ipv6_src = { ADDRESS(0x0109, DR_SRC_IP), ADDRESS(0x010a, DR_INNER + DR_SRC_IP) },
	.ipv6_ports = { IPV6_PORTS(0x0009, 0, DR_OUTER_LABEL),
			IPV6_PORTS(0x000a, DR_INNER, DR_INNER_LABEL) },
	.l4_misc = { L4_MISC(0x0113, DR_OUTER_SEQ, DR_OUTER_ACK),
		     L4_MISC(0x0113, DR_INNER_SEQ, DR_INNER_ACK) },
	.mpls = { { BOTH(0x010b), MOVES({ DR_OUTER_MPLS, 1, 0, DR_ALL }) },
		  { BOTH(0x010c), MOVES({ DR_INNER_MPLS, 1, 0, DR_ALL }) } },
	.ethernet_tunnel = {
		.lookup = BOTH(0x0002),
		.codes = { { DR_CODE_VERSION, 3, 20, DR_INNER + DR_L3_L4, DR_VERSION },
			   { DR_CODE_VLAN, 3, 16, DR_INNER + DR_L3_L4, DR_VLAN_KIND } },
		.moves = MOVES({ DR_VXLAN, 0, 0, DR_VNI }, { DR_INNER + DR_DMAC, 1, 0, DR_ALL },
			       { DR_INNER + DR_DMAC_VLAN, 2, 0, DR_HIGH },
			       { DR_INNER + DR_SMAC_TYPE, 2, 0, DR_LOW },
			       { DR_INNER + DR_L3_L4, 3, 15, DR_FRAGMENT },
			       { DR_INNER + DR_DMAC_VLAN, 3, 0, DR_LOW }),
	},
	.gre = { BOTH(0x010d), MOVES({ DR_MISC, 0, 0, 0xb0000000 },
				     { DR_SECOND_KIND, 0, 0, DR_LOW },
				     { DR_GRE_KEY, 2, 0, DR_ALL }) },
	.vxlan_gpe = { BOTH(0x000e), MOVES({ DR_GPE, 0, 8, 0xff0000 }, { DR_GPE, 0, -24, DR_PROTOCOL },
					   { DR_GPE_VNI, 1, 8, DR_NUMBER }) },
	.geneve = { BOTH(0x000e), MOVES({ DR_GENEVE_HEAD, 0, 8, 0x3f0000 }, { DR_GENEVE, 0, 23, 1 },
					{ DR_GENEVE_HEAD, 0, 0, DR_LOW },
					{ DR_GENEVE, 1, 0, DR_VNI }) },
	.gtpu = { BOTH(0x000e), MOVES({ DR_GTPU, 0, 8, 0xff0000 }, { DR_GTPU, 0, -8, 0xff000000 },
				      { DR_GTPU_TEID, 1, 0, DR_ALL }) },
	.tunnel_header = { BOTH(0x000e), MOVES(HEADER) },
	.tunnel_header_full = { BOTH(0x0117),
				MOVES(HEADER, { DR_TUNNEL_HEADER + 2, 2, 0, DR_ALL },
				      { DR_TUNNEL_HEADER + 3, 3, 0, DR_ALL }) },
	.reg_a = { BOTH(0x010e), MOVES({ DR_REG_A, 0, 0, DR_ALL }) },
	.regs_0 = { BOTH(0x010f), MOVES({ DR_REG_C0, 0, 0, DR_ALL }, { DR_REG_C0 - 1, 1, 0, DR_ALL },
					{ DR_REG_C0 - 2, 2, 0, DR_ALL },
					{ DR_REG_C0 - 3, 3, 0, DR_ALL }) },
	.regs_1 = { BOTH(0x0110), MOVES({ DR_REG_C7 + 3, 0, 0, DR_ALL }, { DR_REG_C7 + 2, 1, 0, DR_ALL },
					{ DR_REG_C7 + 1, 2, 0, DR_ALL }, { DR_REG_C7, 3, 0, DR_ALL }) },
	.bth = { BOTH(0x0103), MOVES({ DR_VXLAN, 0, 24, 0xff }, { DR_BTH_QP, 0, 0, DR_NUMBER },
				     { DR_MISC, 1, -1, 0x40000000 }) },
	.icmp = { ICMP(0, DR_HIGH, DR_ICMP_DATA), ICMP(16, DR_LOW, DR_ICMPV6_DATA) },
	.source = 0x0104,
	.parsers = { 0x0111, 0x0112 },
	.parser_ok = 0x0011,
	.source_key = 0,
	.source_shift = 16,
};
