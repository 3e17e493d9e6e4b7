/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, transitions and destruction. */
#include "providers/kit/qp.h"
#include "providers/qedr/wqe.h"

static bool has_sends(const struct qedr_qp *qp)
{
	return qp->send_cq;
}

static bool has_receives(const struct qedr_qp *qp)
{
	return qp->recv_cq && !qp->srq;
}

/* ---- creation */

static int type_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	bool xrc = attr->qp_type == IBV_QPT_XRC_SEND || attr->qp_type == IBV_QPT_XRC_RECV;
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp_ex: comp_mask 0x%x: not supported by qedr",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC && (!xrc || to_qctx(ctx)->iwarp)) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: qedr has RC, and XRC with RoCE",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if ((attr->qp_type == IBV_QPT_RC && !attr->recv_cq) ||
	    (attr->qp_type != IBV_QPT_XRC_RECV && !attr->send_cq)) {
		verbs_err(ctx, "ibv_create_qp: a queue needs a completion queue");
		return -EINVAL;
	}
	return 0;
}

static int cap_check(struct ibv_context *ctx, const struct ibv_qp_cap *cap)
{
	const struct qedr_context *qctx = to_qctx(ctx);

	if (cap->max_send_wr <= qctx->max_send_wr && cap->max_inline_data <= INLINE_MAX &&
	    cap->max_send_sge <= SEND_SGE_MAX && cap->max_recv_sge <= qctx->recv_sge)
		return 0;
	verbs_err(ctx,
		  "ibv_create_qp: %u sends of %u entries, %u bytes inline, receives of %u entries "
		  "(at most %u, %u, %u, %u)",
		  cap->max_send_wr, cap->max_send_sge, cap->max_inline_data, cap->max_recv_sge,
		  qctx->max_send_wr, SEND_SGE_MAX, INLINE_MAX, qctx->recv_sge);
	return -EINVAL;
}

static void qp_free(struct qedr_qp *qp)
{
	kit_page_unmap(&qp->sq.doorbell.page);
	kit_page_unmap(&qp->rq.doorbell.page);
	kit_buf_free(&qp->sq.buf);
	kit_buf_free(&qp->rq.buf);
	free(qp->sq.sent);
	free(qp->rq.wr_ids);
}

static int sends_make(struct qedr_qp *qp, uint32_t count)
{
	struct qedr_sq *sq = &qp->sq;
	uint32_t size = round_up_pow2(count);

	sq->sent = calloc(size, sizeof(*sq->sent));
	sq->mask = size - 1;
	if (!sq->sent)
		return -ENOMEM;
	return kit_buf_alloc(&sq->buf,
			     (size_t)count * ELEMENT * to_qctx(qp->vqp.qp.context)->send_elements);
}

static int receives_make(struct qedr_qp *qp, uint32_t count)
{
	struct qedr_rq *rq = &qp->rq;
	uint32_t size = round_up_pow2(count);

	rq->wr_ids = calloc(size, sizeof(*rq->wr_ids));
	rq->mask = size - 1;
	if (!rq->wr_ids)
		return -ENOMEM;
	return kit_buf_alloc(&rq->buf,
			     (size_t)count * ELEMENT * to_qctx(qp->vqp.qp.context)->recv_sge);
}

/* Make both rings, for at least one request each. The kernel does not limit receives. */
static int rings_make(struct qedr_qp *qp, struct ibv_qp_cap *cap)
{
	struct qedr_context *ctx = to_qctx(qp->vqp.qp.context);
	int r = 0;

	if (has_sends(qp))
		r = sends_make(qp, max_of(cap->max_send_wr, 1u));
	if (r < 0 || !has_receives(qp))
		return r;
	cap->max_recv_wr = min_of(cap->max_recv_wr, ctx->max_recv_wr);
	return receives_make(qp, max_of(cap->max_recv_wr, 1u));
}

static int doorbells_open(struct qedr_qp *qp, const struct qedr_create_qp_uresp *resp)
{
	struct qedr_context *ctx = to_qctx(qp->vqp.qp.context);
	int r = 0;

	qp->sq.icid = resp->sq_icid;
	qp->rq.icid = resp->rq_icid;
	if (has_sends(qp))
		r = qedr_doorbell_open(ctx, &qp->sq.doorbell, resp->sq_db_offset, sizeof(uint32_t),
				       resp->sq_db_rec_addr);
	if (r < 0 || !has_receives(qp))
		return r;
	r = qedr_doorbell_open(ctx, &qp->rq.doorbell, resp->rq_db_offset, sizeof(uint32_t),
			       resp->rq_db_rec_addr);
	if (r < 0 || !ctx->iwarp)
		return r;
	qp->rq.flags = qedr_register(ctx, resp->rq_db2_offset, sizeof(uint32_t));
	return qp->rq.flags ? 0 : -EPROTO;
}

/* Empty both rings. The caller holds the locks of both completion queues. */
static void rings_reset(struct qedr_qp *qp)
{
	struct qedr_sq *sq = &qp->sq;
	struct qedr_rq *rq = &qp->rq;

	spinlock_lock(&sq->lock);
	spinlock_lock(&rq->lock);
	sq->at = sq->ring;
	rq->at = rq->ring;
	sq->before = 0;
	atomic_store_explicit(&sq->head, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->head, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->tail, 0, memory_order_relaxed);
	spinlock_unlock(&rq->lock);
	spinlock_unlock(&sq->lock);
}

/* Set in which states requests are accepted: with iWARP in all, because the kernel connects. */
static void post_limits_set(struct qedr_qp *qp, enum ibv_qp_state state)
{
	bool iwarp = to_qctx(qp->vqp.qp.context)->iwarp;
	bool sends = iwarp || state == IBV_QPS_RTS || state == IBV_QPS_ERR || state == IBV_QPS_SQD;
	bool receives = iwarp || state != IBV_QPS_RESET;

	spinlock_lock(&qp->sq.lock);
	spinlock_lock(&qp->rq.lock);
	qp->sq.max_post = sends && has_sends(qp) ? max_of(qp->vqp.cap.max_send_wr, 1u) : 0;
	qp->rq.max_post = receives && has_receives(qp) ? max_of(qp->vqp.cap.max_recv_wr, 1u) : 0;
	spinlock_unlock(&qp->rq.lock);
	spinlock_unlock(&qp->sq.lock);
}

static void qp_open(struct qedr_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		    const struct qedr_create_qp_uresp *resp)
{
	const struct qedr_context *ctx = to_qctx(qp->vqp.qp.context);
	struct qedr_sq *sq = &qp->sq;
	struct qedr_rq *rq = &qp->rq;

	sq->ring = sq->buf.base;
	if (sq->ring)
		sq->end = sq->ring + sq->buf.size;
	sq->max_sge = attr->cap.max_send_sge;
	sq->max_inline = attr->cap.max_inline_data;
	sq->always = attr->sq_sig_all ? FLAG_SIGNALED : 0;
	sq->xrc = attr->qp_type == IBV_QPT_XRC_SEND;
	sq->atomics = resp->atomic_supported;
	sq->dpm = ctx->dpm.lists || ctx->dpm.data;
	/* A packet of XRC has a header that requests through registers do not have. */
	sq->dpm_data = ctx->dpm.data && !sq->xrc;
	rq->ring = rq->buf.base;
	if (rq->ring) /* there is none with an SRQ */
		rq->end = rq->ring + rq->buf.size;
	rq->max_sge = attr->cap.max_recv_sge;
	qp->vqp.cap = attr->cap;
	rings_reset(qp);
	post_limits_set(qp, IBV_QPS_RESET);
}

static int qp_ask(struct qedr_qp *qp, const struct verbs_create_qp *in,
		  struct qedr_create_qp_uresp *ret_resp)
{
	struct qedr_create_qp_ureq cmd = {
		.qp_handle_lo = qp->cookie,
		.sq_addr = (uintptr_t)qp->sq.buf.base,
		.sq_len = qp->sq.buf.size,
		.rq_addr = (uintptr_t)qp->rq.buf.base,
		.rq_len = qp->rq.buf.size,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = ret_resp,
		.out_len = sizeof(*ret_resp),
	};
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	qp->vqp.qp.qp_num = ret_resp->qp_id;
	r = doorbells_open(qp, ret_resp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct qedr_qp *qp, const struct verbs_create_qp *in)
{
	struct idtable *table = &to_qctx(qp->vqp.qp.context)->qps;
	struct qedr_create_qp_uresp resp = {};
	uint32_t id;
	int r = idtable_add(table, qp, &id);

	if (r < 0)
		return r;
	qp->cookie = id + 1;
	r = qp_ask(qp, in, &resp);
	if (r < 0) {
		idtable_remove(table, id);
		return r;
	}
	qp_open(qp, in->attr, &resp);
	idtable_own(table, id, qp->send_cq, qp->recv_cq);
	return 0;
}

int qedr_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct qedr_context *ctx = to_qctx(vqp->qp.context);
	struct qedr_qp *qp = to_qqp(&vqp->qp);
	struct ibv_qp_init_attr_ex *attr = in->attr;
	int r = type_check(vqp->qp.context, attr);

	if (!r)
		r = cap_check(vqp->qp.context, &attr->cap);
	if (r < 0)
		return r;
	if (attr->qp_type != IBV_QPT_XRC_RECV)
		qp->send_cq = to_qcq(attr->send_cq);
	if (attr->qp_type == IBV_QPT_RC) {
		qp->recv_cq = to_qcq(attr->recv_cq);
		qp->srq = attr->srq ? to_qsrq(attr->srq) : NULL;
	}
	r = rings_make(qp, &attr->cap);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = qp_create_locked(qp, in);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	if (r < 0)
		qp_free(qp);
	return r;
}

/* ---- states and destruction */

/* Write the number 0 to a doorbell record, so that the kernel repeats no number from before a
 * reset. */
static void record_reset(const struct qedr_doorbell *doorbell, uint16_t icid)
{
	if (doorbell->record) /* a missing queue has no record */
		*(volatile uint64_t *)doorbell->record = htole64(icid);
}

static void qp_reset(struct qedr_qp *qp)
{
	qedr_cqs_lock(qp);
	qedr_cqs_clean(qp);
	rings_reset(qp);
	record_reset(&qp->sq.doorbell, qp->sq.icid);
	record_reset(&qp->rq.doorbell, qp->rq.icid);
	qedr_cqs_unlock(qp);
}

/* A port does not take packets to itself through its registers. */
static void loop_look(struct qedr_qp *qp, const struct ibv_ah_attr *to)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	struct ibv_gid_entry own;
	int r;

	if (!to_qctx(ctx)->dpm.data || qp->sq.xrc)
		return;
	r = uverbs_query_gid(ctx, to->port_num, to->grh.sgid_index, &own);
	if (r < 0)
		verbs_err(ctx, "qp 0x%x: GID %u of port %u is not known: %s", qp->vqp.qp.qp_num,
			  to->grh.sgid_index, to->port_num, strerror(-r));
	qp->sq.dpm_data = r || memcmp(&own.gid, &to->grh.dgid, sizeof(own.gid)) != 0;
}

int qedr_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct qedr_qp *qp = to_qqp(&vqp->qp);
	struct qedr_rq *rq = &qp->rq;
	bool iwarp = to_qctx(vqp->qp.context)->iwarp;
	int r = uverbs_modify_qp(vqp, in);

	if (r < 0)
		return r;
	if (in->mask & IBV_QP_AV)
		loop_look(qp, &in->attr->ah_attr);
	if (!(in->mask & IBV_QP_STATE))
		return 0;
	if (in->attr->qp_state == IBV_QPS_RESET)
		qp_reset(qp);
	post_limits_set(qp, in->attr->qp_state);
	/* The device learns of receives that were posted before. */
	if (in->attr->qp_state == IBV_QPS_RTR && !iwarp && has_receives(qp)) {
		spinlock_lock(&rq->lock);
		barrier_wc_start();
		mmio_write_32(
			rq->doorbell.reg,
			htole32(rq->icid |
				(uint32_t)atomic_load_explicit(&rq->head, memory_order_relaxed)
					<< 16));
		barrier_wc_flush();
		spinlock_unlock(&rq->lock);
	}
	return 0;
}

int qedr_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	/* The kernel does not know the limits of requests. */
	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int qedr_destroy_qp(struct verbs_qp *vqp)
{
	struct qedr_context *ctx = to_qctx(vqp->qp.context);
	struct qedr_qp *qp = to_qqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r) {
		qedr_cqs_lock(qp);
		qedr_cqs_clean(qp);
		if (qp->cookie)
			idtable_remove(&ctx->qps, qp->cookie - 1);
		qedr_cqs_unlock(qp);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		qp_free(qp);
	return r;
}
