/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creating and destroying them, and their memory. */
#include <infiniband/uroce.h>
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/verbs/send.h"
#include "util/cancel.h"

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

static int sq_alloc(struct uroce_sq *sq, struct ibv_pd *pd, struct ibv_qp_cap *cap, bool sig_all)
{
	uint32_t room =
		max_of(cap->max_send_sge * (uint32_t)sizeof(struct ibv_sge), cap->max_inline_data);
	uint32_t entries = max_of(cap->max_send_wr, 1u), ring = ring_size(entries), sges;
	int r;

	room = max_of(room, (uint32_t)sizeof(struct ibv_sge));
	sges = min_of(room / (uint32_t)sizeof(struct ibv_sge), (uint32_t)UROCE_MAX_SGE);
	*sq = (struct uroce_sq){
		.stride = ROUND_UP(sizeof(struct uroce_swqe) + room, SQ_ALIGN),
		.mask = ring - 1,
		.size = uroce_granted(pd->context, entries, ring),
		.max_inline = uroce_granted(pd->context, cap->max_inline_data, room),
		.max_sge = uroce_granted(pd->context, max_of(cap->max_send_sge, 1u), sges),
		.sig_all = sig_all,
	};
	r = uroce_memory_get(&sq->memory, pd, (size_t)(ring + 1) * sq->stride, SQ_ALIGN,
			     UROCE_RES_TYPE_SEND_QUEUE); /* one more WQE is the spare */
	if (r < 0)
		return r;
	sq->ring = sq->memory.at;
	*sq_wqe_spare(sq) = (struct uroce_swqe){}; /* setters read its opcode */
	cap->max_send_wr = sq->size;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	return 0;
}

int uroce_rq_alloc(struct uroce_rq *rq, struct ibv_pd *pd, uint64_t type, uint32_t max_wr,
		   uint32_t max_sge)
{
	uint32_t entries = max_of(max_wr, 1u), ring = ring_size(entries);
	int r;

	*rq = (struct uroce_rq){
		.mask = ring - 1,
		.size = uroce_granted(pd->context, entries, ring),
		.max_sge = max_of(max_sge, 1u),
	};
	rq->stride = ROUND_UP(sizeof(struct uroce_rwqe) + rq->max_sge * sizeof(struct ibv_sge),
			      SQ_ALIGN);
	r = uroce_memory_get(&rq->memory, pd, (size_t)ring * rq->stride, SQ_ALIGN, type);
	rq->ring = rq->memory.at;
	return r;
}

static int qp_queues_alloc(struct uroce_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	uint32_t max_sge = attr->cap.max_recv_sge;
	struct ibv_pd *pd = qp->vqp.qp.pd;
	int r = 0;

	if (qp->type == IBV_QPT_XRC_RECV)
		attr->cap = (struct ibv_qp_cap){};
	else
		r = sq_alloc(&qp->sq, pd, &attr->cap, attr->sq_sig_all);
	if (r < 0)
		return r;
	if (!uroce_qp_has_rq(qp)) {
		max_sge = qp->srq ? qp->srq->rq.max_sge : UROCE_MAX_SGE;
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	} else {
		r = uroce_rq_alloc(&qp->rq, pd, UROCE_RES_TYPE_RECEIVE_QUEUE, attr->cap.max_recv_wr,
				   max_sge);
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
	uroce_memory_put(&qp->sq.memory);
	uroce_memory_put(&qp->rq.memory);
	free(qp->resp.rwqe);
	free(qp->resp.res);
}

/* --- create and destroy --- */

static bool type_is_known(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return true;
	default:
		return false;
	}
}

static int qp_check(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	/* Capabilities of a queue that the QP does not have are ignored. */
	bool receives = !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND;

	if (!type_is_known(attr->qp_type)) {
		verbs_err(ctx, "create_qp: type %d is not supported; RC, UC, UD and XRC are",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) {
		verbs_err(ctx, "create_qp: create_flags 0x%x are not supported",
			  attr->create_flags);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
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

/*
 * Add @n to the users of the QP's CQs, PD and SRQ, which cannot be destroyed while a QP uses them.
 */
static void qp_users_add(struct uroce_qp *qp, int n)
{
	if (qp->send_cq)
		atomic_fetch_add(&qp->send_cq->qps, n);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		atomic_fetch_add(&qp->recv_cq->qps, n);
	if (qp->vqp.qp.pd)
		uroce_pd_use(qp->vqp.qp.pd, n);
	if (qp->srq)
		atomic_fetch_add(&qp->srq->qps, n);
}

/* Take the CQs of a QP. An XRC receive QP has no CQ, an XRC send QP only a send CQ. */
static int cqs_take(struct uroce_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	if (qp->type == IBV_QPT_XRC_RECV)
		return 0;
	if (!attr->send_cq || (!attr->recv_cq && qp->type != IBV_QPT_XRC_SEND)) {
		verbs_err(qp->vqp.qp.context, "create_qp: send_cq and recv_cq are both needed");
		return -EINVAL;
	}
	qp->send_cq = to_ucq(attr->send_cq);
	if (qp->type == IBV_QPT_XRC_SEND)
		return 0;
	qp->recv_cq = to_ucq(attr->recv_cq);
	qp->srq = attr->srq ? to_usrq(attr->srq) : NULL;
	return 0;
}

static int qp_create(struct uroce_qp *qp, struct uroce_context *ctx,
		     const struct verbs_create_qp *in)
{
	struct uroce_host *host = ctx->dev->host;
	int r;

	qp->dev = ctx->dev;
	qp->engine = &host->engine;
	qp->type = in->attr->qp_type;
	qp->state = IBV_QPS_RESET;
	r = cqs_take(qp, in->attr);
	if (r < 0)
		return r;
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
	qp->vqp.qp.handle = qp->vqp.qp.qp_num;
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

/*
 * Create an XRC receive QP. The program gets a handle of it. Further handles may be opened and may
 * exist longer than the first.
 */
static int xrc_recv_create(struct uroce_qp *handle, struct uroce_context *ctx,
			   const struct verbs_create_qp *in)
{
	struct uroce_qp *qp = calloc(1, sizeof(*qp));
	int r;

	if (!qp)
		return -ENOMEM;
	qp->vqp.qp.context = handle->vqp.qp.context;
	qp->vqp.qp.qp_type = IBV_QPT_XRC_RECV;
	qp->vqp.rules = handle->vqp.rules;
	qp->domain = ((struct uroce_xrcd *)handle->vqp.xrcd)->domain;
	LIST_INIT(&qp->handles);
	r = qp_create(qp, ctx, in);
	if (r < 0) {
		free(qp);
		return r;
	}
	handle->vqp.qp.qp_num = handle->vqp.qp.handle = qp->vqp.qp.qp_num;
	uroce_xrc_handle_add(qp, handle);
	return 0;
}

int uroce_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);
	int r = qp_check(vqp->qp.context, in->attr);

	if (!r)
		r = uroce_host_check(ctx->dev->host);
	if (r < 0)
		return r;
	if (in->attr->qp_type == IBV_QPT_XRC_RECV)
		return xrc_recv_create(qp, ctx, in);
	return qp_create(qp, ctx, in);
}

static void qp_end(struct uroce_qp *qp, struct uroce_context *ctx)
{
	uroce_qps_finish(qp_host(qp), ctx, qp);
	uroce_qp_withdraw(qp);
	qp_users_add(qp, -1);
}

static void xrc_recv_destroy(struct uroce_qp *handle, struct uroce_context *ctx)
{
	struct uroce_host *host = qp_host(handle);

	pthread_mutex_lock(&host->xrc_lock);
	if (uroce_xrc_handle_remove(handle)) {
		qp_end(handle->shared, ctx);
		qp_queues_free(handle->shared);
		free(handle->shared);
	}
	pthread_mutex_unlock(&host->xrc_lock);
}

int uroce_destroy_qp(struct verbs_qp *vqp)
{
	_cleanup_cancel_ int cancel = cancel_off();
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
	if (qp->shared)
		xrc_recv_destroy(qp, ctx);
	else
		qp_end(qp, ctx);
	uroce_event_purge(ctx, &vqp->qp, &qp->events_raised);
	verbs_qp_wait_events(vqp, qp->events_raised);
	if (!qp->shared)
		qp_queues_free(qp);
	return 0;
}
