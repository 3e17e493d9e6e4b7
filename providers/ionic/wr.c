/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): the builders write a batch of requests behind the head of the ring, except for their
 * positions. The first error ends the batch: later builders do nothing, ibv_wr_complete() returns
 * the error, and no request is posted.
 */
#include "providers/ionic/request.h"
#include "providers/kit/wr.h"

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_RC                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |       \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |           \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)

uint64_t ionic_wr_ops(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? OPS_UD : OPS_RC;
}

static inline struct ionic_qp *ex_to_ioqp(struct ibv_qp_ex *qp_ex)
{
	return (struct ionic_qp *)qp_ex;
}

/* Fail the batch with the errors of ibv_post_send(). In particular a full queue is ENOMEM, after
 * which programs repeat the post. */
__attribute__((noinline, cold)) static void wr_refuse(struct ionic_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct ionic_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_wr_refuse(&qp->vqp.qp, &qp->sq.said, fault, value, limit);
	batch->op = NULL;
}

__attribute__((noinline, cold)) static void begin_refuse(struct ionic_qp *qp, unsigned int flags)
{
	uint32_t most = qp->vqp.cap.max_send_wr;

	if (qp->sq.max_sge < 0)
		wr_refuse(qp, KIT_FAULT_STATE, 0, 0);
	else if (flags)
		wr_refuse(qp, KIT_FAULT_SEND_FLAGS, flags, 0);
	else
		wr_refuse(qp, KIT_FAULT_FULL, most, most);
}

/* Finish the current request, if there is one. */
static void wr_finish(struct ionic_qp *qp)
{
	struct ionic_sq *sq = &qp->sq;
	struct ionic_batch *batch = &sq->batch;
	char *wqe = place_at(sq, sq->head);

	if (!batch->op)
		return;
	if (unlikely(batch->incomplete)) {
		wr_refuse(qp, KIT_FAULT_SETTER, 0, 0);
		return;
	}
	if (batch->op->kind < KIND_ATOMIC)
		word_write(wqe + AT_TARGET, (uint64_t)batch->key << 32 | batch->length);
	place_clear(wqe, &sent_next(sq)->extent, batch->extent);
	word_write(wqe + AT_HEAD, batch->head | batch->data);
	sent_note(sq, batch->wr_id, batch->length, batch->op, batch->head);
	batch->op = NULL;
}

/* ---- builders */

/* Begin a request without data. @low: immediate data or key. NULL: the batch has failed. */
static char *wr_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t low)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_sq *sq = &qp->sq;
	struct ionic_batch *batch = &sq->batch;
	const struct send_op *op = &send_ops[opcode];
	unsigned int flags = qp_ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	unsigned int unknown = flags & (~15u | op->no_flags);

	wr_finish(qp);
	if (unlikely(batch->error))
		return NULL;
	if (unlikely(sq->max_sge < 0 || unknown || !room_of(sq))) {
		begin_refuse(qp, unknown);
		return NULL;
	}
	batch->op = op;
	batch->wr_id = qp_ex->wr_id;
	batch->head = head_of(sq, op, flags, low);
	batch->data = 0;
	batch->key = batch->length = 0;
	batch->extent = op->kind < KIND_INVALIDATE ? AT_LIST : AT_BODY;
	batch->incomplete = sq->datagrams || op->kind == KIND_ATOMIC;
	return place_at(sq, sq->head);
}

static void send_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t low)
{
	char *wqe = wr_begin(qp_ex, opcode, low);

	if (likely(wqe))
		word_write(wqe + AT_BODY, 0);
}

static void remote_begin(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint32_t low)
{
	char *wqe = wr_begin(qp_ex, opcode, low);

	if (unlikely(!wqe))
		return;
	word_write(wqe + AT_BODY, remote_addr);
	ex_to_ioqp(qp_ex)->sq.batch.key = rkey;
}

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	send_begin(qp_ex, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	send_begin(qp_ex, IBV_WR_SEND_WITH_IMM, be32toh(imm_data));
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t rkey)
{
	send_begin(qp_ex, IBV_WR_SEND_WITH_INV, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	remote_begin(qp_ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	remote_begin(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, be32toh(imm_data));
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	remote_begin(qp_ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t operand, uint64_t compare)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);

	remote_begin(qp_ex, opcode, rkey, remote_addr, 0);
	if (unlikely(remote_addr % 8))
		wr_refuse(qp, KIT_FAULT_ATOMIC_ADDR, remote_addr, 0);
	qp->sq.batch.operand = operand;
	qp->sq.batch.compare = compare;
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
	wr_begin(qp_ex, IBV_WR_LOCAL_INV, rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_batch *batch = &qp->sq.batch;
	char *wqe = wr_begin(qp_ex, IBV_WR_BIND_MW, mw ? mw->rkey : 0);

	if (unlikely(!wqe))
		return;
	if (unlikely(ionic_bind_check(&qp->sq, mw, bind_info, IBV_MW_TYPE_2))) {
		wr_refuse(qp, KIT_FAULT_BIND_WR, 0, 0);
		return;
	}
	batch->extent = ionic_bind_write(wqe, mw, bind_info);
	batch->data = (uint64_t)(rkey & 0xff) << HEAD_COUNT_SHIFT;
}

/* ---- setters */

/* Return the batch if its current request takes data. NULL: there is no such request. */
static struct ionic_batch *wr_open(struct ionic_qp *qp)
{
	struct ionic_batch *batch = &qp->sq.batch;

	if (likely(batch->op) && likely(batch->op->kind < KIND_INVALIDATE))
		return batch;
	wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
	return NULL;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_batch *batch = wr_open(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(!ah || !qp->sq.datagrams)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	address_write(place_at(&qp->sq, qp->sq.head), ah, remote_qpn);
	batch->key = remote_qkey;
	batch->incomplete = false;
}

static void atomic_set(struct ionic_qp *qp, size_t num_sge, const struct ibv_sge *sge)
{
	struct ionic_batch *batch = &qp->sq.batch;

	if (unlikely(num_sge != 1)) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LIST, num_sge, 0);
		return;
	}
	if (unlikely(sge->length != sizeof(uint64_t))) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_LENGTH, sge->length, 0);
		return;
	}
	batch->extent = ionic_atomic_write(&qp->sq, place_at(&qp->sq, qp->sq.head), sge, batch->key,
					   batch->operand, batch->compare);
	batch->data = 1ull << HEAD_COUNT_SHIFT;
	batch->incomplete = false;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_sq *sq = &qp->sq;
	struct ionic_batch *batch = wr_open(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(num_sge > (size_t)sq->max_sge)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, sq->max_sge);
		return;
	}
	if (unlikely(!lengths_fit(sg_list, num_sge, sq->spec, &batch->length))) {
		wr_refuse(qp, KIT_FAULT_LENGTH, batch->length, LENGTH_MAX);
		return;
	}
	if (batch->op->kind == KIND_ATOMIC) {
		atomic_set(qp, num_sge, sg_list);
		return;
	}
	batch->data = (uint64_t)num_sge << HEAD_COUNT_SHIFT |
		      list_write(place_at(sq, sq->head), sg_list, num_sge, sq->spec);
	batch->extent = list_extent(num_sge, sq->spec);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = addr, .length = length };

	wr_set_sge_list(qp_ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_batch *batch = wr_open(qp);
	uint32_t length = 0, limit;
	char *to;

	if (unlikely(!batch))
		return;
	limit = batch->op->no_flags & NO_INLINE ? 0 : qp->sq.max_inline;
	to = place_at(&qp->sq, qp->sq.head) + AT_LIST;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > limit - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length, limit);
			return;
		}
		if (buf_list[i].length)
			memcpy(to + length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	batch->length = length;
	batch->data = HEAD_INLINE;
	batch->extent = AT_LIST + length;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct ionic_sq *sq = &ex_to_ioqp(qp_ex)->sq;

	spinlock_lock(&sq->lock);
	sq->batch.start = sq->head;
	sq->batch.messages = sq->messages;
	sq->batch.error = 0;
	sq->batch.op = NULL;
}

static void batch_drop(struct ionic_sq *sq)
{
	sq->head = sq->batch.start;
	sq->messages = sq->batch.messages;
	spinlock_unlock(&sq->lock);
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct ionic_qp *qp = ex_to_ioqp(qp_ex);
	struct ionic_sq *sq = &qp->sq;
	uint32_t start = sq->batch.start;
	int r;

	wr_finish(qp);
	r = sq->batch.error;
	if (unlikely(r) || unlikely(sq->head == start)) {
		batch_drop(sq);
		return r;
	}
	for (uint32_t at = start; at != sq->head; at++)
		position_write(place_at(sq, at), at & sq->mask);
	requests_announce(sq, start);
	return 0;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	batch_drop(&ex_to_ioqp(qp_ex)->sq);
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

void ionic_wr_set_slots(struct ionic_qp *qp, uint64_t ops)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, ops);
}
