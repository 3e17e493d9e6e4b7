/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing a send into the ring: shared by ibv_post_send() and the ibv_wr_ functions. The caller
 * holds the lock of the queue. */
#ifndef BNXT_RE_REQUEST_H
#define BNXT_RE_REQUEST_H

#include "providers/bnxt_re/wqe.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
	KIND_ATOMIC,
};

struct bnxt_re_send_op {
	uint8_t kind;
	uint8_t type;	/* type that the device uses */
	uint8_t opcode; /* opcode of the completion */
};

static const struct bnxt_re_send_op send_ops[16] = {
	[IBV_WR_SEND] = { KIND_SEND, WQE_SEND, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { KIND_SEND, WQE_SEND_IMM, IBV_WC_SEND },
	[IBV_WR_RDMA_WRITE] = { KIND_WRITE, WQE_WRITE, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { KIND_WRITE, WQE_WRITE_IMM, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_READ] = { KIND_READ, WQE_READ, IBV_WC_RDMA_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { KIND_ATOMIC, WQE_CMP_SWAP, IBV_WC_COMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { KIND_ATOMIC, WQE_FETCH_ADD, IBV_WC_FETCH_ADD },
};

/* Bits of the header by IBV_SEND_ flags. Other flags are refused. */
static const uint8_t flag_bits[16] = {
#define FLAG_BITS(flags)                                             \
	[flags] = ((flags)&IBV_SEND_FENCE ? WQE_FENCE : 0) |         \
		  ((flags)&IBV_SEND_SIGNALED ? WQE_SIGNALED : 0) |   \
		  ((flags)&IBV_SEND_SOLICITED ? WQE_SOLICITED : 0) | \
		  ((flags)&IBV_SEND_INLINE ? WQE_INLINE : 0)
	FLAG_BITS(0),  FLAG_BITS(1),  FLAG_BITS(2),  FLAG_BITS(3),  FLAG_BITS(4),  FLAG_BITS(5),
	FLAG_BITS(6),  FLAG_BITS(7),  FLAG_BITS(8),  FLAG_BITS(9),  FLAG_BITS(10), FLAG_BITS(11),
	FLAG_BITS(12), FLAG_BITS(13), FLAG_BITS(14), FLAG_BITS(15),
};

/* Return the slot at @offset from the first slot of the next request. */
FLAT char *slot_at(const struct bnxt_re_sq *sq, uint32_t offset)
{
	uint32_t slot = sq->tail + offset;

	return sq->ring + (size_t)(slot < sq->depth ? slot : slot - sq->depth) * SLOT;
}

/* Write the first header. This is the last step of a request. */
FLAT void head_write(char *head, const struct bnxt_re_send_op *op, uint32_t flags, uint32_t slots,
		     uint32_t imm)
{
	write_64(head, (op->type | flags << WQE_FLAGS_SHIFT | slots << WQE_SLOTS_SHIFT) |
			       (uint64_t)imm << 32);
}

/* Copy inline data to the next request, after the first @offset bytes of its data. The data may
 * wrap at the end of the ring. */
FLAT void inline_copy(const struct bnxt_re_sq *sq, size_t offset, const char *from, size_t length)
{
	size_t size = (size_t)sq->depth * SLOT;
	size_t at = slot_at(sq, HEADERS) - sq->ring + offset, first;

	at = at < size ? at : at - size;
	first = min_of(length, size - at);
	/* A piece without bytes may have no address. */
	if (first)
		memcpy(sq->ring + at, from, first);
	if (unlikely(length > first))
		memcpy(sq->ring, from + first, length - first);
}

/* Write the destination of a datagram. */
FLAT void address_write(const struct bnxt_re_sq *sq, const struct ibv_ah *ah, uint32_t qpn,
			uint32_t qkey)
{
	char *second = slot_at(sq, 1);

	write_32(slot_at(sq, 0) + AT_QKEY, qkey);
	write_32(second + AT_QPN - SLOT, qpn);
	write_32(second + AT_AH - SLOT, ((const struct bnxt_re_ah *)ah)->number);
}

/* Write the address and key of the peer's memory. */
FLAT void remote_write(const struct bnxt_re_sq *sq, uint64_t address, uint32_t rkey)
{
	char *second = slot_at(sq, 1);

	write_64(second + AT_REMOTE_ADDRESS - SLOT, address);
	write_32(second + AT_REMOTE_KEY - SLOT, rkey);
}

/* Write the memory and the operands of an atomic. @compare is 0 for an addition. */
FLAT void atomic_write(const struct bnxt_re_sq *sq, uint64_t address, uint64_t operand,
		       uint64_t compare)
{
	char *second = slot_at(sq, 1);

	write_64(slot_at(sq, 0) + AT_ATOMIC_ADDRESS, address);
	write_64(second + AT_ATOMIC_OPERAND - SLOT, operand);
	write_64(second + AT_ATOMIC_COMPARE - SLOT, compare);
}

/* Return the number of free slots; 0 or less: none. */
FLAT int room_of(const struct bnxt_re_sq *sq)
{
	/* acquire: pairs with the release of sent_release() */
	uint32_t released = atomic_load_explicit(&sq->released, memory_order_acquire);

	return (int)(sq->usable - (sq->posted_here - released));
}

/* Write the packet numbers of the next request. The device needs them to repeat packets. */
FLAT void psn_write(struct bnxt_re_sq *sq, uint32_t length, uint8_t opcode)
{
	uint32_t psn = sq->psn, next = psn, at = sq->step ? sq->index : sq->tail;
	char *entry;

	if (!sq->connected)
		psn = next = 0;
	else
		next = (psn +
			(length ? ((uint64_t)length + (1u << sq->mtu_shift) - 1) >> sq->mtu_shift
				: 1)) &
		       PSN_MASK;
	if (likely(sq->psn_form == BNXT_RE_PSN_16)) {
		entry = sq->psns + at * 16;
		write_32(entry + AT_PSN_SLOT, (uint16_t)sq->tail);
		write_64(entry, psn | (uint32_t)opcode << PSN_BITS | (uint64_t)next << 32);
	} else if (sq->psn_form == BNXT_RE_PSN_8) {
		write_64(sq->psns + at * 8,
			 psn | (uint32_t)opcode << PSN_BITS | (uint64_t)next << 32);
	} else {
		write_64(sq->psns + sq->msn * 8,
			 sq->connected ? (uint64_t)(uint16_t)at << MSN_INDEX_SHIFT |
						 (uint64_t)next << PSN_BITS | psn
				       : 0);
		if (sq->connected && ++sq->msn == sq->msns)
			sq->msn = 0;
	}
	if (sq->connected)
		sq->psn = next;
}

/* Advance past the next request, which uses @step slots of the ring. Return whether the ring
 * wraps. */
FLAT bool request_pass(struct bnxt_re_sq *sq, uint32_t step)
{
	if (unlikely(++sq->index == sq->count))
		sq->index = 0;
	sq->tail += step;
	if (likely(sq->tail < sq->depth))
		return false;
	sq->tail -= sq->depth;
	return true;
}

/* Finish the next request, whose header is written, and advance past it. Return its slots of the
 * ring. */
FLAT uint32_t request_end(struct bnxt_re_sq *sq, uint64_t wr_id, uint32_t length, uint8_t opcode,
			  bool signaled, uint32_t slots)
{
	uint32_t step = sq->step ? sq->step : slots;
	struct bnxt_re_sent *sent = &sq->sent[sq->index];

	psn_write(sq, length, opcode);
	sent->wr_id = wr_id;
	sent->length = length;
	sent->opcode = opcode;
	sent->signaled = signaled;
	sent->slots = step;
	if (unlikely(request_pass(sq, step)))
		sq->epoch ^= BNXT_RE_DB_EPOCH;
	sq->posted_here += step;
	return step;
}

/* Announce the requests that were written, and release the lock. */
FLAT void requests_announce(struct bnxt_re_sq *sq)
{
	/* release: pairs with the acquire of sent_take() */
	atomic_store_explicit(&sq->posted, sq->posted_here, memory_order_release);
	bnxt_re_ring(sq->doorbell, BNXT_RE_DB_SQ, sq->number,
		     (sq->step ? sq->index : sq->tail) | sq->epoch);
	spinlock_unlock(&sq->lock);
}

#endif
