/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting sends: work request -> WQE in the ring, then one doorbell for the list. */
#include <string.h>

#include "providers/rxe/wqe.h"

__attribute__((noinline, cold)) static int doorbell_refused(const struct rxe_qp *qp, int error)
{
	verbs_err(qp->vqp.qp.context, "qp 0x%x: the kernel refuses the doorbell: %s",
		  qp->vqp.qp.qp_num, strerror(error));
	return error;
}

int rxe_doorbell_ring(struct rxe_qp *qp)
{
	int error = kit_doorbell_ring(&qp->doorbell, qp->vqp.qp.context);

	return likely(!error) ? 0 : doorbell_refused(qp, error);
}

static inline enum kit_fault build_inline(const struct rxe_qp *qp, struct rxe_send_wqe *wqe,
					  const struct ibv_sge *sge, uint32_t num_sge)
{
	uint64_t length = 0;

	for (const struct ibv_sge *end = sge + num_sge; sge != end; sge++) {
		uint8_t *to = wqe->dma.inline_data + length;

		length += sge->length;
		if (unlikely(length > qp->max_inline))
			return KIT_FAULT_INLINE;
		rxe_bytes_copy(to, (const void *)(uintptr_t)sge->addr, sge->length);
	}
	rxe_dma_init(&wqe->dma, length, num_sge);
	return KIT_FAULT_NONE;
}

static inline enum kit_fault build_data(const struct rxe_qp *qp, struct rxe_send_wqe *wqe,
					const struct ibv_send_wr *wr)
{
	uint32_t num_sge = wr->num_sge; /* a negative number becomes larger than every limit */
	uint64_t length;

	if (unlikely(num_sge > qp->max_send_sge))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	if (wr->send_flags & IBV_SEND_INLINE)
		return build_inline(qp, wqe, wr->sg_list, num_sge);
	length = rxe_sge_copy(wqe->dma.sge, wr->sg_list, num_sge);
	rxe_dma_init(&wqe->dma, length, num_sge);
	return unlikely(length > UINT32_MAX) ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

static enum kit_fault build_atomic(const struct rxe_qp *qp, struct rxe_send_wqe *wqe,
				   const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	/* If the count exceeds the limit, the list may have fewer entries than the count. */
	if ((uint32_t)wr->num_sge > qp->max_send_sge)
		return KIT_FAULT_NUM_SGE;
	for (int i = 0; wr->sg_list && i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (length < sizeof(uint64_t))
		return KIT_FAULT_ATOMIC_LENGTH;
	if (wr->wr.atomic.remote_addr % sizeof(uint64_t))
		return KIT_FAULT_ATOMIC_ADDR;
	rxe_wqe_set_atomic(wqe, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey,
			   wr->wr.atomic.compare_add, wr->wr.atomic.swap);
	return KIT_FAULT_NONE;
}

static enum kit_fault build_ud(struct rxe_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	if (unlikely(!wr->wr.ud.ah))
		return KIT_FAULT_AH;
	rxe_wqe_set_ud(wqe, to_rah(wr->wr.ud.ah), wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	return KIT_FAULT_NONE;
}

static enum kit_fault build_bind(struct rxe_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	if (wr->num_sge || wr->imm_data || !wr->bind_mw.mw)
		return KIT_FAULT_BIND_WR;
	rxe_wqe_set_mw(wqe, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	return KIT_FAULT_NONE;
}

static inline enum kit_fault build_wqe(const struct rxe_qp *qp, struct rxe_send_wqe *wqe,
				       const struct ibv_send_wr *wr)
{
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t opcode = wr->opcode;

	if (unlikely(opcode >= 32 || !(qp->send_ops >> opcode & 1)))
		return KIT_FAULT_OPCODE;
	rxe_wqe_init(wqe, wr->wr_id, opcode, wr->send_flags, wr->invalidate_rkey);
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		if (qp->vqp.qp.qp_type == IBV_QPT_UD)
			fault = build_ud(wqe, wr);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		rxe_wqe_set_rdma(wqe, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		fault = build_atomic(qp, wqe, wr);
		break;
	case IBV_WR_BIND_MW:
		fault = build_bind(wqe, wr);
		break;
	}
	return unlikely(fault) ? fault : build_data(qp, wqe, wr);
}

/* Return the value of @wr that the message about @fault needs. */
static uint64_t fault_value(const struct ibv_send_wr *wr, enum kit_fault fault)
{
	uint64_t length = 0;

	switch (fault) {
	case KIT_FAULT_OPCODE:
		return wr->opcode;
	case KIT_FAULT_NUM_SGE:
		return wr->num_sge;
	case KIT_FAULT_LENGTH:
	case KIT_FAULT_INLINE:
	case KIT_FAULT_ATOMIC_LENGTH:
		for (int i = 0; i < wr->num_sge; i++)
			length += wr->sg_list[i].length;
		return length;
	case KIT_FAULT_ATOMIC_ADDR:
		return wr->wr.atomic.remote_addr;
	default:
		return 0;
	}
}

__attribute__((noinline, cold)) static int send_refuse(struct rxe_qp *qp, enum kit_fault fault,
						       struct ibv_send_wr *wr,
						       struct ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	return rxe_send_fault(qp, "ibv_post_send", fault, fault_value(wr, fault));
}

int rxe_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct rxe_qp *qp = to_rqp(ibqp);
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t producer;
	int r;

	if (unlikely(!bad_wr || !wr))
		return EINVAL;
	*bad_wr = NULL;
	if (unlikely(ibqp->state < IBV_QPS_RTS))
		return send_refuse(qp, KIT_FAULT_STATE, wr, bad_wr);

	spinlock_lock(&qp->sq_lock);
	producer = rxe_queue_producer(&qp->sq);
	for (; wr; wr = wr->next) {
		fault = KIT_FAULT_FULL;
		if (unlikely(rxe_queue_full(&qp->sq, producer)))
			break;
		fault = build_wqe(qp, rxe_queue_slot(&qp->sq, producer), wr);
		if (unlikely(fault))
			break;
		producer = rxe_queue_next(&qp->sq, producer);
	}
	rxe_queue_publish(&qp->sq, producer);
	spinlock_unlock(&qp->sq_lock);

	r = rxe_doorbell_ring(qp);
	return likely(!fault) ? r : send_refuse(qp, fault, wr, bad_wr);
}
