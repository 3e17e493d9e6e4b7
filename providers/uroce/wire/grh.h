/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first 40 bytes of a UD receive buffer. */
#ifndef UROCE_GRH_H
#define UROCE_GRH_H

#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	GRH_LEN = 40,
};

/*
 * The kind of network header of a datagram. A completion has it in place of the service level,
 * which RoCE does not have (IBTA annex A17, completions of UD). UCX up to 1.13 relies on it. Bit 3:
 * there is a UDP header; the bits below: the kind.
 */
enum {
	GRH_SL_IPV6 = 9,
	GRH_SL_IPV4 = 10,
};

static inline uint8_t uroce_grh_sl(const uint8_t grh[GRH_LEN])
{
	return grh[0] >> 4 == 6 ? GRH_SL_IPV6 : GRH_SL_IPV4;
}

/* Facts of the IP header of a packet, from the sender's point of view. */
struct uroce_route {
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

/*
 * Write the header for a packet of @length bytes (BTH to padding): a GRH; for IPv4, 20 unused bytes
 * and the IPv4 header.
 */
void uroce_grh_fill(const struct uroce_route *route, uint32_t length, uint8_t ret_grh[GRH_LEN]);

#endif
