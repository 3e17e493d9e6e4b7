/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the sizes of the rings, creation, states and destruction. */
#include "providers/bnxt_re/wqe.h"
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"

enum {
	SGE_MAX = 64,
	INLINE_MAX = 1 << 10,
	ALIGN_SLOTS = 256, /* of a ring of variable requests */
	MTU_SHIFT = 7,	   /* of enum ibv_mtu 0 */
};

static bool type_is_known(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET;
}

static int limits_check(struct ibv_context *ibctx, const struct ibv_qp_cap *cap)
{
	const struct bnxt_re_context *ctx = to_bctx(ibctx);
	uint32_t max_sge = min_of(ctx->max_sge, (uint32_t)SGE_MAX), max_inline = INLINE_MAX;

	if (!ctx->variable) {
		max_sge = min_of(max_sge, (uint32_t)STATIC_SLOTS - HEADERS);
		max_inline = (STATIC_SLOTS - HEADERS) * SLOT;
	}
	if (max_of(cap->max_send_wr, cap->max_recv_wr) <= ctx->max_wr &&
	    max_of(cap->max_send_sge, cap->max_recv_sge) <= max_sge &&
	    cap->max_inline_data <= max_inline)
		return 0;
	verbs_err(ibctx,
		  "ibv_create_qp: %u sends and %u receives (at most %u each) of %u and %u entries "
		  "(at most %u), %u bytes inline (at most %u)",
		  cap->max_send_wr, cap->max_recv_wr, ctx->max_wr, cap->max_send_sge,
		  cap->max_recv_sge, max_sge, cap->max_inline_data, max_inline);
	return -EINVAL;
}

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	int r;

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by bnxt_re",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (!type_is_known(attr->qp_type)) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: bnxt_re has RC, UD and raw packets",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	r = kit_wr_check(ctx, kit_wr_ops(attr), bnxt_re_wr_ops(to_bctx(ctx), attr->qp_type));
	return r < 0 ? r : limits_check(ctx, &attr->cap);
}

/* ---- rings */

static void rings_free(struct bnxt_re_qp *qp)
{
	kit_buf_free(&qp->sq_buf);
	kit_buf_free(&qp->rq_buf);
	free(qp->sq.sent);
	free(qp->rq.wr_ids);
}

/* Return the slots of a send of at most @cap. */
static uint32_t send_slots(const struct bnxt_re_context *ctx, const struct ibv_qp_cap *cap)
{
	uint32_t data = (cap->max_inline_data + SLOT - 1) / SLOT;
	uint32_t list = max_of(cap->max_send_sge, 1u);

	return ctx->variable ? HEADERS + max_of(data, list) : STATIC_SLOTS;
}

/* The memory for packet numbers follows the ring. */
static int sq_make(struct bnxt_re_qp *qp, const struct ibv_qp_cap *cap)
{
	const struct bnxt_re_context *ctx = to_bctx(qp->vqp.qp.context);
	struct bnxt_re_sq *sq = &qp->sq;
	uint32_t requests =
		bnxt_re_depth(ctx, cap->max_send_wr + 1 + SPARE, ctx->max_wr + 1 + SPARE);
	uint32_t slots = send_slots(ctx, cap), psn_count, psn_bytes;
	int r;

	sq->depth = requests * slots;
	if (ctx->variable)
		sq->depth = ROUND_UP(sq->depth, (uint32_t)ALIGN_SLOTS);
	sq->step = ctx->variable ? 0 : STATIC_SLOTS;
	sq->count = psn_count = ctx->variable ? sq->depth : requests;
	sq->usable = sq->depth - SPARE * slots - 1;
	sq->psn_form = ctx->psn_form;
	if (ctx->psn_form == BNXT_RE_PSN_MESSAGES) {
		psn_count = round_up_pow2(psn_count);
		sq->msns = ctx->variable ? psn_count / 2 : psn_count;
	}
	psn_bytes = ctx->psn_form == BNXT_RE_PSN_16 ? 16 : 8;
	r = kit_buf_alloc(&qp->sq_buf, (size_t)sq->depth * SLOT + (size_t)psn_count * psn_bytes);
	if (r < 0)
		return r;
	sq->ring = qp->sq_buf.base;
	sq->psns = sq->ring + (size_t)sq->depth * SLOT;
	sq->sent = calloc(sq->count, sizeof(*sq->sent));
	return sq->sent ? 0 : -ENOMEM;
}

static int rq_make(struct bnxt_re_qp *qp, const struct ibv_qp_cap *cap)
{
	const struct bnxt_re_context *ctx = to_bctx(qp->vqp.qp.context);
	struct bnxt_re_rq *rq = &qp->rq;
	int r;

	rq->room = cap->max_recv_wr;
	rq->count = bnxt_re_depth(ctx, rq->room + 1, ctx->max_wr + 1);
	rq->slots = ctx->variable ? HEADERS + max_of(cap->max_recv_sge, 1u) : STATIC_SLOTS;
	r = kit_buf_alloc(&qp->rq_buf, (size_t)rq->count * rq->slots * SLOT);
	if (r < 0)
		return r;
	rq->ring = qp->rq_buf.base;
	rq->wr_ids = calloc(rq->count, sizeof(*rq->wr_ids));
	return rq->wr_ids ? 0 : -ENOMEM;
}

/* ---- creation */

static int kernel_create(struct bnxt_re_qp *qp, const struct verbs_create_qp *in)
{
	struct bnxt_re_qp_req cmd = {
		.qpsva = (uintptr_t)qp->sq_buf.base,
		.qprva = (uintptr_t)qp->rq_buf.base,
		.qp_handle = le64toh(bnxt_re_handle(qp->id)),
		.sq_slots = qp->sq.step ? 0 : qp->sq.depth,
	};
	struct bnxt_re_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	qp->sq.number = qp->rq.number = resp.qpid & BNXT_RE_NUMBER_MASK;
	return 0;
}

/* Set the sizes that the kernel granted, and return the largest inline size. */
static uint32_t rings_open(struct bnxt_re_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct bnxt_re_context *ctx = to_bctx(qp->vqp.qp.context);
	struct bnxt_re_sq *sq = &qp->sq;
	uint32_t data = (send_slots(ctx, &attr->cap) - HEADERS) * SLOT;

	sq->max_inline = min_of(attr->cap.max_inline_data, data);
	sq->flags = attr->sq_sig_all ? WQE_SIGNALED : 0;
	sq->connected = attr->qp_type == IBV_QPT_RC;
	sq->datagrams = attr->qp_type == IBV_QPT_UD;
	sq->atomics = ctx->atomics;
	sq->mtu_shift = MTU_SHIFT + IBV_MTU_1024;
	sq->doorbell = qp->rq.doorbell = ctx->doorbells.base;
	sq->max_sge = qp->rq.max_sge = -1;
	for (uint32_t i = 0; i < sq->count; i++)
		sq->sent[i].qp_num = qp->vqp.qp.qp_num;
	return sq->max_inline;
}

static int qp_make(struct bnxt_re_qp *qp, const struct verbs_create_qp *in)
{
	struct bnxt_re_context *ctx = to_bctx(qp->vqp.qp.context);
	struct idtable *table = &ctx->qps;
	int r = sq_make(qp, &in->attr->cap);

	if (!r && !qp->srq)
		r = rq_make(qp, &in->attr->cap);
	if (r < 0)
		return r;
	r = idtable_add(table, qp, &qp->id);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ctx->qp_lock);
	r = kernel_create(qp, in);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0)
		idtable_remove(table, qp->id);
	return r;
}

int bnxt_re_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct bnxt_re_qp *qp = to_bqp(&vqp->qp);
	struct ibv_qp_cap asked, *cap = &in->attr->cap;
	int r;

	if (in->attr->srq)
		cap->max_recv_wr = cap->max_recv_sge = 0;
	asked = *cap;
	r = qp_check(vqp->qp.context, in->attr);
	if (r < 0)
		return r;
	/* The kernel does not support a queue pair with only one ring. */
	cap->max_send_wr = max_of(cap->max_send_wr, 1u);
	cap->max_recv_wr = max_of(cap->max_recv_wr, in->attr->srq ? 0u : 1u);
	qp->send_cq = to_bcq(in->attr->send_cq);
	qp->recv_cq = to_bcq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_bsrq(in->attr->srq) : NULL;
	r = qp_make(qp, in);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	/* The rings have the sizes that the program requested. */
	asked.max_inline_data = rings_open(qp, in->attr);
	*cap = vqp->cap = asked;
	bnxt_re_cqs_attach(qp);
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		bnxt_re_wr_set_slots(qp, kit_wr_ops(in->attr));
	}
	return 0;
}

/* ---- states */

/* Follow a transition. In the error state the adapter completes no further requests. */
static void state_take(struct bnxt_re_qp *qp, enum ibv_qp_state state)
{
	bool sends = state >= IBV_QPS_RTS && qp->vqp.cap.max_send_wr;
	bool receives = state >= IBV_QPS_INIT && !qp->srq && qp->vqp.cap.max_recv_wr;

	if (state == IBV_QPS_RESET)
		bnxt_re_cqs_clean(qp, false);
	qp->sq.max_sge = sends ? (int)qp->vqp.cap.max_send_sge : -1;
	qp->rq.max_sge = receives ? (int)qp->vqp.cap.max_recv_sge : -1;
	if (state == IBV_QPS_ERR)
		bnxt_re_flush(qp, true, true);
}

int bnxt_re_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct bnxt_re_qp *qp = to_bqp(&vqp->qp);
	int r = uverbs_modify_qp(vqp, in);

	if (r < 0)
		return r;
	if (in->mask & IBV_QP_SQ_PSN)
		qp->sq.psn = in->attr->sq_psn & PSN_MASK;
	if (in->mask & IBV_QP_PATH_MTU)
		qp->sq.mtu_shift = MTU_SHIFT + (in->attr->path_mtu & 7);
	if (in->mask & IBV_QP_STATE)
		state_take(qp, in->attr->qp_state);
	return 0;
}

int bnxt_re_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int bnxt_re_destroy_qp(struct verbs_qp *vqp)
{
	struct bnxt_re_context *ctx = to_bctx(vqp->qp.context);
	struct bnxt_re_qp *qp = to_bqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r)
		bnxt_re_cqs_clean(qp, true);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0)
		return r;
	rings_free(qp);
	return 0;
}

/* Return whether the kernel reports a state in which the adapter executes no requests. The event
 * may be older than a transition to RESET, after which the queue pair works again. */
static bool is_stopped(struct bnxt_re_qp *qp)
{
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;
	const struct verbs_query_qp query = {
		.ret_attr = &attr,
		.ret_init_attr = &init_attr,
		.mask = IBV_QP_STATE,
	};

	return uverbs_query_qp(&qp->vqp, &query) < 0 || attr.qp_state == IBV_QPS_ERR ||
	       attr.qp_state == IBV_QPS_SQE;
}

/* An adapter may report a failed queue pair only by an event. */
void bnxt_re_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct bnxt_re_qp *qp;

	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		qp = to_bqp(event->element.qp);
		if (is_stopped(qp))
			bnxt_re_flush(qp, true, true);
		return;
	default:
		return;
	}
}
