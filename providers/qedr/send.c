/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting sends. Most requests are plain: a send or a write of one entry or with inline data, which
 * does not go round the end of the ring. Their path makes no function call. post_rest() posts
 * requests of any kind.
 */
#include "providers/kit/bytes.h"
#include "providers/qedr/wqe.h"

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
	KIND_ATOMIC,
};

/* A request by its verbs opcode. */
struct send_op {
	uint8_t op, kind;
	uint8_t wc_opcode;
	bool imm, invalidates;
};

static const struct send_op send_ops[16] = {
	[IBV_WR_SEND] = { OP_SEND, KIND_SEND, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { OP_SEND_IMM, KIND_SEND, IBV_WC_SEND, .imm = true },
	[IBV_WR_SEND_WITH_INV] = { OP_SEND_INV, KIND_SEND, IBV_WC_SEND, .invalidates = true },
	[IBV_WR_RDMA_WRITE] = { OP_WRITE, KIND_WRITE, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { OP_WRITE_IMM, KIND_WRITE, IBV_WC_RDMA_WRITE, .imm = true },
	[IBV_WR_RDMA_READ] = { OP_READ, KIND_READ, IBV_WC_RDMA_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { OP_CMP_SWAP, KIND_ATOMIC, IBV_WC_COMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { OP_FETCH_ADD, KIND_ATOMIC, IBV_WC_FETCH_ADD },
};

#define FLAG_BITS(flags)                                     \
	(((flags)&IBV_SEND_FENCE ? FLAG_FENCE : 0) |         \
	 ((flags)&IBV_SEND_SIGNALED ? FLAG_SIGNALED : 0) |   \
	 ((flags)&IBV_SEND_SOLICITED ? FLAG_SOLICITED : 0) | \
	 ((flags)&IBV_SEND_INLINE ? FLAG_INLINE : 0))

/* Flags of a request by IBV_SEND_ flags. */
static const uint8_t flag_bits[16] = {
	FLAG_BITS(0),  FLAG_BITS(1),  FLAG_BITS(2),  FLAG_BITS(3),  FLAG_BITS(4),  FLAG_BITS(5),
	FLAG_BITS(6),  FLAG_BITS(7),  FLAG_BITS(8),  FLAG_BITS(9),  FLAG_BITS(10), FLAG_BITS(11),
	FLAG_BITS(12), FLAG_BITS(13), FLAG_BITS(14), FLAG_BITS(15),
};

/* Return the requests that can be posted. */
FLAT int room_of(const struct qedr_sq *sq, uint16_t head)
{
	/* acquire: pairs with the release of a poll, which has read the entry in qedr_sq.sent */
	uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_acquire);

	return (int)sq->max_post - (uint16_t)(head - tail);
}

/* Write the two first elements of a send or an RDMA request, and note it for its completion. */
FLAT void head_put(struct qedr_sq *sq, uint64_t *to, uint16_t head, const struct ibv_send_wr *wr,
		   const struct send_op *op, uint32_t length, uint32_t size)
{
	uint32_t flags = flag_bits[wr->send_flags & 15] | sq->always, word = 0;

	if (unlikely(!length))
		flags &= ~(uint32_t)FLAG_INLINE;
	if (op->imm)
		word = be32toh(wr->imm_data);
	else if (op->invalidates)
		word = wr->invalidate_rkey;
	to[0] = htole64(word | (uint64_t)length << 32);
	to[1] = htole64((sq->xrc ? wr->qp_type.xrc.remote_srqn : 0) |
			(uint64_t)op->op << HEAD_OP_SHIFT | (uint64_t)flags << HEAD_FLAGS_SHIFT |
			(uint64_t)size << HEAD_SIZE_SHIFT |
			(uint64_t)sq->before << HEAD_BEFORE_SHIFT);
	to[2] = op->kind == KIND_SEND ? 0 : htole64(wr->wr.rdma.remote_addr);
	to[3] = op->kind == KIND_SEND ? 0 : htole64(wr->wr.rdma.rkey);
	sq->before = size;
	sq->sent[head & sq->mask] = (struct qedr_sent){
		.wr_id = wr->wr_id,
		.length = length,
		.opcode = op->wc_opcode,
		.signaled = flags & FLAG_SIGNALED,
	};
}

FLAT void at_advance(struct qedr_sq *sq, uint32_t size)
{
	sq->at += size * ELEMENT;
	if (unlikely(sq->at == sq->end))
		sq->at = sq->ring;
}

/* Write inline data: words of eight bytes in reverse, of which the last one may be filled up. */
FLAT uint64_t *inline_put(uint64_t *to, const char *from, uint32_t length)
{
	for (; length >= sizeof(*to); length -= sizeof(*to), from += sizeof(*to))
		*to++ = htobe64(kit_bytes_load_64(from));
	if (length)
		*to++ = htobe64(kit_bytes_load(from, length));
	return to;
}

/* ---- requests of any kind */

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static enum kit_fault op_check(const struct qedr_sq *sq, const struct ibv_send_wr *wr,
			       uint64_t length)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint8_t kind;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || !send_ops[wr->opcode].kind)
		return KIT_FAULT_OPCODE;
	kind = send_ops[wr->opcode].kind;
	if (kind == KIND_ATOMIC && !sq->atomics)
		return KIT_FAULT_OPCODE;
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS)
		return KIT_FAULT_SEND_FLAGS;
	if (kind == KIND_ATOMIC && (wr->num_sge != 1 || is_inline))
		return KIT_FAULT_ATOMIC_LIST;
	if (kind == KIND_ATOMIC && wr->wr.atomic.remote_addr % sizeof(uint64_t))
		return KIT_FAULT_ATOMIC_ADDR;
	if (kind == KIND_READ && is_inline)
		return KIT_FAULT_SEND_FLAGS;
	if (is_inline)
		return length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

static enum kit_fault send_check(const struct qedr_sq *sq, const struct ibv_send_wr *wr, int room,
				 uint64_t *ret_length)
{
	enum kit_fault fault;

	if (!sq->max_post)
		return KIT_FAULT_STATE;
	if (wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return KIT_FAULT_NUM_SGE;
	if (wr->num_sge && !wr->sg_list)
		return KIT_FAULT_SG_LIST;
	*ret_length = length_of(wr);
	fault = op_check(sq, wr, *ret_length);
	return !fault && room <= 0 ? KIT_FAULT_FULL : fault;
}

static void atomic_put(uint64_t *to, const struct ibv_send_wr *wr)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	to[2] = htole64(wr->wr.atomic.remote_addr);
	to[3] = htole64(wr->wr.atomic.rkey);
	to[4] = htole64(swaps ? wr->wr.atomic.compare_add : 0);
	to[5] = htole64(swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
	sge_put(&to[6], wr->sg_list);
}

/* Collect inline data, whose pieces need not end at the end of a word. */
static void inline_gather(uint64_t *to, const struct ibv_send_wr *wr, uint32_t length)
{
	char bytes[INLINE_MAX];
	uint32_t at = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		/* An entry without bytes may have no address. */
		if (wr->sg_list[i].length)
			memcpy(bytes + at, (const char *)(uintptr_t)wr->sg_list[i].addr,
			       wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	inline_put(to, bytes, length);
}

/* Write a checked request into zeroed memory. Return its elements. */
static uint32_t request_put(struct qedr_sq *sq, uint64_t *to, uint16_t head,
			    const struct ibv_send_wr *wr, uint32_t length)
{
	const struct send_op *op = &send_ops[wr->opcode];
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint32_t size = HEAD_ELEMENTS +
			(is_inline ? (length + ELEMENT - 1) / ELEMENT : (uint32_t)wr->num_sge);

	if (op->kind == KIND_ATOMIC) {
		head_put(sq, to, head, wr, op, length, ATOMIC_ELEMENTS);
		atomic_put(to, wr);
		return ATOMIC_ELEMENTS;
	}
	head_put(sq, to, head, wr, op, length, size);
	to += HEAD_ELEMENTS * ELEMENT_WORDS;
	if (is_inline)
		inline_gather(to, wr, length);
	for (int i = 0; !is_inline && i < wr->num_sge; i++)
		sge_put(to + i * ELEMENT_WORDS, &wr->sg_list[i]);
	return size;
}

/* Copy a request into the ring, where it may go round the end. */
static void ring_put(struct qedr_sq *sq, const uint64_t *words, uint32_t size)
{
	uint32_t room = (sq->end - sq->at) / ELEMENT, first = min_of(size, room);

	memcpy(sq->at, words, first * ELEMENT);
	at_advance(sq, first);
	if (size == first)
		return;
	memcpy(sq->at, words + first * ELEMENT_WORDS, (size - first) * ELEMENT);
	at_advance(sq, size - first);
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct qedr_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	bool is_read = wr->opcode == IBV_WR_RDMA_READ;
	const struct kit_sq_limits limits = {
		.closed = fault == KIT_FAULT_STATE,
		.atomics = qp->sq.atomics,
		.max_post = qp->sq.max_post,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = ~(unsigned int)SEND_FLAGS | (is_read ? IBV_SEND_INLINE : 0),
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Announce the requests up to number @head, unless the device has them, and release the lock. */
FLAT int post_end(struct qedr_sq *sq, uint16_t head, bool has_them)
{
	if (likely(head != atomic_load_explicit(&sq->head, memory_order_relaxed))) {
		/* release: pairs with the acquire of a poll, which reads the entries */
		atomic_store_explicit(&sq->head, head, memory_order_release);
		if (likely(!has_them))
			doorbell_ring(&sq->doorbell, sq->icid, head);
	}
	spinlock_unlock(&sq->lock);
	return 0;
}

/* Post requests of any kind behind number @head. The caller holds the lock, and this function
 * releases it. */
SEPARATE static int post_rest(struct qedr_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint16_t head)
{
	struct qedr_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	int room = room_of(sq, head);
	bool has_them = false;

	for (; wr; wr = wr->next, room--) {
		uint64_t words[SEND_WORDS] = {}, length = 0;
		uint32_t size;

		fault = send_check(sq, wr, room, &length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		size = request_put(sq, words, head++, wr, length);
		ring_put(sq, words, size);
		has_them = sq->dpm && room == (int)sq->max_post &&
			   qedr_dpm_post(qp, wr, words, size, head);
	}
	post_end(sq, head, has_them);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct qedr_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, atomic_load_explicit(&qp->sq.head, memory_order_relaxed));
}

/* ---- plain requests */

FLAT bool is_plain(const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) &&
	       likely((unsigned int)wr->opcode < ARRAY_SIZE(send_ops)) &&
	       likely(!(wr->send_flags & ~(unsigned int)SEND_FLAGS)) && likely(wr->sg_list) &&
	       likely((uint8_t)(send_ops[wr->opcode].kind - KIND_SEND) <= KIND_WRITE - KIND_SEND);
}

/* Write a plain request with inline data. Return its elements; 0: it is not plain. */
FLAT uint32_t plain_put_inline(struct qedr_sq *sq, uint16_t head, const struct ibv_send_wr *wr)
{
	uint64_t *to = (uint64_t *)(void *)sq->at;
	uint32_t length = wr->sg_list->length;
	uint32_t size = HEAD_ELEMENTS + (length + ELEMENT - 1) / ELEMENT;

	if (unlikely(length > sq->max_inline) ||
	    unlikely((size_t)(sq->end - sq->at) < size * ELEMENT))
		return 0;
	head_put(sq, to, head, wr, &send_ops[wr->opcode], length, size);
	to = inline_put(to + HEAD_ELEMENTS * ELEMENT_WORDS,
			(const char *)(uintptr_t)wr->sg_list->addr, length);
	if ((uintptr_t)to % ELEMENT)
		*to = 0;
	return size;
}

/* Post plain requests with inline data, and the rest by post_rest(). */
SEPARATE static int post_inline(struct qedr_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr, uint16_t head, int room)
{
	struct qedr_sq *sq = &qp->sq;

	for (; wr; wr = wr->next, room--) {
		uint32_t size = likely(room > 0) && is_plain(wr) && wr->send_flags & IBV_SEND_INLINE
					? plain_put_inline(sq, head, wr)
					: 0;

		if (unlikely(!size))
			return post_rest(qp, wr, bad_wr, head);
		at_advance(sq, size);
		head++;
	}
	return post_end(sq, head, false);
}

/* The common case makes no function call. */
int qedr_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	const uint32_t size = HEAD_ELEMENTS + 1;
	struct qedr_qp *qp = to_qqp(ibqp);
	struct qedr_sq *sq = &qp->sq;
	uint16_t head;
	int room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&sq->head, memory_order_relaxed);
	room = likely(sq->max_sge > 0) ? room_of(sq, head) : 0;
	if (unlikely(sq->dpm) && room == (int)sq->max_post)
		return post_rest(qp, wr, bad_wr, head);
	for (; wr; wr = wr->next, room--) {
		uint64_t *to = (uint64_t *)(void *)sq->at;

		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, head, room);
		if (!is_plain(wr) || unlikely(room <= 0) ||
		    unlikely((size_t)(sq->end - sq->at) < size * ELEMENT))
			return post_rest(qp, wr, bad_wr, head);
		head_put(sq, to, head, wr, &send_ops[wr->opcode], wr->sg_list->length, size);
		sge_put(to + HEAD_ELEMENTS * ELEMENT_WORDS, wr->sg_list);
		at_advance(sq, size);
		head++;
	}
	return post_end(sq, head, false);
}
