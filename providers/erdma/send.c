/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain: a send or a write of one entry. Their loop makes no
 * function call. post_rest() posts the first request of a list that is not plain, and all requests
 * after it. The device does not read a refused request, because the head is not moved behind it.
 */
#include "providers/erdma/wqe.h"
#include "providers/kit/bytes.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
	KIND_ATOMIC,
};

struct send_op {
	/*
	 * first word of a request with one entry: opcode, blocks, and the number of entries if it
	 * has a list
	 */
	uint64_t head;
	uint8_t kind;
	uint8_t blocks; /* number of blocks of a request with one entry */
	uint8_t start;	/* offset of the list or the data */
};

#define OP_HEAD(opcode, blocks, count)                                                           \
	((uint64_t)(opcode) << HEAD_OPCODE_SHIFT | (uint64_t)((blocks)-1) << HEAD_BLOCKS_SHIFT | \
	 (uint64_t)(count) << HEAD_COUNT_SHIFT)
#define SEND_OP(opcode)                                           \
	{                                                         \
		OP_HEAD(opcode, 1, 1), KIND_SEND, 1, AT_SEND_DATA \
	}
#define WRITE_OP(opcode)                                            \
	{                                                           \
		OP_HEAD(opcode, 2, 1), KIND_WRITE, 2, AT_WRITE_DATA \
	}
#define ATOMIC_OP(opcode)                                \
	{                                                \
		OP_HEAD(opcode, 2, 0), KIND_ATOMIC, 2, 0 \
	}

static const struct send_op send_ops[16] = {
	[IBV_WR_SEND] = SEND_OP(OP_SEND),
	[IBV_WR_SEND_WITH_IMM] = SEND_OP(OP_SEND_IMM),
	[IBV_WR_SEND_WITH_INV] = SEND_OP(OP_SEND_INV),
	[IBV_WR_RDMA_WRITE] = WRITE_OP(OP_WRITE),
	[IBV_WR_RDMA_WRITE_WITH_IMM] = WRITE_OP(OP_WRITE_IMM),
	[IBV_WR_RDMA_READ] = { OP_HEAD(OP_READ, 2, 0), KIND_READ, 2, 0 },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = ATOMIC_OP(OP_CMP_SWAP),
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = ATOMIC_OP(OP_FETCH_ADD),
};

/* Bits of the header by IBV_SEND_ flags. Other flags are refused. */
static const uint32_t flag_bits[16] = {
#define FLAG_BITS(flags)                                              \
	[flags] = ((flags)&IBV_SEND_FENCE ? HEAD_FENCE : 0) |         \
		  ((flags)&IBV_SEND_SIGNALED ? HEAD_SIGNALED : 0) |   \
		  ((flags)&IBV_SEND_SOLICITED ? HEAD_SOLICITED : 0) | \
		  ((flags)&IBV_SEND_INLINE ? HEAD_INLINE : 0)
	FLAG_BITS(0),  FLAG_BITS(1),  FLAG_BITS(2),  FLAG_BITS(3),  FLAG_BITS(4),  FLAG_BITS(5),
	FLAG_BITS(6),  FLAG_BITS(7),  FLAG_BITS(8),  FLAG_BITS(9),  FLAG_BITS(10), FLAG_BITS(11),
	FLAG_BITS(12), FLAG_BITS(13), FLAG_BITS(14), FLAG_BITS(15),
};

FLAT char *block_at(const struct erdma_sq *sq, uint32_t index)
{
	return sq->ring + ((size_t)(index & sq->mask) << BLOCK_SHIFT);
}

/* Return the number of free blocks; 0 or less: none. */
FLAT int room_of(const struct erdma_sq *sq)
{
	/* acquire: pairs with the release of sent_take() */
	uint16_t tail = atomic_load_explicit(&sq->tail, memory_order_acquire);

	return (int)sq->mask + 1 - (uint16_t)(sq->head - tail);
}

/* Write the part of a request between the header and the list. */
FLAT void body_write(char *block, const struct ibv_send_wr *wr, uint32_t length, bool is_write)
{
	uint32_t raw =
		wr->opcode == IBV_WR_SEND_WITH_INV ? htole32(wr->invalidate_rkey) : wr->imm_data;

	memcpy(block + AT_IMM, &raw, sizeof(raw));
	write_32(block + AT_LENGTH, length);
	if (is_write) {
		write_32(block + AT_WRITE_KEY, wr->wr.rdma.rkey);
		write_64(block + AT_WRITE_ADDRESS, wr->wr.rdma.remote_addr);
	}
}

/* Write the header, the last part of a request. Return the block behind it. */
FLAT uint16_t head_write(struct erdma_sq *sq, uint16_t at, const struct ibv_send_wr *wr,
			 uint64_t head, uint16_t end)
{
	char *block = block_at(sq, at);

	sq->sent[at & sq->mask] = (struct erdma_sent){ wr->wr_id, end };
	write_64(block, head | sq->always | flag_bits[wr->send_flags & 15] | end);
	return end;
}

/* Announce requests up to block @head and release the lock. */
FLAT int post_end(struct erdma_sq *sq, uint16_t head)
{
	if (likely(head != sq->head)) {
		sq->head = head;
		erdma_ring(sq->record, sq->doorbell, htole64(sq->qpn | head));
	}
	spinlock_unlock(&sq->lock);
	return 0;
}

/* ---- requests of any kind */

/* Write the list. A block that begins with an entry ends with the number of the queue pair, unless
 * another entry takes its place. */
static uint32_t list_write(const struct erdma_sq *sq, const struct ibv_send_wr *wr, uint32_t at)
{
	uint32_t mask = (sq->mask << BLOCK_SHIFT) | (BLOCK - 1);

	for (int i = 0; i < wr->num_sge; i++, at += sizeof(struct ibv_sge)) {
		char *to = sq->ring + (at & mask);

		sge_write(to, &wr->sg_list[i]);
		if (!(at % BLOCK))
			write_32(to + AT_BLOCK_QPN, sq->qpn >> HEAD_QPN_SHIFT);
	}
	return at;
}

static uint32_t inline_write(const struct erdma_sq *sq, const struct ibv_send_wr *wr, uint32_t at)
{
	uint32_t size = (sq->mask + 1) << BLOCK_SHIFT;

	for (int i = 0; i < wr->num_sge; i++) {
		const char *from = (const char *)(uintptr_t)wr->sg_list[i].addr;
		uint32_t length = wr->sg_list[i].length, to = at & (size - 1);
		uint32_t first = min_of(length, size - to);

		/* An entry without bytes may have no address. */
		if (first)
			memcpy(sq->ring + to, from, first);
		if (unlikely(length > first))
			memcpy(sq->ring, from + first, length - first);
		at += length;
	}
	return at;
}

static void read_write(const struct erdma_sq *sq, char *block, uint16_t head,
		       const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list;
	char *second = block_at(sq, head + 1u);

	write_32(block + AT_LENGTH, sge->length);
	write_32(block + AT_READ_KEY, sge->lkey);
	write_64(block + AT_READ_ADDRESS, sge->addr);
	write_64(second + AT_REMOTE_ADDRESS, wr->wr.rdma.remote_addr);
	write_32(second + AT_REMOTE_LENGTH, sge->length);
	write_32(second + AT_REMOTE_KEY, wr->wr.rdma.rkey);
}

static void atomic_write(const struct erdma_sq *sq, char *block, uint16_t head,
			 const struct ibv_send_wr *wr)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	char *second = block_at(sq, head + 1u);

	write_64(block + AT_ATOMIC_OPERAND, swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
	if (swaps)
		write_64(block + AT_ATOMIC_COMPARE, wr->wr.atomic.compare_add);
	write_64(second + AT_REMOTE_ADDRESS, wr->wr.atomic.remote_addr);
	write_32(second + AT_REMOTE_KEY, wr->wr.atomic.rkey);
	write_64(second + AT_ATOMIC_ADDRESS, wr->sg_list->addr);
	write_32(second + AT_ATOMIC_LENGTH, wr->sg_list->length);
	write_32(second + AT_ATOMIC_KEY, wr->sg_list->lkey);
}

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

/* Check a read or an atomic, which has one entry. */
static enum kit_fault single_check(const struct ibv_send_wr *wr, uint8_t kind)
{
	if (wr->num_sge != 1)
		return kind == KIND_ATOMIC ? KIT_FAULT_ATOMIC_LIST : KIT_FAULT_NUM_SGE;
	if (wr->send_flags & IBV_SEND_INLINE)
		return kind == KIND_ATOMIC ? KIT_FAULT_ATOMIC_LIST : KIT_FAULT_SEND_FLAGS;
	if (kind == KIND_ATOMIC && wr->wr.atomic.remote_addr % 8)
		return KIT_FAULT_ATOMIC_ADDR;
	return KIT_FAULT_NONE;
}

static enum kit_fault send_check(const struct erdma_sq *sq, const struct ibv_send_wr *wr,
				 uint64_t length)
{
	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || !send_ops[wr->opcode].kind)
		return KIT_FAULT_OPCODE;
	if (wr->send_flags & ~15u)
		return KIT_FAULT_SEND_FLAGS;
	if (send_ops[wr->opcode].kind >= KIND_READ)
		return single_check(wr, send_ops[wr->opcode].kind);
	if (wr->send_flags & IBV_SEND_INLINE)
		return length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/* Write a checked request, if it fits. */
static enum kit_fault send_write(struct erdma_sq *sq, uint16_t *head, int room,
				 const struct ibv_send_wr *wr, uint64_t length)
{
	struct send_op op = send_ops[wr->opcode];
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t bytes = is_inline ? length : (uint64_t)wr->num_sge * sizeof(struct ibv_sge);
	int blocks = op.start ? (int)ROUND_UP(op.start + bytes, BLOCK) / BLOCK : op.blocks;
	char *block = block_at(sq, *head);
	uint32_t at = (uint32_t)*head << BLOCK_SHIFT;
	uint64_t count = 0;

	if (blocks > room)
		return KIT_FAULT_FULL;
	if (op.start) {
		count = is_inline ? length : (uint64_t)wr->num_sge;
		body_write(block, wr, length, op.kind == KIND_WRITE);
		is_inline ? inline_write(sq, wr, at + op.start) : list_write(sq, wr, at + op.start);
	} else if (op.kind == KIND_READ) {
		read_write(sq, block, *head, wr);
	} else {
		atomic_write(sq, block, *head, wr);
	}
	op.head &= OP_HEAD(31, 1, 0);
	*head = head_write(sq, *head, wr, op.head | OP_HEAD(0, blocks, count), *head + blocks);
	return KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct erdma_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0 && qp->vqp.cap.max_send_wr,
		.atomics = true,
		.max_post = qp->vqp.cap.max_send_wr,
		.max_sge = wr->opcode == IBV_WR_RDMA_READ ? 1 : (uint32_t)qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = wr->opcode == IBV_WR_RDMA_READ ? ~7u : ~15u,
	};

	if (!qp->vqp.cap.max_send_wr)
		fault = KIT_FAULT_NO_QUEUE;
	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Post requests of any kind behind block @head. The caller holds the lock, and this function
 * releases it. */
SEPARATE static int post_rest(struct erdma_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint16_t head)
{
	struct erdma_sq *sq = &qp->sq;
	uint32_t sge_limit = (uint32_t)sq->max_sge + 1; /* 0 in states that accept no sends */
	enum kit_fault fault = KIT_FAULT_NONE;
	int room = room_of(sq) - (uint16_t)(head - sq->head);

	for (; wr; wr = wr->next) {
		uint16_t before = head;
		uint64_t length = 0;

		if ((uint32_t)wr->num_sge >= sge_limit)
			fault = KIT_FAULT_NUM_SGE;
		else if (wr->num_sge && !wr->sg_list)
			fault = KIT_FAULT_SG_LIST;
		if (!fault) {
			length = length_of(wr);
			fault = send_check(sq, wr, length);
		}
		if (!fault)
			fault = send_write(sq, &head, room, wr, length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		room -= (uint16_t)(head - before);
	}
	post_end(sq, head);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct erdma_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head);
}

/* ---- plain requests */

FLAT bool is_plain(const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) &&
	       likely((unsigned int)wr->opcode < ARRAY_SIZE(send_ops)) &&
	       likely(!(wr->send_flags & ~15u)) && likely(wr->sg_list) &&
	       likely(send_ops[wr->opcode].start);
}

FLAT uint16_t plain_write(struct erdma_sq *sq, uint16_t head, const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[wr->opcode];
	char *block = block_at(sq, head);

	if (op->kind == KIND_SEND) {
		body_write(block, wr, wr->sg_list->length, false);
		sge_write(block + AT_SEND_DATA, wr->sg_list);
	} else {
		char *second = block_at(sq, head + 1u);

		body_write(block, wr, wr->sg_list->length, true);
		sge_write(second, wr->sg_list);
		write_32(second + AT_BLOCK_QPN, sq->qpn >> HEAD_QPN_SHIFT);
	}
	return head_write(sq, head, wr, op->head, head + op->blocks);
}

/*
 * Write a plain request whose inline data ends before the end of the ring. Return the number of its
 * blocks; 0: another function must write it.
 */
FLAT uint32_t plain_write_inline(struct erdma_sq *sq, uint16_t head, int room,
				 const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[wr->opcode];
	const char *from = (const char *)(uintptr_t)wr->sg_list->addr;
	uint32_t length = wr->sg_list->length;
	uint32_t blocks = (op->start + length + BLOCK - 1) >> BLOCK_SHIFT;
	char *block = block_at(sq, head);

	if (unlikely(length > sq->max_inline) || unlikely((int)blocks > room) ||
	    unlikely((head & sq->mask) + blocks > sq->mask))
		return 0;
	body_write(block, wr, length, op->kind == KIND_WRITE);
	if (likely(length < 64))
		kit_bytes_copy(block + op->start, from, length);
	else
		memcpy(block + op->start, from, length);
	head_write(sq, head, wr, (op->head & OP_HEAD(31, 1, 0)) | OP_HEAD(0, blocks, length),
		   head + blocks);
	return blocks;
}

/* Post plain requests with inline data, and the rest by post_rest(). */
SEPARATE static int post_inline(struct erdma_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr, uint16_t head, int room)
{
	for (; wr; wr = wr->next) {
		uint32_t blocks = is_plain(wr) && wr->send_flags & IBV_SEND_INLINE
					  ? plain_write_inline(&qp->sq, head, room, wr)
					  : 0;

		if (unlikely(!blocks))
			return post_rest(qp, wr, bad_wr, head);
		head += blocks;
		room -= blocks;
	}
	return post_end(&qp->sq, head);
}

/* The common case makes no function call. */
int erdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct erdma_qp *qp = to_eqp(ibqp);
	struct erdma_sq *sq = &qp->sq;
	uint16_t head;
	int room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = sq->head;
	room = likely(sq->max_sge > 0) ? room_of(sq) : 0;
	for (; wr; wr = wr->next) {
		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, head, room);
		if (!is_plain(wr) || unlikely(room < send_ops[wr->opcode].blocks))
			return post_rest(qp, wr, bad_wr, head);
		room -= send_ops[wr->opcode].blocks;
		head = plain_write(sq, head, wr);
	}
	return post_end(sq, head);
}
