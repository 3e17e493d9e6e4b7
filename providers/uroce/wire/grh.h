/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The 40 bytes that a UD receive buffer starts with. */
#ifndef UROCE_GRH_H
#define UROCE_GRH_H

#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	GRH_LEN = 40,
};

/* What the IP header of a packet says, from its sender's point of view. */
struct uroce_route {
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

/*
 * For a packet of @length bytes (BTH to padding): a GRH, or for IPv4 20 unused bytes and the IPv4
 * header.
 */
void uroce_grh_fill(const struct uroce_route *route, uint32_t length, uint8_t ret_grh[GRH_LEN]);

#endif
