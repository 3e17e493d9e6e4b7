/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets that steering entries compare and change. */
#ifndef DEVICES_MLX5_PACKET_H
#define DEVICES_MLX5_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PACKET_MOST = 2048,
	PACKET_REGS = 8,
};

/* The headers of Ethernet, IP and TCP or UDP, outside or inside of a tunnel. */
struct mlx5_headers {
	bool exists;
	size_t mac_at, vlan_at, type_at, ip_at, l4_at; /* offsets; vlan_at 0: no tag */
	uint64_t dmac, smac;
	uint16_t ethertype, vlan, second_vlan;
	uint8_t vlan_kind, second_kind; /* 0: none, 1: service, 2: customer */
	uint8_t ip_version, ip_protocol, ttl, ihl, dscp, ecn;
	bool fragment;
	uint32_t src[4], dst[4]; /* the address of IPv4 is the last word */
	uint32_t flow_label;
	uint16_t sport, dport, tcp_flags;
	uint32_t seq, ack;
	uint8_t l4;    /* 0: none, 1: TCP, 2: UDP, 3: ESP */
	uint32_t mpls; /* the first label */
};

struct mlx5_packet {
	uint8_t bytes[PACKET_MOST];
	size_t length;
	struct mlx5_headers headers[2]; /* outer, inner */
	/* Headers of tunnels and of ICMP as they are in the packet; 0: none. */
	uint32_t vni, gre, gre_key, gpe[2], geneve[2], geneve_option, gtpu[2], gtpu_extension;
	uint32_t mpls_gre, mpls_udp, bth[3];
	uint32_t icmp[2]; /* type and code, data */
	uint32_t icmpv6[2];
	uint32_t reg_a, reg_b, reg_c[PACKET_REGS];
	uint16_t function; /* where it comes from */
	bool from_wire;
	uint32_t queue;
};

/* Read the headers again. Return false if the packet is too short. */
bool mlx5_packet_read(struct mlx5_packet *p);
/* Remove @length bytes at @at, or insert them. Return false if the packet has no room. */
bool mlx5_packet_remove(struct mlx5_packet *p, size_t at, size_t length);
bool mlx5_packet_insert(struct mlx5_packet *p, size_t at, const uint8_t *bytes, size_t length);

/* mlx5_change.c: execute one change of a header in the format of the device. Return 0 or an errno.
 */
int mlx5_change(struct mlx5_packet *p, const uint8_t change[8], int format);

#endif
