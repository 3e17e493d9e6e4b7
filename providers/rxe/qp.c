/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the kernel's object plus one or two rings. */
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"
#include "providers/rxe/rxe.h"

/*
 * Operations of ibv_post_send() by QP type. A bit is an enum ibv_wr_opcode. The driver has more
 * operations for UC, but every invalidation on UC ends in error.
 */
#define OP(name) (1u << IBV_WR_##name)
#define OPS_UD	 (OP(SEND) | OP(SEND_WITH_IMM))
#define OPS_UC	 (OPS_UD | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(BIND_MW))
#define OPS_RC                                                                        \
	(OPS_UC | OP(RDMA_READ) | OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) | \
	 OP(LOCAL_INV) | OP(SEND_WITH_INV))

static const uint32_t send_ops[] = {
	[IBV_QPT_RC] = OPS_RC,
	[IBV_QPT_UC] = OPS_UC,
	[IBV_QPT_UD] = OPS_UD,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (likely(attr->comp_mask == IBV_QP_INIT_ATTR_PD))
		return 0;
	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx,
			  "ibv_create_qp_ex: comp_mask 0x%x is not supported (supported: 0x%x)",
			  attr->comp_mask & ~known, known);
		return -EOPNOTSUPP;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) {
		verbs_err(ctx, "ibv_create_qp_ex: create_flags 0x%x are not supported",
			  attr->create_flags);
		return -EOPNOTSUPP;
	}
	return rxe_wr_check(ctx, attr->qp_type, kit_wr_ops(attr));
}

static int qp_map(struct rxe_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		  const struct rxe_create_qp_resp *resp)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	size_t payload = max_of(attr->cap.max_send_sge * sizeof(struct rxe_sge),
				(size_t)attr->cap.max_inline_data);
	int r;

	if (!attr->srq) {
		qp->rq.max_sge = attr->cap.max_recv_sge;
		r = rxe_queue_map(ctx, "receive queue", &resp->rq_mi,
				  sizeof(struct rxe_recv_wqe) +
					  qp->rq.max_sge * sizeof(struct rxe_sge),
				  &qp->rq.queue);
		if (r < 0)
			return r;
	}
	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_inline = attr->cap.max_inline_data;
	r = rxe_queue_map(ctx, "send queue", &resp->sq_mi, sizeof(struct rxe_send_wqe) + payload,
			  &qp->sq);
	if (r < 0)
		rxe_queue_unmap(&qp->rq.queue);
	return r;
}

int rxe_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct rxe_qp *qp = to_rqp(&vqp->qp);
	struct rxe_create_qp_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	r = kit_create_qp(vqp, in, &udata);
	if (r < 0)
		return r;
	r = qp_map(qp, in->attr, &resp);
	if (r < 0) {
		uverbs_destroy_qp(vqp);
		return r;
	}
	/* The kernel checks the type. Types beyond this table cannot send. */
	if (in->attr->qp_type < ARRAY_SIZE(send_ops))
		qp->send_ops = send_ops[in->attr->qp_type];
	kit_doorbell_init(&qp->doorbell, &vqp->qp);
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		rxe_wr_set_slots(qp, kit_wr_ops(in->attr));
	}
	return 0;
}

int rxe_destroy_qp(struct verbs_qp *vqp)
{
	struct rxe_qp *qp = to_rqp(&vqp->qp);
	int r = uverbs_destroy_qp(vqp);

	if (!r)
		rxe_queue_unmap_both(&qp->rq.queue, &qp->sq);
	return r;
}
