/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transitions, and what they do to the rings. */
#include "providers/mlx5/cqe.h"

enum {
	VENDOR_ID = 0x15b3,
};

/* Both rings are empty again, and so is what they completed. */
static void rings_reset(struct mlx5_qp *qp)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_RECV) /* it has none */
		return;
	mlx5_cqs_clean(qp, false);
	qp->sq.head = qp->sq.cur_post = 0;
	qp->sq.fence = 0;
	qp->rq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	qp->record[MLX5_RCV_DBR] = qp->record[MLX5_SND_DBR] = 0;
	if (qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET) {
		qp->withheld[MLX5_RCV_DBR] = 0;
		qp->rq.record = qp->withheld;
	}
}

/* Raw packets would be received as soon as their buffers are told of: now they may. */
static void receives_tell(struct mlx5_qp *qp)
{
	spinlock_lock(&qp->rq.lock);
	qp->record[MLX5_RCV_DBR] = qp->withheld[MLX5_RCV_DBR];
	qp->rq.record = qp->record;
	spinlock_unlock(&qp->rq.lock);
}

int mlx5_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);
	struct mlx5_ib_modify_qp_resp resp = {};
	struct mlx5_ib_modify_qp cmd = { .ece_options = qp->ece_next };
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_modify_qp request = *in;
	bool plain;
	int r;

	if (qp->rss)
		return -EOPNOTSUPP;
	if (qp->dct)
		return mlx5_modify_dct(qp, in);
	if (qp->ece_pending)
		request.udata = &udata;
	r = uverbs_modify_qp(vqp, &request);
	if (!r && qp->ece_pending) {
		qp->ece = resp.ece_options;
		qp->ece_pending = false;
	}
	if (r < 0 || !(in->mask & IBV_QP_STATE))
		return r;
	if (in->attr->qp_state == IBV_QPS_INIT && qp->copies) {
		r = mlx5_qp_enable_copies(&vqp->qp);
		if (r < 0)
			return r;
	}
	if (in->attr->qp_state == IBV_QPS_INIT && qp->stops_at_sig_errors) {
		r = mlx5_qp_stop_at_sig_errors(&vqp->qp);
		if (r < 0)
			return r;
	}
	if (in->attr->qp_state == IBV_QPS_RESET)
		rings_reset(qp);
	if (in->attr->qp_state == IBV_QPS_RTR && vqp->qp.qp_type == IBV_QPT_RAW_PACKET)
		receives_tell(qp);
	mlx_gates_set(vqp, in->attr->qp_state, &qp->sq.max_sge, &qp->rq);
	/* Requests that say where they go to in a way of their own are no plain ones; and one
	 * behind a request of the program's own making has to say that it is none. */
	plain = qp->sq.max_sge > 0 && !qp->sq.raw &&
		(qp->vqp.qp.qp_type == IBV_QPT_UD || !qp->sq.address_size);
	qp->sq.plain = plain ? qp->sq.ops & MLX_PLAIN_OPS : 0;
	return 0;
}

int mlx5_query_ece(struct verbs_qp *vqp, struct ibv_ece *ret_ece)
{
	*ret_ece = (struct ibv_ece){ .vendor_id = VENDOR_ID, .options = to_mqp(&vqp->qp)->ece };
	return 0;
}

int mlx5_set_ece(struct verbs_qp *vqp, const struct ibv_ece *ece)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);

	if (!(to_mctx(vqp->qp.context)->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE))
		return -EOPNOTSUPP;
	if (ece->comp_mask || ece->vendor_id != VENDOR_ID) {
		verbs_err(vqp->qp.context, "qp 0x%x: ibv_set_ece: vendor 0x%x is not 0x%x",
			  vqp->qp.qp_num, ece->vendor_id, VENDOR_ID);
		return -EINVAL;
	}
	qp->ece_next = ece->options;
	qp->ece_pending = true;
	return 0;
}
