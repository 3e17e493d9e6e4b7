/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/wire/grh.h"
#include "providers/uroce/wire/header.h"

enum {
	IPV4_HEADER_LEN = 20,
	UDP_HEADER_LEN = 8,
};

static uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4_HEADER_LEN; i += 2)
		sum += header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void ipv4_fill(const struct uroce_route *route, uint32_t length, uint8_t *ip)
{
	const uint8_t fixed[] = { 0x45, route->traffic_class, length >> 8, length, 0, 0, 0x40,
				  0,	route->hop_limit,     IPPROTO_UDP };

	memcpy(ip, fixed, sizeof(fixed));
	put16(ip + 10, 0);
	memcpy(ip + 12, route->sgid.raw + 12, 4);
	memcpy(ip + 16, route->dgid.raw + 12, 4);
	put16(ip + 10, ipv4_checksum(ip));
}

static void ipv6_fill(const struct uroce_route *route, uint32_t length, struct ibv_grh *grh)
{
	*grh = (struct ibv_grh){
		.version_tclass_flow = htobe32(6u << 28 | (uint32_t)route->traffic_class << 20 |
					       route->flow_label),
		.paylen = htobe16(length),
		.next_hdr = IPPROTO_UDP,
		.hop_limit = route->hop_limit,
		.sgid = route->sgid,
		.dgid = route->dgid,
	};
}

void uroce_grh_fill(const struct uroce_route *route, uint32_t length, uint8_t ret_grh[40])
{
	struct ibv_grh grh;

	length += UDP_HEADER_LEN + ICRC_LEN;
	if (uroce_gid_is_ipv4(&route->dgid)) {
		memset(ret_grh, 0, GRH_LEN - IPV4_HEADER_LEN);
		ipv4_fill(route, IPV4_HEADER_LEN + length, ret_grh + GRH_LEN - IPV4_HEADER_LEN);
	} else {
		ipv6_fill(route, length, &grh);
		memcpy(ret_grh, &grh, sizeof(grh));
	}
}
