/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packing and unpacking of the base transport header and its extensions. A packet here begins with
 * the BTH and ends before the ICRC.
 */
#ifndef UROCE_HEADER_H
#define UROCE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "providers/uroce/wire/opcode.h"

enum {
	BTH_LEN = 12,
	BTH_RESERVED = 4, /* offset of the byte that routers may change */
	RETH_LEN = 16,
	AETH_LEN = 4,
	ATOMIC_ETH_LEN = 28,
	ATOMIC_ACK_LEN = 8,
	DETH_LEN = 8,
	IMM_LEN = 4,
	IETH_LEN = 4,
	FETH_LEN = 4,
	XRC_ETH_LEN = 4,
	CNP_LEN = 16, /* reserved bytes of a congestion notification */
	ICRC_LEN = 4,
	/* length of the longest header of any opcode; checked in header.c */
	UROCE_HEADER_MAX = BTH_LEN + XRC_ETH_LEN + ATOMIC_ETH_LEN,
};

#define UROCE_UDP_PORT	   4791
#define UROCE_PKEY_DEFAULT 0xffff
#define PSN_MASK	   0xffffffu
#define QPN_MASK	   0xffffffu

/* AETH syndrome: bits 7..5 the kind, bits 4..0 credit count, RNR timer or NAK code. */
enum {
	AETH_ACK = 0x00,
	AETH_ACK_NO_CREDIT = 0x1f, /* "invalid credit count": end-to-end flow control is not used */
	AETH_RNR_NAK = 0x20,
	AETH_NAK = 0x60,
	AETH_KIND_MASK = 0xe0,
	AETH_VALUE_MASK = 0x1f,
};

enum {
	NAK_PSN_SEQUENCE = 0,
	NAK_INVALID_REQUEST = 1,
	NAK_REMOTE_ACCESS = 2,
	NAK_REMOTE_OPERATION = 3,
	/* Only between processes of one host: the receiver cannot read the referenced payload. */
	NAK_REFERENCE = 16,
};

/* Flush extension: placement type and range. */
enum {
	FETH_TYPE_GLOBAL = 1 << 0, /* visible to every observer */
	FETH_TYPE_PERSISTENT = 1 << 1,
	FETH_LEVEL_RANGE = 0,
	FETH_LEVEL_MR = 1,
};

/* An unpacked header in host byte order. Only the fields of the opcode's extensions are valid. */
struct uroce_hdr {
	uint8_t opcode;
	bool solicited;
	bool ack_req;
	uint16_t pkey;
	uint32_t dest_qpn;
	uint32_t psn;
	/* RETH, AtomicETH */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add;
	uint64_t compare;
	/* AETH, AtomicAckETH */
	uint8_t syndrome;
	uint32_t msn;
	uint64_t orig;
	/* DETH */
	uint32_t qkey;
	uint32_t src_qpn;
	/* immediate data in wire order, IETH key, or FETH */
	__be32 imm;
	uint32_t invalidate_rkey;
	uint8_t flush_type;
	uint8_t flush_level;
	/* XRCETH */
	uint32_t srqn;
};

static inline pkt_flags_t hdr_flags(const struct uroce_hdr *hdr)
{
	return uroce_opcodes[hdr->opcode].flags;
}

/*
 * Write the header of a packet with @payload_len bytes behind it.
 * @buf: UROCE_HEADER_MAX bytes
 * Return: bytes written. The payload is followed by uroce_wire_pad(payload_len) zero bytes.
 */
unsigned int uroce_wire_pack(const struct uroce_hdr *hdr, uint32_t payload_len, uint8_t *buf);

static inline unsigned int uroce_wire_pad(uint32_t payload_len)
{
	return -payload_len & 3;
}

/*
 * Read a packet of @len bytes (without ICRC). Only its first UROCE_HEADER_MAX bytes are read.
 * Return: the length of the header. *@ret_payload_len: bytes behind it without padding. -EBADMSG:
 * the packet is too short, its opcode is unknown, its version is wrong, it has a payload that its
 * opcode forbids, or its partition is not the default one.
 */
int uroce_wire_unpack(const uint8_t *buf, size_t len, struct uroce_hdr *hdr,
		      uint32_t *ret_payload_len);

/* Return the destination QP number of a packet that has at least a BTH. */
static inline uint32_t uroce_wire_dest_qpn(const uint8_t *packet)
{
	return packet[5] << 16 | packet[6] << 8 | packet[7];
}

/* Return the distance a - b of two PSNs on the 24-bit circle. It is negative if a is before b. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

#endif
