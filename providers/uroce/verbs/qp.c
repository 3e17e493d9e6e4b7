/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: memory and life. */
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/verbs/send.h"

enum {
	SQ_ALIGN = 64,
};

/* --- memory --- */

static uint32_t ring_size(uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries)
		size <<= 1;
	return size;
}

static int sq_alloc(struct uroce_sq *sq, struct ibv_qp_cap *cap, bool sig_all)
{
	uint32_t room =
		max_of(cap->max_send_sge * (uint32_t)sizeof(struct ibv_sge), cap->max_inline_data);

	room = max_of(room, (uint32_t)sizeof(struct ibv_sge));
	*sq = (struct uroce_sq){
		.stride = ROUND_UP(sizeof(struct uroce_swqe) + room, SQ_ALIGN),
		.size = ring_size(max_of(cap->max_send_wr, 1u)),
		.max_inline = room,
		.max_sge = room / sizeof(struct ibv_sge) < UROCE_MAX_SGE
				   ? room / sizeof(struct ibv_sge)
				   : UROCE_MAX_SGE,
		.sig_all = sig_all,
	};
	sq->mask = sq->size - 1;
	sq->ring = aligned_alloc(SQ_ALIGN,
				 (size_t)(sq->size + 1) * sq->stride); /* and the spare one */
	if (!sq->ring)
		return -ENOMEM;
	*sq_wqe_spare(sq) = (struct uroce_swqe){}; /* setters look at its opcode */
	cap->max_send_wr = sq->size;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	return 0;
}

int uroce_rq_alloc(struct uroce_rq *rq, uint32_t max_wr, uint32_t max_sge)
{
	*rq = (struct uroce_rq){
		.max_sge = max_of(max_sge, 1u),
		.size = ring_size(max_of(max_wr, 1u)),
	};
	rq->stride = ROUND_UP(sizeof(struct uroce_rwqe) + rq->max_sge * sizeof(struct ibv_sge),
			      SQ_ALIGN);
	rq->mask = rq->size - 1;
	rq->ring = aligned_alloc(SQ_ALIGN, (size_t)rq->size * rq->stride);
	return rq->ring ? 0 : -ENOMEM;
}

static int qp_queues_alloc(struct uroce_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	uint32_t max_sge = attr->cap.max_recv_sge;
	int r = sq_alloc(&qp->sq, &attr->cap, attr->sq_sig_all);

	if (r < 0)
		return r;
	if (qp->srq) {
		max_sge = qp->srq->rq.max_sge;
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	} else {
		r = uroce_rq_alloc(&qp->rq, attr->cap.max_recv_wr, max_sge);
		if (r < 0)
			return r;
		attr->cap.max_recv_wr = qp->rq.size;
		attr->cap.max_recv_sge = qp->rq.max_sge;
		max_sge = qp->rq.max_sge;
	}
	qp->resp.rwqe = calloc(1, sizeof(*qp->resp.rwqe) + max_sge * sizeof(struct ibv_sge));
	return qp->resp.rwqe ? 0 : -ENOMEM;
}

static void qp_queues_free(struct uroce_qp *qp)
{
	uroce_fault_qp_free(qp);
	free(qp->sq.ring);
	free(qp->rq.ring);
	free(qp->resp.rwqe);
	free(qp->resp.res);
}

/* --- create and destroy --- */

static int qp_check(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	bool receives = !attr->srq; /* what it asks for a queue it does not get is ignored */

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD) {
		verbs_err(ctx, "create_qp: type %d is not supported; RC, UC and UD are",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) {
		verbs_err(ctx, "create_qp: create_flags 0x%x are not supported",
			  attr->create_flags);
		return -EOPNOTSUPP;
	}
	if (cap->max_send_wr > UROCE_MAX_WR || cap->max_send_sge > UROCE_MAX_SGE ||
	    (receives && (cap->max_recv_wr > UROCE_MAX_WR || cap->max_recv_sge > UROCE_MAX_SGE)) ||
	    cap->max_inline_data > UROCE_MAX_INLINE) {
		verbs_err(
			ctx,
			"create_qp: send_wr %u, recv_wr %u (at most %u), send_sge %u, recv_sge %u (at most %u), "
			"inline %u (at most %u)",
			cap->max_send_wr, cap->max_recv_wr, UROCE_MAX_WR, cap->max_send_sge,
			cap->max_recv_sge, UROCE_MAX_SGE, cap->max_inline_data, UROCE_MAX_INLINE);
		return -EINVAL;
	}
	return 0;
}

/* CQs and SRQ cannot go while the QP uses them. */
static void qp_users_add(struct uroce_qp *qp, int n)
{
	atomic_fetch_add(&qp->send_cq->qps, n);
	atomic_fetch_add(&qp->recv_cq->qps, n);
	atomic_fetch_add(&((struct uroce_pd *)qp->vqp.qp.pd)->users, n);
	if (qp->srq)
		atomic_fetch_add(&qp->srq->qps, n);
}

int uroce_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);
	struct uroce_host *host = ctx->dev->host;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	r = uroce_host_check(host);
	if (r < 0)
		return r;
	qp->dev = ctx->dev;
	qp->engine = &host->engine;
	qp->type = in->attr->qp_type;
	qp->state = IBV_QPS_RESET;
	if (!in->attr->send_cq || !in->attr->recv_cq) {
		verbs_err(vqp->qp.context, "create_qp: send_cq and recv_cq are both needed");
		return -EINVAL;
	}
	qp->send_cq = to_ucq(in->attr->send_cq);
	qp->recv_cq = to_ucq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_usrq(in->attr->srq) : NULL;
	r = qp_queues_alloc(qp, in->attr);
	if (r < 0)
		goto fail;
	if (in->extended) {
		r = uroce_wr_init(qp, in->attr);
		if (r < 0)
			goto fail;
	}
	if (unlikely(host->faults)) {
		r = uroce_fault_qp_init(host->faults, qp);
		if (r < 0)
			goto fail;
	}
	r = uroce_qpn_alloc(qp);
	if (r < 0)
		goto fail;
	vqp->qp.handle = vqp->qp.qp_num;
	qp_users_add(qp, 1);
	if (qp->type == IBV_QPT_UD) {
		atomic_fetch_add_explicit(&host->udp_interest, 1, memory_order_relaxed);
		uroce_dev_headers_show(qp->dev);
	}
	return 0;
fail:
	qp_queues_free(qp);
	return r;
}

int uroce_destroy_qp(struct verbs_qp *vqp)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);
	int r = uroce_host_check(qp_host(qp));

	if (r < 0)
		return r;
	if (qp->mcast_groups) {
		verbs_err(vqp->qp.context, "qp 0x%x: still attached to %u multicast groups",
			  vqp->qp.qp_num, qp->mcast_groups);
		return -EBUSY;
	}
	uroce_qps_settle(qp_host(qp), ctx, qp);
	uroce_qp_withdraw(qp);
	uroce_cq_sq_forget(qp->send_cq, &qp->sq);
	qp_users_add(qp, -1);
	uroce_event_purge(ctx, &vqp->qp, &qp->events_raised);
	verbs_qp_wait_events(vqp, qp->events_raised);
	qp_queues_free(qp);
	return 0;
}
