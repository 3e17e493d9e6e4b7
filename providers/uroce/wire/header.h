/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Base transport header and extensions, packed and unpacked. A packet here starts at the BTH and
 * ends before the ICRC.
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
	BTH_RESERVED = 4, /* the byte that routers may write to */
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
	/* longest header of any opcode: checked in header.c */
	UROCE_HEADER_MAX = BTH_LEN + XRC_ETH_LEN + ATOMIC_ETH_LEN,
};

#define UROCE_UDP_PORT	   4791
#define UROCE_PKEY_DEFAULT 0xffff
#define PSN_MASK	   0xffffffu
#define QPN_MASK	   0xffffffu

/* AETH syndrome: bits 7..5 the kind, bits 4..0 credit count, RNR timer or NAK code. */
enum {
	AETH_ACK = 0x00,
	AETH_ACK_NO_CREDIT = 0x1f, /* "invalid credit count": end-to-end flow control unused */
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
	/* Between processes of one host: the payload that was referred to cannot be read there. */
	NAK_REFERENCE = 16,
};

/* Flush extension: placement type and range. */
enum {
	FETH_TYPE_GLOBAL = 1 << 0, /* visible to every observer */
	FETH_TYPE_PERSISTENT = 1 << 1,
	FETH_LEVEL_RANGE = 0,
	FETH_LEVEL_MR = 1,
};

/* A header, unpacked: host byte order, only the fields of the opcode's extensions are meaningful.
 */
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
	/* ImmDt (as the wire has it), IETH, FETH */
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
 * Read a packet of @len bytes (without ICRC). Only its first UROCE_HEADER_MAX bytes are looked at.
 * Return: the header's length, with *@ret_payload_len the bytes behind it without padding; -EBADMSG
 * for anything that is not a whole packet of a known opcode: too short, unknown opcode, wrong
 * version, payload where none may be; and for one of another partition than the default one.
 */
int uroce_wire_unpack(const uint8_t *buf, size_t len, struct uroce_hdr *hdr,
		      uint32_t *ret_payload_len);

/* The destination QP number of a packet that has at least a BTH. */
static inline uint32_t uroce_wire_dest_qpn(const uint8_t *packet)
{
	return packet[5] << 16 | packet[6] << 8 | packet[7];
}

/* Distance a - b of two PSNs on the 24-bit circle: negative when a is before b. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

#endif
