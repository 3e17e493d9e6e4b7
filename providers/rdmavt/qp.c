/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the kernel's object, and a receive ring if the QP has no SRQ. */
#include "providers/kit/qp.h"
#include "providers/rdmavt/rdmavt.h"

/*
 * Operations by QP type. A bit is an enum ibv_wr_opcode. The kernel's command cannot have other
 * operations. The driver ib_qib refuses SEND_WITH_INV.
 */
#define OP(name) (1u << IBV_WR_##name)
#define OPS_UD	 (OP(SEND) | OP(SEND_WITH_IMM))
#define OPS_UC	 (OPS_UD | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM))
#define OPS_RC                                                                        \
	(OPS_UC | OP(RDMA_READ) | OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) | \
	 OP(SEND_WITH_INV))

static const uint32_t send_ops[] = {
	[IBV_QPT_RC] = OPS_RC,
	[IBV_QPT_UC] = OPS_UC,
	[IBV_QPT_UD] = OPS_UD,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx,
			  "ibv_create_qp_ex: comp_mask 0x%x is not supported (supported: 0x%x)",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD, IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type >= ARRAY_SIZE(send_ops) || !send_ops[attr->qp_type]) {
		verbs_err(ctx, "ibv_create_qp: QP type %d is not supported: RC, UC and UD are",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	return 0;
}

int rvt_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct rvt_qp *qp = to_rqp(&vqp->qp);
	const struct ibv_qp_cap *cap = &in->attr->cap;
	struct ibv_context *ctx = vqp->qp.context;
	struct rvt_ring_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = qp_check(ctx, in->attr);

	if (r < 0)
		return r;
	r = kit_create_qp(vqp, in, &udata);
	if (r < 0)
		return r;
	qp->send_ops = send_ops[in->attr->qp_type];
	qp->max_send_sge = min_of(cap->max_send_sge, (uint32_t)RVT_MAX_SGE);
	qp->max_send_wr = cap->max_send_wr;
	if (in->attr->srq) {
		rvt_recv_queue_unmap(&qp->rq);
		return 0;
	}
	r = rvt_recv_queue_map(&qp->rq, ctx, "receive queue", &resp, cap->max_recv_wr,
			       cap->max_recv_sge);
	if (r < 0)
		uverbs_destroy_qp(vqp);
	return r;
}

int rvt_destroy_qp(struct verbs_qp *vqp)
{
	int r = uverbs_destroy_qp(vqp);

	if (!r)
		rvt_recv_queue_unmap(&to_rqp(&vqp->qp)->rq);
	return r;
}
