/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of the rings. A request takes slots of 64 bytes, and its length is counted in units of 16
 * bytes. Requests and completions are big-endian. Indexes that only this library reads have the
 * byte order of the processor, and so have status pages.
 */
#ifndef CXGB4_WQE_H
#define CXGB4_WQE_H

#include "providers/cxgb4/cxgb4.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum {
	SLOT = 64,
	SEND_SLOTS = 5, /* slots of the largest send; the kernel allocates them for each send */
	RECV_SLOTS = 2,
	SEND_SGE_MAX = 17,
	RECV_SGE_MAX = 4,
	INLINE_MAX = 280,
	WORDS = SEND_SLOTS * SLOT / sizeof(uint64_t), /* words of a send */
};

/* Slots that a doorbell can announce, of a T4 and of later adapters. */
enum {
	DB_MOST_T4 = 0x3fff,
	DB_MOST = 0x1fff,
};

enum {
	WR_WRITE = 0x14,
	WR_SEND = 0x15,
	WR_READ = 0x16,
	WR_RECV = 0x17,
	WR_WRITE_SEND = 0x21, /* a write, and a send of 16 bytes */
};

/* Flags of a request. */
enum {
	WR_COMPLETION = 1,
	WR_SOLICITED = 4,
	WR_FENCE = 8,
	WR_IMM = 0x40,
};

/* Operations of a send request, and opcodes of completions. */
enum {
	RI_WRITE = 0,
	RI_READ_RESPONSE = 2,
	RI_SEND = 3,
	RI_SEND_INV = 4,
	RI_SEND_SE = 5,
	RI_SEND_SE_INV = 6,
	RI_TERMINATE = 7,
	RI_WRITE_IMM = 8,
};

/* Words of eight bytes in a request, and lengths in units of 16 bytes. */
enum {
	AT_DATA = 4,
	AT_SGES = 5,
	LEN16_READ = 3,
	LEN16_PLAIN = 4, /* one entry */
	RECV_WORDS = RECV_SLOTS * SLOT / sizeof(uint64_t),
};
#define LIST_WORD(count)    ((uint64_t)0x83 << 56 | (uint64_t)(count) << 32)
#define INLINE_WORD(length) ((uint64_t)0x81 << 56 | (length))

/* Offsets in the status page of a queue. */
enum {
	STATUS_ERROR = 12,
	STATUS_BY_KERNEL = 13,
	STATUS_POSTED = 16,   /* slot behind the last announced request */
	STATUS_CONSUMED = 18, /* next index that completes */
	STATUS_HEAD = 20,     /* next index that is posted */
	STATUS_SRQ_INDEX = 24,
	STATUS_BYTES = 28,
};

/* The first word of a completion, and offsets of others. */
enum {
	CQE_OPCODE_MASK = 0xf,
	CQE_SEND = 1 << 4,
	CQE_STATUS_SHIFT = 5,
	CQE_STATUS_MASK = 0x1f,
	CQE_NUMBER_SHIFT = 12,
	CQE_KIND_MASK = 0x1f, /* opcode and CQE_SEND */
	CQE_AT_LENGTH = 4,
	CQE_AT_STAG = 8,
	CQE_AT_MSN = 12,
	CQE_AT_INDEX = 14,
	CQE_AT_IMM = 16,
	CQE_AT_SRQ = 20,
	STAG_SETUP = 1, /* a read that belongs to the set-up of the connection */
	STATUS_FLUSHED = 0xc,
	STATUS_MSN = 0x18,
};

/* Return the first word of a request. */
FLAT uint64_t wr_head(uint32_t opcode, uint32_t flags, uint16_t index, uint32_t len16)
{
	if (__BYTE_ORDER == __LITTLE_ENDIAN)
		return opcode | flags << 8 | (uint64_t)index << 16 | (uint64_t)len16 << 56;
	return (uint64_t)opcode << 56 | (uint64_t)flags << 48 | (uint64_t)index << 32 | len16;
}

FLAT void sge_put(uint64_t *to, const struct ibv_sge *sge)
{
	to[0] = htobe64((uint64_t)sge->lkey << 32 | sge->length);
	to[1] = htobe64(sge->addr);
}

FLAT uint32_t slots_of(uint32_t len16)
{
	return (len16 + 3) / 4;
}

FLAT uint16_t index_next(uint16_t index, uint16_t size)
{
	return likely((uint32_t)index + 1 != size) ? index + 1 : 0;
}

/* Return the number of entries from @tail to @head. */
FLAT int index_distance(int head, int tail, int size)
{
	return head >= tail ? head - tail : head - tail + size;
}

/* Return the number of requests that fit into a queue of @size, of which one entry stays empty. */
FLAT int index_room(int head, int tail, int size)
{
	return size - 1 - index_distance(head, tail, size);
}

FLAT char *slot_of(const struct cx_ring *ring, uint32_t slot)
{
	return ring->base + (size_t)slot * SLOT;
}

/* Write a receive. Return its length in units of 16 bytes. */
FLAT uint32_t receive_put(uint64_t *to, uint16_t index, const struct ibv_recv_wr *wr)
{
	uint32_t count = wr->num_sge;

	to[0] = wr_head(WR_RECV, 0, index, 1 + count);
	to[1] = htobe64(LIST_WORD(count));
	for (uint32_t i = 0; i < count; i++)
		sge_put(&to[2 + 2 * i], &wr->sg_list[i]);
	return 1 + count;
}

FLAT void status_put(char *status, uint32_t at, uint16_t value)
{
	*(volatile uint16_t *)(void *)(status + at) = value;
}

FLAT uint32_t cqe_get(const char *cqe, uint32_t at)
{
	return be32toh(*(const volatile uint32_t *)(const void *)(cqe + at));
}

/* Return whether the device has written an entry. @phase: as in cx_cq */
FLAT bool cqe_is_valid(const struct cx_cq *cq, const char *cqe, uint8_t phase)
{
	return (*(const volatile uint8_t *)(cqe + cq->stamp_at) ^ phase) & 0x80;
}

/* Go to the next entry. */
FLAT void cqe_step(const struct cx_cq *cq, char **cqe, uint8_t *phase)
{
	*cqe += cq->stamp_at + sizeof(uint64_t);
	if (likely(*cqe != cq->end))
		return;
	*cqe = cq->ring;
	*phase ^= 0x80;
}

/* Announce requests from slot @from on. */
FLAT void ring_announce(struct cx_ring *ring, uint32_t from, struct cx_qp *qp, int kind)
{
	uint32_t slots = index_distance(ring->at, from, ring->slots);

	if (unlikely(ring->most != DB_MOST) || unlikely(*ring->by_kernel) ||
	    unlikely(slots > DB_MOST)) {
		cx_ring_announce(ring, slots, qp, kind);
		return;
	}
	barrier_wc_start();
	if (likely(slots == 1) && likely(ring->copy))
		mmio_copy_64(ring->copy, slot_of(ring, from));
	else
		cx_register_write(ring->doorbell, ring->id | slots);
	barrier_wc_flush();
	status_put(ring->status, STATUS_POSTED, ring->at);
}

/* A volatile byte that the kernel writes, or a failure that a completion reported. */
FLAT bool qp_has_failed(const struct cx_qp *qp)
{
	return *qp->error || qp->failed;
}

#endif
