/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The format of requests and completions. All words are little-endian and have 64 bits. The header
 * of a request is word 3 of its first quantum.
 *
 * The last word of each quantum has the phase bit, also inside a request. Therefore the device
 * never takes the rest of an earlier request for a new one.
 */
#ifndef IRDMA_WQE_H
#define IRDMA_WQE_H

#include "providers/irdma/irdma.h"

enum {
	AT_SECOND = 8,
	AT_THIRD = 16,
	AT_HEADER = 24,
	AT_EXTENSION = 32,
	AT_ARM = 32, /* in the shadow area of a completion queue */
	FRAGMENT = 16,
	SQ_SPARE = 257, /* quanta of a send ring that stay free */
	QUANTA_MAX = 8,
	FRAGMENTS_MAX = 15,
	STAMP_QUANTA = 128,
	INLINE_FIRST = 8, /* bytes of inline data in the first quantum */
	INLINE_NEXT = 31, /* and in each other */
	INLINE_OLD = 16,  /* bytes in the first quantum of an X722 */
};

enum {
	OP_WRITE = 0x00,
	OP_READ = 0x01,
	OP_SEND = 0x03,
	OP_SEND_INV = 0x04,
	OP_SOLICITED = 0x02, /* is added to the number of a send */
	OP_BIND = 0x08,
	OP_LOCAL_INV = 0x0a,
	OP_NOP = 0x0c,
	OP_WRITE_SOLICITED = 0x0d,
	OP_FETCH_ADD = 0x0f,
	OP_CMP_SWAP = 0x11,
	OP_RECV_WRITE_LAST_IMM = 0x09,
	OP_RECV_WRITE_ONLY_IMM = 0x0b,
};

/* Places and bits of the header. */
enum {
	HEADER_OP_SHIFT = 32,
	HEADER_COUNT_SHIFT = 38,
	HEADER_LENGTH_SHIFT = 48,
};
#define HEADER_IMM	(1ull << 47)
#define HEADER_READABLE (1ull << 50)
#define HEADER_WRITABLE (1ull << 51)
#define HEADER_VIRTUAL	(1ull << 53)
#define HEADER_TYPE_1	(1ull << 54)
#define HEADER_ATOMIC	(1ull << 55)
#define HEADER_INLINE	(1ull << 57)
#define HEADER_FENCE	(1ull << 60)
#define HEADER_SIGNALED (1ull << 62)
#define HEADER_AH_MASK	0x1ffff
#define FRAGMENT_MAX	0x7fffffffu /* bytes */

/* Word 3 of a completion. */
#define CQE_EXTENDED   (1ull << 50)
#define CQE_OF_SRQ     (1ull << 52)
#define CQE_STAG       (1ull << 53)
#define CQE_ERROR      (1ull << 55)
#define CQE_SEND       (1ull << 62)
#define CQE_IMM	       (1ull << 62) /* bit of the extension */
#define CQE_INDEX_MASK (0x7fffull << 32)
enum {
	CQE_INDEX_SHIFT = 32,
	CQE_OP_SHIFT = 56,
	CQE_OP_MASK = 0x3f,
	CQE_FLUSHED = 1,	  /* major numbers of errors */
	CQE_SRQ_FLUSHED = 0xfffe, /* the minor number is that of an event */
	CQE_NO_ERROR = 0xe,	  /* most significant part of a major number of datagrams */
};

/* The word by which a completion queue is armed. */
enum {
	ARM_SELECT_MASK = (1 << 14) - 1,
	ARM_ANY = 1 << 14,
	ARM_SOLICITED = 1 << 15,
	ARM_SEQUENCE_SHIFT = 16,
	ARM_SEQUENCE_MASK = 3,
};

FLAT void word_write(char *at, uint64_t value)
{
	*(uint64_t *)(void *)at = htole64(value);
}

FLAT uint64_t word_read(const char *at)
{
	return le64toh(*(const volatile uint64_t *)(const void *)at);
}

/* Return the extension of the entry at @cqe: its second half, or the next entry. */
FLAT char *extension_of(const struct irdma_cq *cq, const struct irdma_ring *ring, char *cqe)
{
	char *at = cqe + IRDMA_QUANTUM;

	return cq->stride == IRDMA_QUANTUM && at == ring->end ? ring->base : at;
}

/* Write the header of a request, whose other words are written. */
FLAT void header_write(char *wqe, uint64_t header)
{
	barrier_to_device();
#if UINTPTR_MAX > UINT32_MAX
	*(volatile uint64_t *)(void *)(wqe + AT_HEADER) = htole64(header);
#else
	/* The half with the phase bit is the last store. */
	*(volatile uint32_t *)(void *)(wqe + AT_HEADER) = htole32((uint32_t)header);
	barrier_to_device();
	*(volatile uint32_t *)(void *)(wqe + AT_HEADER + 4) = htole32(header >> 32);
#endif
}

/* Write a fragment. @valid: the phase bit */
FLAT void fragment_write(char *at, const struct ibv_sge *sge, uint64_t valid)
{
	word_write(at, sge->addr);
	word_write(at + 8, valid | (uint64_t)sge->length << 32 | sge->lkey);
}

FLAT void fragment_write_old(char *at, const struct ibv_sge *sge)
{
	word_write(at, sge->addr);
	word_write(at + 8, (uint64_t)sge->lkey << 32 | sge->length);
}

/* Return the quanta of a request with @count fragments. */
FLAT uint32_t fragments_quanta(uint32_t count)
{
	return count < 2 ? 1 : count / 2 + 1;
}

/* Write @num_sge entries. @at: place of the first one, @rest: place of the others. An even number
 * of fragments is followed by an empty one, which fills the last quantum. */
FLAT void list_write(char *at, char *rest, const struct ibv_sge *sge, uint32_t num_sge, bool even,
		     bool old_format, uint64_t valid)
{
	static const struct ibv_sge nothing;

	for (uint32_t i = 0; i < num_sge; i++) {
		if (unlikely(old_format))
			fragment_write_old(at, &sge[i]);
		else
			fragment_write(at, &sge[i], valid);
		at = i ? at + FRAGMENT : rest;
	}
	if (even && !old_format)
		fragment_write(at, &nothing, valid);
}

/* Return the field for the number of fragments behind the first one. */
FLAT uint64_t count_field(uint32_t count, uint32_t even_extra)
{
	uint32_t behind = count ? count - 1 : 0;

	if (count && !(count & 1))
		behind += even_extra;
	return (uint64_t)behind << HEADER_COUNT_SHIFT;
}

/* Whether @length bytes of entries fit into a request. */
FLAT bool lengths_fit(const struct ibv_sge *sge, uint32_t num_sge, uint64_t *ret_length)
{
	uint64_t length = 0;
	uint32_t all = 0;

	for (uint32_t i = 0; i < num_sge; i++) {
		length += sge[i].length;
		all |= sge[i].length;
	}
	*ret_length = length;
	return all <= FRAGMENT_MAX && length <= UINT32_MAX;
}

#endif
