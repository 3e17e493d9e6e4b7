/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layouts of the keys of formats 1 to 3. */
#include "tests/adapters/lab/device/mlx5_key.h"

#define ETHERNET(b, high, low)                                                                     \
	{                                                                                          \
		{ FRAGMENT | (b), 0, 28 }, { L3_TYPE | (b), 0, 20 }, { L4_TYPE | (b), 0, 18 },     \
			{ VLAN_KIND | (b), 0, 16 }, { VLAN_TAG | (b), 0, 0 },                      \
			{ (high) | (b), 1, 0 }, { (low) | (b), 2, 16 }, { ETHERTYPE | (b), 2, 0 }, \
			{ SECOND_KIND | (b), 3, 16 }, { SECOND_TAG | (b), 3, 0 },                  \
	}
#define BOTH(b)                                                                                  \
	{                                                                                        \
		{ DMAC_HIGH | (b), 0, 0 }, { SMAC_HIGH | (b), 1, 0 }, { DMAC_LOW | (b), 2, 16 }, \
			{ L3_TYPE | (b), 2, 4 }, { VLAN_KIND | (b), 2, 0 },                      \
			{ VLAN_TAG | (b), 3, 16 }, { SMAC_LOW | (b), 3, 0 },                     \
	}
#define FIVE(b)                                                                                   \
	{                                                                                         \
		{ SRC_3 | (b), 0, 0 }, { DST_3 | (b), 1, 0 }, { SPORT | (b), 2, 16 },             \
			{ DPORT | (b), 2, 0 }, { FRAGMENT | (b), 3, 25 }, { FLAGS | (b), 3, 16 }, \
			{ DSCP | (b), 3, 10 }, { ECN | (b), 3, 8 }, { PROTOCOL | (b), 3, 0 },     \
	}
#define IPV4_MISC(b)                                                                     \
	{                                                                                \
		{ IP_VERSION | (b), 2, 28 }, { IHL | (b), 2, 24 }, { TTL | (b), 2, 16 }, \
	}
#define WORDS(first)                                                             \
	{                                                                        \
		{ (first), 0, 0 }, { (first) + 1, 1, 0 }, { (first) + 2, 2, 0 }, \
			{ (first) + 3, 3, 0 },                                   \
	}
#define SIX(b)                                                                                   \
	{                                                                                        \
		{ IP_VERSION | (b), 0, 28 }, { DSCP | (b), 0, 18 }, { ECN | (b), 0, 16 },        \
			{ TTL | (b), 0, 8 }, { PROTOCOL | (b), 0, 0 }, { SPORT | (b), 1, 16 },   \
			{ DPORT | (b), 1, 0 }, { LABEL | (b), 2, 0 }, { FRAGMENT | (b), 3, 25 }, \
			{ FLAGS | (b), 3, 16 },                                                  \
	}

const struct key_layout key_layouts_1[] = {
	{ 0x0003, ETHERNET(0, DMAC_HIGH, DMAC_LOW) },
	{ 0x0004, ETHERNET(INNER, DMAC_HIGH, DMAC_LOW) },
	{ 0x0005, ETHERNET(0, SMAC_HIGH, SMAC_LOW) },
	{ 0x0006, ETHERNET(INNER, SMAC_HIGH, SMAC_LOW) },
	{ 0x000b, BOTH(0) },
	{ 0x000c, BOTH(INNER) },
	{ 0x0007, FIVE(0) },
	{ 0x0008, FIVE(INNER) },
	{ 0x000d, IPV4_MISC(0) },
	{ 0x0107, WORDS(DST_0) },
	{ 0x0108, WORDS(DST_0 | INNER) },
	{ 0x0109, WORDS(SRC_0) },
	{ 0x010a, WORDS(SRC_0 | INNER) },
	{ 0x0009, SIX(0) },
	{ 0x000a, SIX(INNER) },
	{ 0x0002,
	  { { VNI, 0, 0 },
	    { DMAC_HIGH | INNER, 1, 0 },
	    { DMAC_LOW | INNER, 2, 16 },
	    { ETHERTYPE | INNER, 2, 0 },
	    { FRAGMENT | INNER, 3, 28 },
	    { L3_TYPE | INNER, 3, 20 },
	    { L4_TYPE | INNER, 3, 18 },
	    { VLAN_KIND | INNER, 3, 16 },
	    { VLAN_TAG | INNER, 3, 0 } } },
	/* Sequence numbers, and headers of ICMP. */
	{ 0x0113,
	  { { ACKNOWLEDGEMENT, 1, 0 },
	    { SEQUENCE, 2, 0 },
	    { ICMP_DATA, 1, 0 },
	    { ICMP_TYPE, 2, 16 } } },
	{ 0x010b, { { MPLS, 1, 0 } } },
	{ 0x010c, { { MPLS | INNER, 1, 0 } } },
	{ 0x010d, { { GRE, 0, 0 }, { GRE_KEY, 2, 0 } } },
	{ 0x000e, { { TUNNEL_0, 0, 0 }, { TUNNEL_1, 1, 0 } } },
	{ 0x0117, { { TUNNEL_0, 0, 0 }, { TUNNEL_1, 1, 0 } } },
	{ 0x010e, { { REG_A, 0, 0 } } },
	{ 0x010f, WORDS(REG_C0) },
	{ 0x0110, WORDS(REG_C0 + 4) },
	{ 0x0104, { { WIRE, 0, 16 }, { FUNCTION, 0, 0 }, { QUEUE, 1, 0 } } },
	{ 0x0103, { { BTH_OPCODE, 0, 24 }, { BTH_QP, 0, 0 }, { BTH_ACK, 1, 29 } } },
	{ 0x0011, { { PARSERS_OK, 2, 24 } } },
	{ 0x0111,
	  { { PARSER_0 + 3, 0, 0 },
	    { PARSER_0 + 2, 1, 0 },
	    { PARSER_0 + 1, 2, 0 },
	    { PARSER_0, 3, 0 } } },
	{ 0x0112,
	  { { PARSER_7, 0, 0 },
	    { PARSER_7 - 1, 1, 0 },
	    { PARSER_7 - 2, 2, 0 },
	    { PARSER_7 - 3, 3, 0 } } },
	{ 0 },
};
