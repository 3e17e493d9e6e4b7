/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): the builders write a batch of requests after the tail of the ring. The first error
 * ends the batch: builders then do nothing, ibv_wr_complete() returns the error, and no request is
 * posted.
 */
#include "providers/bnxt_re/request.h"
#include "providers/kit/wr.h"

#define OPS_RAW	   IBV_QP_EX_WITH_SEND
#define OPS_UD	   (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_RC                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_READ)

uint64_t bnxt_re_wr_ops(const struct bnxt_re_context *ctx, enum ibv_qp_type type)
{
	if (type == IBV_QPT_RAW_PACKET)
		return OPS_RAW;
	if (type == IBV_QPT_UD)
		return OPS_UD;
	return ctx->atomics ? OPS_RC | OPS_ATOMIC : OPS_RC;
}

static inline struct bnxt_re_qp *ex_to_bqp(struct ibv_qp_ex *qp_ex)
{
	return (struct bnxt_re_qp *)qp_ex;
}

/* Errors are those of ibv_post_send(). After ENOMEM programs repeat the post. */
__attribute__((noinline, cold)) static void wr_refuse(struct bnxt_re_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct bnxt_re_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_wr_refuse(&qp->vqp.qp, &qp->sq.said, fault, value, limit);
	batch->head = NULL;
}

__attribute__((noinline, cold)) static void begin_refuse(struct bnxt_re_qp *qp,
							 unsigned int wr_flags)
{
	uint32_t most = qp->vqp.cap.max_send_wr;

	if (!most)
		wr_refuse(qp, KIT_FAULT_NO_QUEUE, 0, 0);
	else if (qp->sq.max_sge < 0)
		wr_refuse(qp, KIT_FAULT_STATE, 0, 0);
	else if (wr_flags & ~15u)
		wr_refuse(qp, KIT_FAULT_SEND_FLAGS, wr_flags & ~15u, 0);
	else
		wr_refuse(qp, KIT_FAULT_FULL, most, most);
}

/* Finish the current request, if there is one, and advance past it. */
FLAT void wr_finish(struct bnxt_re_qp *qp)
{
	struct bnxt_re_sq *sq = &qp->sq;
	struct bnxt_re_batch *batch = &sq->batch;

	if (!batch->head)
		return;
	if (unlikely(batch->incomplete)) {
		wr_refuse(qp, KIT_FAULT_SETTER, 0, 0);
		return;
	}
	request_pass(sq, sq->sent[sq->index].slots);
	batch->count++;
	batch->head = NULL;
}

/* Set the length of the current request, and its slots of the ring with both headers, in its header
 * and for its completion. Return: whether they fit. */
FLAT bool data_set(struct bnxt_re_qp *qp, uint32_t flags, uint32_t slots, uint32_t length)
{
	struct bnxt_re_sq *sq = &qp->sq;
	struct bnxt_re_batch *batch = &sq->batch;
	struct bnxt_re_sent *sent = &sq->sent[sq->index];
	uint32_t step = sq->step ? sq->step : slots;

	if (unlikely(batch->room + sent->slots < (int)step)) {
		wr_refuse(qp, KIT_FAULT_FULL, qp->vqp.cap.max_send_wr, qp->vqp.cap.max_send_wr);
		return false;
	}
	batch->room += sent->slots - (int)step;
	sent->slots = step;
	sent->length = length;
	if (batch->op->kind != KIND_ATOMIC)
		write_32(batch->head + AT_LENGTH, length);
	head_write(batch->head, batch->op, batch->flags | flags, slots, batch->imm);
	return true;
}

/* Begin a request without data. Return: whether the batch has not failed. */
FLAT bool wr_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct bnxt_re_qp *qp = ex_to_bqp(qp_ex);
	struct bnxt_re_sq *sq = &qp->sq;
	struct bnxt_re_batch *batch = &sq->batch;
	uint32_t flags = sq->flags | flag_bits[qp_ex->wr_flags & 15 & ~IBV_SEND_INLINE];
	struct bnxt_re_sent *sent;

	wr_finish(qp);
	if (unlikely(batch->error))
		return false;
	if (unlikely(batch->room < HEADERS || qp_ex->wr_flags & ~15u)) {
		begin_refuse(qp, qp_ex->wr_flags);
		return false;
	}
	batch->head = slot_at(sq, 0);
	batch->op = &send_ops[opcode];
	batch->flags = flags;
	batch->imm = imm;
	batch->incomplete = sq->datagrams || batch->op->kind == KIND_ATOMIC;
	sent = &sq->sent[sq->index];
	sent->wr_id = qp_ex->wr_id;
	sent->opcode = batch->op->opcode;
	sent->signaled = flags & WQE_SIGNALED;
	sent->slots = 0;
	return data_set(qp, 0, HEADERS, 0);
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

FLAT void wr_rdma(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t imm, uint32_t rkey,
		  uint64_t remote_addr)
{
	if (likely(wr_begin(qp_ex, opcode, imm)))
		remote_write(&ex_to_bqp(qp_ex)->sq, remote_addr, rkey);
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

/* The key replaces the immediate data of other requests. */
static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t operand, uint64_t compare)
{
	if (unlikely(!wr_begin(qp_ex, opcode, rkey)))
		return;
	if (unlikely(remote_addr % 8))
		wr_refuse(ex_to_bqp(qp_ex), KIT_FAULT_ATOMIC_ADDR, remote_addr, 0);
	else
		atomic_write(&ex_to_bqp(qp_ex)->sq, remote_addr, operand, compare);
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

/* Return whether there is a current request. */
FLAT bool wr_is_open(struct bnxt_re_qp *qp)
{
	if (likely(qp->sq.batch.head))
		return true;
	wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
	return false;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct bnxt_re_qp *qp = ex_to_bqp(qp_ex);

	if (unlikely(!wr_is_open(qp)))
		return;
	if (unlikely(!ah || !qp->sq.datagrams)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	address_write(&qp->sq, ah, remote_qpn, remote_qkey);
	qp->sq.batch.incomplete = false;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct bnxt_re_qp *qp = ex_to_bqp(qp_ex);
	struct bnxt_re_batch *batch = &qp->sq.batch;
	bool atomic;
	uint64_t length = 0;

	if (unlikely(!wr_is_open(qp)))
		return;
	atomic = batch->op->kind == KIND_ATOMIC;
	if (unlikely(num_sge > (size_t)qp->sq.max_sge)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, qp->sq.max_sge);
		return;
	}
	for (size_t i = 0; i < num_sge; i++)
		length += sg_list[i].length;
	if (unlikely(length > UINT32_MAX)) {
		wr_refuse(qp, KIT_FAULT_LENGTH, length, UINT32_MAX);
		return;
	}
	if (unlikely(atomic && num_sge != 1)) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LIST, num_sge, 0);
		return;
	}
	if (unlikely(!data_set(qp, 0, HEADERS + num_sge, length)))
		return;
	for (size_t i = 0; i < num_sge; i++)
		sge_write(slot_at(&qp->sq, HEADERS + i), &sg_list[i]);
	if (atomic)
		batch->incomplete = false;
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = addr, .length = length };

	wr_set_sge_list(qp_ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct bnxt_re_qp *qp = ex_to_bqp(qp_ex);
	enum send_kind kind;
	size_t length = 0;
	uint32_t limit;

	if (unlikely(!wr_is_open(qp)))
		return;
	kind = qp->sq.batch.op->kind;
	limit = kind == KIND_SEND || kind == KIND_WRITE ? qp->sq.max_inline : 0;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > limit - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length, limit);
			return;
		}
		length += buf_list[i].length;
	}
	if (unlikely(!data_set(qp, WQE_INLINE, HEADERS + (length + SLOT - 1) / SLOT, length)))
		return;
	length = 0;
	for (size_t i = 0; i < num_buf; i++) {
		inline_copy(&qp->sq, length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct bnxt_re_sq *sq = &ex_to_bqp(qp_ex)->sq;

	spinlock_lock(&sq->lock);
	sq->batch = (struct bnxt_re_batch){
		.tail = sq->tail,
		.index = sq->index,
		.room = likely(sq->max_sge >= 0) ? room_of(sq) : 0,
	};
}

/* Return the queue to the start of the batch. */
FLAT void wr_restore(struct bnxt_re_sq *sq)
{
	sq->tail = sq->batch.tail;
	sq->index = sq->batch.index;
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct bnxt_re_qp *qp = ex_to_bqp(qp_ex);
	struct bnxt_re_sq *sq = &qp->sq;
	int r;

	wr_finish(qp);
	wr_restore(sq);
	r = sq->batch.error;
	if (unlikely(r) || unlikely(!sq->batch.count)) {
		spinlock_unlock(&sq->lock);
		return r;
	}
	for (uint32_t left = sq->batch.count; left; left--) {
		const struct bnxt_re_sent sent = sq->sent[sq->index];

		request_end(sq, sent.wr_id, sent.length, sent.opcode, sent.signaled, sent.slots);
	}
	requests_announce(sq);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct bnxt_re_sq *sq = &ex_to_bqp(qp_ex)->sq;

	wr_restore(sq);
	spinlock_unlock(&sq->lock);
}

static const struct ibv_qp_ex wr_slots = {
	.wr_start = wr_start,
	.wr_complete = wr_complete,
	.wr_abort = wr_abort,
	.wr_set_ud_addr = wr_set_ud_addr,
	.wr_set_inline_data = wr_set_inline_data,
	.wr_set_inline_data_list = wr_set_inline_data_list,
	.wr_set_sge = wr_set_sge,
	.wr_set_sge_list = wr_set_sge_list,
	.wr_send = wr_send,
	.wr_send_imm = wr_send_imm,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_rdma_read = wr_rdma_read,
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
};

void bnxt_re_wr_set_slots(struct bnxt_re_qp *qp, uint64_t ops)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, ops);
}
