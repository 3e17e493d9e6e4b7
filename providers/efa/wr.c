/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): a batch of requests is built in memory of this process, and ibv_wr_complete() writes
 * it into the device. The first error ends the batch: builders then do nothing, ibv_wr_complete()
 * returns the error, and no request is posted.
 */
#include "providers/efa/wqe.h"
#include "providers/kit/wr.h"

/* The type of a request, which decides the position of its data. */
enum efa_wqe_kind {
	KIND_SEND,
	KIND_WRITE,
	KIND_READ,
};

#define OPS_UD	  (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_WRITE (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

uint64_t efa_wr_ops(const struct efa_context *ctx, enum ibv_qp_type type)
{
	uint64_t ops = OPS_UD;

	if (type != IBV_QPT_DRIVER)
		return ops;
	if (efa_can(ctx, EFA_QUERY_DEVICE_CAPS_RDMA_READ))
		ops |= IBV_QP_EX_WITH_RDMA_READ;
	if (efa_can(ctx, EFA_QUERY_DEVICE_CAPS_RDMA_WRITE))
		ops |= OPS_WRITE;
	return ops;
}

static inline struct efa_qp *ex_to_eqp(struct ibv_qp_ex *qp_ex)
{
	return (struct efa_qp *)qp_ex;
}

/* Errors are those of ibv_post_send(). After ENOMEM programs try again. */
__attribute__((noinline, cold)) static void wr_refuse(struct efa_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct efa_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_send_refuse(&qp->vqp.qp, &qp->sq.wq.said, "ibv_wr_complete",
					       fault, value, limit);
	batch->wqe = NULL;
}

__attribute__((noinline, cold)) static void begin_refuse(struct efa_qp *qp, unsigned int wr_flags)
{
	unsigned int other = wr_flags & ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	struct efa_sq *sq = &qp->sq;

	if (!efa_sq_is_open(sq))
		wr_refuse(qp, KIT_FAULT_STATE, 0, 0);
	else if (other)
		wr_refuse(qp, KIT_FAULT_SEND_FLAGS, other, 0);
	else if (!((wr_flags | sq->flags) & IBV_SEND_SIGNALED))
		wr_refuse(qp, KIT_FAULT_UNSIGNALED, 0, 0);
	else
		wr_refuse(qp, KIT_FAULT_FULL, sq->wq.max_post, sq->wq.max_post);
}

/* Begin a request. NULL: the batch has failed. */
FLAT uint64_t *wr_begin(struct ibv_qp_ex *qp_ex, enum efa_wqe_kind kind, uint32_t flags, __be32 imm)
{
	struct efa_sq *sq = &ex_to_eqp(qp_ex)->sq;
	struct efa_batch *batch = &sq->batch;
	uint64_t *wqe;

	if (unlikely(batch->error))
		return NULL;
	if (unlikely(sq->wq.used == sq->wq.max_post || !sq_takes_flags(sq, qp_ex->wr_flags))) {
		begin_refuse(ex_to_eqp(qp_ex), qp_ex->wr_flags);
		return NULL;
	}
	wqe = (uint64_t *)((char *)sq->built + ((size_t)batch->count << sq->shift));
	memset(wqe, 0, WQE_WORDS_SMALL * sizeof(*wqe));
	if (unlikely(sq->shift != EFA_WQE_SMALL_SHIFT))
		memset(wqe + WQE_WORDS_SMALL, 0, WQE_WORDS_SMALL * sizeof(*wqe));
	wqe[WQE_HEAD] = htole64(wq_take_id(&sq->wq, qp_ex->wr_id) | flags | sq->control);
	wqe[WQE_ADDRESS] = htole64(wqe_address(0, imm));
	sq_advance(sq);
	batch->count++;
	batch->wqe = wqe;
	batch->kind = kind;
	return wqe;
}

/* ---- builders */

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_begin(qp_ex, KIND_SEND, WQE_OP_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	wr_begin(qp_ex, KIND_SEND, WQE_OP_SEND | WQE_HAS_IMM, imm_data);
}

/* Begin an RDMA request. Its length is written with the data. */
FLAT void wr_rdma(struct ibv_qp_ex *qp_ex, enum efa_wqe_kind kind, uint32_t flags, __be32 imm,
		  uint32_t rkey, uint64_t remote_addr)
{
	uint64_t *wqe = wr_begin(qp_ex, kind, flags, imm);

	if (unlikely(!wqe))
		return;
	wqe[WQE_REMOTE] = htole64((uint64_t)rkey << SGE_KEY_SHIFT);
	wqe[WQE_REMOTE + 1] = htole64(remote_addr);
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, KIND_READ, WQE_OP_READ, 0, rkey, remote_addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, KIND_WRITE, WQE_OP_WRITE, 0, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	wr_rdma(qp_ex, KIND_WRITE, WQE_OP_WRITE | WQE_HAS_IMM, imm_data, rkey, remote_addr);
}

/* ---- setters */

/* Return the current request. NULL: the batch has failed, or no builder was called. */
FLAT uint64_t *wr_current(struct efa_qp *qp)
{
	uint64_t *wqe = qp->sq.batch.wqe;

	if (unlikely(!wqe))
		wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
	return wqe;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct efa_qp *qp = ex_to_eqp(qp_ex);
	uint64_t *wqe = wr_current(qp);

	if (unlikely(!wqe))
		return;
	if (unlikely(!ah)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	wqe[WQE_HEAD] |= htole64((uint64_t)(remote_qpn & 0xffff) << WQE_QPN_SHIFT);
	wqe[WQE_ADDRESS] |= htole64(wqe_address(to_eah(ah)->number, 0));
	wqe[WQE_QKEY] = htole64(remote_qkey);
}

/* Write the length. @length: number of buffers or of inline bytes; @bytes: bytes at the peer */
FLAT void wqe_length(uint64_t *wqe, enum efa_wqe_kind kind, uint32_t length, uint64_t bytes)
{
	wqe[WQE_HEAD] |= htole64((uint64_t)length << WQE_LENGTH_SHIFT);
	if (kind != KIND_SEND)
		wqe[WQE_REMOTE] |= htole64(bytes & UINT32_MAX);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct efa_qp *qp = ex_to_eqp(qp_ex);
	uint64_t *wqe = wr_current(qp), *at, bytes = 0;
	enum efa_wqe_kind kind = qp->sq.batch.kind;
	uint32_t limit;

	if (unlikely(!wqe))
		return;
	limit = kind == KIND_SEND ? qp->sq.max_sge : to_ectx(qp->vqp.qp.context)->max_rdma_sge;
	if (unlikely(num_sge > limit)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, limit);
		return;
	}
	at = wqe + (kind == KIND_SEND ? WQE_DATA : WQE_REMOTE_DATA);
	for (size_t i = 0; i < num_sge; i++) {
		*at++ = htole64(sge_word(&sg_list[i]));
		*at++ = htole64(sg_list[i].addr);
		bytes += sg_list[i].length;
	}
	wqe_length(wqe, kind, num_sge, bytes);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = addr, .length = length };

	wr_set_sge_list(qp_ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct efa_qp *qp = ex_to_eqp(qp_ex);
	uint64_t *wqe = wr_current(qp);
	enum efa_wqe_kind kind = qp->sq.batch.kind;
	bool possible = kind == KIND_SEND || (kind == KIND_WRITE && qp->sq.inline_write);
	uint32_t limit = possible ? qp->sq.max_inline : 0;
	size_t length = 0;
	char *data;

	if (unlikely(!wqe))
		return;
	data = (char *)(wqe + (kind == KIND_SEND ? WQE_DATA : WQE_REMOTE_DATA));
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > limit - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length, limit);
			return;
		}
		memcpy(data + length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	wqe[WQE_HEAD] |= htole64(WQE_INLINE);
	wqe_length(wqe, kind, length, length);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

static void wr_set_processing_hints(struct efadv_qp *dv, uint32_t hints)
{
	uint64_t *wqe = wr_current(container_of(dv, struct efa_qp, dv));

	if (likely(wqe))
		wqe[WQE_ADDRESS] |= htole64((uint64_t)(hints & WQE_HINTS_MASK) << WQE_HINTS_SHIFT);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct efa_sq *sq = &ex_to_eqp(qp_ex)->sq;

	barrier_wc_lock(&sq->wq.lock);
	sq->batch = (struct efa_batch){
		.counter = sq->counter,
		.control = sq->control,
		.used = sq->wq.used,
	};
}

/* Undo the batch. Its ids are the last of the used ones, so lowering the count frees them. */
static void wr_restore(struct efa_sq *sq)
{
	sq->counter = sq->batch.counter;
	sq->control = sq->batch.control;
	sq->wq.used = sq->batch.used;
}

FLAT void batch_copy(struct efa_sq *sq, unsigned int shift)
{
	const char *from = (const char *)sq->built;
	uint32_t at = sq->batch.counter, batch = 0;

	for (uint32_t left = sq->batch.count; left; left--) {
		char *wqe = sq->ring + ((size_t)(at++ & sq->mask) << shift);

		mmio_copy_64(wqe, from);
		if (shift != EFA_WQE_SMALL_SHIFT)
			mmio_copy_64(wqe + 64, from + 64);
		from += (size_t)1 << shift;
		if (unlikely(++batch == sq->max_batch)) {
			sq_ring(sq, at);
			barrier_wc_start();
			batch = 0;
		}
	}
	if (likely(batch))
		sq_ring(sq, at);
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct efa_sq *sq = &ex_to_eqp(qp_ex)->sq;
	int r = sq->batch.error;

	if (unlikely(r))
		wr_restore(sq);
	else if (likely(sq->shift == EFA_WQE_SMALL_SHIFT))
		batch_copy(sq, EFA_WQE_SMALL_SHIFT);
	else
		batch_copy(sq, EFA_WQE_LARGE_SHIFT);
	spinlock_unlock(&sq->wq.lock);
	return r;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct efa_sq *sq = &ex_to_eqp(qp_ex)->sq;

	wr_restore(sq);
	spinlock_unlock(&sq->wq.lock);
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
	.wr_rdma_read = wr_rdma_read,
	.wr_rdma_write = wr_rdma_write,
	.wr_rdma_write_imm = wr_rdma_write_imm,
};

void efa_wr_set_slots(struct efa_qp *qp, uint64_t send_ops, uint64_t dv_flags)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, send_ops);
	if (dv_flags & EFADV_WR_EX_WITH_PROCESSING_HINTS)
		qp->dv.wr_set_processing_hints = wr_set_processing_hints;
}
