/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): the builders write a batch of requests behind the head of the ring. Until the batch
 * is complete, the first word of each request has the owner's bit of the previous phase. Therefore
 * the device does not execute these requests. The first error ends the batch: builders then do
 * nothing, ibv_wr_complete() returns the error, and no request is posted.
 */
#include "providers/hns/request.h"
#include "providers/kit/wr.h"

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_RC                                                               \
	(OPS_UD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |     \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* Bits of hns_batch.needs: data that the current request still needs. */
enum {
	NEEDS_ADDRESS = 1,
	NEEDS_SRQ = 2,
	NEEDS_RESULT = 4, /* memory for the result of an atomic */
};

uint64_t hns_wr_ops(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? OPS_UD : type == IBV_QPT_XRC_RECV ? 0 : OPS_RC;
}

static inline struct hns_qp *ex_to_hqp(struct ibv_qp_ex *qp_ex)
{
	return (struct hns_qp *)qp_ex;
}

/* Fail the batch with the errors of ibv_post_send(). In particular a full queue is ENOMEM, after
 * which programs repeat the post. */
__attribute__((noinline, cold)) static void wr_refuse(struct hns_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct hns_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_wr_refuse(&qp->vqp.qp, &qp->sq.said, fault, value, limit);
	batch->now = NULL;
}

__attribute__((noinline, cold)) static void begin_refuse(struct hns_qp *qp, unsigned int wr_flags)
{
	uint32_t most = qp->sq.max_post;

	if (qp->sq.max_sge < 0)
		wr_refuse(qp, KIT_FAULT_STATE, 0, 0);
	else if (wr_flags & ~(unsigned int)SEND_FLAGS)
		wr_refuse(qp, KIT_FAULT_SEND_FLAGS, wr_flags & ~(unsigned int)SEND_FLAGS, 0);
	else
		wr_refuse(qp, KIT_FAULT_FULL, most, most);
}

/* Finish the current request, if there is one, and advance past it. */
FLAT void wr_finish(struct hns_qp *qp)
{
	struct hns_sq *sq = &qp->sq;
	struct hns_batch *batch = &sq->batch;

	if (!batch->now)
		return;
	if (unlikely(batch->needs)) {
		wr_refuse(qp, KIT_FAULT_SETTER, 0, 0);
		return;
	}
	put_32(batch->now, batch->first);
	sq->segment += batch->used;
	sq->head++;
	batch->now = NULL;
}

/* Begin a request without data. NULL: the batch has failed. */
FLAT char *wr_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	struct hns_sq *sq = &qp->sq;
	struct hns_batch *batch = &sq->batch;
	char *wqe;

	wr_finish(qp);
	if (unlikely(batch->error))
		return NULL;
	if (unlikely(sq->head == batch->end || qp_ex->wr_flags & ~(unsigned int)SEND_FLAGS)) {
		begin_refuse(qp, qp_ex->wr_flags);
		return NULL;
	}
	wqe = wqe_at(sq, sq->head);
	batch->now = wqe;
	batch->first = send_ops[opcode].opcode | (owner_bit(sq, sq->head) ^ WQE_OWNER) |
		       (flag_bits[qp_ex->wr_flags] & ~WQE_INLINE);
	batch->used = 0;
	batch->needs = (sq->datagrams ? NEEDS_ADDRESS : 0) | (sq->xrc ? NEEDS_SRQ : 0) |
		       (send_ops[opcode].has & HAS_ATOMIC ? NEEDS_RESULT : 0);
	sq->wr_ids[sq->head & sq->mask] = qp_ex->wr_id;
	put_32(wqe + AT_LENGTH, 0);
	put_32(wqe + AT_IMM, imm);
	put_32(wqe + AT_COUNT, 0);
	put_32(wqe + AT_SEGMENT, sq->segment & sq->segment_mask);
	put_32(wqe + AT_KEY, 0);
	return wqe;
}

/* ---- builders */

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_begin(qp_ex, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	wr_begin(qp_ex, IBV_WR_SEND_WITH_IMM, be32toh(imm_data));
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	wr_begin(qp_ex, IBV_WR_SEND_WITH_INV, rkey);
}

FLAT void wr_rdma(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t imm, uint32_t rkey,
		  uint64_t remote_addr)
{
	char *wqe = wr_begin(qp_ex, opcode, imm);

	if (likely(wqe))
		remote_put(wqe, remote_addr, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE, 0, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, be32toh(imm_data), rkey, remote_addr);
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_READ, 0, rkey, remote_addr);
}

static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t operand, uint64_t compare)
{
	char *wqe = wr_begin(qp_ex, opcode, 0);

	if (unlikely(!wqe))
		return;
	if (unlikely(remote_addr % sizeof(uint64_t))) {
		wr_refuse(ex_to_hqp(qp_ex), KIT_FAULT_ATOMIC_ADDR, remote_addr, 0);
		return;
	}
	remote_put(wqe, remote_addr, rkey);
	put_64(wqe + AT_OPERANDS, operand);
	put_64(wqe + AT_OPERANDS + 8, compare);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, swap, compare);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

/* ---- setters */

/* Return the current request. NULL: there is none. */
FLAT char *wr_open(struct hns_qp *qp)
{
	if (likely(qp->sq.batch.now))
		return qp->sq.batch.now;
	wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
	return NULL;
}

static bool is_atomic(const struct hns_batch *batch)
{
	uint32_t opcode = batch->first & CQE_OPCODE_MASK;

	return opcode == OP_CMP_SWAP || opcode == OP_FETCH_ADD;
}

/* Set the domain or the SRQ. The number of segments, in the upper part of the word, does not
 * change. */
static void low_set(char *wqe, uint32_t low)
{
	put_32(wqe + AT_COUNT, (get_32(wqe + AT_COUNT) & ~(uint32_t)HNS_NUMBER_MASK) | low);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ibah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	const struct hns_ah *ah = (const struct hns_ah *)ibah;
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	char *wqe = wr_open(qp);
	uint32_t half;

	if (unlikely(!wqe))
		return;
	if (unlikely(!ah || !qp->sq.datagrams)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	half = get_32(wqe + AT_KEY) & 0xffff;
	datagram_put(&qp->sq, wqe, ah, remote_qpn, remote_qkey);
	put_32(wqe + AT_KEY, (uint32_t)ah->sport << 16 | half);
	low_set(wqe, ah->pd_number);
	sl_set(&qp->sq, ah->sl);
	qp->sq.batch.needs &= ~NEEDS_ADDRESS;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp_ex, uint32_t remote_srqn)
{
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	char *wqe = wr_open(qp);

	if (unlikely(!wqe))
		return;
	if (unlikely(!qp->sq.xrc)) {
		wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
		return;
	}
	low_set(wqe, remote_srqn & HNS_NUMBER_MASK);
	qp->sq.batch.needs &= ~NEEDS_SRQ;
}

FLAT void list_set(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	struct hns_sq *sq = &qp->sq;
	struct hns_batch *batch = &sq->batch;
	char *wqe = wr_open(qp);
	uint64_t length = 0;

	if (unlikely(!wqe))
		return;
	for (size_t i = 0; i < num_sge; i++)
		length += sg_list[i].length;
	if (unlikely(num_sge > (size_t)sq->max_sge)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, sq->max_sge);
	} else if (unlikely(length > UINT32_MAX)) {
		wr_refuse(qp, KIT_FAULT_LENGTH, length, UINT32_MAX);
	} else if (unlikely(is_atomic(batch) && num_sge != 1)) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LIST, num_sge, 0);
	} else if (unlikely(is_atomic(batch) && length != sizeof(uint64_t))) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LENGTH, length, 0);
	} else {
		put_32(wqe + AT_LENGTH, length);
		count_set(wqe, list_put(sq, wqe, sg_list, num_sge, &batch->used));
		batch->needs &= ~NEEDS_RESULT;
	}
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	list_set(qp_ex, num_sge, sg_list);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = addr, .length = length };

	list_set(qp_ex, 1, &sge);
}

/* Write inline data whose length was checked. */
static void inline_put(struct hns_sq *sq, char *wqe, size_t num_buf,
		       const struct ibv_data_buf *buf_list, uint32_t length)
{
	bool inside = length <= (sq->datagrams ? INLINE_UD : INLINE_INSIDE);
	char few[INLINE_UD], *to = sq->datagrams ? few : wqe + AT_DATA;
	struct hns_batch *batch = &sq->batch;
	uint32_t at = 0;

	batch->first |= WQE_INLINE;
	batch->used = inside ? 0 : (length + SEGMENT - 1) / SEGMENT;
	put_32(wqe + AT_LENGTH, length);
	count_set(wqe, batch->used);
	put_32(wqe + AT_SEGMENT, (sq->segment & sq->segment_mask) | (inside ? 0 : INLINE_OUT));
	for (size_t i = 0; i < num_buf; at += buf_list[i++].length) {
		if (inside)
			memcpy(to + at, buf_list[i].addr, buf_list[i].length);
		else
			segments_copy(sq, at, buf_list[i].addr, buf_list[i].length);
	}
	if (inside && sq->datagrams)
		scattered_put(wqe, few, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	struct hns_sq *sq = &qp->sq;
	char *wqe = wr_open(qp);
	size_t length = 0;
	uint32_t limit;

	if (unlikely(!wqe))
		return;
	limit = is_atomic(&sq->batch) || (sq->batch.first & CQE_OPCODE_MASK) == OP_READ
			? 0
			: min_of(sq->max_inline, sq->mtu);
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > limit - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length, limit);
			return;
		}
		length += buf_list[i].length;
	}
	inline_put(sq, wqe, num_buf, buf_list, length);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct hns_sq *sq = &ex_to_hqp(qp_ex)->sq;
	uint32_t room;

	spinlock_lock(&sq->lock);
	room = sq->max_sge < 0 ? 0 : hns_room(sq->head, &sq->tail, sq->max_post);
	sq->batch.head = sq->head;
	sq->batch.segment = sq->segment;
	sq->batch.end = sq->head + room;
	sq->batch.error = 0;
	sq->batch.now = NULL;
}

/* Return the queue to the start of the batch. */
static void wr_restore(struct hns_sq *sq)
{
	sq->head = sq->batch.head;
	sq->segment = sq->batch.segment;
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct hns_qp *qp = ex_to_hqp(qp_ex);
	struct hns_sq *sq = &qp->sq;
	uint32_t end, head = sq->batch.head;
	bool flushes = sq->flushes;

	wr_finish(qp);
	end = sq->head;
	if (unlikely(sq->batch.error) || unlikely(end == head)) {
		int r = sq->batch.error;

		wr_restore(sq);
		spinlock_unlock(&sq->lock);
		return r;
	}
	for (; head != end; head++) {
		char *wqe = wqe_at(sq, head);

		first_put(sq, wqe, get_32(wqe) ^ WQE_OWNER);
	}
	sq_ring(sq, end, end - sq->batch.head == 1 ? wqe_at(sq, end - 1) : NULL);
	if (unlikely(flushes))
		hns_qp_flush(qp);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct hns_sq *sq = &ex_to_hqp(qp_ex)->sq;

	wr_restore(sq);
	spinlock_unlock(&sq->lock);
}

static const struct ibv_qp_ex wr_slots = {
	.wr_start = wr_start,
	.wr_complete = wr_complete,
	.wr_abort = wr_abort,
	.wr_set_ud_addr = wr_set_ud_addr,
	.wr_set_xrc_srqn = wr_set_xrc_srqn,
	.wr_set_inline_data = wr_set_inline_data,
	.wr_set_inline_data_list = wr_set_inline_data_list,
	.wr_set_sge = wr_set_sge,
	.wr_set_sge_list = wr_set_sge_list,
	.wr_send = wr_send,
	.wr_send_imm = wr_send_imm,
	.wr_send_inv = wr_send_inv,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_rdma_read = wr_rdma_read,
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
};

void hns_wr_set_slots(struct hns_qp *qp, uint64_t ops)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, ops);
}
