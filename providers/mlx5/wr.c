/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): a batch of requests is built in the send ring, and ibv_wr_complete() announces it to
 * the adapter. The first error ends the batch: builders then do nothing, ibv_wr_complete() returns
 * the error, and no request is posted.
 */
#include "providers/kit/wr.h"
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

#define OPS_RAW (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO)
#define OPS_UD	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_RC	   (OPS_UC | OPS_ATOMIC | IBV_QP_EX_WITH_RDMA_READ)

enum {
	RAW_BUFS = 64, /* inline buffers of one packet */
};

int mlx5_wr_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	bool rc = attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_XRC_SEND ||
		  attr->qp_type == IBV_QPT_DRIVER;
	uint64_t known = rc				       ? OPS_RC
			 : attr->qp_type == IBV_QPT_UC	       ? OPS_UC
			 : attr->qp_type == IBV_QPT_RAW_PACKET ? OPS_RAW
							       : OPS_UD;

	if (!to_mctx(ctx)->atomics)
		known &= ~OPS_ATOMIC;
	return kit_wr_check(ctx, kit_wr_ops(attr), known);
}

static inline struct mlx5_qp *ex_to_mqp(struct ibv_qp_ex *qp_ex)
{
	return (struct mlx5_qp *)qp_ex;
}

__attribute__((noinline, cold)) static void wr_refuse(struct mlx5_qp *qp, enum kit_fault fault,
						      uint64_t value, uint32_t limit)
{
	struct mlx5_batch *batch = &qp->sq.batch;

	if (!batch->error)
		batch->error = kit_wr_refuse(&qp->vqp.qp, &qp->sq.said, fault, value, limit);
	batch->ctrl = NULL;
}

/* Begin a request that needs no data. NULL: the batch has failed. */
FLAT struct mlx5_batch *wr_begin(struct ibv_qp_ex *qp_ex, uint32_t wc_opcode)
{
	struct mlx5_sq *sq = &ex_to_mqp(qp_ex)->sq;
	struct mlx5_batch *batch = &sq->batch;

	if (unlikely(batch->error))
		return NULL;
	if (unlikely(mlx_sq_full(sq->head + batch->nreq, mlx_sq_tail(&sq->tail), sq->max_post))) {
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_FULL, sq->max_post, sq->max_post);
		return NULL;
	}
	batch->ctrl = (void *)sq_slot(sq, sq->cur_post);
	batch->seg = (char *)batch->ctrl + MLX_SEGMENT;
	batch->ds = 1;
	batch->missing = 0;
	sq->slots[sq->cur_post & sq->mask] = (struct mlx5_sq_slot){
		.wr_id = qp_ex->wr_id,
		.head = sq->head + batch->nreq,
		.opcode = wc_opcode,
	};
	return batch;
}

/* Write the control segment except for the length. */
FLAT void wr_head(struct ibv_qp_ex *qp_ex, uint8_t opcode, __be32 imm)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);

	wqe_ctrl(qp->sq.batch.ctrl, qp->sq.cur_post, opcode, qp->vqp.qp.qp_num,
		 wqe_flags(&qp->sq, qp_ex->wr_flags, 0), 0, imm);
}

/* Finish a complete request. The next request will begin behind it. */
FLAT void wr_finish(struct mlx5_qp *qp)
{
	struct mlx5_batch *batch = &qp->sq.batch;

	batch->ctrl->qpn_ds = htobe32(qp->vqp.qp.qp_num << 8 | batch->ds);
	qp->sq.cur_post += wqe_blocks(batch->ds);
	batch->last = batch->ctrl;
	batch->last_ds = batch->ds;
	batch->nreq++;
}

FLAT void wr_set_done(struct mlx5_qp *qp)
{
	if (likely(!--qp->sq.batch.missing))
		wr_finish(qp);
}

FLAT void wr_take(struct mlx5_batch *batch, unsigned int size)
{
	batch->seg += size;
	batch->ds += size / MLX_SEGMENT;
}

/* ---- builders */

/* Begin a request that setters complete. Leave room for the address, which may be set after the
 * data. */
FLAT struct mlx5_batch *wr_begin_data(struct ibv_qp_ex *qp_ex)
{
	struct mlx5_batch *batch = wr_begin(qp_ex, 0);
	struct mlx5_sq *sq = &ex_to_mqp(qp_ex)->sq;

	if (unlikely(!batch))
		return NULL;
	batch->missing = 1;
	if (sq->address_size) {
		batch->missing = 2;
		wr_take(batch, sq->address_size);
		batch->seg = sq_wrap(sq, batch->seg);
	}
	return batch;
}

FLAT void wr_send_op(struct ibv_qp_ex *qp_ex, uint8_t opcode, __be32 imm)
{
	if (likely(wr_begin_data(qp_ex)))
		wr_head(qp_ex, opcode, imm);
}

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_send_op(qp_ex, MLX5_OPCODE_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	wr_send_op(qp_ex, MLX5_OPCODE_SEND_IMM, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	wr_send_op(qp_ex, MLX5_OPCODE_SEND_INVAL, htobe32(invalidate_rkey));
}

FLAT void wr_rdma(struct ibv_qp_ex *qp_ex, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
		  __be32 imm)
{
	struct mlx5_batch *batch = wr_begin_data(qp_ex);

	if (unlikely(!batch))
		return;
	wr_head(qp_ex, opcode, imm);
	mlx_raddr_write(batch->seg, remote_addr, rkey);
	wr_take(batch, MLX_SEGMENT);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, MLX5_OPCODE_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	wr_rdma(qp_ex, MLX5_OPCODE_RDMA_WRITE_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, MLX5_OPCODE_RDMA_READ, rkey, remote_addr, 0);
}

FLAT void wr_atomic(struct ibv_qp_ex *qp_ex, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
		    uint64_t compare_add, uint64_t swap)
{
	struct mlx5_batch *batch;

	if (unlikely(remote_addr % 8)) {
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_ATOMIC_ADDR, remote_addr, 0);
		return;
	}
	batch = wr_begin_data(qp_ex);
	if (unlikely(!batch))
		return;
	wr_head(qp_ex, opcode, 0);
	mlx_raddr_write(batch->seg, remote_addr, rkey);
	wr_take(batch, MLX_SEGMENT);
	wqe_atomic(batch->seg, opcode == MLX5_OPCODE_ATOMIC_CS, compare_add, swap);
	wr_take(batch, MLX_SEGMENT);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	wr_atomic(qp_ex, MLX5_OPCODE_ATOMIC_CS, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	wr_atomic(qp_ex, MLX5_OPCODE_ATOMIC_FA, rkey, remote_addr, add, 0);
}

/* Finish a request without data. The next request waits until the key has changed. */
static void wr_key_done(struct ibv_qp_ex *qp_ex, unsigned int ds)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);

	qp->sq.batch.ds += ds;
	wr_finish(qp);
	qp->sq.fence = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	qp->sq.batch.ctrl = NULL;
}

static void wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	struct mlx5_batch *batch = wr_begin(qp_ex, IBV_WC_LOCAL_INV);

	if (!batch)
		return;
	wr_head(qp_ex, MLX5_OPCODE_UMR, htobe32(invalidate_rkey));
	wr_key_done(qp_ex, mlx5_wqe_local_inv(&ex_to_mqp(qp_ex)->sq, batch->seg));
}

static void wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct mlx5_batch *batch = wr_begin(qp_ex, IBV_WC_BIND_MW);
	unsigned int ds = 0;
	int r;

	if (!batch)
		return;
	r = mlx5_wqe_bind(ex_to_mqp(qp_ex), batch->seg, mw, rkey, info, &ds);
	if (r < 0) {
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_BIND, info->length, 1u << 31);
		return;
	}
	wr_head(qp_ex, MLX5_OPCODE_UMR, htobe32(mw->rkey));
	wr_key_done(qp_ex, ds);
}

/* ---- setters */

/* Return the incomplete request. NULL: the batch has failed, or no builder was called. */
FLAT struct mlx5_batch *wr_current(struct mlx5_qp *qp)
{
	struct mlx5_batch *batch = &qp->sq.batch;

	if (unlikely(!batch->ctrl || !batch->missing)) {
		wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0, 0);
		return NULL;
	}
	return batch;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(!ah)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	wqe_datagram((char *)batch->ctrl + MLX_SEGMENT, to_mah(ah), remote_qpn, remote_qkey);
	wr_set_done(qp);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp_ex, uint32_t remote_srqn)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	wqe_xrc((char *)batch->ctrl + MLX_SEGMENT, remote_srqn);
	wr_set_done(qp);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(qp->sq.max_sge < 1)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, 1, qp->sq.max_sge);
		return;
	}
	if (likely(length)) {
		batch->seg = sq_wrap(&qp->sq, batch->seg);
		wqe_data(batch->seg, addr, length, lkey);
		wr_take(batch, MLX_SEGMENT);
	}
	wr_set_done(qp);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(num_sge > (size_t)qp->sq.max_sge)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, qp->sq.max_sge);
		return;
	}
	for (size_t i = 0; i < num_sge; i++) {
		if (unlikely(!sg_list[i].length))
			continue;
		batch->seg = sq_wrap(&qp->sq, batch->seg);
		wqe_data(batch->seg, sg_list[i].addr, sg_list[i].length, sg_list[i].lkey);
		wr_take(batch, MLX_SEGMENT);
	}
	wr_set_done(qp);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(length > qp->sq.max_inline)) {
		wr_refuse(qp, KIT_FAULT_INLINE, length, qp->sq.max_inline);
		return;
	}
	if (likely(length)) {
		batch->seg = sq_wrap(&qp->sq, batch->seg);
		wqe_bytes(&qp->sq, batch->seg + sizeof(struct mlx5_wqe_inl_data_seg), addr, length);
		wqe_inline_head(batch->seg, length);
		batch->ds += wqe_inline_ds(length);
	}
	wr_set_done(qp);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);
	uint32_t length = 0;
	char *at;

	if (unlikely(!batch))
		return;
	batch->seg = sq_wrap(&qp->sq, batch->seg);
	at = batch->seg + sizeof(struct mlx5_wqe_inl_data_seg);
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > qp->sq.max_inline - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length,
				  qp->sq.max_inline);
			return;
		}
		at = wqe_bytes(&qp->sq, at, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	if (length)
		wqe_inline_head(batch->seg, length);
	batch->ds += wqe_inline_ds(length);
	wr_set_done(qp);
}

/* ---- the batch */

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct mlx5_sq *sq = &ex_to_mqp(qp_ex)->sq;

	spinlock_lock(&sq->lock);
	sq->batch = (struct mlx5_batch){
		.cur_post = sq->cur_post,
		.fence = sq->fence,
	};
	if (unlikely(sq->max_sge < 0))
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_STATE, 0, 0);
}

static void wr_restore(struct mlx5_sq *sq)
{
	sq->cur_post = sq->batch.cur_post;
	sq->fence = sq->batch.fence;
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct mlx5_sq *sq = &ex_to_mqp(qp_ex)->sq;
	const struct mlx5_batch *batch = &sq->batch;
	int r;

	if (unlikely(batch->missing))
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_SETTER, 0, 0);
	r = batch->error;
	if (unlikely(r))
		wr_restore(sq);
	else if (likely(batch->nreq))
		sq_ring(sq, batch->nreq, batch->last, batch->last_ds);
	spinlock_unlock(&sq->lock);
	return r;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct mlx5_sq *sq = &ex_to_mqp(qp_ex)->sq;

	wr_restore(sq);
	spinlock_unlock(&sq->lock);
}

/* ---- raw packets: segments behind the control segment are written when the data are known */

static void raw_begin(struct ibv_qp_ex *qp_ex, uint8_t opcode, void *hdr, uint16_t hdr_sz,
		      uint16_t mss)
{
	struct mlx5_batch *batch = wr_begin(qp_ex, 0);

	if (unlikely(!batch))
		return;
	batch->missing = 1;
	batch->raw = (struct mlx5_raw){
		.header = hdr,
		.header_size = hdr_sz,
		.mss = mss,
		.csum = qp_ex->wr_flags & IBV_SEND_IP_CSUM,
	};
	wr_head(qp_ex, opcode, 0);
}

static void raw_send(struct ibv_qp_ex *qp_ex)
{
	raw_begin(qp_ex, MLX5_OPCODE_SEND, NULL, 0, 0);
}

static void raw_send_tso(struct ibv_qp_ex *qp_ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	if (!hdr)
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_HEADER, 0, 0);
	else
		raw_begin(qp_ex, MLX5_OPCODE_TSO, hdr, hdr_sz, mss);
}

static void raw_set(struct ibv_qp_ex *qp_ex, const struct ibv_sge *sges, size_t num_sge,
		    bool inlined)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);
	struct mlx5_batch *batch = wr_current(qp);
	unsigned int ds = 0;
	enum kit_fault fault;

	if (unlikely(!batch))
		return;
	batch->raw.sges = sges;
	batch->raw.num_sge = num_sge;
	batch->raw.inlined = inlined;
	fault = mlx5_wqe_raw(qp, batch->seg, &batch->raw, &ds);
	if (unlikely(fault)) {
		wr_refuse(qp, fault, 0, qp->sq.max_inline);
		return;
	}
	batch->ds += ds;
	wr_set_done(qp);
}

static void raw_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);

	if (unlikely(num_sge > (size_t)qp->sq.max_sge))
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge, qp->sq.max_sge);
	else
		raw_set(qp_ex, sg_list, num_sge, false);
}

static void raw_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	raw_set_sge_list(qp_ex, 1, &sge);
}

static void raw_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	const struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = length };

	if (unlikely(length > UINT32_MAX))
		wr_refuse(ex_to_mqp(qp_ex), KIT_FAULT_INLINE, length,
			  ex_to_mqp(qp_ex)->sq.max_inline);
	else
		raw_set(qp_ex, &sge, 1, true);
}

static void raw_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				     const struct ibv_data_buf *buf_list)
{
	struct ibv_sge sges[RAW_BUFS];
	struct mlx5_qp *qp = ex_to_mqp(qp_ex);

	if (unlikely(num_buf > RAW_BUFS)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_buf, RAW_BUFS);
		return;
	}
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > qp->sq.max_inline + RAW_BUFS)) {
			wr_refuse(qp, KIT_FAULT_INLINE, buf_list[i].length, qp->sq.max_inline);
			return;
		}
		sges[i] = (struct ibv_sge){ .addr = (uintptr_t)buf_list[i].addr,
					    .length = buf_list[i].length };
	}
	raw_set(qp_ex, sges, num_buf, true);
}

#define SLOTS                                                                   \
	.wr_start = wr_start, .wr_complete = wr_complete, .wr_abort = wr_abort, \
	.wr_set_ud_addr = wr_set_ud_addr, .wr_set_xrc_srqn = wr_set_xrc_srqn

static const struct ibv_qp_ex wr_slots = {
	SLOTS,
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

static const struct ibv_qp_ex raw_slots = {
	SLOTS,
	.wr_set_inline_data = raw_set_inline_data,
	.wr_set_inline_data_list = raw_set_inline_data_list,
	.wr_set_sge = raw_set_sge,
	.wr_set_sge_list = raw_set_sge_list,
	.wr_send = raw_send,
	.wr_send_tso = raw_send_tso,
};

/*
 * Set the builders of @send_ops, which decided the size of requests. Also set all other
 * builders that fit the queue, as release 44 does, because programs use them without asking.
 * IBV_QP_EX_WITH_x is 1 << IBV_WR_x.
 */
void mlx5_wr_set_slots(struct mlx5_qp *qp, uint64_t send_ops)
{
	bool raw = qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET;

	_Static_assert(IBV_QP_EX_WITH_TSO == 1 << IBV_WR_TSO &&
			       IBV_QP_EX_WITH_RDMA_WRITE == 1 << IBV_WR_RDMA_WRITE &&
			       IBV_QP_EX_WITH_SEND_WITH_INV == 1 << IBV_WR_SEND_WITH_INV,
		       "the same bits");
	kit_wr_set_slots(&qp->vqp.qp_ex, raw ? &raw_slots : &wr_slots, send_ops | qp->sq.ops);
}

/* ---- for direct verbs */

void mlx5_wr_set_dc(struct mlx5_qp *qp, const struct ibv_ah *ah, uint32_t dctn, uint64_t key,
		    uint16_t stream)
{
	struct mlx5_batch *batch = wr_current(qp);

	if (unlikely(!batch))
		return;
	if (unlikely(!ah)) {
		wr_refuse(qp, KIT_FAULT_AH, 0, 0);
		return;
	}
	wqe_dc((char *)batch->ctrl + MLX_SEGMENT, (const struct mlx5_ah *)ah, dctn, key);
	batch->ctrl->dci_stream_channel_id = htobe16(stream);
	wr_set_done(qp);
}

void mlx5_wr_fail(struct mlx5_qp *qp, int error, const char *what, const char *why)
{
	struct mlx5_batch *batch = &qp->sq.batch;

	if (!batch->error) {
		verbs_err(qp->vqp.qp.context, "qp 0x%x: %s: %s", qp->vqp.qp.qp_num, what, why);
		batch->error = error;
	}
	batch->ctrl = NULL;
}

struct mlx5_batch *mlx5_wr_begin(struct mlx5_qp *qp, uint8_t opcode, uint8_t opmod, __be32 imm,
				 uint32_t wc_opcode)
{
	struct ibv_qp_ex *qp_ex = &qp->vqp.qp_ex;
	struct mlx5_batch *batch = wr_begin(qp_ex, wc_opcode);

	if (!batch)
		return NULL;
	wr_head(qp_ex, opcode, imm);
	batch->ctrl->opmod_idx_opcode |= htobe32((uint32_t)opmod << 24);
	batch->missing = 0;
	return batch;
}

void mlx5_wr_finish(struct mlx5_qp *qp)
{
	wr_finish(qp);
}

void mlx5_wr_finish_as_is(struct mlx5_qp *qp, unsigned int ds)
{
	__be32 qpn_ds = qp->sq.batch.ctrl->qpn_ds;

	qp->sq.batch.ds = ds;
	wr_finish(qp);
	((struct mlx5_wqe_ctrl_seg *)qp->sq.batch.last)->qpn_ds = qpn_ds;
}
