/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_wr_*(): the send ring gets a batch of requests, one slot for each builder. ibv_wr_complete()
 * shows the batch to the kernel. The first error ends the batch: ibv_wr_complete() returns the
 * error, and no request is posted.
 */
#include <string.h>

#include "providers/kit/wr.h"
#include "providers/rxe/wqe.h"

/*
 * Operations of ibv_post_send() (qp.c), and those that exist only as builders. UC has the builder
 * for an invalidation, because programs request it at creation. The driver ends each such request
 * in error.
 */
#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_RC                                                                                   \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                 \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_FLUSH | \
	 IBV_QP_EX_WITH_ATOMIC_WRITE)

static const uint64_t wr_ops[] = {
	[IBV_QPT_RC] = OPS_RC,
	[IBV_QPT_UC] = OPS_UC,
	[IBV_QPT_UD] = OPS_UD,
};

int rxe_wr_check(struct ibv_context *ctx, enum ibv_qp_type type, uint64_t send_ops)
{
	return kit_wr_check(ctx, send_ops, type < ARRAY_SIZE(wr_ops) ? wr_ops[type] : 0);
}

static inline struct rxe_qp *ex_to_rqp(struct ibv_qp_ex *qp_ex)
{
	return (struct rxe_qp *)qp_ex;
}

/*
 * Refuse a request. A value beyond a limit is ENOSPC here. ibv_post_send() returns ENOMEM or
 * EINVAL.
 */
__attribute__((noinline, cold)) static void wr_refuse(struct rxe_qp *qp, enum kit_fault fault,
						      uint64_t value)
{
	int r;

	qp->wr_wqe = NULL;
	if (qp->wr_error)
		return;
	r = rxe_send_fault(qp, "ibv_wr_complete", fault, value);
	if (fault == KIT_FAULT_FULL || fault == KIT_FAULT_INLINE || fault == KIT_FAULT_NUM_SGE)
		r = ENOSPC;
	qp->wr_error = r;
}

/* Begin a request of @opcode without data in the next free slot. NULL: the batch has failed. */
static inline struct rxe_send_wqe *wr_begin(struct rxe_qp *qp, enum ibv_wr_opcode opcode,
					    uint32_t ex)
{
	struct rxe_send_wqe *wqe;

	if (unlikely(qp->wr_error))
		return NULL;
	if (unlikely(rxe_queue_full(&qp->sq, qp->wr_producer))) {
		wr_refuse(qp, KIT_FAULT_FULL, 0);
		return NULL;
	}
	wqe = rxe_queue_slot(&qp->sq, qp->wr_producer);
	qp->wr_producer = rxe_queue_next(&qp->sq, qp->wr_producer);
	qp->wr_wqe = wqe;
	rxe_wqe_init(wqe, qp->vqp.qp_ex.wr_id, opcode, qp->vqp.qp_ex.wr_flags, ex);
	rxe_dma_init(&wqe->dma, 0, 0);
	return wqe;
}

static void wr_rdma(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		    uint64_t remote_addr, uint32_t ex)
{
	struct rxe_send_wqe *wqe = wr_begin(ex_to_rqp(qp_ex), opcode, ex);

	if (wqe)
		rxe_wqe_set_rdma(wqe, remote_addr, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		      uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe;

	if (unlikely(remote_addr % sizeof(uint64_t))) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_ADDR, remote_addr);
		return;
	}
	wqe = wr_begin(qp, opcode, 0);
	if (wqe)
		rxe_wqe_set_atomic(wqe, remote_addr, rkey, compare_add, swap);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

/* The 8 bytes are in the place of inline data. The kernel detects this by the opcode. */
static void wr_atomic_write(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe;

	if (unlikely(remote_addr % sizeof(uint64_t))) {
		wr_refuse(qp, KIT_FAULT_ATOMIC_ADDR, remote_addr);
		return;
	}
	wqe = wr_begin(qp, IBV_WR_ATOMIC_WRITE, 0);
	if (!wqe)
		return;
	rxe_wqe_set_rdma(wqe, remote_addr, rkey);
	memcpy(wqe->dma.atomic_wr, atomic_wr, sizeof(uint64_t));
	rxe_dma_init(&wqe->dma, sizeof(uint64_t), 0);
}

/* Build a flush. It transfers no data: the length is that of the range to flush. */
static void wr_flush(struct ibv_qp_ex *qp_ex, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe;

	if (unlikely(len > UINT32_MAX)) {
		wr_refuse(qp, KIT_FAULT_LENGTH, len);
		return;
	}
	wqe = wr_begin(qp, IBV_WR_FLUSH, 0);
	if (!wqe)
		return;
	wqe->wr.wr.flush.remote_addr = remote_addr;
	wqe->wr.wr.flush.length = 0;
	wqe->wr.wr.flush.rkey = rkey;
	wqe->wr.wr.flush.type = type;
	wqe->wr.wr.flush.level = level;
	wqe->iova = remote_addr;
	rxe_dma_init(&wqe->dma, len, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct rxe_send_wqe *wqe = wr_begin(ex_to_rqp(qp_ex), IBV_WR_BIND_MW, 0);

	if (wqe)
		rxe_wqe_set_mw(wqe, mw, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	wr_begin(ex_to_rqp(qp_ex), IBV_WR_LOCAL_INV, invalidate_rkey);
}

/* Begin a send. On a UD QP the address is missing until ibv_wr_set_ud_addr(). */
static void wr_send_op(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode, uint32_t ex)
{
	static const struct rxe_ah nowhere;
	struct rxe_send_wqe *wqe = wr_begin(ex_to_rqp(qp_ex), opcode, ex);

	if (wqe && qp_ex->qp_base.qp_type == IBV_QPT_UD)
		rxe_wqe_set_ud(wqe, &nowhere, 0, 0);
}

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_send_op(qp_ex, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	wr_send_op(qp_ex, IBV_WR_SEND_WITH_IMM, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	wr_send_op(qp_ex, IBV_WR_SEND_WITH_INV, invalidate_rkey);
}

/* Return the request that setters change. NULL: the batch has failed, or no builder was called. */
static inline struct rxe_send_wqe *wr_current(struct rxe_qp *qp)
{
	if (unlikely(!qp->wr_wqe))
		wr_refuse(qp, KIT_FAULT_NO_BUILDER, 0);
	return qp->wr_wqe;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe = wr_current(qp);

	if (!wqe)
		return;
	if (unlikely(!ah))
		wr_refuse(qp, KIT_FAULT_AH, 0);
	else
		rxe_wqe_set_ud(wqe, to_rah(ah), remote_qpn, remote_qkey);
}

/* Set inline data. The setter implies IBV_SEND_INLINE, whatever wr_flags contains. */
static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr, size_t length)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe = wr_current(qp);

	if (!wqe)
		return;
	if (unlikely(length > qp->max_inline)) {
		wr_refuse(qp, KIT_FAULT_INLINE, length);
		return;
	}
	wqe->wr.send_flags |= IBV_SEND_INLINE;
	rxe_bytes_copy(wqe->dma.inline_data, addr, length);
	rxe_dma_init(&wqe->dma, length, 0);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe = wr_current(qp);
	uint32_t length = 0;

	if (!wqe)
		return;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > qp->max_inline - length)) {
			wr_refuse(qp, KIT_FAULT_INLINE, length + buf_list[i].length);
			return;
		}
		rxe_bytes_copy(wqe->dma.inline_data + length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	wqe->wr.send_flags |= IBV_SEND_INLINE;
	rxe_dma_init(&wqe->dma, length, 0);
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct rxe_send_wqe *wqe = wr_current(ex_to_rqp(qp_ex));

	if (!wqe || !length)
		return;
	wqe->wr.send_flags &= ~IBV_SEND_INLINE;
	wqe->dma.sge[0] = (struct rxe_sge){ .addr = addr, .length = length, .lkey = lkey };
	rxe_dma_init(&wqe->dma, length, 1);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	struct rxe_send_wqe *wqe = wr_current(qp);
	uint64_t length;

	if (!wqe)
		return;
	if (unlikely(num_sge > qp->max_send_sge)) {
		wr_refuse(qp, KIT_FAULT_NUM_SGE, num_sge);
		return;
	}
	length = rxe_sge_copy(wqe->dma.sge, sg_list, num_sge);
	if (unlikely(length > UINT32_MAX)) {
		wr_refuse(qp, KIT_FAULT_LENGTH, length);
		return;
	}
	wqe->wr.send_flags &= ~IBV_SEND_INLINE;
	rxe_dma_init(&wqe->dma, length, num_sge);
}

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);

	spinlock_lock(&qp->sq_lock);
	qp->wr_producer = rxe_queue_producer(&qp->sq);
	qp->wr_wqe = NULL;
	qp->wr_error = 0;
	if (unlikely(qp_ex->qp_base.state < IBV_QPS_RTS))
		wr_refuse(qp, KIT_FAULT_STATE, 0);
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct rxe_qp *qp = ex_to_rqp(qp_ex);
	int r = qp->wr_error;

	if (likely(!r))
		rxe_queue_publish(&qp->sq, qp->wr_producer);
	spinlock_unlock(&qp->sq_lock);
	return likely(!r) ? rxe_doorbell_ring(qp) : r;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	spinlock_unlock(&ex_to_rqp(qp_ex)->sq_lock);
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
	.wr_atomic_write = wr_atomic_write,
	.wr_flush = wr_flush,
	.wr_local_inv = wr_local_inv,
	.wr_bind_mw = wr_bind_mw,
};

void rxe_wr_set_slots(struct rxe_qp *qp, uint64_t send_ops)
{
	kit_wr_set_slots(&qp->vqp.qp_ex, &wr_slots, send_ops);
}
