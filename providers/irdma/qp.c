/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the sizes of the rings, creation, states and destruction. */
#include "providers/irdma/wqe.h"
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"

enum {
	ABI_FIXED_RECEIVES = 4, /* from the next version on, receives of an X722 have one size */
	SHIFT_FIXED_RECEIVES = 2,
	RESERVED_CONNECTION = 1, /* requests of a new iWARP connection */
	RESERVED_EVENT = 3,	 /* the same with IRDMA_FEATURE_RTS_AE */
};

/* The sizes of both rings. */
struct sizes {
	uint32_t sq_shift, rq_shift; /* of quanta of a request */
	uint32_t sq_depth, rq_depth; /* quanta */
};

/* ---- checks */

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by irdma",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC && (attr->qp_type != IBV_QPT_UD || irdma_is_iwarp(ctx))) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: irdma has RC and, except for iWARP, UD",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	return kit_wr_check(ctx, kit_wr_ops(attr), irdma_wr_ops(to_ictx(ctx), attr->qp_type));
}

static int sizes_refuse(struct ibv_context *ibctx, const struct ibv_qp_cap *cap)
{
	const struct irdma_context *ctx = to_ictx(ibctx);

	verbs_err(
		ibctx,
		"ibv_create_qp: %u sends and %u receives (at most %u and %u quanta of 32 bytes) of "
		"%u and %u entries (at most %u), %u bytes inline (at most %u)",
		cap->max_send_wr, cap->max_recv_wr, ctx->max_sq, ctx->max_rq, cap->max_send_sge,
		cap->max_recv_sge, ctx->max_sge, cap->max_inline_data, ctx->max_inline);
	return -EINVAL;
}

/* Newer adapters need a fragment for immediate data. */
static int sizes_compute(struct ibv_context *ibctx, const struct ibv_qp_cap *cap, struct sizes *ret)
{
	const struct irdma_context *ctx = to_ictx(ibctx);

	if (max_of(cap->max_send_sge, cap->max_recv_sge) > ctx->max_sge ||
	    cap->max_inline_data > ctx->max_inline)
		return sizes_refuse(ibctx, cap);
	ret->sq_shift =
		irdma_shift(ctx, cap->max_send_sge + (ctx->generation > 1), cap->max_inline_data);
	ret->rq_shift = irdma_shift(ctx, cap->max_recv_sge, 0);
	if (ctx->generation == 1 && ctx->abi > ABI_FIXED_RECEIVES)
		ret->rq_shift = SHIFT_FIXED_RECEIVES;
	if (irdma_depth(ctx, cap->max_send_wr, ret->sq_shift, SQ_SPARE + 1, ctx->max_sq,
			&ret->sq_depth) < 0 ||
	    irdma_depth(ctx, cap->max_recv_wr, ret->rq_shift, 1, ctx->max_rq, &ret->rq_depth) < 0)
		return sizes_refuse(ibctx, cap);
	return 0;
}

/* ---- creation */

static size_t ring_pages(uint32_t depth)
{
	return ((size_t)depth * IRDMA_QUANTUM + IRDMA_PAGE - 1) / IRDMA_PAGE;
}

/* Make both rings. The shadow area of the device follows them. */
static int rings_make(struct irdma_qp *qp, const struct sizes *sizes)
{
	const struct irdma_mem_reg_req request = {
		.reg_type = IRDMA_MEMREG_TYPE_QP,
		.sq_pages = ring_pages(sizes->sq_depth),
		.rq_pages = ring_pages(sizes->rq_depth),
	};
	size_t pages = request.sq_pages + request.rq_pages;
	int r = irdma_memory_make(&qp->memory, qp->vqp.qp.pd, pages * IRDMA_PAGE + IRDMA_SHADOW,
				  request);

	if (r < 0)
		return r;
	qp->sq.ring = qp->memory.buf.base;
	qp->rq.ring = qp->sq.ring + (size_t)request.sq_pages * IRDMA_PAGE;
	qp->sq.sent = calloc(sizes->sq_depth, sizeof(*qp->sq.sent));
	qp->rq.wr_ids = calloc(sizes->rq_depth >> sizes->rq_shift, sizeof(*qp->rq.wr_ids));
	return qp->sq.sent && qp->rq.wr_ids ? 0 : -ENOMEM;
}

static void rings_free(struct irdma_qp *qp)
{
	kit_region_free(&qp->memory);
	free(qp->sq.sent);
	free(qp->rq.wr_ids);
}

/* Use rings of the sizes that the kernel granted. They are not larger than the memory. */
static int rings_open(struct irdma_qp *qp, const struct sizes *sizes,
		      const struct irdma_create_qp_resp *resp)
{
	const struct irdma_context *ctx = to_ictx(qp->vqp.qp.context);
	struct irdma_sq *sq = &qp->sq;

	if (resp->actual_sq_size != sizes->sq_depth >> sizes->sq_shift ||
	    (!qp->srq && resp->actual_rq_size != sizes->rq_depth >> sizes->rq_shift)) {
		verbs_err(qp->vqp.qp.context,
			  "ibv_create_qp: the kernel has rings of %u and %u requests instead of "
			  "%u and %u",
			  resp->actual_sq_size, resp->actual_rq_size,
			  sizes->sq_depth >> sizes->sq_shift, sizes->rq_depth >> sizes->rq_shift);
		return -EPROTO;
	}
	sq->size = sizes->sq_depth;
	sq->usable = sq->size - SQ_SPARE;
	if (ctx->legacy || resp->lsmm)
		sq->head = !ctx->legacy && ctx->features & IRDMA_FEATURE_RTS_AE
				   ? RESERVED_EVENT
				   : RESERVED_CONNECTION;
	atomic_store_explicit(&sq->posted, sq->head, memory_order_relaxed);
	atomic_store_explicit(&sq->tail, sq->head, memory_order_relaxed);
	sq->number = htole32(resp->qp_id);
	sq->caps = resp->qp_caps;
	qp->rq.shift = sizes->rq_shift;
	if (!qp->srq)
		qp->rq.size = sizes->rq_depth >> sizes->rq_shift;
	return 0;
}

static void queues_set(struct irdma_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct irdma_context *ctx = to_ictx(qp->vqp.qp.context);
	struct irdma_sq *sq = &qp->sq;

	sq->chunk = ctx->chunk;
	sq->max_inline = attr->cap.max_inline_data;
	sq->max_read_sge = ctx->max_read_sge;
	sq->signaled = attr->sq_sig_all ? HEADER_SIGNALED : 0;
	sq->datagrams = attr->qp_type == IBV_QPT_UD;
	sq->binds = !sq->datagrams;
	sq->atomics = !sq->datagrams && ctx->features & IRDMA_FEATURE_ATOMICS;
	sq->old_format = qp->rq.old_format = ctx->generation == 1;
	sq->plain = !sq->datagrams && !sq->old_format;
	sq->even_extra = qp->rq.even_extra = ctx->generation == 2;
	sq->doorbell = (char *)ctx->doorbells.base + IRDMA_DB_SEND;
	sq->max_sge = qp->rq.max_sge = -1;
	for (uint32_t i = 0; i < sq->size; i++)
		sq->sent[i].qp_num = qp->vqp.qp.qp_num;
}

/* Without the ability to compute the sizes of rings the kernel gets the sizes that were computed
 * here. */
static int kernel_create(struct irdma_qp *qp, const struct verbs_create_qp *in,
			 const struct sizes *sizes)
{
	struct irdma_create_qp_req cmd = {
		.user_wqe_bufs = (uintptr_t)qp->memory.buf.base,
		.user_compl_ctx = irdma_handle(qp->id),
	};
	struct irdma_create_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	const struct ibv_qp_cap asked = in->attr->cap;
	int r;

	if (!to_ictx(qp->vqp.qp.context)->raw) {
		in->attr->cap.max_send_wr = sizes->sq_depth >> sizes->sq_shift;
		in->attr->cap.max_recv_wr = sizes->rq_depth >> sizes->rq_shift;
	}
	r = kit_create_qp(&qp->vqp, in, &udata);
	in->attr->cap = asked;
	if (r < 0)
		return r;
	r = rings_open(qp, sizes, &resp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

static int qp_make(struct irdma_qp *qp, const struct verbs_create_qp *in, const struct sizes *sizes)
{
	struct idtable *table = &to_ictx(qp->vqp.qp.context)->qps;
	int r = rings_make(qp, sizes);

	if (r < 0)
		return r;
	r = idtable_add(table, qp, &qp->id);
	if (r < 0)
		return r;
	r = kernel_create(qp, in, sizes);
	if (r < 0)
		idtable_remove(table, qp->id);
	return r;
}

/* Return the requests that fit into the rings. */
static struct ibv_qp_cap granted(const struct irdma_qp *qp, const struct ibv_qp_cap *cap,
				 const struct sizes *sizes)
{
	struct ibv_qp_cap result = *cap;

	result.max_send_wr = (sizes->sq_depth - SQ_SPARE - 1) >> sizes->sq_shift;
	result.max_recv_wr = (sizes->rq_depth - 1) >> sizes->rq_shift;
	if (qp->srq)
		result.max_recv_wr = result.max_recv_sge = 0;
	return result;
}

int irdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct ibv_context *ctx = vqp->qp.context;
	struct irdma_qp *qp = to_iqp(&vqp->qp);
	struct ibv_qp_cap *cap = &in->attr->cap;
	struct sizes sizes;
	int r = qp_check(ctx, in->attr);

	if (r < 0)
		return r;
	if (in->attr->srq) {
		cap->max_recv_sge = to_ictx(ctx)->max_sge;
		cap->max_recv_wr = 1;
	}
	r = sizes_compute(ctx, cap, &sizes);
	if (r < 0)
		return r;
	qp->send_cq = to_icq(in->attr->send_cq);
	qp->recv_cq = to_icq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_isrq(in->attr->srq) : NULL;
	r = qp_make(qp, in, &sizes);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	queues_set(qp, in->attr);
	*cap = vqp->cap = granted(qp, cap, &sizes);
	idtable_own(&to_ictx(ctx)->qps, qp->id, qp->send_cq, qp->recv_cq);
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		irdma_wr_set_slots(qp, kit_wr_ops(in->attr));
	}
	return 0;
}

/* ---- states */

static void over_set(struct irdma_qp *qp)
{
	spinlock_lock(&qp->sq.lock);
	atomic_store_explicit(&qp->sq.over, true, memory_order_relaxed);
	spinlock_unlock(&qp->sq.lock);
	spinlock_lock(&qp->rq.lock);
	atomic_store_explicit(&qp->rq.over, true, memory_order_relaxed);
	spinlock_unlock(&qp->rq.lock);
}

/* Follow a transition. The kernel makes iWARP connections, and it never lets a queue pair work
 * again that was reset. */
static void state_take(struct irdma_qp *qp, enum ibv_qp_state state)
{
	bool iwarp = irdma_is_iwarp(qp->vqp.qp.context);
	bool sends = state >= (iwarp ? IBV_QPS_INIT : IBV_QPS_RTS);
	bool receives = state >= IBV_QPS_INIT && !qp->srq;

	qp->sq.max_sge = sends ? (int)qp->vqp.cap.max_send_sge : -1;
	qp->rq.max_sge = receives ? (int)qp->vqp.cap.max_recv_sge : -1;
	if (state == IBV_QPS_ERR)
		over_set(qp);
}

int irdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	int r = uverbs_modify_qp(vqp, in);

	if (!r && in->mask & IBV_QP_STATE)
		state_take(to_iqp(&vqp->qp), in->attr->qp_state);
	return r;
}

int irdma_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int irdma_destroy_qp(struct verbs_qp *vqp)
{
	struct irdma_qp *qp = to_iqp(&vqp->qp);
	int r = uverbs_destroy_qp(vqp);

	if (r < 0)
		return r;
	irdma_cqs_clean(qp);
	rings_free(qp);
	return 0;
}

/* The kernel asks the adapter to complete what is in the rings. A failure is ignored, because the
 * queue pair is in the error state already. */
void irdma_flush(struct irdma_qp *qp, bool sends, bool receives)
{
	struct irdma_modify_qp_req cmd = { .sq_flush = sends, .rq_flush = receives };
	struct irdma_modify_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct verbs_modify_qp in = {
		.attr = &attr,
		.mask = IBV_QP_STATE,
		.udata = &udata,
	};

	uverbs_modify_qp(&qp->vqp, &in);
}

/* An adapter may report a failed queue pair by an event before the completion. */
void irdma_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		over_set(to_iqp(event->element.qp));
		return;
	default:
		return;
	}
}
