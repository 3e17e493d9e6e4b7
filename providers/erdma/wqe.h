/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of the rings. A send has a header of 64 bits, and takes one to four blocks. Requests are
 * little-endian. Completions are big-endian apart from the immediate data.
 */
#ifndef ERDMA_WQE_H
#define ERDMA_WQE_H

#include "providers/erdma/erdma.h"

enum {
	BLOCK_SHIFT = 5,
	BLOCK = 1 << BLOCK_SHIFT, /* bytes of a block, of a receive and of a completion */
	BLOCKS_MAX = 4,		  /* blocks of a send */
	/* bits of the number in a send and in its doorbell; other places have more bits */
	QPN_BITS = 20,
	CQE_OPS = 19,
};

/* The header of a send. Its lowest 16 bits are the block behind the request. */
enum {
	HEAD_SIGNALED_SHIFT = 22,
	HEAD_OPCODE_SHIFT = 27,
	HEAD_QPN_SHIFT = 32,
	HEAD_BLOCKS_SHIFT = 52, /* blocks - 1, in 3 bits */
	HEAD_COUNT_SHIFT = 56,	/* entries of the list, or inline bytes */
};
#define HEAD_SIGNALED  (1u << HEAD_SIGNALED_SHIFT)
#define HEAD_SOLICITED (1u << 23)
#define HEAD_FENCE     (1u << 24)
#define HEAD_INLINE    (1u << 25)

enum {
	OP_WRITE = 0,
	OP_READ = 1,
	OP_SEND = 2,
	OP_SEND_IMM = 3,
	OP_RECV = 4,
	OP_RECV_WRITE_IMM = 5,
	OP_RECV_INV = 6,
	OP_WRITE_IMM = 9,
	OP_LOCAL_INV = 11,
	OP_RECV_SEND_IMM = 12,
	OP_SEND_INV = 13,
	OP_READ_INV = 16,
	OP_CMP_SWAP = 17,
	OP_FETCH_ADD = 18,
};

/* Offsets in a send. */
enum {
	AT_IMM = 8,	/* big-endian immediate data, or the key to invalidate */
	AT_LENGTH = 12, /* total */
	AT_SEND_DATA = 16,
	AT_WRITE_KEY = 16,
	AT_WRITE_ADDRESS = 20,
	AT_WRITE_DATA = 32,
	AT_READ_KEY = 16,
	AT_READ_ADDRESS = 20,	/* local */
	AT_ATOMIC_OPERAND = 16, /* the value to swap or to add */
	AT_ATOMIC_COMPARE = 24,
	/* Offsets in the second block of a read or an atomic. */
	AT_REMOTE_ADDRESS = 0,
	AT_REMOTE_LENGTH = 8,
	AT_REMOTE_KEY = 12,
	AT_ATOMIC_ADDRESS = 16, /* local */
	AT_ATOMIC_LENGTH = 24,
	AT_ATOMIC_KEY = 28,
	AT_BLOCK_QPN = 28, /* offset in a block that begins with an entry of the list */
};

/* Offsets in a receive, whose first word is the doorbell as well. */
enum {
	AT_RECV_DATA = 16,
	AT_RECV_LENGTH = 24,
};

struct erdma_cqe {
	__be32 head;
	__be32 index; /* first block of a send, or a receive */
	__be32 qpn;
	__le32 imm;
	__be32 length;
	uint32_t reserved[3];
};
_Static_assert(sizeof(struct erdma_cqe) == BLOCK, "as the device writes it");

/* The first word of a completion. Its highest bit shows the phase. */
enum {
	CQE_RECV_SHIFT = 8,
	CQE_OPCODE_SHIFT = 16,
	CQE_SYNDROME_MASK = 0xff,
};

/* Read the first word of an entry. Return: whether the device has written it in this @phase. */
static inline bool erdma_cqe_look(const struct erdma_cqe *cqe, uint32_t phase, uint32_t *ret_head)
{
	*ret_head = be32toh(((const volatile struct erdma_cqe *)cqe)->head);
	return (int32_t)(*ret_head ^ phase) < 0;
}

/* Go to the next entry. */
static inline void erdma_cqe_step(const struct erdma_cq *cq, const struct erdma_cqe **cqe,
				  uint32_t *phase)
{
	if (likely(++*cqe != cq->end))
		return;
	*cqe = cq->ring;
	*phase ^= 1u << 31;
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
	if (__BYTE_ORDER == __LITTLE_ENDIAN) {
		memcpy(at, sge, sizeof(*sge));
		return;
	}
	write_64(at, sge->addr);
	write_32(at + 8, sge->length);
	write_32(at + 12, sge->lkey);
}
_Static_assert(sizeof(struct ibv_sge) == 16 && offsetof(struct ibv_sge, length) == 8 &&
		       offsetof(struct ibv_sge, lkey) == 12,
	       "an entry is verbs'");

#endif
