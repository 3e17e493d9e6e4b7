/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting sends. Most requests are plain: a send or a write of one entry. Their path makes no
 * function call. post_rest() posts requests of any kind.
 */
#include "providers/kit/bytes.h"
#include "providers/ocrdma/wqe.h"

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
	PLAIN_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_RDMA_WRITE,
	PLAIN_INLINE = 63, /* bytes that kit_bytes_copy() can copy */
};

/* A request by its verbs opcode. */
static const struct send_op {
	uint8_t opcode;
	uint16_t flags;
	uint8_t wc_opcode;
} send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { OP_WRITE, 0, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { OP_WRITE, REQUEST_IMM, IBV_WC_RDMA_WRITE },
	[IBV_WR_SEND] = { OP_SEND, 0, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { OP_SEND, REQUEST_IMM, IBV_WC_SEND },
	[IBV_WR_RDMA_READ] = { OP_READ, 0, IBV_WC_RDMA_READ },
};

/* Return the first word of a request without its size and its type. */
FLAT uint32_t flags_of(const struct oc_sq *sq, const struct send_op *op, unsigned int send_flags)
{
	_Static_assert(IBV_SEND_FENCE << 7 == (int)REQUEST_FENCE &&
			       IBV_SEND_SIGNALED << 4 == (int)REQUEST_SIGNALED &&
			       IBV_SEND_SOLICITED << 7 == (int)REQUEST_SOLICITED,
		       "flags only move");
	return op->opcode | op->flags | sq->always |
	       (send_flags & (IBV_SEND_FENCE | IBV_SEND_SOLICITED)) << 7 |
	       (send_flags & IBV_SEND_SIGNALED) << 4;
}

FLAT void remote_put(uint32_t *to, const struct ibv_send_wr *wr, uint32_t length)
{
	address_put(to, wr->wr.rdma.remote_addr);
	words_put(to + 2, (uint64_t)length << 32 | wr->wr.rdma.rkey);
}

/* Note a request for its completion. @flags: first word of the request */
FLAT void sent_put(struct oc_sq *sq, uint32_t head, const struct ibv_send_wr *wr,
		   const struct send_op *op, uint32_t flags, uint32_t length)
{
	sq->sent[head & sq->mask] = (struct oc_sent){
		.wr_id = wr->wr_id,
		.length = length,
		.opcode = op->wc_opcode,
		.signaled = flags & REQUEST_SIGNALED,
	};
	/* release: pairs with the acquire of a poll, which reads the entry */
	atomic_store_explicit(&sq->head, head + 1, memory_order_release);
}

/* ---- requests of any kind */

static enum kit_fault send_check(const struct oc_sq *sq, const struct ibv_send_wr *wr,
				 uint32_t room)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length;

	if (!room)
		return KIT_FAULT_FULL;
	if ((unsigned int)wr->opcode > 31 || !(sq->ops & 1u << wr->opcode))
		return KIT_FAULT_OPCODE;
	if ((uint32_t)wr->num_sge > sq->max_sge)
		return KIT_FAULT_NUM_SGE;
	if (wr->num_sge && !wr->sg_list)
		return KIT_FAULT_SG_LIST;
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS ||
	    (is_inline && (sq->is_ud || wr->opcode == IBV_WR_RDMA_READ)))
		return KIT_FAULT_SEND_FLAGS;
	if (sq->is_ud && !wr->wr.ud.ah)
		return KIT_FAULT_AH;
	length = list_length(wr->sg_list, wr->num_sge);
	if (is_inline && length > sq->max_inline)
		return KIT_FAULT_INLINE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct oc_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	bool no_inline = qp->sq.is_ud || wr->opcode == IBV_WR_RDMA_READ;
	const struct kit_sq_limits limits = {
		.closed = fault == KIT_FAULT_STATE,
		.max_post = qp->sq.mask,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = ~(unsigned int)SEND_FLAGS | (no_inline ? IBV_SEND_INLINE : 0),
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

static void datagram_put(uint32_t *to, const struct ibv_send_wr *wr)
{
	const struct oc_ah *ah = (const struct oc_ah *)wr->wr.ud.ah;

	words_put(to, (uint64_t)wr->wr.ud.remote_qkey << 32 | wr->wr.ud.remote_qpn);
	words_put(to + 2, (uint64_t)ah->type << 32 | ah->id);
}

/* Copy inline data, and convert them as the adapter converts them back. Return their bytes in the
 * request. */
static uint32_t inline_put(uint32_t *to, const struct ibv_send_wr *wr, uint32_t length)
{
	char *at = (char *)to;

	for (int i = 0; i < wr->num_sge; i++) {
		uint32_t part = wr->sg_list[i].length;

		if (part)
			memcpy(at, (const char *)(uintptr_t)wr->sg_list[i].addr, part);
		at += part;
	}
	for (uint32_t i = 0; __BYTE_ORDER == __BIG_ENDIAN && i < (length + 3) / 4; i++)
		to[i] = htole32(to[i]);
	return length ? ROUND_UP(length, (uint32_t)ENTRY) : ENTRY;
}

/* Write a checked request. Return its bytes. */
static uint32_t request_put(struct oc_sq *sq, uint32_t *to, const struct ibv_send_wr *wr,
			    uint32_t flags, uint32_t length)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint32_t *body = to + AT_BODY, bytes;

	if (sq->is_ud) {
		datagram_put(body, wr);
		flags |= ((const struct oc_ah *)wr->wr.ud.ah)->has_vlan ? REQUEST_VLAN : 0;
		body += UD_BYTES / 4;
	} else if (send_ops[wr->opcode].opcode != OP_SEND) {
		remote_put(body, wr, length);
		body += REMOTE_BYTES / 4;
	}
	bytes = (char *)body - (char *)to;
	if (is_inline)
		bytes += inline_put(body, wr, length);
	else
		bytes += list_put(body, wr->sg_list, wr->num_sge);
	/* The empty entry of a read does not count. */
	if (wr->opcode == IBV_WR_RDMA_READ && !wr->num_sge)
		bytes -= ENTRY;
	to[0] = htole32(flags | size_word(bytes) | (is_inline ? 0 : REQUEST_LIST));
	if (flags & REQUEST_IMM)
		to[AT_IMM] = htole32(be32toh(wr->imm_data));
	to[AT_LENGTH] = htole32(length);
	return bytes;
}

/* Copy a request with inline data into the adapter, which then does not read it. The data are not
 * converted there. @data: where they begin */
FLAT void window_put(const struct oc_sq *sq, const uint32_t *request, uint32_t bytes, uint32_t data)
{
	barrier_wc_start();
	for (uint32_t at = 0; at < bytes; at += ENTRY) {
		uint32_t part[ENTRY / 4];

		memcpy(part, (const char *)request + at, ENTRY);
		for (uint32_t i = 0; __BYTE_ORDER == __BIG_ENDIAN && at >= data && i < ENTRY / 4;
		     i++)
			part[i] = le32toh(part[i]);
		mmio_copy_16(sq->window + at, part);
	}
	barrier_wc_flush();
}

/* Post requests of any kind. The caller holds the lock, and this function releases it. */
SEPARATE static int post_rest(struct oc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct oc_sq *sq = &qp->sq;
	enum oc_post_state state = atomic_load_explicit(&sq->post_state, memory_order_relaxed);
	enum kit_fault fault = state == OC_POST_REFUSED ? KIT_FAULT_STATE : KIT_FAULT_NONE;
	uint32_t head = atomic_load_explicit(&sq->head, memory_order_relaxed);

	for (; wr; wr = wr->next, head++) {
		uint32_t *to = slot_of(sq->ring, head & sq->mask, sq->stride);
		uint32_t flags, length, bytes;
		const struct send_op *op;

		if (!fault)
			fault = send_check(sq, wr, ring_room(head, &sq->tail, sq->mask));
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		op = &send_ops[wr->opcode];
		flags = flags_of(sq, op, wr->send_flags);
		length = list_length(wr->sg_list, wr->num_sge);
		if (likely(state == OC_POST_ANNOUNCED)) {
			bytes = request_put(sq, to, wr, flags, length);
			if (wr->send_flags & IBV_SEND_INLINE && sq->window)
				window_put(sq, to, bytes,
					   HEADER + (op->opcode != OP_SEND ? REMOTE_BYTES : 0));
		}
		sent_put(sq, head, wr, op, flags, length);
		if (likely(state == OC_POST_ANNOUNCED))
			announce(sq->doorbell, sq->announcement);
	}
	spinlock_unlock(&sq->lock);
	return likely(!fault) || !wr ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct oc_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr);
}

/* ---- plain requests */

FLAT bool is_plain(const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) && likely(PLAIN_OPS >> (wr->opcode & 31) & 1) &&
	       likely((unsigned int)wr->opcode < 32) && likely(wr->sg_list) &&
	       likely(!(wr->send_flags & ~(unsigned int)SEND_FLAGS));
}

/* Write a plain request. */
FLAT void plain_put(struct oc_sq *sq, uint32_t head, const struct ibv_send_wr *wr)
{
	uint32_t *to = slot_of(sq->ring, head & sq->mask, sq->stride), *list = to + AT_BODY;
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t flags = flags_of(sq, op, wr->send_flags), length = wr->sg_list->length;
	uint32_t bytes = HEADER + ENTRY;

	if (wr->opcode == IBV_WR_RDMA_WRITE) {
		remote_put(list, wr, length);
		list += REMOTE_BYTES / 4;
		bytes += REMOTE_BYTES;
	}
	entry_put(list, wr->sg_list);
	to[0] = htole32(flags | size_word(bytes) | REQUEST_LIST);
	to[AT_LENGTH] = htole32(length);
	sent_put(sq, head, wr, op, flags, length);
}

/*
 * Post a plain request with inline data, and the rest by post_rest(). The caller holds the lock and
 * has found room, and this function releases the lock.
 */
SEPARATE static int post_inline(struct oc_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr, uint32_t head)
{
	struct oc_sq *sq = &qp->sq;
	uint32_t *to = slot_of(sq->ring, head & sq->mask, sq->stride), *data = to + AT_BODY;
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t flags = flags_of(sq, op, wr->send_flags), length = wr->sg_list->length;
	const char *from = (const char *)(uintptr_t)wr->sg_list->addr;
	uint32_t front = HEADER, bytes;

	if (unlikely(length > min_of(sq->max_inline, (uint32_t)PLAIN_INLINE)) ||
	    unlikely(!length) || __BYTE_ORDER == __BIG_ENDIAN)
		return post_rest(qp, wr, bad_wr);
	if (wr->opcode == IBV_WR_RDMA_WRITE) {
		remote_put(data, wr, length);
		data += REMOTE_BYTES / 4;
		front += REMOTE_BYTES;
	}
	kit_bytes_copy((char *)data, from, length);
	bytes = front + ROUND_UP(length, (uint32_t)ENTRY);
	to[0] = htole32(flags | size_word(bytes));
	to[AT_LENGTH] = htole32(length);
	if (sq->window)
		window_put(sq, to, bytes, front);
	sent_put(sq, head, wr, op, flags, length);
	announce(sq->doorbell, sq->announcement);
	if (unlikely(wr->next))
		return post_rest(qp, wr->next, bad_wr);
	spinlock_unlock(&sq->lock);
	return 0;
}

/* The common case makes no function call. */
int oc_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct oc_qp *qp = to_oc_qp(ibqp);
	struct oc_sq *sq = &qp->sq;
	uint32_t head, room = 0;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&sq->head, memory_order_relaxed);
	if (likely(atomic_load_explicit(&sq->post_state, memory_order_relaxed) ==
		   OC_POST_ANNOUNCED) &&
	    likely(sq->max_sge) && likely(!sq->is_ud))
		room = ring_room(head, &sq->tail, sq->mask);
	for (; wr; wr = wr->next, head++, room--) {
		if (!is_plain(wr) || unlikely(!room))
			return post_rest(qp, wr, bad_wr);
		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, head);
		plain_put(sq, head, wr);
		announce(sq->doorbell, sq->announcement);
	}
	spinlock_unlock(&sq->lock);
	return 0;
}
