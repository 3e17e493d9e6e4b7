/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Send requests: words of 64 bits, little-endian in the ring. The first four are the header. The
 * others hold buffers, a remote address and a buffer, or inline data. Unused words are 0.
 */
#ifndef EFA_WQE_H
#define EFA_WQE_H

#include <endian.h>
#include <string.h>

#include "providers/efa/efa.h"

/* The first word; the id of the request is in its lowest 16 bits. */
enum {
	WQE_OP_SHIFT = 16,
	WQE_QPN_SHIFT = 32,
	WQE_LENGTH_SHIFT = 48, /* number of buffers, or bytes of inline data */
};
#define WQE_OP_SEND  (0u << WQE_OP_SHIFT)
#define WQE_OP_READ  (1u << WQE_OP_SHIFT)
#define WQE_OP_WRITE (2u << WQE_OP_SHIFT)
#define WQE_HAS_IMM  (1u << 20)
#define WQE_INLINE   (1u << 21)
#define WQE_META     (1u << 23)
#define WQE_PHASE    (1u << 24)
#define WQE_FIRST    (1u << 26)
#define WQE_LAST     (1u << 27)
#define WQE_COMPLETE (1u << 28)
#define WQE_EACH     (WQE_META | WQE_FIRST | WQE_LAST | WQE_COMPLETE)

/* The second word: the immediate as a number, the address handle, hints. */
enum {
	WQE_AH_SHIFT = 32,
	WQE_HINTS_SHIFT = 48,
	WQE_HINTS_MASK = 3,
};

/* Words of a request. */
enum {
	WQE_HEAD = 0,
	WQE_ADDRESS = 1,
	WQE_QKEY = 2,
	WQE_DATA = 4,	     /* data of a send */
	WQE_REMOTE = 4,	     /* remote address of RDMA */
	WQE_REMOTE_DATA = 6, /* data of RDMA */
	WQE_WORDS_SMALL = 8,
	WQE_WORDS_LARGE = 16,
};

/* A buffer: length and key in one word, and the address. */
enum {
	SGE_KEY_SHIFT = 32,
	SGE_KEY_MASK = 0xffffff,
};

FLAT uint64_t sge_word(const struct ibv_sge *sge)
{
	return sge->length | (uint64_t)(sge->lkey & SGE_KEY_MASK) << SGE_KEY_SHIFT;
}

FLAT uint64_t wqe_address(uint32_t ah, __be32 imm)
{
	return (uint64_t)ah << WQE_AH_SHIFT | be32toh(imm);
}

/* Allocate the id of a request, without the generation. The caller holds the lock and has checked
 * that there is room. */
FLAT uint16_t wq_take_id(struct efa_wq *wq, uint64_t wr_id)
{
	uint16_t id = wq->ids[wq->used++];

	wq->wr_ids[id] = wr_id;
	return id;
}

/* Return whether a request with these flags may be posted; false if the queue is closed. */
FLAT bool sq_takes_flags(const struct efa_sq *sq, unsigned int flags)
{
	return likely(
		!(((flags | sq->flags) ^ IBV_SEND_SIGNALED) & ~(unsigned int)IBV_SEND_INLINE));
}

/* Advance behind the written request, and change the phase at the end of the ring. */
FLAT void sq_advance(struct efa_sq *sq)
{
	sq->counter++;
	if (unlikely(!(sq->counter & sq->mask)))
		sq->control ^= WQE_PHASE;
}

/* Flush the requests to the device, and then ring the doorbell. */
FLAT void sq_ring(struct efa_sq *sq, uint32_t counter)
{
	barrier_wc_flush();
	mmio_write_32(sq->wq.doorbell, htole32(counter & 0xffff));
}

#endif
