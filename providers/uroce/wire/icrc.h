/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The invariant CRC of RoCE v2 (IBTA vol. 1, annex A17): Ethernet's CRC32 over a packet from its IP
 * header to its padding, with ones in place of the bytes that a router may change. These are eight
 * bytes for the missing GRH, the IP header's TOS, TTL and checksum (IPv6: traffic class, flow label
 * and hop limit), the UDP checksum, and the reserved byte of the BTH. It travels least significant
 * byte first.
 *
 * The IPv4 header's identification and DF bit are covered too, and a UDP socket does not show them.
 * Packets of this device have DF set, and identification 0 unless they are of a flow (udp_flow.h);
 * the kernel counts on from it for the segments of one large send. Other senders may use any
 * numbers. See uroce_icrc_check().
 */
#ifndef UROCE_ICRC_H
#define UROCE_ICRC_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/wire/header.h"

enum {
	ICRC_GRH_LEN = 8,
	ICRC_UDP_LEN = 8,
	ICRC_IPV4_LEN = 20,
	ICRC_IPV6_LEN = 40,
	ICRC_BTH_MASKED = 8, /* bytes of the BTH in front of its last word */
	ICRC_BLOCK = 16,     /* isa-l is several times faster for multiples of this length */
	/* a shorter payload is copied behind the headers, which saves a call */
	ICRC_TOGETHER = 128,
};

/*
 * The masked headers that the ICRC covers, of packets from one address to another. A block of
 * zeros precedes them. Room for the beginning of the packet follows them: see icrc.c.
 */
struct uroce_icrc {
	uint8_t headers[ICRC_BLOCK + ICRC_GRH_LEN + ICRC_IPV6_LEN + ICRC_UDP_LEN + ICRC_BTH_MASKED +
			ICRC_TOGETHER];
	bool ipv4;
};

void uroce_icrc_init(struct uroce_icrc *icrc, const union uroce_address *from,
		     const union uroce_address *to);

/*
 * @packet: @length bytes from the BTH to the padding
 * @id: the IPv4 header's identification
 */
uint32_t uroce_icrc_compute(struct uroce_icrc *icrc, uint16_t id, const uint8_t *packet,
			    uint32_t length);

/*
 * Compute the ICRC of a flush of @length bytes in the way of Linux's rxe (6.4 to at least 6.12).
 * rxe computes it over the headers twice, and silently drops any other flush.
 */
uint32_t uroce_icrc_compute_rxe_flush(struct uroce_icrc *icrc, uint16_t id, const uint8_t *packet,
				      uint32_t length);

enum uroce_icrc_verdict {
	ICRC_WRONG,
	ICRC_RIGHT,
	/* correct for some identification and DF bit, which this side cannot see */
	ICRC_RIGHT_UNSEEN,
};

/*
 * Check the ICRC behind the @length bytes of @packet.
 * @id: the identification to expect; the one the packet must have had is put there
 *
 * With the expected identification all 32 bits are checked. Otherwise the function searches for an
 * identification with which the ICRC is correct. One in 2^15 wrong packets has such a number, so 15
 * bits of the check remain. IPv6 has no identification. The ICRC of a flush may also be that of
 * rxe.
 */
enum uroce_icrc_verdict uroce_icrc_check(struct uroce_icrc *icrc, uint16_t *id,
					 const uint8_t *packet, uint32_t length);

#endif
