/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of the rings, which are little-endian. Inline data are words of eight bytes in reverse.
 */
#ifndef QEDR_WQE_H
#define QEDR_WQE_H

#include "providers/qedr/qedr.h"

enum {
	ELEMENT = 16,
	ELEMENT_WORDS = 2,
	HEAD_ELEMENTS = 2,
	ATOMIC_ELEMENTS = 4,
	SEND_SGE_MAX = 16, /* the elements of a request have room for this many */
	INLINE_MAX = 256,
	SEND_ELEMENTS_MAX = HEAD_ELEMENTS + SEND_SGE_MAX,
	SEND_WORDS = SEND_ELEMENTS_MAX * ELEMENT_WORDS,
};

/* Operations of a request. */
enum {
	OP_SEND = 0,
	OP_SEND_IMM = 1,
	OP_SEND_INV = 2,
	OP_WRITE = 3,
	OP_WRITE_IMM = 4,
	OP_READ = 5,
	OP_CMP_SWAP = 6,
	OP_FETCH_ADD = 7,
};

/* Flags of a request. */
enum {
	FLAG_SIGNALED = 1,
	FLAG_FENCE = 2,
	FLAG_SOLICITED = 8,
	FLAG_INLINE = 16,
};

/* The second word of a request. */
enum {
	HEAD_OP_SHIFT = 32,
	HEAD_FLAGS_SHIFT = 40,
	HEAD_SIZE_SHIFT = 48,
	HEAD_BEFORE_SHIFT = 56,
};

/* The key of the first entry of a receive, which has the number of entries above. */
enum {
	RECV_KEY_MASK = (1 << 26) - 1,
	RECV_COUNT_SHIFT = 26,
};

enum {
	CQE = 32,
	CQE_AT_COUNT = 0, /* offset in the completion of a send */
	CQE_AT_WR_ID = 0, /* of a shared receive */
	CQE_AT_COOKIE = 8,
	CQE_AT_IMM = 16,
	CQE_AT_LENGTH = 20,
	CQE_AT_ID = 28, /* number of receives, or of an SRQ */
	CQE_AT_FLAGS = 30,
	CQE_AT_STATUS = 31,

	CQE_PHASE = 1,
	CQE_TYPE_SHIFT = 1,
	CQE_TYPE_MASK = 3,
	CQE_SENT = 0,
	CQE_RECEIVED = 1,
	CQE_SHARED = 2,
	CQE_XRC = 3,
	CQE_INV = 1 << 3,
	CQE_IMM = 1 << 4,
	CQE_WRITE = 1 << 5,
	SENT_FLUSHED = 11,
	RECEIVED_FLUSHED = 7,
};

/* The doorbell of a completion queue. */
enum {
	CQ_DB_SET = 1 << 24,
	CQ_DB_ARM = 0x10 << 16,
	CQ_DB_ARM_SOLICITED = 0x08 << 16,
	CQ_DB_COUNT_SHIFT = 32,
};

/* A cookie of no queue pair. */
#define QEDR_COOKIE_NONE 0

/* The two words of an entry of a list of sends. */
FLAT void sge_put(uint64_t *to, const struct ibv_sge *sge)
{
	to[0] = htole64(sge->length | sge->addr << 32);
	to[1] = htole64(sge->addr >> 32 | (uint64_t)sge->lkey << 32);
}

/* Ring a doorbell of 4 bytes: the number of requests so far. */
FLAT void doorbell_ring(const struct qedr_doorbell *doorbell, uint16_t icid, uint16_t count)
{
	uint32_t value = icid | (uint32_t)count << 16;

	barrier_wc_start();
	mmio_write_32(doorbell->reg, htole32(value));
	*(volatile uint64_t *)doorbell->record = htole64(value);
	barrier_wc_flush();
}

/* The type of an entry that the device has written. */
FLAT uint32_t cqe_type(const char *cqe)
{
	return *(const volatile uint8_t *)(cqe + CQE_AT_FLAGS) >> CQE_TYPE_SHIFT & CQE_TYPE_MASK;
}

FLAT uint32_t cqe_get_32(const char *cqe, uint32_t at)
{
	return le32toh(*(const volatile uint32_t *)(const void *)(cqe + at));
}

FLAT uint64_t cqe_get_64(const char *cqe, uint32_t at)
{
	return le64toh(*(const volatile uint64_t *)(const void *)(cqe + at));
}

/* The address of an entry of qedr_cq.next. */
FLAT char *cqe_of(uintptr_t next)
{
	return (char *)(next & ~(uintptr_t)CQE_PHASE);
}

/* Return whether the device has written the entry, which then has the phase bit of @next. */
FLAT bool cqe_is_valid(uintptr_t next)
{
	return !((*(const volatile uint8_t *)(cqe_of(next) + CQE_AT_FLAGS) ^ next) & CQE_PHASE);
}

FLAT uintptr_t cqe_step(const struct qedr_cq *cq, uintptr_t next)
{
	next += CQE;
	if (unlikely(cqe_of(next) == cq->end))
		next = (uintptr_t)cq->ring | ((next & CQE_PHASE) ^ CQE_PHASE);
	return next;
}

/* Tell the device how many entries were polled. The caller holds the lock. */
FLAT void cq_doorbell_ring(struct qedr_cq *cq)
{
	uint64_t value = htole64(cq->word | (uint64_t)cq->consumed << CQ_DB_COUNT_SHIFT);

	barrier_wc_locked();
	mmio_write_64(cq->doorbell.reg, value);
	*(volatile uint64_t *)cq->doorbell.record = value;
	barrier_wc_flush();
}

/* A shared receive has completed. */
FLAT void qedr_srq_take(struct qedr_srq *srq)
{
	/* release: the device has read the receive before a new one replaces it */
	atomic_fetch_add_explicit(&srq->consumed, 1, memory_order_release);
}

#endif
