/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain: a send or a write of one entry on a connection.
 * Their loop makes no function call. post_rest() posts the first request of a list that is not
 * plain, and all requests after it. A refused request leaves the ring as it is.
 */
#include "providers/bnxt_re/request.h"
#include "providers/kit/bytes.h"

/* ---- requests of any kind */

static void list_write(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		sge_write(slot_at(sq, HEADERS + i), &wr->sg_list[i]);
}

static void inline_write(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr)
{
	size_t offset = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		inline_copy(sq, offset, (const char *)(uintptr_t)sge->addr, sge->length);
		offset += sge->length;
	}
}

static void target_write(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr,
			 enum send_kind kind)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	if (sq->datagrams)
		address_write(sq, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	else if (kind == KIND_ATOMIC)
		atomic_write(sq, wr->wr.atomic.remote_addr,
			     swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add,
			     swaps ? wr->wr.atomic.compare_add : 0);
	else if (kind != KIND_SEND)
		remote_write(sq, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
}

static uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static enum kit_fault atomic_check(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr)
{
	if (!sq->atomics)
		return KIT_FAULT_OPCODE;
	if (wr->num_sge != 1 || wr->send_flags & IBV_SEND_INLINE)
		return KIT_FAULT_ATOMIC_LIST;
	return wr->wr.atomic.remote_addr % 8 ? KIT_FAULT_ATOMIC_ADDR : KIT_FAULT_NONE;
}

static enum kit_fault send_check(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr,
				 uint64_t length)
{
	enum send_kind kind = (unsigned int)wr->opcode < ARRAY_SIZE(send_ops)
				      ? send_ops[wr->opcode].kind
				      : KIND_NONE;

	if (kind == KIND_NONE || (!sq->connected && kind != KIND_SEND))
		return KIT_FAULT_OPCODE;
	/* Raw packets have no immediate data. */
	if (!sq->connected && !sq->datagrams && wr->opcode != IBV_WR_SEND)
		return KIT_FAULT_OPCODE;
	if (wr->send_flags & ~15u || (kind == KIND_READ && wr->send_flags & IBV_SEND_INLINE))
		return KIT_FAULT_SEND_FLAGS;
	if (sq->datagrams && !wr->wr.ud.ah)
		return KIT_FAULT_AH;
	if (kind == KIND_ATOMIC)
		return atomic_check(sq, wr);
	if (wr->send_flags & IBV_SEND_INLINE)
		return length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/* Write a checked request, if it fits. */
static enum kit_fault send_write(struct bnxt_re_sq *sq, int *room, const struct ibv_send_wr *wr,
				 uint64_t length)
{
	const struct bnxt_re_send_op *op = &send_ops[wr->opcode];
	uint32_t flags = sq->flags | flag_bits[wr->send_flags & 15], imm = 0;
	uint32_t slots = HEADERS + (flags & WQE_INLINE ? ((uint32_t)length + SLOT - 1) / SLOT
						       : (uint32_t)wr->num_sge);
	char *head = slot_at(sq, 0);

	if (*room < (int)(sq->step ? sq->step : slots))
		return KIT_FAULT_FULL;
	if (flags & WQE_INLINE)
		inline_write(sq, wr);
	else
		list_write(sq, wr);
	if (op->kind != KIND_ATOMIC)
		write_32(head + AT_LENGTH, length);
	target_write(sq, wr, op->kind);
	if (op->kind == KIND_ATOMIC)
		imm = wr->wr.atomic.rkey;
	else if (op->type == WQE_SEND_IMM || op->type == WQE_WRITE_IMM)
		imm = be32toh(wr->imm_data);
	head_write(head, op, flags, slots, imm);
	*room -= request_end(sq, wr->wr_id, length, op->opcode, flags & WQE_SIGNALED, slots);
	return KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct bnxt_re_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0 && qp->vqp.cap.max_send_wr,
		.atomics = qp->sq.atomics,
		.max_post = qp->vqp.cap.max_send_wr,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = wr->opcode == IBV_WR_RDMA_READ ? ~7u : ~15u,
	};

	if (!qp->vqp.cap.max_send_wr)
		fault = KIT_FAULT_NO_QUEUE;
	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Announce the requests that were posted since @before, and release the lock. */
FLAT int post_end(struct bnxt_re_sq *sq, uint32_t before)
{
	if (likely(sq->posted_here != before))
		requests_announce(sq);
	else
		spinlock_unlock(&sq->lock);
	return 0;
}

/* Post requests of any kind. The caller holds the lock, and this function releases it. @before:
 * slots that were announced. */
SEPARATE static int post_rest(struct bnxt_re_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t before)
{
	struct bnxt_re_sq *sq = &qp->sq;
	uint32_t sge_limit = (uint32_t)sq->max_sge + 1; /* 0 in states that accept no sends */
	enum kit_fault fault = KIT_FAULT_NONE;
	int room = room_of(sq);

	for (; wr; wr = wr->next) {
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
			fault = send_write(sq, &room, wr, length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
	}
	post_end(sq, before);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct bnxt_re_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.posted_here);
}

/* ---- plain requests */

FLAT bool is_plain(const struct bnxt_re_sq *sq, const struct ibv_send_wr *wr, int room)
{
	return likely(wr->num_sge == 1) && likely(wr->sg_list) &&
	       likely((unsigned int)wr->opcode <= IBV_WR_SEND_WITH_IMM) &&
	       likely(!(wr->send_flags & ~15u)) && likely(room >= STATIC_SLOTS) &&
	       likely(sq->tail + STATIC_SLOTS <= sq->depth);
}

/* Write a plain request. Return: whether its inline data fit. */
FLAT bool plain_write(struct bnxt_re_sq *sq, int *room, const struct ibv_send_wr *wr)
{
	const struct bnxt_re_send_op *op = &send_ops[wr->opcode];
	uint32_t flags = sq->flags | flag_bits[wr->send_flags & 15];
	uint32_t length = wr->sg_list->length, slots = HEADERS + 1;
	char *head = sq->ring + (size_t)sq->tail * SLOT;

	if (flags & WQE_INLINE) {
		if (unlikely(length > sq->max_inline) || unlikely(length >= 64))
			return false;
		slots = HEADERS + (length + SLOT - 1) / SLOT;
		kit_bytes_copy(head + HEADERS * SLOT, (const char *)(uintptr_t)wr->sg_list->addr,
			       length);
	} else {
		sge_write(head + HEADERS * SLOT, wr->sg_list);
	}
	write_32(head + AT_LENGTH, length);
	if (op->kind == KIND_WRITE) {
		write_64(head + AT_REMOTE_ADDRESS, wr->wr.rdma.remote_addr);
		write_32(head + AT_REMOTE_KEY, wr->wr.rdma.rkey);
	}
	head_write(head, op, flags, slots, be32toh(wr->imm_data));
	*room -= request_end(sq, wr->wr_id, length, op->opcode, flags & WQE_SIGNALED, slots);
	return true;
}

int bnxt_re_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct bnxt_re_qp *qp = to_bqp(ibqp);
	struct bnxt_re_sq *sq = &qp->sq;
	uint32_t before;
	int room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	before = sq->posted_here;
	room = likely(sq->max_sge > 0) && likely(sq->connected) ? room_of(sq) : 0;
	for (; wr; wr = wr->next)
		if (!is_plain(sq, wr, room) || unlikely(!plain_write(sq, &room, wr)))
			return post_rest(qp, wr, bad_wr, before);
	return post_end(sq, before);
}
