/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State transitions, and their effect on the rings. */
#include "providers/efa/efa.h"

/* Set the limits of posting that belong to the new state. */
static void post_limits_set(struct efa_qp *qp, enum ibv_qp_state state)
{
	bool sends = state == IBV_QPS_RTS || state == IBV_QPS_SQD;
	bool receives = state != IBV_QPS_RESET && state != IBV_QPS_ERR;

	if (sends && qp->sq.wq.max_post)
		qp->sq.flags &= ~EFA_SQ_CLOSED;
	else
		qp->sq.flags |= EFA_SQ_CLOSED;
	qp->rq.wq.max_sge = receives && qp->rq.wq.max_post ? (int)qp->rq.wqe_sge : 0;
}

int efa_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct efa_context *ctx = to_ectx(vqp->qp.context);
	struct efa_qp *qp = to_eqp(&vqp->qp);
	int r = uverbs_modify_qp(vqp, in);

	if (r < 0 || !(in->mask & IBV_QP_STATE))
		return r;
	if (in->attr->qp_state == IBV_QPS_RESET) {
		pthread_mutex_lock(&ctx->qp_lock);
		efa_qp_start(qp);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	post_limits_set(qp, in->attr->qp_state);
	return 0;
}

int efa_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	return uverbs_query_qp(vqp, in);
}

/* Report the order of data. Messages arrive in any order. Some devices write aligned blocks of 128
 * bytes in one piece. */
int efa_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode op)
{
	return efa_can(to_ectx(vqp->qp.context), EFA_QUERY_DEVICE_CAPS_DATA_POLLING_128)
		       ? IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES
		       : 0;
}
