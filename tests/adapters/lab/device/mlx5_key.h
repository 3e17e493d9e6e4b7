/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys: fields of a packet in the layout of a lookup type. */
#ifndef DEVICES_MLX5_KEY_H
#define DEVICES_MLX5_KEY_H

#include "tests/adapters/lab/device/mlx5_packet.h"

enum {
	KEY_SIZE = 16,
	WIDE_KEY_SIZE = 32,
	KEY_FIELDS = 40,
};

/* A field, its word of the key, and its lowest bit there. */
enum key_field {
	KEY_NONE,
	DMAC_HIGH, /* 32 bits */
	DMAC_LOW,
	SMAC_HIGH,
	SMAC_LOW,
	SMAC_32_47,
	SMAC_0_31,
	ETHERTYPE,
	VLAN_KIND,
	VLAN_TAG,      /* priority, CFI, id */
	VLAN_PRIORITY, /* and CFI */
	VLAN_ID,
	SECOND_KIND,
	SECOND_TAG,
	SECOND_PRIORITY,
	SECOND_ID,
	FRAGMENT,
	L3_TYPE,
	L4_TYPE,
	IP_VERSION,
	IHL,
	TTL,
	DSCP,
	ECN,
	PROTOCOL,
	SRC_0,
	SRC_1,
	SRC_2,
	SRC_3,
	DST_0,
	DST_1,
	DST_2,
	DST_3,
	SPORT,
	DPORT,
	FLAGS,
	FLAGS_8, /* flags without NS */
	LABEL,
	SEQUENCE,
	ACKNOWLEDGEMENT,
	MPLS,
	/* Fields that a packet has only once. */
	VNI,
	GRE,
	GRE_KEY,
	TUNNEL_0,
	TUNNEL_1,
	ICMP_TYPE,
	ICMP_DATA,
	REG_A,
	REG_C0,
	REG_C7 = REG_C0 + 7,
	FUNCTION,
	WIRE, /* 0: it is from the wire */
	QUEUE,
	PARSER_0,
	PARSER_7 = PARSER_0 + 7,
	PARSERS_OK,
	BTH_OPCODE,
	BTH_QP,
	BTH_ACK,
	INNER = 0x80, /* of the inner headers */
};

struct key_place {
	uint8_t field, word, low;
};

struct key_layout {
	unsigned lookup;
	struct key_place places[KEY_FIELDS];
};

/* mlx5_key_0.c, mlx5_key_1.c, mlx5_definer.c: the last one has no places. */
extern const struct key_layout key_layouts_0[], key_layouts_1[], key_layouts_wide[];

/* Write a key of a format. Return false if the model does not know the lookup type. */
bool mlx5_key_make(const struct mlx5_packet *p, int format, unsigned lookup, uint8_t key[KEY_SIZE]);
/* Write a key of a definer's format. */
bool mlx5_key_make_wide(const struct mlx5_packet *p, unsigned definer_format,
			uint8_t key[WIDE_KEY_SIZE]);

#endif
