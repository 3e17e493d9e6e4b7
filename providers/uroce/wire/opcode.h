/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The properties of BTH opcodes, in one table: transport, headers, place in the message, resources
 * of the responder. Other code must read the table instead of testing opcodes.
 */
#ifndef UROCE_OPCODE_H
#define UROCE_OPCODE_H

#include <stdint.h>

/* Transport: bits 7..5 of the BTH opcode. */
enum {
	UROCE_RC = 0x00,
	UROCE_UC = 0x20,
	UROCE_RD = 0x40,
	UROCE_UD = 0x60,
	UROCE_XRC = 0xa0,
	UROCE_TRANSPORT_MASK = 0xe0,
};

/* Operation: bits 4..0. A transport need not have all of them. */
enum {
	UROCE_SEND_FIRST = 0x00,
	UROCE_SEND_MIDDLE = 0x01,
	UROCE_SEND_LAST = 0x02,
	UROCE_SEND_LAST_IMM = 0x03,
	UROCE_SEND_ONLY = 0x04,
	UROCE_SEND_ONLY_IMM = 0x05,
	UROCE_WRITE_FIRST = 0x06,
	UROCE_WRITE_MIDDLE = 0x07,
	UROCE_WRITE_LAST = 0x08,
	UROCE_WRITE_LAST_IMM = 0x09,
	UROCE_WRITE_ONLY = 0x0a,
	UROCE_WRITE_ONLY_IMM = 0x0b,
	UROCE_READ_REQUEST = 0x0c,
	UROCE_READ_RESP_FIRST = 0x0d,
	UROCE_READ_RESP_MIDDLE = 0x0e,
	UROCE_READ_RESP_LAST = 0x0f,
	UROCE_READ_RESP_ONLY = 0x10,
	UROCE_ACK = 0x11,
	UROCE_ATOMIC_ACK = 0x12,
	UROCE_CMP_SWAP = 0x13,
	UROCE_FETCH_ADD = 0x14,
	UROCE_SEND_LAST_INV = 0x16,
	UROCE_SEND_ONLY_INV = 0x17,
	UROCE_FLUSH = 0x1c,
	UROCE_ATOMIC_WRITE = 0x1d,
	UROCE_OPERATION_MASK = 0x1f,
	UROCE_CNP = 0x81, /* a whole opcode, not an operation */
};

/* A separate type for masks. sparse reports a mask that is tested against another type. */
#ifdef __CHECKER__
typedef uint32_t __attribute__((bitwise)) pkt_flags_t;
#else
typedef uint32_t pkt_flags_t;
#endif

#define PKT_VALID      ((pkt_flags_t)(1u << 0))
#define PKT_RETH       ((pkt_flags_t)(1u << 1))
#define PKT_AETH       ((pkt_flags_t)(1u << 2))
#define PKT_ATOMIC_ETH ((pkt_flags_t)(1u << 3))
#define PKT_ATOMIC_ACK ((pkt_flags_t)(1u << 4))
#define PKT_DETH       ((pkt_flags_t)(1u << 5))
#define PKT_IMM	       ((pkt_flags_t)(1u << 6))
#define PKT_IETH       ((pkt_flags_t)(1u << 7))
#define PKT_FETH       ((pkt_flags_t)(1u << 8))
#define PKT_PAYLOAD    ((pkt_flags_t)(1u << 9))	 /* may carry payload */
#define PKT_START      ((pkt_flags_t)(1u << 10)) /* first or only packet of a message */
#define PKT_END	       ((pkt_flags_t)(1u << 11)) /* last or only */
#define PKT_REQUEST    ((pkt_flags_t)(1u << 12)) /* sent to the responder */
#define PKT_RESPONSE   ((pkt_flags_t)(1u << 13)) /* sent to the completer */
#define PKT_RWQE       ((pkt_flags_t)(1u << 14)) /* consumes a receive WQE */
#define PKT_CQE	       ((pkt_flags_t)(1u << 15)) /* completes a receive WQE */
#define PKT_SEND       ((pkt_flags_t)(1u << 16)) /* payload goes to the receive WQE */
#define PKT_WRITE      ((pkt_flags_t)(1u << 17)) /* payload goes to RETH's range */
#define PKT_READ       ((pkt_flags_t)(1u << 18)) /* read request or response */
#define PKT_ATOMIC     ((pkt_flags_t)(1u << 19))
#define PKT_MIDDLE     ((pkt_flags_t)(1u << 20)) /* neither first nor last packet */
#define PKT_XRC_ETH    ((pkt_flags_t)(1u << 21)) /* names the destination SRQ */
/* congestion notification, which belongs to no transport */
#define PKT_CNP ((pkt_flags_t)(1u << 22))

struct uroce_opcode {
	pkt_flags_t flags;  /* 0: the opcode does not exist */
	uint8_t header_len; /* bytes from BTH to payload */
	const char *name;
};

extern const struct uroce_opcode uroce_opcodes[256];

#endif
