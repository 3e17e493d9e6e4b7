/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting sends. Most requests are plain: a send or a write of one entry, which takes one slot.
 * Their path makes no function call. post_rest() posts requests of any kind.
 */
#include "providers/cxgb4/wqe.h"
#include "providers/kit/bytes.h"

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
	KEY_OF_NOTHING = 2, /* of a read without data */
	/* A write and a send in one request. */
	PAIR_WRITE_SGES = 4,
	PAIR_SEND_BYTES = 16,
	PAIR_LEN16 = 5, /* without the entries of the write */
	PAIR_AT_LIST = 8,
};

/* A request by its verbs opcode. */
struct send_op {
	uint8_t wr;	      /* 0: the adapter does not have it */
	uint8_t ri;	      /* of a send */
	uint8_t known, flags; /* WR_ flags that it can have, and those that it always has */
	uint8_t wc_opcode;
	bool invalidates;
};

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { .wr = WR_WRITE,
				.known = WR_COMPLETION | WR_SOLICITED,
				.wc_opcode = IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { .wr = WR_WRITE,
					 .known = WR_COMPLETION | WR_SOLICITED,
					 .flags = WR_IMM,
					 .wc_opcode = IBV_WC_RDMA_WRITE },
	[IBV_WR_SEND] = { .wr = WR_SEND,
			  .ri = RI_SEND,
			  .known = WR_COMPLETION | WR_SOLICITED | WR_FENCE,
			  .wc_opcode = IBV_WC_SEND },
	[IBV_WR_RDMA_READ] = { .wr = WR_READ,
			       .known = WR_COMPLETION,
			       .wc_opcode = IBV_WC_RDMA_READ },
	[IBV_WR_SEND_WITH_INV] = { .wr = WR_SEND,
				   .ri = RI_SEND_INV,
				   .known = WR_COMPLETION | WR_SOLICITED | WR_FENCE,
				   .wc_opcode = IBV_WC_SEND,
				   .invalidates = true },
};

#define FLAG_BITS(flags)                                   \
	(((flags)&IBV_SEND_FENCE ? WR_FENCE : 0) |         \
	 ((flags)&IBV_SEND_SIGNALED ? WR_COMPLETION : 0) | \
	 ((flags)&IBV_SEND_SOLICITED ? WR_SOLICITED : 0))

/* WR_ flags by IBV_SEND_ flags without IBV_SEND_INLINE. */
static const uint8_t flag_bits[8] = {
	FLAG_BITS(0), FLAG_BITS(1), FLAG_BITS(2), FLAG_BITS(3),
	FLAG_BITS(4), FLAG_BITS(5), FLAG_BITS(6), FLAG_BITS(7),
};

FLAT uint32_t flags_of(const struct cx_sq *sq, const struct send_op *op, unsigned int send_flags)
{
	return ((flag_bits[send_flags & 7] | sq->always) & op->known) | op->flags;
}

/* Note a request for its completion. @is: SENT_ bits */
FLAT void sent_put(struct cx_sq *sq, uint16_t index, const struct ibv_send_wr *wr,
		   const struct send_op *op, uint32_t length, uint8_t is)
{
	sq->sent[index] = (struct cx_sent){
		.wr_id = wr->wr_id,
		.length = length,
		.opcode = op->wc_opcode,
		.is = is,
	};
}

/* Write the part of a send or a write in front of its data. */
FLAT void body_put(uint64_t *to, struct cx_sq *sq, uint16_t index, const struct ibv_send_wr *wr,
		   uint32_t length, uint32_t len16)
{
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t flags = flags_of(sq, op, wr->send_flags);

	_Static_assert((int)WR_COMPLETION == (int)SENT_SIGNALED,
		       "the flag of the request is that of cx_sent");
	to[0] = wr_head(op->wr, flags, index, len16);
	if (op->wr == WR_SEND) {
		/* A solicited send has an operation of its own. */
		uint64_t sendop = op->ri + (flags & WR_SOLICITED) / 2;

		to[1] = htobe64(sendop << 32 | (op->invalidates ? wr->invalidate_rkey : 0));
		to[2] = htobe64((uint64_t)length << 32);
		to[3] = 0;
	} else {
		const uint32_t imm[2] = { op->flags ? wr->imm_data : 0, 0 };

		memcpy(&to[1], imm, sizeof(imm));
		to[2] = htobe64((uint64_t)length << 32 | wr->wr.rdma.rkey);
		to[3] = htobe64(wr->wr.rdma.remote_addr);
	}
	sent_put(sq, index, wr, op, 0, flags & WR_COMPLETION);
}

FLAT int room_of(const struct cx_sq *sq)
{
	/* acquire: pairs with the release of a poll, which has read the entry in cx_sq.sent */
	return index_room(atomic_load_explicit(&sq->head, memory_order_relaxed),
			  atomic_load_explicit(&sq->tail, memory_order_acquire), sq->size);
}

/* Announce the requests from slot @from up to index @head, and release the lock. */
FLAT int post_end(struct cx_qp *qp, uint16_t head, uint32_t from)
{
	struct cx_sq *sq = &qp->sq;

	if (likely(from != sq->ring.at)) {
		/* release: pairs with the acquire of a poll, which reads the entries */
		atomic_store_explicit(&sq->head, head, memory_order_release);
		status_put(sq->ring.status, STATUS_HEAD, head);
		ring_announce(&sq->ring, from, qp, IBV_QP_SQ_PSN);
	}
	spinlock_unlock(&sq->lock);
	return 0;
}

/* ---- requests of any kind */

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static enum kit_fault send_check(const struct cx_sq *sq, const struct ibv_send_wr *wr,
				 uint64_t length)
{
	const struct send_op *op;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || !send_ops[wr->opcode].wr ||
	    (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !sq->has_imm))
		return KIT_FAULT_OPCODE;
	op = &send_ops[wr->opcode];
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS)
		return KIT_FAULT_SEND_FLAGS;
	if (op->wr == WR_READ && wr->num_sge > 1)
		return KIT_FAULT_NUM_SGE;
	if (op->wr == WR_READ && wr->send_flags & IBV_SEND_INLINE)
		return KIT_FAULT_SEND_FLAGS;
	if (wr->send_flags & IBV_SEND_INLINE)
		return length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

static uint32_t read_put(uint64_t *to, struct cx_sq *sq, uint16_t index,
			 const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[IBV_WR_RDMA_READ];
	const struct ibv_sge nothing = { .lkey = KEY_OF_NOTHING };
	const struct ibv_sge *sge = wr->num_sge ? wr->sg_list : &nothing;
	uint64_t rkey = wr->num_sge ? wr->wr.rdma.rkey : KEY_OF_NOTHING;
	uint64_t remote = wr->num_sge ? wr->wr.rdma.remote_addr : 0;
	uint32_t reads = atomic_load_explicit(&sq->reads_head, memory_order_relaxed);

	to[0] = wr_head(WR_READ, 0, index, LEN16_READ);
	to[1] = 0;
	to[2] = htobe64((uint64_t)sge->lkey << 32 | sge->addr >> 32);
	to[3] = htobe64(sge->addr << 32 | sge->length);
	to[4] = htobe64(rkey << 32 | remote >> 32);
	to[5] = htobe64(remote << 32);
	sent_put(sq, index, wr, op, sge->length,
		 SENT_READ | (flags_of(sq, op, wr->send_flags) & WR_COMPLETION));
	sq->reads[reads % sq->size] = index;
	/* release: pairs with the acquire of a poll, which reads the index */
	atomic_store_explicit(&sq->reads_head, reads + 1, memory_order_release);
	return LEN16_READ;
}

/* Copy inline data. An entry without bytes may have no address. */
static void inline_put(char *to, const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++) {
		uint32_t length = wr->sg_list[i].length;

		if (length)
			memcpy(to, (const char *)(uintptr_t)wr->sg_list[i].addr, length);
		to += length;
	}
}

/* Write a checked request into zeroed memory. Return its length in units of 16 bytes. */
static uint32_t request_put(uint64_t *to, struct cx_sq *sq, uint16_t index,
			    const struct ibv_send_wr *wr, uint32_t length)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE || !wr->num_sge;
	uint32_t bytes = is_inline ? length : wr->num_sge * (uint32_t)sizeof(struct ibv_sge);
	uint32_t len16 = (AT_SGES * sizeof(uint64_t) + bytes + 15) / 16;

	if (wr->opcode == IBV_WR_RDMA_READ)
		return read_put(to, sq, index, wr);
	body_put(to, sq, index, wr, length, len16);
	to[AT_DATA] = htobe64(is_inline ? INLINE_WORD(length) : LIST_WORD(wr->num_sge));
	if (is_inline)
		inline_put((char *)&to[AT_SGES], wr);
	for (int i = 0; !is_inline && i < wr->num_sge; i++)
		sge_put(&to[AT_SGES + 2 * i], &wr->sg_list[i]);
	return len16;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct cx_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	bool is_read = wr->opcode == IBV_WR_RDMA_READ;
	const struct kit_sq_limits limits = {
		.closed = fault == KIT_FAULT_STATE,
		.max_post = qp->vqp.cap.max_send_wr,
		.max_sge = is_read ? 1 : (uint32_t)qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = ~(unsigned int)SEND_FLAGS | (is_read ? IBV_SEND_INLINE : 0),
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* ---- a write and a send in one request */

/* Return whether a list is a write, and a send of 16 bytes, which the firmware can execute as one.
 * The request has no place for a fence or for inline data of the write. */
static bool is_pair(const struct cx_sq *sq, const struct ibv_send_wr *wr)
{
	const struct ibv_send_wr *send = wr ? wr->next : NULL;
	const unsigned int none = IBV_SEND_FENCE | IBV_SEND_SOLICITED;

	return sq->pairs && send && !send->next && wr->opcode == IBV_WR_RDMA_WRITE &&
	       wr->num_sge > 0 && wr->num_sge <= min_of(sq->max_sge, (int)PAIR_WRITE_SGES) &&
	       !(wr->send_flags & ~(unsigned int)IBV_SEND_SIGNALED) && wr->sg_list &&
	       wr->sg_list->length && length_of(wr) <= UINT32_MAX &&
	       (send->opcode == IBV_WR_SEND || send->opcode == IBV_WR_SEND_WITH_INV) &&
	       send->num_sge == 1 && sq->max_sge && send->sg_list &&
	       send->sg_list->length == PAIR_SEND_BYTES &&
	       !(send->send_flags & (none | ~(unsigned int)SEND_FLAGS)) &&
	       (!(send->send_flags & IBV_SEND_INLINE) || sq->max_inline >= PAIR_SEND_BYTES);
}

static void pair_post(struct cx_sq *sq, uint16_t *head, const struct ibv_send_wr *wr)
{
	const struct ibv_send_wr *send = wr->next;
	const struct send_op *write_op = &send_ops[wr->opcode], *send_op = &send_ops[send->opcode];
	uint32_t write_flags = flags_of(sq, write_op, wr->send_flags);
	uint32_t send_flags = flags_of(sq, send_op, send->send_flags);
	uint16_t first = *head, second = index_next(first, sq->size);
	uint64_t words[WORDS] = {};
	uint8_t *bytes = (uint8_t *)words;

	words[0] = wr_head(WR_WRITE_SEND, write_flags, first, PAIR_LEN16 + wr->num_sge);
	words[1] = htobe64(send_op->invalidates ? send->invalidate_rkey : 0);
	bytes[9] = send_flags;
	memcpy(&bytes[10], &second, sizeof(second));
	words[2] = htobe64(length_of(wr) << 32 | wr->wr.rdma.rkey);
	words[3] = htobe64(wr->wr.rdma.remote_addr);
	if (send->send_flags & IBV_SEND_INLINE) {
		words[AT_DATA] = htobe64(INLINE_WORD(PAIR_SEND_BYTES));
		inline_put((char *)&words[AT_SGES], send);
	} else {
		words[AT_DATA] = htobe64(LIST_WORD(1));
		sge_put(&words[AT_SGES], send->sg_list);
	}
	words[PAIR_AT_LIST] = htobe64(LIST_WORD(wr->num_sge));
	for (int i = 0; i < wr->num_sge; i++)
		sge_put(&words[PAIR_AT_LIST + 1 + 2 * i], &wr->sg_list[i]);
	sent_put(sq, first, wr, write_op, 0, write_flags & WR_COMPLETION);
	sent_put(sq, second, send, send_op, 0, send_flags & WR_COMPLETION);
	cx_ring_put(&sq->ring, words, PAIR_LEN16 + wr->num_sge);
	*head = index_next(second, sq->size);
}

/* ---- posting */

/* Post requests of any kind, behind those from slot @from up to index @head. The caller holds the
 * lock, and this function releases it. */
SEPARATE static int post_rest(struct cx_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
			      uint16_t head, uint32_t from)
{
	struct cx_sq *sq = &qp->sq;
	enum kit_fault fault = qp_has_failed(qp) ? KIT_FAULT_STATE : KIT_FAULT_NONE;
	int room =
		index_room(head, atomic_load_explicit(&sq->tail, memory_order_acquire), sq->size);

	if (!fault && from == sq->ring.at && room >= 2 && is_pair(sq, wr)) {
		pair_post(sq, &head, wr);
		return post_end(qp, head, from);
	}
	for (; wr; wr = wr->next, room--) {
		uint64_t words[WORDS] = {}, length = 0;

		if (!fault && room <= 0)
			fault = KIT_FAULT_FULL;
		else if (!fault && (uint32_t)wr->num_sge > (uint32_t)sq->max_sge)
			fault = KIT_FAULT_NUM_SGE;
		else if (!fault && wr->num_sge && !wr->sg_list)
			fault = KIT_FAULT_SG_LIST;
		if (!fault) {
			length = length_of(wr);
			fault = send_check(sq, wr, length);
		}
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		cx_ring_put(&sq->ring, words, request_put(words, sq, head, wr, length));
		head = index_next(head, sq->size);
	}
	post_end(qp, head, from);
	return likely(!fault) || !wr ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct cx_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, atomic_load_explicit(&qp->sq.head, memory_order_relaxed),
			 qp->sq.ring.at);
}

FLAT bool is_plain(const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) &&
	       likely((1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_SEND) >> (wr->opcode & 31) & 1) &&
	       likely((unsigned int)wr->opcode < 32) && likely(wr->sg_list);
}

/* Write a plain request with inline data, if its slots do not go round the end of the ring. Return
 * the number of its slots; 0: another function must write it. */
FLAT uint32_t inline_write(struct cx_sq *sq, uint16_t head, const struct ibv_send_wr *wr)
{
	uint32_t length = wr->sg_list->length;
	uint32_t len16 = (AT_SGES * sizeof(uint64_t) + length + 15) / 16, slots = slots_of(len16);
	uint64_t *to = (uint64_t *)(void *)slot_of(&sq->ring, sq->ring.at);
	const char *from = (const char *)(uintptr_t)wr->sg_list->addr;

	if (unlikely(length > sq->max_inline) || unlikely(sq->ring.at + slots > sq->ring.slots))
		return 0;
	/* Zeros behind the data. */
	to[2 * len16 - 1] = 0;
	to[2 * len16 - 2] = 0;
	body_put(to, sq, head, wr, length, len16);
	to[AT_DATA] = htobe64(INLINE_WORD(length));
	if (likely(length < 64))
		kit_bytes_copy((char *)&to[AT_SGES], from, length);
	else
		memcpy(&to[AT_SGES], from, length);
	return slots;
}

FLAT void at_advance(struct cx_ring *ring, uint32_t slots)
{
	ring->at += slots;
	if (unlikely(ring->at == ring->slots))
		ring->at = 0;
}

/* Post a plain request with inline data, and the rest by post_rest(). */
SEPARATE static int post_inline(struct cx_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr, uint16_t head, uint32_t from)
{
	struct cx_sq *sq = &qp->sq;
	uint32_t slots = inline_write(sq, head, wr);

	if (unlikely(!slots))
		return post_rest(qp, wr, bad_wr, head, from);
	at_advance(&sq->ring, slots);
	head = index_next(head, sq->size);
	wr = wr->next;
	return wr ? post_rest(qp, wr, bad_wr, head, from) : post_end(qp, head, from);
}

/* The common case makes no function call. */
int cx_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct cx_qp *qp = to_cqp(ibqp);
	struct cx_sq *sq = &qp->sq;
	uint16_t head;
	uint32_t from;
	int room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = atomic_load_explicit(&sq->head, memory_order_relaxed);
	from = sq->ring.at;
	room = likely(!qp_has_failed(qp)) && likely(sq->max_sge) && likely(!sq->ring.on_chip)
		       ? room_of(sq)
		       : 0;
	if (sq->pairs && wr && wr->next && !wr->next->next)
		room = 0;
	for (; wr; wr = wr->next, room--) {
		uint64_t *to = (uint64_t *)(void *)slot_of(&sq->ring, sq->ring.at);

		if (!is_plain(wr) || unlikely(room <= 0) ||
		    unlikely(wr->send_flags & ~(unsigned int)SEND_FLAGS))
			return post_rest(qp, wr, bad_wr, head, from);
		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, head, from);
		body_put(to, sq, head, wr, wr->sg_list->length, LEN16_PLAIN);
		to[AT_DATA] = htobe64(LIST_WORD(1));
		sge_put(&to[AT_SGES], wr->sg_list);
		to[AT_SGES + 2] = 0;
		at_advance(&sq->ring, 1);
		head = index_next(head, sq->size);
	}
	return post_end(qp, head, from);
}
