/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): the builders write a batch of requests after the head of the ring, except for their
 * headers. The first error ends the batch: builders then do nothing, ibv_wr_complete() returns the
 * error, and no request is posted.
 *
 * The size of a request is known with its data, and decides its place in the ring. Therefore what
 * precedes the data is kept in irdma_building.
 */
#include "providers/irdma/request.h"
#include "providers/kit/wr.h"

#define OPS_ALL (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_RC                                                           \
	(IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |      \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

uint64_t irdma_wr_ops(const struct irdma_context *ctx, enum ibv_qp_type type)
{
	bool iwarp = irdma_is_iwarp(&ctx->vctx.context);
	uint64_t ops = OPS_ALL & ~(iwarp ? (uint64_t)IBV_QP_EX_WITH_SEND_WITH_IMM : 0);

	if (type == IBV_QPT_UD)
		return ops;
	return ops | OPS_RC | (ctx->features & IRDMA_FEATURE_ATOMICS ? OPS_ATOMIC : 0);
}

static inline struct irdma_qp *ex_to_iqp(struct ibv_qp_ex *qp_ex)
{
	return (struct irdma_qp *)qp_ex;
}

/* Errors are those of ibv_post_send(). After ENOMEM programs repeat the post. */
__attribute__((noinline, cold)) static void wr_refuse(struct irdma_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct irdma_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_wr_refuse(&qp->vqp.qp, &qp->sq.said, fault, value, limit);
	batch->now.op = NULL;
}

/* ---- the place of a request */

/* Make the quanta from @from to the head look stale again, and move the head back. */
static void head_restore(struct irdma_sq *sq, uint32_t from)
{
	for (uint32_t at = from; at != sq->head; at++)
		word_write(quantum_at(sq, at) + AT_HEADER, valid_at(sq, at) ^ IRDMA_VALID);
	sq->head = from;
}

/* Place the current request, which may have been placed before. NULL: the ring has no room. */
static char *wr_place(struct irdma_qp *qp, uint32_t quanta)
{
	struct irdma_sq *sq = &qp->sq;
	struct irdma_building *now = &sq->batch.now;
	uint32_t padding;

	if (now->placed)
		head_restore(sq, now->before);
	padding = padding_of(sq, sq->head, quanta);
	if (room_of(sq) < (int)(quanta + padding)) {
		wr_refuse(qp, KIT_FAULT_FULL, qp->vqp.cap.max_send_wr, qp->vqp.cap.max_send_wr);
		return NULL;
	}
	now->placed = true;
	now->before = sq->head;
	for (; padding; padding--)
		padding_write(sq, sq->head++);
	now->at = sq->head;
	sent_at(sq, now->at)->quanta = quanta;
	if (now->op->kind != KIND_ATOMIC)
		ring_stamp(sq, now->at);
	sq->head += quanta;
	return quantum_at(sq, now->at);
}

/* Place a request with these entries. */
static void list_set(struct irdma_qp *qp, size_t num_sge, const struct ibv_sge *sge)
{
	struct irdma_sq *sq = &qp->sq;
	struct irdma_building *now = &sq->batch.now;
	bool immediate = now->op->immediate;
	uint32_t count = num_sge + immediate;
	char *wqe = wr_place(qp, fragments_quanta(count));
	uint64_t valid;

	if (!wqe)
		return;
	valid = valid_at(sq, now->at);
	if (immediate || !count) {
		word_write(wqe, now->imm);
		word_write(wqe + AT_SECOND, immediate || sq->old_format ? 0 : valid);
	}
	list_write(immediate ? wqe + IRDMA_QUANTUM : wqe,
		   immediate ? wqe + IRDMA_QUANTUM + FRAGMENT : wqe + IRDMA_QUANTUM, sge, num_sge,
		   count && !(count & 1), sq->old_format, valid);
	now->data = count_field(count, sq->even_extra);
}

/* Finish the current request, if there is one. */
static void wr_finish(struct irdma_qp *qp)
{
	struct irdma_sq *sq = &qp->sq;
	struct irdma_building *now = &sq->batch.now;

	if (!now->op)
		return;
	if (unlikely(now->incomplete)) {
		wr_refuse(qp, KIT_FAULT_SETTER, 0, 0);
		return;
	}
	if (!now->placed)
		list_set(qp, 0, NULL);
	if (!now->op)
		return;
	word_write(quantum_at(sq, now->at) + AT_THIRD, now->third);
	sent_note(sq, now->at, now->wr_id, now->length, now->op->opcode,
		  sent_at(sq, now->at)->quanta);
	sent_at(sq, now->at)->header = now->header | now->data;
	now->op = NULL;
}

/* ---- builders */

__attribute__((noinline, cold)) static void begin_refuse(struct irdma_qp *qp, unsigned int wr_flags)
{
	if (qp->sq.max_sge < 0)
		wr_refuse(qp, KIT_FAULT_STATE, 0, 0);
	else
		wr_refuse(qp, KIT_FAULT_SEND_FLAGS, wr_flags & ~15u, 0);
}

/* Begin a request without data. NULL: the batch has failed. */
static struct irdma_building *wr_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
				       uint32_t key, uint64_t third)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_sq *sq = &qp->sq;
	const struct send_op *op = &send_ops[opcode];

	wr_finish(qp);
	if (unlikely(sq->batch.error))
		return NULL;
	if (unlikely(sq->max_sge < 0 || qp_ex->wr_flags & ~15u)) {
		begin_refuse(qp, qp_ex->wr_flags);
		return NULL;
	}
	sq->batch.now = (struct irdma_building){
		.op = op,
		.header = header_of(sq, op, qp_ex->wr_flags) | key,
		.third = third,
		.wr_id = qp_ex->wr_id,
		.incomplete = sq->datagrams || op->kind == KIND_ATOMIC,
	};
	return &sq->batch.now;
}

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_begin(qp_ex, IBV_WR_SEND, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	struct irdma_building *now = wr_begin(qp_ex, IBV_WR_SEND_WITH_IMM, 0, 0);

	if (likely(now))
		now->imm = be32toh(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	wr_begin(qp_ex, IBV_WR_SEND_WITH_INV, rkey, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_begin(qp_ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct irdma_building *now = wr_begin(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (likely(now))
		now->imm = be32toh(imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_begin(qp_ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t operand, uint64_t compare)
{
	struct irdma_building *now = wr_begin(qp_ex, opcode, rkey, remote_addr);

	if (unlikely(!now))
		return;
	if (unlikely(remote_addr % 8))
		wr_refuse(ex_to_iqp(qp_ex), KIT_FAULT_ATOMIC_ADDR, remote_addr, 0);
	now->operand = operand;
	now->compare = compare;
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

static void wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	char *wqe;

	if (unlikely(!wr_begin(qp_ex, IBV_WR_LOCAL_INV, 0, 0)))
		return;
	wqe = wr_place(qp, 1);
	if (likely(wqe))
		invalidate_write(wqe, rkey, qp->sq.old_format);
}

static void wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_building *now = wr_begin(qp_ex, IBV_WR_BIND_MW, 0, bind_info->length);
	char *wqe;

	if (unlikely(!now))
		return;
	if (unlikely(irdma_bind_check(&qp->sq, mw, bind_info))) {
		wr_refuse(qp, KIT_FAULT_BIND_WR, 0, 0);
		return;
	}
	wqe = wr_place(qp, 1);
	if (likely(wqe))
		now->data = irdma_bind_write(&qp->sq, wqe, mw, rkey, bind_info);
}

/* ---- setters */

/* Return the current request, which takes data. NULL: there is none. */
static struct irdma_building *wr_open(struct irdma_qp *qp)
{
	struct irdma_building *now = &qp->sq.batch.now;

	if (likely(now->op) && likely(now->op->kind < KIND_INVALIDATE))
		return now;
	wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
	return NULL;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_building *now = wr_open(qp);

	if (unlikely(!now))
		return;
	if (unlikely(!ah || !qp->sq.datagrams)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	now->third = (uint64_t)(remote_qpn & 0xffffff) << 32 | remote_qkey;
	now->header =
		(now->header & ~(uint64_t)HEADER_AH_MASK) | ((const struct irdma_ah *)ah)->number;
	now->incomplete = false;
}

static void atomic_set(struct irdma_qp *qp, size_t num_sge, const struct ibv_sge *sge)
{
	struct irdma_building *now = &qp->sq.batch.now;
	char *wqe;

	if (unlikely(num_sge != 1)) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LIST, num_sge, 0);
		return;
	}
	if (unlikely(sge->length != sizeof(uint64_t))) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LENGTH, sge->length, 0);
		return;
	}
	wqe = wr_place(qp, 2);
	if (unlikely(!wqe))
		return;
	atomic_write(wqe, sge, now->operand, now->compare, valid_at(&qp->sq, now->at));
	now->data = 1ull << HEADER_COUNT_SHIFT;
	now->incomplete = false;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_building *now = wr_open(qp);
	size_t limit = qp->sq.max_sge;

	if (unlikely(!now))
		return;
	if (now->op->kind == KIND_READ)
		limit = min_of(limit, (size_t)qp->sq.max_read_sge);
	if (unlikely(num_sge > limit) ||
	    unlikely(qp->sq.old_format &&
		     fragments_quanta(num_sge + now->op->immediate) > qp->sq.chunk)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, limit);
		return;
	}
	if (unlikely(!lengths_fit(sg_list, num_sge, &now->length))) {
		wr_refuse(qp, KIT_FAULT_LENGTH, now->length, FRAGMENT_MAX);
		return;
	}
	if (now->op->kind == KIND_ATOMIC)
		atomic_set(qp, num_sge, sg_list);
	else
		list_set(qp, num_sge, sg_list);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = addr, .length = length };

	wr_set_sge_list(qp_ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_building *now = wr_open(qp);
	struct inline_writer writer;
	size_t length = 0;
	uint32_t limit;
	char *wqe;

	if (unlikely(!now))
		return;
	limit = now->op->kind == KIND_SEND || now->op->kind == KIND_WRITE ? qp->sq.max_inline : 0;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > limit - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length, limit);
			return;
		}
		length += buf_list[i].length;
	}
	wqe = wr_place(qp, inline_quanta(&qp->sq, length));
	if (unlikely(!wqe))
		return;
	if (now->op->immediate)
		word_write(wqe, now->imm);
	writer = inline_begin(&qp->sq, wqe, valid_at(&qp->sq, now->at));
	for (size_t i = 0; i < num_buf; i++)
		inline_copy(&writer, buf_list[i].addr, buf_list[i].length);
	now->length = length;
	now->data = HEADER_INLINE | (uint64_t)length << HEADER_LENGTH_SHIFT;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct irdma_sq *sq = &ex_to_iqp(qp_ex)->sq;

	spinlock_lock(&sq->lock);
	sq->batch = (struct irdma_batch){ .start = sq->head };
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct irdma_qp *qp = ex_to_iqp(qp_ex);
	struct irdma_sq *sq = &qp->sq;
	uint32_t start = sq->batch.start;
	int r;

	wr_finish(qp);
	r = sq->batch.error;
	if (unlikely(r))
		head_restore(sq, start);
	if (unlikely(sq->head == start)) {
		spinlock_unlock(&sq->lock);
		return r;
	}
	for (uint32_t at = start; at != sq->head;) {
		uint32_t quanta = sent_at(sq, at)->quanta;

		header_write(quantum_at(sq, at), sent_at(sq, at)->header | valid_at(sq, at));
		behind_write(sq, at, quanta);
		at += quanta;
	}
	requests_announce(qp, start);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct irdma_sq *sq = &ex_to_iqp(qp_ex)->sq;

	head_restore(sq, sq->batch.start);
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
	.wr_send_inv = wr_send_inv,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
	.wr_rdma_read = wr_rdma_read,
	.wr_atomic_cmp_swp = wr_atomic_cmp_swp,
	.wr_atomic_fetch_add = wr_atomic_fetch_add,
	.wr_local_inv = wr_local_inv,
	.wr_bind_mw = wr_bind_mw,
};

void irdma_wr_set_slots(struct irdma_qp *qp, uint64_t ops)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, ops);
}
