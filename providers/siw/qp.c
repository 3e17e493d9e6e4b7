/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the kernel's object plus one or two rings. */
#include "providers/kit/qp.h"
#include "providers/siw/siw.h"

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx,
			  "ibv_create_qp_ex: comp_mask 0x%x is not supported (supported: 0x%x)",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD, IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: iWARP has connections (RC) only",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int qp_map(struct siw_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		  const struct siw_uresp_create_qp *resp)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	int r = siw_ring_map(ctx, "send queue", resp->sq_key, resp->num_sqe, sizeof(struct siw_sqe),
			     0, &qp->sq_ring);

	if (r < 0)
		return r;
	qp->slots = qp->sq_ring.base;
	qp->mask = resp->num_sqe - 1;
	qp->max_sge = min_of(attr->cap.max_send_sge, (uint32_t)SIW_MAX_SGE);
	qp->always = SIW_WQE_VALID | (attr->sq_sig_all ? SIW_WQE_SIGNALLED : 0);
	/* A QP without receives has no ring. */
	if (attr->srq || !resp->num_rqe)
		return 0;
	r = siw_recv_queue_map(&qp->rq, ctx, "receive queue", resp->rq_key, resp->num_rqe,
			       attr->cap.max_recv_sge);
	if (r < 0)
		kit_page_unmap(&qp->sq_ring);
	return r;
}

int siw_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct siw_qp *qp = to_sqp(&vqp->qp);
	struct siw_uresp_create_qp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	uint32_t *sends = &in->attr->cap.max_send_wr;
	bool only_receives = !*sends;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	/* The kernel has no queue pair without a send queue. Therefore a queue pair that only
	 * receives gets one send request. */
	if (only_receives)
		*sends = 1;
	r = kit_create_qp(vqp, in, &udata);
	if (r == 0) {
		r = qp_map(qp, in->attr, &resp);
		if (r < 0)
			uverbs_destroy_qp(vqp);
	}
	if (r < 0) {
		if (only_receives)
			*sends = 0;
		return r;
	}
	kit_doorbell_init(&qp->doorbell, &vqp->qp);
	return 0;
}

int siw_destroy_qp(struct verbs_qp *vqp)
{
	struct siw_qp *qp = to_sqp(&vqp->qp);
	int r = uverbs_destroy_qp(vqp);

	if (r < 0)
		return r;
	kit_page_unmap(&qp->sq_ring);
	kit_page_unmap(&qp->rq.ring);
	return 0;
}
