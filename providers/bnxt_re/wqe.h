/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats of the rings. All numbers are little-endian. */
#ifndef BNXT_RE_WQE_H
#define BNXT_RE_WQE_H

#include "providers/bnxt_re/bnxt_re.h"

enum {
	SLOT = 16,
	HEADERS = 2,	  /* slots before the list or the data of a request */
	STATIC_SLOTS = 8, /* of each request, unless they are variable */
	SPARE = 128,	  /* sends that are never used */
	CQE_SIZE = 32,
};

/* Types of requests. */
enum {
	WQE_SEND = 0,
	WQE_SEND_IMM = 1,
	WQE_WRITE = 4,
	WQE_WRITE_IMM = 5,
	WQE_READ = 6,
	WQE_CMP_SWAP = 8,
	WQE_FETCH_ADD = 11,
	WQE_RECV = 0x80,
};

/* The first word of a request: its type, flags, and slots with both headers. */
enum {
	WQE_SIGNALED = 0x01,
	WQE_FENCE = 0x04,
	WQE_SOLICITED = 0x08,
	WQE_INLINE = 0x10,
	WQE_FLAGS_SHIFT = 8,
	WQE_SLOTS_SHIFT = 16,
};

/* Offsets in a request. */
enum {
	AT_IMM = 4, /* or the key of an atomic */
	AT_LENGTH = 8,
	AT_ATOMIC_ADDRESS = 8,
	AT_RECV_TAG = 8,
	AT_QKEY = 12,
	AT_QPN = 16,
	AT_AH = 20,
	AT_REMOTE_ADDRESS = 16,
	AT_REMOTE_KEY = 24,
	AT_ATOMIC_OPERAND = 16, /* the value to swap or to add */
	AT_ATOMIC_COMPARE = 24,
};

/* Packet numbers of a send, by its index. */
enum {
	PSN_MASK = 0xffffff,
	PSN_BITS = 24,
	AT_PSN_NEXT = 4,
	AT_PSN_SLOT = 8,
	MSN_INDEX_SHIFT = 48,
};

struct bnxt_re_cqe {
	__le64 a; /* of a send or an end: handle; of a receive: length, immediate data */
	__le64 b; /* of a send: index behind it; of a receive: handle */
	__le64 c; /* of a datagram: source */
	__le32 info;
	__le32 tag; /* of an SRQ; the upper byte belongs to the source's number */
};
_Static_assert(sizeof(struct bnxt_re_cqe) == CQE_SIZE, "as the device writes it");

/* The word @info. */
enum {
	CQE_PHASE = 1,
	CQE_TYPE_SHIFT = 1,
	CQE_TYPE_MASK = 0xf,
	CQE_SEND = 0,
	CQE_RECV_RC = 1,
	CQE_RECV_UD = 2,
	CQE_RECV_RAW = 3,
	CQE_TERM = 14,
	CQE_CUT_OFF = 15,
	CQE_TOGGLE_MASK = 0x60, /* of an entry that ends a ring */
	CQE_STATUS_SHIFT = 8,
	CQE_STATUS_MASK = 0xff,
	CQE_PLAIN_MASK = CQE_TYPE_MASK << CQE_TYPE_SHIFT | CQE_STATUS_MASK << CQE_STATUS_SHIFT,
	CQE_FLAGS_SHIFT = 16,
	CQE_FLAG_SRQ = 1 << CQE_FLAGS_SHIFT,
	CQE_FLAG_IMM = 2 << CQE_FLAGS_SHIFT,
	CQE_FLAG_WRITE_IMM = 8 << CQE_FLAGS_SHIFT,
	CQE_TAG_MASK = 0xfffff,
	CQE_UD_LENGTH_MASK = 0x3fff,
};

/* Read the last word of an entry. Return: whether the device has written it in this phase. */
static inline bool bnxt_re_cqe_look(const struct bnxt_re_cq *cq, const struct bnxt_re_cqe *cqe,
				    uint32_t *ret_info)
{
	*ret_info = le32toh(((const volatile struct bnxt_re_cqe *)cqe)->info);
	return (*ret_info & CQE_PHASE) == cq->phase;
}

/* Return the entry behind @cqe, which may be in the next phase. */
static inline struct bnxt_re_cqe *bnxt_re_cqe_behind(struct bnxt_re_cq *cq, struct bnxt_re_cqe *cqe)
{
	if (likely(++cqe != cq->end))
		return cqe;
	cq->phase ^= 1;
	cq->epoch ^= BNXT_RE_DB_EPOCH;
	return cq->ring;
}

/* Report to the device how far the queue was polled, if this is due. */
static inline void bnxt_re_cq_report(struct bnxt_re_cq *cq)
{
	if (likely(cq->until_report > 0) || unlikely(!cq->doorbell))
		return;
	cq->until_report = cq->report;
	bnxt_re_ring(cq->doorbell, BNXT_RE_DB_CQ, cq->number,
		     (uint32_t)(cq->next - cq->ring) | cq->epoch);
}

static inline void write_32(char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void write_64(char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline void sge_write(char *at, const struct ibv_sge *sge)
{
	write_64(at, sge->addr);
	write_64(at + 8, (uint64_t)sge->length << 32 | sge->lkey);
}

/* Write a receive. If it has no entries, write one without bytes. */
static inline void recv_write(char *at, const struct ibv_recv_wr *wr, uint32_t tag)
{
	char *entry = at + HEADERS * SLOT;
	uint32_t count = max_of(wr->num_sge, 1);

	for (int i = 0; i < wr->num_sge; i++, entry += SLOT)
		sge_write(entry, &wr->sg_list[i]);
	if (!wr->num_sge)
		write_32(entry + 12, 0);
	write_64(at + AT_RECV_TAG, tag);
	write_64(at, WQE_RECV | (HEADERS + count) << WQE_SLOTS_SHIFT);
}

#endif
