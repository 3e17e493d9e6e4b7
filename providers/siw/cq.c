/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#include "providers/siw/siw.h"

static const uint8_t wc_opcodes[SIW_NUM_OPCODES] = {
	[SIW_OP_WRITE] = IBV_WC_RDMA_WRITE,
	[SIW_OP_READ] = IBV_WC_RDMA_READ,
	[SIW_OP_READ_LOCAL_INV] = IBV_WC_RDMA_READ,
	[SIW_OP_SEND] = IBV_WC_SEND,
	[SIW_OP_SEND_WITH_IMM] = IBV_WC_SEND,
	[SIW_OP_SEND_REMOTE_INV] = IBV_WC_SEND,
	[SIW_OP_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	[SIW_OP_COMP_AND_SWAP] = IBV_WC_COMP_SWAP,
	[SIW_OP_RECEIVE] = IBV_WC_RECV,
};

static const uint8_t wc_statuses[SIW_NUM_WC_STATUS] = {
	[SIW_WC_SUCCESS] = IBV_WC_SUCCESS,
	[SIW_WC_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
	[SIW_WC_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
	[SIW_WC_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[SIW_WC_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
	[SIW_WC_BAD_RESP_ERR] = IBV_WC_BAD_RESP_ERR,
	[SIW_WC_LOC_ACCESS_ERR] = IBV_WC_LOC_ACCESS_ERR,
	[SIW_WC_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
	[SIW_WC_REM_INV_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
	[SIW_WC_GENERAL_ERR] = IBV_WC_GENERAL_ERR,
};

int siw_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct siw_cq *cq = to_scq(&vcq->cq);
	struct siw_uresp_create_cq resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_cq request = *in;
	int r = kit_cq_ex_check(vcq->cq.context, in, siw_cq_ex_wc_flags);

	if (r < 0)
		return r;
	request.udata = &udata;
	r = uverbs_create_cq(vcq, &request);
	if (r < 0)
		return r;
	r = siw_ring_map(vcq->cq.context, "completion queue", resp.cq_key, resp.num_cqe,
			 sizeof(struct siw_cqe), sizeof(struct siw_cq_ctrl), &cq->ring);
	if (r < 0) {
		uverbs_destroy_cq(vcq);
		return r;
	}
	cq->slots = cq->ring.base;
	cq->mask = resp.num_cqe - 1;
	if (in->extended)
		siw_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int siw_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		kit_page_unmap(&to_scq(&vcq->cq)->ring);
	return r;
}

void siw_wc_fill(struct ibv_wc *wc, const struct siw_cqe *cqe)
{
	uint16_t status = cqe->status;
	uint8_t opcode = cqe->opcode;

	*wc = (struct ibv_wc){
		.wr_id = cqe->id,
		.status = likely(status < SIW_NUM_WC_STATUS) ? wc_statuses[status]
							     : IBV_WC_GENERAL_ERR,
		.opcode = likely(opcode < SIW_NUM_OPCODES) ? wc_opcodes[opcode] : 0,
		.byte_len = cqe->bytes,
		.qp_num = cqe->qp_id,
	};
}

int siw_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct siw_cq *cq = to_scq(ibcq);
	int n;

	spinlock_lock(&cq->lock);
	for (n = 0; n < num_entries; n++, wc++) {
		struct siw_cqe *cqe = &cq->slots[cq->next & cq->mask];

		if (!siw_cqe_valid(cqe))
			break;
		siw_wc_fill(wc, cqe);
		siw_cqe_release(cqe);
		cq->next++;
		verbs_data_wc(ibcq, wc);
	}
	spinlock_unlock(&cq->lock);
	return n;
}

int siw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct siw_cq *cq = to_scq(ibcq);
	struct siw_cq_ctrl *ctrl = (struct siw_cq_ctrl *)(cq->slots + cq->mask + 1);
	uint32_t flags = solicited_only ? SIW_NOTIFY_SOLICITED
					: SIW_NOTIFY_SOLICITED | SIW_NOTIFY_NEXT_COMPLETION;

	/* seq_cst: the next poll of the caller comes after this store */
	atomic_store_explicit((_Atomic uint32_t *)&ctrl->flags, flags, memory_order_seq_cst);
	return 0;
}
