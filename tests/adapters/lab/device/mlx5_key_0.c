/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layouts of the keys of format 0. Outer headers have two lookup types, for sent and for received
 * packets. */
#include "tests/adapters/lab/device/mlx5_key.h"

#define ETHERNET(b, high, low)                                                             \
	{                                                                                  \
		{ (high) | (b), 0, 0 }, { (low) | (b), 1, 16 }, { ETHERTYPE | (b), 1, 0 }, \
			{ VLAN_PRIORITY | (b), 2, 16 }, { VLAN_KIND | (b), 2, 14 },        \
			{ VLAN_ID | (b), 2, 0 }, { FRAGMENT | (b), 3, 31 },                \
			{ L3_TYPE | (b), 3, 26 }, { L4_TYPE | (b), 3, 24 },                \
			{ SECOND_PRIORITY | (b), 3, 16 }, { SECOND_KIND | (b), 3, 14 },    \
			{ SECOND_ID | (b), 3, 0 },                                         \
	}
#define BOTH(b)                                                                                   \
	{                                                                                         \
		{ DMAC_HIGH | (b), 0, 0 }, { DMAC_LOW | (b), 1, 16 }, { SMAC_32_47 | (b), 1, 0 }, \
			{ SMAC_0_31 | (b), 2, 0 }, { L3_TYPE | (b), 3, 26 },                      \
			{ VLAN_PRIORITY | (b), 3, 16 }, { VLAN_KIND | (b), 3, 14 },               \
			{ VLAN_ID | (b), 3, 0 },                                                  \
	}
#define FIVE(b)                                                                                  \
	{                                                                                        \
		{ DST_3 | (b), 0, 0 }, { SRC_3 | (b), 1, 0 }, { SPORT | (b), 2, 16 },            \
			{ DPORT | (b), 2, 0 }, { FRAGMENT | (b), 3, 31 }, { ECN | (b), 3, 25 },  \
			{ FLAGS | (b), 3, 16 }, { DSCP | (b), 3, 10 }, { PROTOCOL | (b), 3, 0 }, \
	}
#define IPV4_MISC(b)                                                                     \
	{                                                                                \
		{ IP_VERSION | (b), 0, 28 }, { IHL | (b), 0, 24 }, { TTL | (b), 2, 24 }, \
	}
#define WORDS(first)                                                             \
	{                                                                        \
		{ (first), 0, 0 }, { (first) + 1, 1, 0 }, { (first) + 2, 2, 0 }, \
			{ (first) + 3, 3, 0 },                                   \
	}
#define SIX(b)                                                                                     \
	{                                                                                          \
		{ FRAGMENT | (b), 0, 31 }, { PROTOCOL | (b), 0, 16 }, { DPORT | (b), 0, 0 },       \
			{ IP_VERSION | (b), 1, 28 }, { ECN | (b), 1, 25 }, { FLAGS | (b), 1, 16 }, \
			{ SPORT | (b), 1, 0 }, { TTL | (b), 2, 8 }, { DSCP | (b), 2, 2 },          \
			{ LABEL | (b), 3, 0 },                                                     \
	}
#define SEQUENCES(b)                                \
	{                                           \
		{ SEQUENCE | (b), 1, 0 },           \
		{                                   \
			ACKNOWLEDGEMENT | (b), 2, 0 \
		}                                   \
	}

const struct key_layout key_layouts_0[] = {
	{ 0x06, ETHERNET(0, DMAC_HIGH, DMAC_LOW) },
	{ 0x1b, ETHERNET(0, DMAC_HIGH, DMAC_LOW) },
	{ 0x07, ETHERNET(INNER, DMAC_HIGH, DMAC_LOW) },
	{ 0x08, ETHERNET(0, SMAC_HIGH, SMAC_LOW) },
	{ 0x1c, ETHERNET(0, SMAC_HIGH, SMAC_LOW) },
	{ 0x09, ETHERNET(INNER, SMAC_HIGH, SMAC_LOW) },
	{ 0x36, BOTH(0) },
	{ 0x38, BOTH(0) },
	{ 0x37, BOTH(INNER) },
	{ 0x11, FIVE(0) },
	{ 0x20, FIVE(0) },
	{ 0x12, FIVE(INNER) },
	{ 0x29, IPV4_MISC(0) },
	{ 0x2b, IPV4_MISC(0) },
	{ 0x2a, IPV4_MISC(INNER) },
	{ 0x0d, WORDS(DST_0) },
	{ 0x1e, WORDS(DST_0) },
	{ 0x0e, WORDS(DST_0 | INNER) },
	{ 0x1f, WORDS(SRC_0) },
	{ 0x10, WORDS(SRC_0 | INNER) },
	{ 0x13, SIX(0) },
	{ 0x21, SIX(0) },
	{ 0x14, SIX(INNER) },
	{ 0x2c, SEQUENCES(0) },
	{ 0x2e, SEQUENCES(0) },
	{ 0x2d, SEQUENCES(INNER) },
	{ 0x15, { { MPLS, 0, 0 } } },
	{ 0x25, { { MPLS, 0, 0 } } },
	{ 0x24, { { MPLS | INNER, 0, 0 } } },
	{ 0x0a,
	  { { DMAC_HIGH | INNER, 0, 0 },
	    { DMAC_LOW | INNER, 1, 16 },
	    { ETHERTYPE | INNER, 1, 0 },
	    { VNI, 2, 0 },
	    { FRAGMENT | INNER, 3, 31 },
	    { L3_TYPE | INNER, 3, 26 },
	    { L4_TYPE | INNER, 3, 24 },
	    { VLAN_PRIORITY | INNER, 3, 20 },
	    { VLAN_KIND | INNER, 3, 14 },
	    { VLAN_ID | INNER, 3, 0 } } },
	{ 0x16, { { GRE, 0, 0 }, { GRE_KEY, 2, 0 } } },
	{ 0x18, { { REG_A, 0, 0 } } },
	{ 0x19, { { TUNNEL_0, 0, 0 }, { TUNNEL_1, 1, 0 } } },
	{ 0x34, { { TUNNEL_0, 0, 0 }, { TUNNEL_1, 1, 0 } } },
	{ 0x2f, WORDS(REG_C0) },
	{ 0x30, WORDS(REG_C0 + 4) },
	{ 0x05, { { FUNCTION, 0, 0 }, { WIRE, 1, 25 }, { QUEUE, 1, 0 } } },
	{ 0x22,
	  { { PARSER_0 + 3, 0, 0 },
	    { PARSER_0 + 2, 1, 0 },
	    { PARSER_0 + 1, 2, 0 },
	    { PARSER_0, 3, 0 } } },
	{ 0x23,
	  { { PARSER_7, 0, 0 },
	    { PARSER_7 - 1, 1, 0 },
	    { PARSER_7 - 2, 2, 0 },
	    { PARSER_7 - 3, 3, 0 } } },
	{ 0 },
};
