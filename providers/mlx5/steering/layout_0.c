/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layouts of format 0. Outer headers of received and of sent packets have different lookup types.
 */
#include "providers/mlx5/steering/layout.h"

#define BOTH(type)         \
	{                  \
		type, type \
	}
#define OUTER(send, receive)  \
	{                     \
		receive, send \
	}
#define MOVES(...) ((const struct dr_move[]){ __VA_ARGS__, { 0 } })

#define OUTER_SECOND                                   \
	{ DR_SECOND_VLAN, 3, -12, DR_PRIORITY << 16 }, \
	{                                              \
		DR_SECOND_VLAN, 3, -16, DR_VLAN << 16  \
	}
#define INNER_SECOND                           \
	{ DR_SECOND_VLAN, 3, 4, DR_PRIORITY }, \
	{                                      \
		DR_SECOND_VLAN, 3, 0, DR_VLAN  \
	}

#define ETHERNET(types, b, mac, mac_low, kinds, ...)                                              \
	{                                                                                         \
		.lookup = types,                                                                  \
		.codes = { { DR_CODE_VERSION, 3, 26, (b) + DR_L3_L4, DR_VERSION },                \
			   { DR_CODE_VLAN, 2, 14, (b) + DR_L3_L4, DR_VLAN_KIND },                 \
			   { DR_CODE_VLAN, 3, 14, DR_SECOND_KIND, kinds } },                      \
		.moves = MOVES({ (b) + (mac), 0, 0, DR_ALL }, { (b) + (mac_low), 1, 0, DR_HIGH }, \
			       { (b) + DR_SMAC_TYPE, 1, 0, DR_LOW },                              \
			       { (b) + DR_DMAC_VLAN, 2, 4, DR_PRIORITY },                         \
			       { (b) + DR_DMAC_VLAN, 2, 0, DR_VLAN },                             \
			       { (b) + DR_L3_L4, 3, 18, DR_FRAGMENT }, __VA_ARGS__),              \
	}

#define ETHERNET_BOTH(types, b)                                                                 \
	{                                                                                       \
		.lookup = types,                                                                \
		.codes = { { DR_CODE_VERSION, 3, 26, (b) + DR_L3_L4, DR_VERSION },              \
			   { DR_CODE_VLAN, 3, 14, (b) + DR_L3_L4, DR_VLAN_KIND } },             \
		.moves = MOVES(                                                                 \
			{ (b) + DR_DMAC, 0, 0, DR_ALL }, { (b) + DR_DMAC_VLAN, 1, 0, DR_HIGH }, \
			{ (b) + DR_SMAC, 1, -16, DR_HIGH }, { (b) + DR_SMAC, 2, 16, DR_LOW },   \
			{ (b) + DR_SMAC_TYPE, 2, -16, DR_HIGH },                                \
			{ (b) + DR_DMAC_VLAN, 3, 4, DR_PRIORITY },                              \
			{ (b) + DR_DMAC_VLAN, 3, 0, DR_VLAN }),                                 \
	}

#define IPV4_PORTS(types, b)                                                                      \
	{                                                                                         \
		.lookup = types,                                                                  \
		.moves = MOVES(                                                                   \
			{ (b) + DR_DST_IP + 3, 0, 0, DR_ALL },                                    \
			{ (b) + DR_SRC_IP + 3, 1, 0, DR_ALL },                                    \
			{ (b) + DR_TCP_PORTS, 2, 0, DR_ALL },                                     \
			{ (b) + DR_UDP_PORTS, 2, 0, DR_ALL },                                     \
			{ (b) + DR_L3_L4, 3, 18, DR_FRAGMENT }, { (b) + DR_L3_L4, 3, 9, DR_ECN }, \
			{ (b) + DR_L3_L4, 3, 16, DR_FLAGS }, { (b) + DR_L3_L4, 3, -8, DR_DSCP },  \
			{ (b) + DR_L3_L4, 3, -24, DR_PROTOCOL }),                                 \
	}

#define IPV4_MISC(types, b)                                        \
	{                                                          \
		.lookup = types,                                   \
		.moves = MOVES({ (b) + DR_TTL, 0, 12, DR_LENGTH }, \
			       { (b) + DR_TTL, 2, 24, DR_HOPS }),  \
	}

#define ADDRESS(types, word)                                                                \
	{                                                                                   \
		.lookup = types,                                                            \
		.moves = MOVES({ word, 0, 0, DR_ALL }, { (word) + 1, 1, 0, DR_ALL },        \
			       { (word) + 2, 2, 0, DR_ALL }, { (word) + 3, 3, 0, DR_ALL }), \
	}

#define IPV6_PORTS(types, b, label)                                                               \
	{                                                                                         \
		.lookup = types,                                                                  \
		.moves = MOVES(                                                                   \
			{ (b) + DR_L3_L4, 0, 18, DR_FRAGMENT },                                   \
			{ (b) + DR_L3_L4, 0, -8, DR_PROTOCOL },                                   \
			{ (b) + DR_TCP_PORTS, 0, 0, DR_LOW },                                     \
			{ (b) + DR_UDP_PORTS, 0, 0, DR_LOW }, { (b) + DR_L3_L4, 1, 9, DR_ECN },   \
			{ (b) + DR_L3_L4, 1, 16, DR_FLAGS },                                      \
			{ (b) + DR_TCP_PORTS, 1, -16, DR_HIGH },                                  \
			{ (b) + DR_UDP_PORTS, 1, -16, DR_HIGH }, { (b) + DR_TTL, 2, 8, DR_HOPS }, \
			{ (b) + DR_L3_L4, 2, -16, DR_DSCP }, { label, 3, 0, DR_LABEL }),          \
	}

#define L4_MISC(types, seq, ack)                                                              \
	{                                                                                     \
		.lookup = types, .moves = MOVES({ seq, 1, 0, DR_ALL }, { ack, 2, 0, DR_ALL }) \
	}

const struct dr_layouts dr_layouts_0 = {
	.ethernet_dst = { ETHERNET(OUTER(0x06, 0x1b), 0, DR_DMAC, DR_DMAC_VLAN, DR_OUTER_SECOND,
				   OUTER_SECOND),
			  ETHERNET(BOTH(0x07), DR_INNER, DR_DMAC, DR_DMAC_VLAN, DR_INNER_SECOND,
				   INNER_SECOND) },
	.ethernet_src = { ETHERNET(OUTER(0x08, 0x1c), 0, DR_SMAC, DR_SMAC_TYPE, DR_OUTER_SECOND,
				   OUTER_SECOND),
			  ETHERNET(BOTH(0x09), DR_INNER, DR_SMAC, DR_SMAC_TYPE, DR_INNER_SECOND,
				   INNER_SECOND) },
	.ethernet_both = { ETHERNET_BOTH(OUTER(0x36, 0x38), 0), ETHERNET_BOTH(BOTH(0x37), DR_INNER) },
	.ipv4_misc = { IPV4_MISC(OUTER(0x29, 0x2b), 0), IPV4_MISC(BOTH(0x2a), DR_INNER) },
	.ipv4_ports = { IPV4_PORTS(OUTER(0x11, 0x20), 0), IPV4_PORTS(BOTH(0x12), DR_INNER) },
	.ipv6_dst = { ADDRESS(OUTER(0x0d, 0x1e), DR_DST_IP), ADDRESS(BOTH(0x0e), DR_INNER + DR_DST_IP) },
	.ipv6_src = { ADDRESS(OUTER(0x0f, 0x1f), DR_SRC_IP), ADDRESS(BOTH(0x10), DR_INNER + DR_SRC_IP) },
	.ipv6_ports = { IPV6_PORTS(OUTER(0x13, 0x21), 0, DR_OUTER_LABEL),
			IPV6_PORTS(BOTH(0x14), DR_INNER, DR_INNER_LABEL) },
	.l4_misc = { L4_MISC(OUTER(0x2c, 0x2e), DR_OUTER_SEQ, DR_OUTER_ACK),
		     L4_MISC(BOTH(0x2d), DR_INNER_SEQ, DR_INNER_ACK) },
	.mpls = { { OUTER(0x15, 0x25), MOVES({ DR_OUTER_MPLS, 0, 0, DR_ALL }) },
		  { BOTH(0x24), MOVES({ DR_INNER_MPLS, 0, 0, DR_ALL }) } },
	.ethernet_tunnel = {
		.lookup = BOTH(0x0a),
		.codes = { { DR_CODE_VERSION, 3, 26, DR_INNER + DR_L3_L4, DR_VERSION },
			   { DR_CODE_VLAN, 3, 14, DR_INNER + DR_L3_L4, DR_VLAN_KIND } },
		.moves = MOVES({ DR_INNER + DR_DMAC, 0, 0, DR_ALL },
			       { DR_INNER + DR_DMAC_VLAN, 1, 0, DR_HIGH },
			       { DR_INNER + DR_SMAC_TYPE, 1, 0, DR_LOW }, { DR_VXLAN, 2, 0, DR_VNI },
			       { DR_INNER + DR_L3_L4, 3, 18, DR_FRAGMENT },
			       { DR_INNER + DR_DMAC_VLAN, 3, 8, DR_PRIORITY },
			       { DR_INNER + DR_DMAC_VLAN, 3, 0, DR_VLAN }),
	},
	.gre = { BOTH(0x16), MOVES({ DR_MISC, 0, 0, 0xb0000000 }, { DR_SECOND_KIND, 0, 0, DR_LOW },
				   { DR_GRE_KEY, 2, 0, DR_ALL }) },
	.vxlan_gpe = { BOTH(0x19), MOVES({ DR_GPE, 0, 8, 0xff0000 }, { DR_GPE, 0, -24, DR_PROTOCOL },
					 { DR_GPE_VNI, 1, 8, DR_NUMBER }) },
	.geneve = { BOTH(0x19), MOVES({ DR_GENEVE_HEAD, 0, 8, 0x3f0000 }, { DR_GENEVE, 0, 23, 1 },
				      { DR_GENEVE_HEAD, 0, 0, DR_LOW }, { DR_GENEVE, 1, 0, DR_VNI }) },
	.gtpu = { BOTH(0x19), MOVES({ DR_GTPU, 0, 8, 0xff0000 }, { DR_GTPU, 0, -8, 0xff000000 },
				    { DR_GTPU_TEID, 1, 0, DR_ALL }) },
	.tunnel_header = { BOTH(0x34), MOVES({ DR_TUNNEL_HEADER, 0, 0, DR_ALL },
					     { DR_TUNNEL_HEADER + 1, 1, 0, DR_ALL }) },
	.tunnel_header_full = { BOTH(0x34), MOVES({ DR_TUNNEL_HEADER, 0, 0, DR_ALL },
						  { DR_TUNNEL_HEADER + 1, 1, 0, DR_ALL }) },
	.reg_a = { BOTH(0x18), MOVES({ DR_REG_A, 0, 0, DR_ALL }) },
	.regs_0 = { BOTH(0x2f), MOVES({ DR_REG_C0, 0, 0, DR_ALL }, { DR_REG_C0 - 1, 1, 0, DR_ALL },
				      { DR_REG_C0 - 2, 2, 0, DR_ALL }, { DR_REG_C0 - 3, 3, 0, DR_ALL }) },
	.regs_1 = { BOTH(0x30), MOVES({ DR_REG_C7 + 3, 0, 0, DR_ALL }, { DR_REG_C7 + 2, 1, 0, DR_ALL },
				      { DR_REG_C7 + 1, 2, 0, DR_ALL }, { DR_REG_C7, 3, 0, DR_ALL }) },
	.source = 0x05,
	.parsers = { 0x22, 0x23 },
	.source_key = 1,
	.source_shift = 25,
};
