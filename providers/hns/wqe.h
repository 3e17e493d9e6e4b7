/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of requests and completions: words of 32 bits, little-endian.
 *
 * A request of a connection has these words: 0 opcode and flags, 1 bytes of data, 2 immediate data
 * or a key, 3 number of segments, 4 place in the ring of segments, 5 remote key, 6 and 7 remote
 * address. Words 8 to 15 have two segments, or inline data, or a segment and the operands of an
 * atomic.
 *
 * A request of a datagram differs: word 3 has the domain, word 5 the UDP port, 6 the Q_Key, 7 the
 * queue pair, and 8 to 15 the address. All its segments are in the ring of segments.
 */
#ifndef HNS_WQE_H
#define HNS_WQE_H

#include "providers/hns/hns.h"
#include "providers/kit/bytes.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum {
	WQE_SHIFT = 6,
	WQE = 1 << WQE_SHIFT,
	SEGMENT = 16,
	INSIDE = 2,	    /* segments in a request of a connection */
	INLINE_INSIDE = 32, /* bytes in a request of a connection */
	INLINE_UD = 8,	    /* bytes in unused parts of the words of a datagram */
	OP_SEND = 0,
	OP_SEND_INV = 1,
	OP_SEND_IMM = 2,
	OP_WRITE = 3,
	OP_WRITE_IMM = 4,
	OP_READ = 5,
	OP_CMP_SWAP = 6,
	OP_FETCH_ADD = 7,
	AT_LENGTH = 4,
	AT_IMM = 8,
	AT_COUNT = 12,
	AT_SEGMENT = 16,
	AT_KEY = 20,
	AT_ADDRESS = 24,
	AT_DATA = 32,
	AT_OPERANDS = 48,
	AT_UD_QKEY = 24,
	AT_UD_QPN = 28,
	COUNT_SHIFT = 24,
	DIRECT_INDEX_SHIFT = 15,
	LKEY_END = 0, /* key of the segment that ends a receive */
};

/* Bits of the first word. */
#define WQE_OWNER     (1u << 7)
#define WQE_SIGNALED  (1u << 8)
#define WQE_ORDERED   (1u << 10) /* IBV_SEND_FENCE: starts after earlier reads and atomics */
#define WQE_SOLICITED (1u << 11)
#define WQE_INLINE    (1u << 12)
#define WQE_DIRECT    (1u << 31)
/* Bit of word 4: the inline data are in the ring of segments. */
#define INLINE_OUT (1u << 31)
/* Length of the segment that ends a receive. */
#define LENGTH_END (1u << 31)

FLAT void put_32(char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

FLAT void put_64(char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

FLAT void segment_put(char *at, uint64_t addr, uint32_t length, uint32_t lkey)
{
	put_64(at, (uint64_t)lkey << 32 | length);
	put_64(at + 8, addr);
}

FLAT uint32_t get_32(const char *at)
{
	return le32toh(*(const volatile uint32_t *)(const void *)at);
}

/* Completions: 32 bytes are used. Word 0 has the bits below, 1 immediate data or a key, 2 the
 * number of an XRC SRQ, 3 the number of the queue pair, 4 the length, 6 and 7 the address of a
 * datagram. */
enum {
	CQ_INDEX_MASK = 0xffffff,
	CQE_OPCODE_MASK = 0x1f,
	CQE_STATUS_SHIFT = 8,
	CQE_STATUS_MASK = 0xff,
	CQE_INDEX_SHIFT = 16,
	CQE_VENDOR_SHIFT = 24, /* of word 3 */
	CQE_AT_KEY = 4,
	CQE_AT_SRQ = 8,
	CQE_AT_QP = 12,
	CQE_AT_LENGTH = 16,
	CQE_AT_VLAN = 24,
	CQE_AT_PEER = 28,
	CQE_SL_SHIFT = 24, /* of word 7 */
	CQE_SL_MASK = 7,
	CQE_VLAN_SHIFT = 18,
	CQE_VLAN_MASK = 0xfff,
	RECV_WRITE_IMM = 0,
	RECV_SEND = 1,
	RECV_SEND_IMM = 2,
	RECV_SEND_INV = 3,
};
#define CQE_RECEIVE (1u << 6)
#define CQE_OWNER   (1u << 7)
#define CQE_GRH	    (1u << 30) /* of word 7 */
#define CQE_VLAN    (1u << 30) /* of word 6 */

static inline char *cqe_at(const struct hns_cq *cq, uint32_t n)
{
	return cq->ring + ((size_t)(n & cq->mask) << cq->shift);
}

/* Return whether the device has written entry @n. @first: its first word */
static inline bool cqe_is_valid(const struct hns_cq *cq, uint32_t n, uint32_t first)
{
	return !(first & CQE_OWNER) == !!(n & cq->count);
}

/* Report to the device how far the queue was polled. The caller holds the lock. */
FLAT void hns_cq_publish(struct hns_cq *cq)
{
	uint32_t index = cq->consumer & CQ_INDEX_MASK;

	/* Finish all reads before the device may write to the entries again. */
	atomic_thread_fence(memory_order_release);
	if (likely(cq->recorded))
		*(volatile uint32_t *)cq->record = index;
	else
		hns_doorbell_ring(cq->doorbell, hns_doorbell(HNS_DB_CQ, cq->number) |
							(uint64_t)index << HNS_DB_INDEX_SHIFT |
							1ull << HNS_DB_ARM_SHIFT);
}

#endif
