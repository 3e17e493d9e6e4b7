/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, states and destruction. */
#include "providers/ionic/wqe.h"
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"

enum {
	WR_MAX = 65535,
	QUEUE_SHIFT = 48, /* place of the queue type in an express doorbell */
};
#define EXPRESS_MARK (0x0bull << 19)

/* ---- what the program requests */

static int limits_check(struct ibv_context *ibctx, const struct ibv_qp_cap *cap)
{
	const struct ionic_context *ctx = to_ioctx(ibctx);
	uint32_t max_sge = ionic_max_sge(ctx->max_stride, 0, false);
	uint32_t max_inline = ionic_max_inline(ctx->max_stride, false);

	if (max_of(cap->max_send_wr, cap->max_recv_wr) <= WR_MAX &&
	    max_of(cap->max_send_sge, cap->max_recv_sge) <= max_sge &&
	    cap->max_inline_data <= max_inline)
		return 0;
	verbs_err(ibctx,
		  "ibv_create_qp: %u sends and %u receives (at most %d each) of %u and %u entries "
		  "(at most %u), %u bytes inline (at most %u)",
		  cap->max_send_wr, cap->max_recv_wr, WR_MAX, cap->max_send_sge, cap->max_recv_sge,
		  max_sge, cap->max_inline_data, max_inline);
	return -EINVAL;
}

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	int r;

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by ionic",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UD) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: ionic has RC and UD", attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (attr->srq) {
		verbs_err(ctx, "ibv_create_qp: ionic has no shared receive queues");
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	r = kit_wr_check(ctx, kit_wr_ops(attr), ionic_wr_ops(attr->qp_type));
	return r < 0 ? r : limits_check(ctx, &attr->cap);
}

/* ---- rings */

/* Return whether requests of this size can have an express doorbell. */
static bool express_fits(const struct ionic_context *ctx, uint32_t size)
{
	static const struct {
		uint32_t size;
		uint8_t bit;
	} rows[] = { { 64, IONIC_EXPDB_64 },
		     { 128, IONIC_EXPDB_128 },
		     { 256, IONIC_EXPDB_256 },
		     { 512, IONIC_EXPDB_512 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].size == size)
			return ctx->express_sizes & rows[i].bit && size <= 1u << ctx->max_stride;
	return false;
}

static int sq_make(struct ionic_qp *qp, const struct ibv_qp_cap *cap)
{
	const struct ionic_context *ctx = to_ioctx(qp->vqp.qp.context);
	struct ionic_wq *wq = &qp->sq.wq;
	uint32_t size;
	int r;

	wq->spec = ionic_spec(ctx, cap->max_send_sge);
	wq->cmb = to_iopd(qp->vqp.qp.pd)->sq_cmb;
	size = ionic_send_size(cap->max_send_sge, wq->spec, cap->max_inline_data,
			       wq->cmb & IONIC_CMB_EXPDB);
	if (wq->cmb & IONIC_CMB_EXPDB && !express_fits(ctx, size)) {
		wq->cmb &= ~IONIC_CMB_EXPDB;
		size = ionic_send_size(cap->max_send_sge, wq->spec, cap->max_inline_data, false);
	}
	r = ionic_ring_make(ctx, &wq->memory, cap->max_send_wr, size, to_vpd(qp->vqp.qp.pd),
			    IONIC_RESOURCE_SQ);
	if (r < 0)
		return r;
	qp->sq.ring = wq->memory.buf.base;
	qp->sq.mask = wq->memory.mask;
	qp->sq.shift = wq->memory.shift;
	qp->sq.sent = calloc(qp->sq.mask + 1, sizeof(*qp->sq.sent));
	return qp->sq.sent ? 0 : -ENOMEM;
}

static int rq_make(struct ionic_qp *qp, const struct ibv_qp_cap *cap)
{
	const struct ionic_context *ctx = to_ioctx(qp->vqp.qp.context);
	struct ionic_wq *wq = &qp->rq.wq;
	uint32_t size;
	int r;

	wq->spec = ionic_spec(ctx, cap->max_recv_sge);
	wq->cmb = to_iopd(qp->vqp.qp.pd)->rq_cmb;
	size = ionic_recv_size(cap->max_recv_sge, wq->spec, wq->cmb & IONIC_CMB_EXPDB);
	if (wq->cmb & IONIC_CMB_EXPDB && !express_fits(ctx, size)) {
		wq->cmb &= ~IONIC_CMB_EXPDB;
		size = ionic_recv_size(cap->max_recv_sge, wq->spec, false);
	}
	r = ionic_ring_make(ctx, &wq->memory, cap->max_recv_wr, size, to_vpd(qp->vqp.qp.pd),
			    IONIC_RESOURCE_RQ);
	if (r < 0)
		return r;
	qp->rq.ring = wq->memory.buf.base;
	qp->rq.mask = wq->memory.mask;
	qp->rq.shift = wq->memory.shift;
	qp->rq.received = calloc(qp->rq.mask + 1, sizeof(*qp->rq.received));
	return qp->rq.received ? 0 : -ENOMEM;
}

static void rings_free(struct ionic_qp *qp)
{
	kit_page_unmap(&qp->sq.wq.copy);
	kit_page_unmap(&qp->rq.wq.copy);
	ionic_ring_free(&qp->sq.wq.memory);
	ionic_ring_free(&qp->rq.wq.memory);
	free(qp->sq.sent);
	free(qp->rq.received);
}

/* ---- memory of the device */

/* Write the express doorbells into all places of the ring. */
static void express_write(const struct ionic_wq *wq, uint64_t type, uint64_t number)
{
	char *end = (char *)wq->memory.buf.base + ((size_t)1 << wq->memory.shift);

	for (uint32_t i = 0; i <= wq->memory.mask; i++, end += (size_t)1 << wq->memory.shift)
		*(uint64_t *)(void *)(end - EXPRESS_BYTES) = htole64(
			type << QUEUE_SHIFT | number | EXPRESS_MARK | ((i + 1) & wq->memory.mask));
}

/* Map the memory of the device, if the kernel granted any. @type: queue type in express doorbells
 */
static int copy_map(struct ionic_qp *qp, struct ionic_wq *wq, uint8_t granted, uint64_t key,
		    uint64_t type)
{
	const uint8_t kinds = IONIC_CMB_WC | IONIC_CMB_UC;
	int r;

	if (granted & ~(wq->cmb | kinds)) {
		verbs_err(qp->vqp.qp.context,
			  "ibv_create_qp: the kernel granted memory of kind 0x%x instead of 0x%x",
			  granted, wq->cmb);
		return -EPROTO;
	}
	wq->cmb = granted & IONIC_CMB_ENABLE ? granted : 0;
	if (!wq->cmb)
		return 0;
	r = kit_page_map(qp->vqp.qp.context, key, wq->memory.buf.size, PROT_WRITE, &wq->copy);
	if (!r && wq->cmb & IONIC_CMB_EXPDB)
		express_write(wq, type, (uint64_t)qp->number << IONIC_NUMBER_SHIFT);
	return r;
}

/* ---- creation */

/* Check and store the kernel's answer. Both completion queues must have a ring in the pipeline of
 * the queue pair. */
static int answer_take(struct ionic_qp *qp, const struct ionic_qp_resp *resp)
{
	const struct ionic_context *ctx = to_ioctx(qp->vqp.qp.context);
	int r;

	qp->number = resp->qpid;
	qp->pipeline = resp->udma_idx;
	if (qp->number >= IONIC_NO_QP || qp->pipeline >= IONIC_PIPELINES ||
	    !(qp->send_cq->pipelines & qp->recv_cq->pipelines & 1u << qp->pipeline)) {
		verbs_err(
			qp->vqp.qp.context,
			"ibv_create_qp: the kernel has number 0x%x in pipeline %u, the completion "
			"queues are in 0x%x and 0x%x",
			resp->qpid, resp->udma_idx, qp->send_cq->pipelines, qp->recv_cq->pipelines);
		return -EPROTO;
	}
	r = copy_map(qp, &qp->sq.wq, resp->sq_cmb, resp->sq_cmb_offset, ctx->sq_type);
	if (!r)
		r = copy_map(qp, &qp->rq.wq, resp->rq_cmb, resp->rq_cmb_offset, ctx->rq_type);
	return r;
}

static int kernel_create(struct ionic_qp *qp, const struct verbs_create_qp *in)
{
	struct idtable *table = &to_ioctx(qp->vqp.qp.context)->qps;
	struct ionic_qp_req cmd = {
		.sq = ionic_ring_describe(&qp->sq.wq.memory),
		.rq = ionic_ring_describe(&qp->rq.wq.memory),
		.sq_spec = qp->sq.wq.spec,
		.rq_spec = qp->rq.wq.spec,
		.sq_cmb = qp->sq.wq.cmb,
		.rq_cmb = qp->rq.wq.cmb,
		.udma_mask = to_iopd(qp->vqp.qp.pd)->pipelines,
	};
	struct ionic_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	r = answer_take(qp, &resp);
	if (!r)
		r = idtable_put(table, qp->number, qp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

static void queues_open(struct ionic_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ionic_context *ctx = to_ioctx(qp->vqp.qp.context);
	struct ionic_sq *sq = &qp->sq;
	struct ionic_rq *rq = &qp->rq;

	sq->version = ctx->version;
	sq->spec = sq->wq.spec;
	rq->spec = rq->wq.spec;
	sq->signaled = attr->sq_sig_all ? HEAD_SIGNALED : 0;
	sq->datagrams = attr->qp_type == IBV_QPT_UD;
	sq->doorbell = ctx->sq_doorbell;
	rq->doorbell = ctx->rq_doorbell;
	sq->number = rq->number = (uint64_t)qp->number << IONIC_NUMBER_SHIFT;
	sq->max_sge = rq->max_sge = -1;
	for (uint32_t i = 0; i <= sq->mask; i++)
		sq->sent[i].qp_num = qp->vqp.qp.qp_num;
}

/* Return the capabilities of the rings, which may exceed the requested ones. */
static struct ibv_qp_cap granted(const struct ionic_qp *qp)
{
	const struct ionic_wq *sq = &qp->sq.wq, *rq = &qp->rq.wq;
	bool sq_express = sq->cmb & IONIC_CMB_EXPDB, rq_express = rq->cmb & IONIC_CMB_EXPDB;

	return (struct ibv_qp_cap){
		.max_send_wr = sq->memory.mask,
		.max_recv_wr = rq->memory.mask,
		.max_send_sge = ionic_max_sge(sq->memory.shift, sq->spec, sq_express),
		.max_recv_sge = ionic_max_sge(rq->memory.shift, rq->spec, rq_express),
		.max_inline_data = ionic_max_inline(sq->memory.shift, sq_express),
	};
}

static int qp_make(struct ionic_qp *qp, const struct verbs_create_qp *in)
{
	struct ionic_context *ctx = to_ioctx(qp->vqp.qp.context);
	int r = sq_make(qp, &in->attr->cap);

	if (!r)
		r = rq_make(qp, &in->attr->cap);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ctx->qp_lock);
	r = kernel_create(qp, in);
	pthread_mutex_unlock(&ctx->qp_lock);
	return r;
}

int ionic_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct ionic_qp *qp = to_ioqp(&vqp->qp);
	struct ibv_qp_cap *cap = &in->attr->cap;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	/* The kernel refuses a queue whose requests have no entries. */
	cap->max_send_sge = max_of(cap->max_send_sge, 1u);
	cap->max_recv_sge = max_of(cap->max_recv_sge, 1u);
	qp->send_cq = to_iocq(in->attr->send_cq);
	qp->recv_cq = to_iocq(in->attr->recv_cq);
	r = qp_make(qp, in);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	queues_open(qp, in->attr);
	*cap = vqp->cap = granted(qp);
	qp->sq.max_inline = cap->max_inline_data;
	ionic_cqs_attach(qp);
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		ionic_wr_set_slots(qp, kit_wr_ops(in->attr));
	}
	return 0;
}

/* ---- states */

/* Adapt the queue pair to its new state. In the error state polls must flush the requests, because
 * the adapter completes no further ones. */
static void state_take(struct ionic_qp *qp, enum ibv_qp_state state)
{
	if (state == IBV_QPS_RESET)
		ionic_cqs_clean(qp, false);
	qp->sq.max_sge = state >= IBV_QPS_RTS ? (int)qp->vqp.cap.max_send_sge : -1;
	qp->rq.max_sge = state >= IBV_QPS_INIT ? (int)qp->vqp.cap.max_recv_sge : -1;
	if (state == IBV_QPS_ERR)
		ionic_flush(qp, true, true);
	else if (state == IBV_QPS_RTS)
		atomic_store_explicit(&qp->sq.over, false, memory_order_relaxed);
}

int ionic_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	int r;

	if (!in->mask)
		return 0;
	r = uverbs_modify_qp(vqp, in);
	if (!r && in->mask & IBV_QP_STATE)
		state_take(to_ioqp(&vqp->qp), in->attr->qp_state);
	return r;
}

int ionic_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int ionic_destroy_qp(struct verbs_qp *vqp)
{
	struct ionic_context *ctx = to_ioctx(vqp->qp.context);
	struct ionic_qp *qp = to_ioqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r)
		ionic_cqs_clean(qp, true);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0)
		return r;
	rings_free(qp);
	return 0;
}
