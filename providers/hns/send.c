/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_post_send(). Requests with one entry or few inline bytes make no function call. */
#include "providers/hns/request.h"

/* Log why a request is refused and return the errno. @max_sge: hns_sq.max_sge, read under the lock,
 * because a poll of a failure may change it */
__attribute__((noinline, cold)) static int
send_refuse(struct hns_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault, int max_sge)
{
	struct hns_sq *sq = &qp->sq;
	bool read = wr->opcode == IBV_WR_RDMA_READ;
	const struct kit_sq_limits limits = {
		.closed = max_sge < 0,
		.atomics = true,
		.max_post = sq->max_post,
		.max_sge = max_sge,
		.max_inline = read ? 0 : min_of(sq->max_inline, sq->mtu),
		.no_flags = ~(unsigned int)SEND_FLAGS,
	};

	return kit_post_refuse(&qp->vqp.qp, &sq->said, wr, fault, &limits);
}

/* ---- requests of any kind */

static enum kit_fault send_check(const struct hns_sq *sq, const struct ibv_send_wr *wr,
				 uint64_t length)
{
	const struct send_op *op = &send_ops[wr->opcode];

	if (wr->send_flags & ~(unsigned int)SEND_FLAGS)
		return KIT_FAULT_SEND_FLAGS;
	if (sq->datagrams && op->opcode != OP_SEND && op->opcode != OP_SEND_IMM)
		return KIT_FAULT_OPCODE;
	if (sq->datagrams && !wr->wr.ud.ah)
		return KIT_FAULT_AH;
	if (op->has & HAS_ATOMIC) {
		if (wr->num_sge != 1 || wr->send_flags & IBV_SEND_INLINE)
			return KIT_FAULT_ATOMIC_LIST;
		if (wr->wr.atomic.remote_addr % sizeof(uint64_t))
			return KIT_FAULT_ATOMIC_ADDR;
		return length == sizeof(uint64_t) ? KIT_FAULT_NONE : KIT_FAULT_ATOMIC_LENGTH;
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return op->has & IS_READ || length > min_of(sq->max_inline, sq->mtu)
			       ? KIT_FAULT_INLINE
			       : KIT_FAULT_NONE;
	return length > UINT32_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/* Write inline data, and the words that locate them. Return the number of used entries in the ring
 * of segments. */
static uint32_t inline_put(const struct hns_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			   uint32_t length, uint32_t low)
{
	bool inside = length <= (sq->datagrams ? INLINE_UD : INLINE_INSIDE);
	uint32_t used = inside ? 0 : (length + SEGMENT - 1) / SEGMENT, at = 0, count = 0;
	uint32_t segment = sq->segment & sq->segment_mask;
	char few[INLINE_INSIDE], *to = sq->datagrams ? few : wqe + AT_DATA;

	put_32(wqe + AT_SEGMENT, inside ? segment : segment | INLINE_OUT);
	for (int i = 0; i < wr->num_sge; i++) {
		const char *from = (const char *)(uintptr_t)wr->sg_list[i].addr;
		uint32_t part = wr->sg_list[i].length;

		if (inside)
			memcpy(to + at, from, part);
		else
			segments_copy(sq, at, from, part);
		at += part;
		count += part > 0;
	}
	put_32(wqe + AT_COUNT, low | (inside ? count : used) << COUNT_SHIFT);
	if (inside && sq->datagrams)
		scattered_put(wqe, few, length);
	return used;
}

/* Write a checked request except for its first word. Return the number of used entries in the ring
 * of segments. */
static uint32_t body_put(struct hns_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			 uint32_t length)
{
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t imm = op->has & HAS_IMM   ? be32toh(wr->imm_data)
		       : op->has & HAS_INV ? wr->invalidate_rkey
					   : 0;
	uint32_t low = sq->xrc ? wr->qp_type.xrc.remote_srqn & HNS_NUMBER_MASK : 0, used;

	put_32(wqe + AT_LENGTH, length);
	put_32(wqe + AT_IMM, imm);
	if (sq->datagrams) {
		const struct hns_ah *ah = (const struct hns_ah *)wr->wr.ud.ah;

		low = ah->pd_number;
		sl_set(sq, ah->sl);
		datagram_put(sq, wqe, ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	} else if (op->has & HAS_ATOMIC) {
		bool swaps = op->opcode == OP_CMP_SWAP;

		remote_put(wqe, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
		put_64(wqe + AT_OPERANDS, swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
		put_64(wqe + AT_OPERANDS + 8, swaps ? wr->wr.atomic.compare_add : 0);
		segment_put(wqe + AT_DATA, wr->sg_list->addr, sizeof(uint64_t), wr->sg_list->lkey);
		put_32(wqe + AT_COUNT, low | 1u << COUNT_SHIFT);
		put_32(wqe + AT_SEGMENT, sq->segment & sq->segment_mask);
		return 0;
	} else if (op->has & HAS_REMOTE) {
		remote_put(wqe, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return inline_put(sq, wqe, wr, length, low);
	put_32(wqe + AT_COUNT, low | list_put(sq, wqe, wr->sg_list, wr->num_sge, &used)
					       << COUNT_SHIFT);
	put_32(wqe + AT_SEGMENT, sq->segment & sq->segment_mask);
	return used;
}

static enum kit_fault request_check(const struct hns_sq *sq, const struct ibv_send_wr *wr,
				    uint32_t room, uint64_t *ret_length)
{
	/* max_sge is -1 in states that accept no sends. Each send then exceeds the limit of 0. */
	uint32_t sge_limit = (uint32_t)sq->max_sge + 1;
	uint64_t length = 0;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || !send_ops[wr->opcode].known)
		return KIT_FAULT_OPCODE;
	if ((uint32_t)wr->num_sge >= sge_limit)
		return KIT_FAULT_NUM_SGE;
	if (wr->num_sge && !wr->sg_list)
		return KIT_FAULT_SG_LIST;
	if (!room)
		return KIT_FAULT_FULL;
	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	*ret_length = length;
	return send_check(sq, wr, length);
}

/* Post requests of any kind. The caller holds the lock, and this function releases it. Requests up
 * to @head are in the ring without a doorbell. */
SEPARATE static int post_rest(struct hns_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t head)
{
	struct hns_sq *sq = &qp->sq;
	uint32_t end = sq->head + hns_room(sq->head, &sq->tail, sq->max_post);
	enum kit_fault fault = KIT_FAULT_NONE;
	bool flushes = sq->flushes;
	int max_sge = sq->max_sge;
	char *last = NULL;

	for (; wr; wr = wr->next, head++) {
		char *wqe = wqe_at(sq, head);
		uint64_t length;

		fault = request_check(sq, wr, end - head, &length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		sq->segment += body_put(sq, wqe, wr, length);
		sq->wr_ids[head & sq->mask] = wr->wr_id;
		first_put(sq, wqe,
			  send_ops[wr->opcode].opcode | owner_bit(sq, head) |
				  flag_bits[wr->send_flags & SEND_FLAGS]);
		last = wqe;
	}
	if (likely(head != sq->head))
		sq_ring(sq, head, fault || head - sq->head != 1 ? NULL : last);
	else
		spinlock_unlock(&sq->lock);
	if (unlikely(flushes))
		hns_qp_flush(qp);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault, max_sge);
}

SEPARATE static int post_contended(struct hns_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head);
}

/* ---- plain requests */

/* Write the request if it is a plain one of a connection. Return: whether it is. */
FLAT bool plain_put(struct hns_sq *sq, char *wqe, uint32_t head, const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[wr->opcode & 7];
	const struct ibv_sge *sge = wr->sg_list;
	uint32_t imm = 0, segment = sq->segment & sq->segment_mask;

	if (unlikely(wr->num_sge != 1) || unlikely(!sge) || unlikely(!sge->length) ||
	    unlikely(!(sq->plain_ops >> (wr->opcode & 31) & 1)) ||
	    unlikely((wr->opcode | wr->send_flags) & ~15u))
		return false;
	if (wr->send_flags & IBV_SEND_INLINE) {
		if (unlikely(sge->length > INLINE_INSIDE) ||
		    unlikely(sge->length > sq->max_inline) || unlikely(sge->length > sq->mtu) ||
		    unlikely(op->has & IS_READ))
			return false;
		kit_bytes_copy(wqe + AT_DATA, (const char *)(uintptr_t)sge->addr, sge->length);
	} else {
		segment_put(wqe + AT_DATA, sge->addr, sge->length, sge->lkey);
	}
	if (op->has & HAS_IMM)
		imm = be32toh(wr->imm_data);
	put_32(wqe + AT_LENGTH, sge->length);
	put_64(wqe + AT_IMM, imm | 1ull << (32 + COUNT_SHIFT));
	if (op->has & HAS_REMOTE) {
		put_64(wqe + AT_SEGMENT, segment | (uint64_t)wr->wr.rdma.rkey << 32);
		put_64(wqe + AT_ADDRESS, wr->wr.rdma.remote_addr);
	} else {
		put_32(wqe + AT_SEGMENT, segment);
	}
	sq->wr_ids[head & sq->mask] = wr->wr_id;
	first_put(sq, wqe, op->opcode | owner_bit(sq, head) | flag_bits[wr->send_flags]);
	return true;
}

int hns_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct hns_qp *qp = to_hqp(ibqp);
	struct hns_sq *sq = &qp->sq;
	uint32_t head, end;
	char *wqe = NULL;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = sq->head;
	end = head + hns_room(head, &sq->tail, sq->max_post);
	for (; wr; wr = wr->next, head++) {
		wqe = wqe_at(sq, head);
		if (unlikely(head == end) || unlikely(!plain_put(sq, wqe, head, wr)))
			return post_rest(qp, wr, bad_wr, head);
	}
	if (likely(wqe))
		sq_ring(sq, head, head - sq->head == 1 ? wqe : NULL);
	else
		spinlock_unlock(&sq->lock);
	return 0;
}
