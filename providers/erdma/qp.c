/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: the buffer for both rings, creation, states and destruction. */
#include "providers/erdma/wqe.h"
#include "providers/kit/qp.h"

enum {
	WR_MAX = 8192, /* limit of requests, because counters of blocks have 16 bits */
	SEND_SGE_MAX = 6,
	RECV_SGE_MAX = 1,
	INLINE_MAX = 96,
	/* Number of doorbells. The number of the queue pair selects one. */
	SEND_DOORBELLS = 32,
	SEND_DOORBELL_BYTES = 128,
	RECV_DOORBELLS = 128,
	RECV_DOORBELL_BYTES = 32,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by erdma",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC || attr->srq) {
		verbs_err(ctx, "ibv_create_qp: erdma has RC queue pairs without an SRQ only");
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	if (max_of(cap->max_send_wr, cap->max_recv_wr) > WR_MAX ||
	    cap->max_send_sge > SEND_SGE_MAX || cap->max_recv_sge > RECV_SGE_MAX ||
	    cap->max_inline_data > INLINE_MAX) {
		verbs_err(ctx,
			  "ibv_create_qp: %u sends and %u receives (at most %u each) of %u and %u "
			  "entries (at most %u and %u), %u bytes inline (at most %u)",
			  cap->max_send_wr, cap->max_recv_wr, WR_MAX, cap->max_send_sge,
			  cap->max_recv_sge, SEND_SGE_MAX, RECV_SGE_MAX, cap->max_inline_data,
			  INLINE_MAX);
		return -EINVAL;
	}
	return 0;
}

static void qp_free(struct erdma_qp *qp)
{
	erdma_record_free(to_ectx(qp->vqp.qp.context), qp->sq.record);
	kit_buf_free(&qp->buf);
	free(qp->sq.sent);
	free(qp->rq.ring.wr_ids);
}

static bool is_ring(uint32_t entries, uint32_t least)
{
	return entries >= least && entries <= BLOCKS_MAX * WR_MAX && !(entries & (entries - 1));
}

/* Check that the rings that the kernel created fit into their memory. */
static int answer_check(const struct erdma_qp *qp, const struct erdma_uresp_create_qp *resp)
{
	uint64_t sends = (uint64_t)resp->num_sqe * BLOCK, receives = resp->num_rqe * BLOCK;

	if (is_ring(resp->num_sqe, BLOCKS_MAX) && is_ring(resp->num_rqe, 1) &&
	    sends <= resp->rq_offset && !(resp->rq_offset % BLOCK) &&
	    resp->rq_offset + receives <= qp->buf.size && resp->qp_id <= IDTABLE_MASK)
		return 0;
	verbs_err(
		qp->vqp.qp.context,
		"ibv_create_qp: the kernel grants rings of %u and %u blocks, the second at %u, in "
		"%zu bytes",
		resp->num_sqe, resp->num_rqe, resp->rq_offset, qp->buf.size);
	return -EPROTO;
}

static int rings_make(struct erdma_qp *qp, const struct erdma_uresp_create_qp *resp,
		      bool all_signaled)
{
	const struct erdma_context *ctx = to_ectx(qp->vqp.qp.context);
	struct erdma_sq *sq = &qp->sq;
	struct erdma_rq_ring *rq = &qp->rq.ring;

	sq->sent = calloc(resp->num_sqe, sizeof(*sq->sent));
	rq->wr_ids = calloc(resp->num_rqe, sizeof(*rq->wr_ids));
	if (!sq->sent || !rq->wr_ids)
		return -ENOMEM;
	qp->number = resp->qp_id;
	sq->ring = qp->buf.base;
	sq->mask = resp->num_sqe - 1;
	sq->qpn = (uint64_t)(qp->number & ((1u << QPN_BITS) - 1)) << HEAD_QPN_SHIFT;
	sq->always = sq->qpn | (all_signaled ? HEAD_SIGNALED : 0);
	sq->doorbell = (char *)ctx->send_page.base +
		       (ctx->send_shared ? qp->number % SEND_DOORBELLS * SEND_DOORBELL_BYTES
					 : ctx->send_offset);
	rq->record = sq->record + 1;
	rq->slots = sq->ring + resp->rq_offset;
	rq->mask = resp->num_rqe - 1;
	rq->qpn = (uint64_t)qp->number << HEAD_QPN_SHIFT;
	rq->doorbell =
		(char *)ctx->recv_page.base + qp->number % RECV_DOORBELLS * RECV_DOORBELL_BYTES;
	return 0;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct erdma_qp *qp, const struct verbs_create_qp *in, uint32_t bytes)
{
	struct idtable *table = &to_ectx(qp->vqp.qp.context)->qps;
	struct erdma_uresp_create_qp resp = {};
	struct erdma_ureq_create_qp cmd = {
		.db_record_va = (uintptr_t)qp->sq.record,
		.qbuf_va = (uintptr_t)qp->buf.base,
		.qbuf_len = bytes,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	r = answer_check(qp, &resp);
	if (!r)
		r = rings_make(qp, &resp, in->attr->sq_sig_all);
	if (!r)
		r = idtable_put(table, qp->number, qp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	else
		idtable_own(table, qp->number, qp->send_cq, qp->recv_cq);
	return r;
}

/*
 * Set whether both rings accept requests in this state. Only the kernel makes iWARP connections.
 * Therefore the state only tells whether the connection has ended.
 */
static void rings_open(struct erdma_qp *qp, enum ibv_qp_state state)
{
	bool iwarp = to_ectx(qp->vqp.qp.context)->iwarp, over = state == IBV_QPS_ERR;
	bool sends = (iwarp || state >= IBV_QPS_RTS) && !over && qp->vqp.cap.max_send_wr;
	bool receives = (iwarp || state >= IBV_QPS_INIT) && !over && qp->vqp.cap.max_recv_wr;

	qp->sq.max_sge = sends ? (int)qp->vqp.cap.max_send_sge : -1;
	qp->rq.max_sge = receives ? (int)qp->vqp.cap.max_recv_sge : -1;
}

int erdma_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct erdma_context *ctx = to_ectx(vqp->qp.context);
	struct erdma_qp *qp = to_eqp(&vqp->qp);
	struct ibv_qp_cap cap = in->attr->cap;
	int r = qp_check(vqp->qp.context, in->attr);
	uint32_t *sends = &in->attr->cap.max_send_wr, *receives = &in->attr->cap.max_recv_wr;
	uint32_t bytes;

	if (r < 0)
		return r;
	/* The kernel has no queue pair with one ring only. */
	*sends = max_of(*sends, 1u);
	*receives = max_of(*receives, 1u);
	bytes = ROUND_UP(round_up_pow2(*sends * BLOCKS_MAX) * BLOCK, ERDMA_PAGE) +
		ROUND_UP(round_up_pow2(*receives) * BLOCK, ERDMA_PAGE);
	qp->send_cq = to_ecq(in->attr->send_cq);
	qp->recv_cq = to_ecq(in->attr->recv_cq);
	r = kit_buf_alloc(&qp->buf, bytes);
	if (r < 0)
		return r;
	qp->sq.record = erdma_record_alloc(ctx);
	r = -ENOMEM;
	if (qp->sq.record) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = qp_create_locked(qp, in, bytes);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	/* The kernel knows the rings, but not the limits of a request. */
	in->attr->cap = vqp->cap = cap;
	if (r < 0) {
		qp_free(qp);
		return r;
	}
	qp->sq.max_inline = cap.max_inline_data;
	rings_open(qp, IBV_QPS_RESET);
	return 0;
}

int erdma_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	int r = uverbs_modify_qp(vqp, in);

	if (!r && in->mask & IBV_QP_STATE)
		rings_open(to_eqp(&vqp->qp), in->attr->qp_state);
	return r;
}

int erdma_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	/* The kernel answers with blocks instead of requests. */
	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int erdma_destroy_qp(struct verbs_qp *vqp)
{
	struct erdma_context *ctx = to_ectx(vqp->qp.context);
	struct erdma_qp *qp = to_eqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r)
		erdma_cqs_clean(qp);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		qp_free(qp);
	return r;
}
