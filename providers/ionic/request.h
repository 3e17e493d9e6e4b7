/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Write a send into the ring: functions that ibv_post_send() and ibv_wr_*() share. The caller holds
 * the lock of the queue. */
#ifndef IONIC_REQUEST_H
#define IONIC_REQUEST_H

#include "providers/ionic/wqe.h"

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
	KIND_ATOMIC,
	KIND_INVALIDATE, /* invalidates a local key */
	KIND_BIND,
};

struct send_op {
	uint8_t kind;
	uint8_t op[2];	/* opcode of the device, by version of the format */
	uint8_t opcode; /* enum ibv_wc_opcode of the completion */
	uint8_t immediate;
	uint8_t no_flags; /* IBV_SEND_ flags that the operation does not support */
};

enum {
	NO_INLINE = IBV_SEND_INLINE,
	NO_EVENT = IBV_SEND_SOLICITED,
};

static const struct send_op send_ops[16] = {
	[IBV_WR_RDMA_WRITE] = { KIND_WRITE, { 4, 0x21 }, IBV_WC_RDMA_WRITE, 0, NO_EVENT },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { KIND_WRITE, { 5, 0x61 }, IBV_WC_RDMA_WRITE, 1 },
	[IBV_WR_SEND] = { KIND_SEND, { 0, 0x20 }, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { KIND_SEND, { 2, 0x60 }, IBV_WC_SEND, 1 },
	[IBV_WR_SEND_WITH_INV] = { KIND_SEND, { 1, 0xa0 }, IBV_WC_SEND },
	[IBV_WR_RDMA_READ] = { KIND_READ, { 3, 0x02 }, IBV_WC_RDMA_READ, 0, NO_EVENT | NO_INLINE },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { KIND_ATOMIC,
					{ 6, 0x04 },
					IBV_WC_COMP_SWAP,
					0,
					NO_EVENT | NO_INLINE },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { KIND_ATOMIC,
					  { 7, 0x05 },
					  IBV_WC_FETCH_ADD,
					  0,
					  NO_EVENT | NO_INLINE },
	[IBV_WR_LOCAL_INV] = { KIND_INVALIDATE,
			       { 9, 0x07 },
			       IBV_WC_LOCAL_INV,
			       0,
			       NO_EVENT | NO_INLINE },
	[IBV_WR_BIND_MW] = { KIND_BIND, { 10, 0x08 }, IBV_WC_BIND_MW, 0, NO_EVENT | NO_INLINE },
};

/* Return the bits of the head word for these IBV_SEND_ flags. */
FLAT uint64_t flags_of(unsigned int flags)
{
	return (uint64_t)(flags & IBV_SEND_FENCE) << 32 |
	       (uint64_t)(flags & (IBV_SEND_SOLICITED | IBV_SEND_INLINE)) << 31 |
	       (uint64_t)(flags & IBV_SEND_SIGNALED) << 34;
}

/* Return the head word (AT_HEAD) of the next request, without the bits that describe its data.
 * @low: immediate data or key */
FLAT uint64_t head_of(const struct ionic_sq *sq, const struct send_op *op, unsigned int flags,
		      uint32_t low)
{
	uint64_t color = sq->head & (sq->mask + 1) ? 0 : HEAD_COLOR;

	return (uint64_t)op->op[sq->version - 1] << HEAD_OP_SHIFT | flags_of(flags) | sq->signaled |
	       color | low;
}

FLAT char *place_at(const struct ionic_sq *sq, uint32_t index)
{
	return sq->ring + ((size_t)(index & sq->mask) << sq->shift);
}

FLAT struct ionic_sent *sent_next(const struct ionic_sq *sq)
{
	return &sq->sent[sq->head & sq->mask];
}

/* Return the number of requests that fit. */
FLAT uint32_t room_of(const struct ionic_sq *sq)
{
	/* acquire: pairs with the release of a poll, which has read the sends before the tail */
	return sq->mask - (sq->head - atomic_load_explicit(&sq->tail, memory_order_acquire));
}

/* Return whether a request has a completion entry of its own. Requests of datagrams, bindings and
 * invalidations do. */
FLAT bool is_local(const struct ionic_sq *sq, const struct send_op *op)
{
	return sq->datagrams || op->kind >= KIND_INVALIDATE;
}

/* Store the data for the completion of the next request, and advance the head. */
FLAT void sent_note(struct ionic_sq *sq, uint64_t wr_id, uint32_t length, const struct send_op *op,
		    uint64_t head)
{
	struct ionic_sent *sent = sent_next(sq);
	bool local = is_local(sq, op);

	sent->wr_id = wr_id;
	sent->length = length;
	sent->opcode = op->opcode;
	sent->signaled = head & HEAD_SIGNALED;
	sent->local = local;
	sq->messages += !local;
	sent->message = sq->messages;
	sq->head++;
}

/* Write the address of a datagram, without the key. */
FLAT void address_write(char *wqe, const struct ibv_ah *ah, uint32_t qpn)
{
	word_write(wqe + AT_BODY, (uint64_t)((const struct ionic_ah *)ah)->number << 32 | qpn);
}

/* Write the operands of an atomic and the memory of its result. Return the bytes of the request. */
uint32_t ionic_atomic_write(const struct ionic_sq *sq, char *wqe, const struct ibv_sge *sge,
			    uint32_t rkey, uint64_t operand, uint64_t compare);
/* Write the binding of a window. Return the bytes of the request. */
uint32_t ionic_bind_write(char *wqe, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info);
/* Check a binding. @type: the only type of windows that this call binds */
enum kit_fault ionic_bind_check(const struct ionic_sq *sq, const struct ibv_mw *mw,
				const struct ibv_mw_bind_info *info, enum ibv_mw_type type);

/* Announce the requests from @before on, and release the lock. */
FLAT void requests_announce(struct ionic_sq *sq, uint32_t before)
{
	/* release: pairs with the acquire of a poll, which reads the data of completions */
	atomic_store_explicit(&sq->posted, sq->head, memory_order_release);
	if (likely(!sq->wq.cmb))
		ionic_ring(sq->doorbell, sq->number, sq->head & sq->mask);
	else
		ionic_copy_announce(&sq->wq, before & sq->mask, sq->head & sq->mask, sq->doorbell,
				    sq->number);
	spinlock_unlock(&sq->lock);
}

#endif
