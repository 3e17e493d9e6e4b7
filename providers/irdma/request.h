/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing a send into the ring: shared by ibv_post_send() and the ibv_wr_ functions. The caller
 * holds the lock of the queue. Positions are free-running numbers of quanta. */
#ifndef IRDMA_REQUEST_H
#define IRDMA_REQUEST_H

#include "providers/irdma/wqe.h"
#include "providers/kit/bytes.h"

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
	KIND_ATOMIC,
	KIND_INVALIDATE, /* of a key of this process */
	KIND_BIND,
};

struct send_op {
	uint8_t kind;
	uint8_t op;	   /* opcode that the device uses */
	uint8_t solicited; /* the same with a solicited event */
	uint8_t opcode;	   /* opcode of the completion */
	uint8_t immediate;
	uint8_t cap; /* IRDMA_CAP_ of the queue pair that it needs */
};

static const struct send_op send_ops[16] = {
	[IBV_WR_SEND] = { KIND_SEND, OP_SEND, OP_SEND + OP_SOLICITED, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { KIND_SEND, OP_SEND, OP_SEND + OP_SOLICITED, IBV_WC_SEND, 1,
				   IRDMA_CAP_SEND_IMM },
	[IBV_WR_SEND_WITH_INV] = { KIND_SEND, OP_SEND_INV, OP_SEND_INV + OP_SOLICITED,
				   IBV_WC_SEND },
	[IBV_WR_RDMA_WRITE] = { KIND_WRITE, OP_WRITE, OP_WRITE_SOLICITED, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { KIND_WRITE, OP_WRITE, OP_WRITE_SOLICITED,
					 IBV_WC_RDMA_WRITE, 1, IRDMA_CAP_WRITE_IMM },
	[IBV_WR_RDMA_READ] = { KIND_READ, OP_READ, OP_READ, IBV_WC_RDMA_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { KIND_ATOMIC, OP_CMP_SWAP, OP_CMP_SWAP, IBV_WC_COMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { KIND_ATOMIC, OP_FETCH_ADD, OP_FETCH_ADD,
					  IBV_WC_FETCH_ADD },
	[IBV_WR_LOCAL_INV] = { KIND_INVALIDATE, OP_LOCAL_INV, OP_LOCAL_INV, IBV_WC_LOCAL_INV },
	[IBV_WR_BIND_MW] = { KIND_BIND, OP_BIND, OP_BIND, IBV_WC_BIND_MW },
};

/* Return the part of a header that follows from the operation and the flags of a request. */
FLAT uint64_t header_of(const struct irdma_sq *sq, const struct send_op *op, unsigned int flags)
{
	uint64_t header = (uint64_t)(flags & IBV_SEND_SOLICITED ? op->solicited : op->op)
			  << HEADER_OP_SHIFT;

	header |= sq->signaled | (flags & IBV_SEND_SIGNALED ? HEADER_SIGNALED : 0);
	return header | (flags & IBV_SEND_FENCE ? HEADER_FENCE : 0) |
	       (op->immediate ? HEADER_IMM : 0);
}

FLAT char *quantum_at(const struct irdma_sq *sq, uint32_t position)
{
	return sq->ring + (size_t)(position & (sq->size - 1)) * IRDMA_QUANTUM;
}

/* Return the phase bit. */
FLAT uint64_t valid_at(const struct irdma_sq *sq, uint32_t position)
{
	return position & sq->size ? 0 : IRDMA_VALID;
}

FLAT struct irdma_sent *sent_at(const struct irdma_sq *sq, uint32_t position)
{
	return &sq->sent[position & (sq->size - 1)];
}

/* Return the number of free quanta; 0 or less: none. */
FLAT int room_of(const struct irdma_sq *sq)
{
	/* acquire: pairs with the release of a poll, which has read the sends before the tail */
	return (int)(sq->usable -
		     (sq->head - atomic_load_explicit(&sq->tail, memory_order_acquire)));
}

/* Return the quanta in front of a request of @quanta at @position that fill the chunk. */
FLAT uint32_t padding_of(const struct irdma_sq *sq, uint32_t position, uint32_t quanta)
{
	uint32_t left = sq->chunk - (position & (sq->chunk - 1));

	return quanta > left ? left : 0;
}

/* Note a request that fills a quantum of a chunk, and write it except for its header. */
FLAT void padding_write(const struct irdma_sq *sq, uint32_t position)
{
	char *at = quantum_at(sq, position);
	struct irdma_sent *sent = sent_at(sq, position);

	word_write(at, 0);
	word_write(at + AT_SECOND, 0);
	word_write(at + AT_THIRD, 0);
	sent->quanta = 1;
	sent->silent = true;
	sent->header = (uint64_t)OP_NOP << HEADER_OP_SHIFT;
}

/* Note the data of a request's completion. */
FLAT void sent_note(const struct irdma_sq *sq, uint32_t position, uint64_t wr_id, uint32_t length,
		    uint8_t opcode, uint32_t quanta)
{
	struct irdma_sent *sent = sent_at(sq, position);

	sent->wr_id = wr_id;
	sent->length = length;
	sent->opcode = opcode;
	sent->quanta = quanta;
	sent->silent = false;
}

/* Make the quanta ahead of the device look stale before the ring wraps to them. */
FLAT void ring_stamp(const struct irdma_sq *sq, uint32_t position)
{
	uint32_t ahead = position + STAMP_QUANTA;

	if (unlikely(!(position & (STAMP_QUANTA - 1))))
		memset(quantum_at(sq, ahead), valid_at(sq, ahead) ? 0 : 0xff,
		       (size_t)STAMP_QUANTA * IRDMA_QUANTUM);
}

/* An X722 must not take the quantum behind a short request for a request. */
FLAT void behind_write(const struct irdma_sq *sq, uint32_t position, uint32_t quanta)
{
	if (unlikely(sq->old_format) && quanta == 1 && (position + 1) & 1)
		word_write(quantum_at(sq, position + 1) + AT_HEADER,
			   valid_at(sq, position) ^ IRDMA_VALID);
}

/* Return the quanta of a request with @length bytes of inline data. */
FLAT uint32_t inline_quanta(const struct irdma_sq *sq, uint32_t length)
{
	if (unlikely(sq->old_format))
		return length <= INLINE_OLD ? 1 : 2;
	return length <= INLINE_FIRST ? 1
				      : (length - INLINE_FIRST + INLINE_NEXT - 1) / INLINE_NEXT + 1;
}

/* Copies inline data into a request piece by piece. */
struct inline_writer {
	char *to;
	uint32_t left; /* bytes of the current quantum */
	char *next;    /* the next quantum */
	uint8_t valid; /* value of the last byte of each further quantum */
	uint32_t each; /* bytes of each further quantum */
	bool old_format;
};

FLAT struct inline_writer inline_begin(const struct irdma_sq *sq, char *wqe, uint64_t valid)
{
	return (struct inline_writer){
		.to = sq->old_format ? wqe : wqe + INLINE_FIRST,
		.left = sq->old_format ? INLINE_OLD : INLINE_FIRST,
		.next = wqe + IRDMA_QUANTUM,
		.valid = valid >> 56,
		.each = sq->old_format ? IRDMA_QUANTUM : INLINE_NEXT,
		.old_format = sq->old_format,
	};
}

FLAT void inline_copy(struct inline_writer *writer, const char *from, uint32_t length)
{
	while (length) {
		uint32_t part;

		if (!writer->left) {
			writer->to = writer->next;
			writer->next += IRDMA_QUANTUM;
			writer->left = writer->each;
			if (!writer->old_format)
				writer->to[INLINE_NEXT] = writer->valid;
		}
		part = min_of(length, writer->left);
		memcpy(writer->to, from, part);
		writer->to += part;
		writer->left -= part;
		from += part;
		length -= part;
	}
}

/* Write the operands of an atomic and the memory of its result. */
FLAT void atomic_write(char *wqe, const struct ibv_sge *sge, uint64_t operand, uint64_t compare,
		       uint64_t valid)
{
	word_write(wqe, sge->addr);
	word_write(wqe + AT_SECOND, sge->lkey);
	word_write(wqe + IRDMA_QUANTUM, operand);
	word_write(wqe + IRDMA_QUANTUM + AT_SECOND, compare);
	word_write(wqe + IRDMA_QUANTUM + AT_THIRD, 0);
	word_write(wqe + IRDMA_QUANTUM + AT_HEADER, valid);
}

/* Write the key that a request invalidates. Word 2 is 0. */
FLAT void invalidate_write(char *wqe, uint32_t rkey, bool old_format)
{
	word_write(wqe, 0);
	word_write(wqe + AT_SECOND, old_format ? (uint64_t)rkey << 32 : rkey);
}

/* Write the binding of a window, whose length is word 2, and return its part of the header. */
uint64_t irdma_bind_write(const struct irdma_sq *sq, char *wqe, const struct ibv_mw *mw,
			  uint32_t rkey, const struct ibv_mw_bind_info *info);
enum kit_fault irdma_bind_check(const struct irdma_sq *sq, const struct ibv_mw *mw,
				const struct ibv_mw_bind_info *info);

/*
 * Announce the requests up to the head, and release the lock. @before: the head that was announced
 */
FLAT void requests_announce(struct irdma_qp *qp, uint32_t before)
{
	struct irdma_sq *sq = &qp->sq;
	bool flush;

	/* release: pairs with the acquire of a poll, which reads the data of completions */
	atomic_store_explicit(&sq->posted, sq->head, memory_order_release);
	barrier_to_device();
	mmio_write_32(sq->doorbell, sq->number);
	/* If requests wait for their completion, the entry for them also completes the later
	 * ones. */
	flush = unlikely(atomic_load_explicit(&sq->over, memory_order_relaxed)) &&
		atomic_load_explicit(&sq->tail, memory_order_relaxed) == before;
	spinlock_unlock(&sq->lock);
	if (unlikely(flush))
		irdma_flush(qp, true, false);
}

#endif
