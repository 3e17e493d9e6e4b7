/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, transitions and destruction. */
#include "providers/cxgb4/wqe.h"
#include "providers/kit/qp.h"

enum {
	STAG_NUMBERS = 0xfffff,
	WORKAROUND_BYTES = 128,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by cxgb4",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type != IBV_QPT_RC) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: cxgb4 has RC only", attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	if (attr->cap.max_send_sge > SEND_SGE_MAX ||
	    (!attr->srq && attr->cap.max_recv_sge > RECV_SGE_MAX)) {
		verbs_err(
			ctx,
			"ibv_create_qp: %u entries of a send (at most %u), %u of a receive (at most %u)",
			attr->cap.max_send_sge, SEND_SGE_MAX, attr->cap.max_recv_sge, RECV_SGE_MAX);
		return -EINVAL;
	}
	return 0;
}

static void qp_free(struct cx_qp *qp)
{
	kit_page_unmap(&qp->sync);
	cx_ring_unmap(&qp->sq.ring);
	cx_ring_unmap(&qp->rq.ring);
	free(qp->sq.sent);
	free(qp->sq.reads);
	free(qp->rq.wr_ids);
}

static int arrays_make(struct cx_qp *qp, const struct c4iw_create_qp_resp *resp)
{
	qp->sq.sent = calloc(resp->sq_size, sizeof(*qp->sq.sent));
	qp->sq.reads = calloc(resp->sq_size, sizeof(*qp->sq.reads));
	if (!qp->sq.sent || !qp->sq.reads)
		return -ENOMEM;
	if (qp->srq)
		return 0;
	qp->rq.wr_ids = calloc(resp->rq_size, sizeof(*qp->rq.wr_ids));
	return qp->rq.wr_ids ? 0 : -ENOMEM;
}

/* Check the sizes that the kernel granted. They are one more than can be posted. */
static int answer_check(const struct cx_qp *qp, const struct c4iw_create_qp_resp *resp)
{
	const uint32_t most = UINT16_MAX / SEND_SLOTS;

	if (resp->sq_size > 1 && resp->sq_size <= most && resp->sqid <= STAG_NUMBERS &&
	    (qp->srq || (resp->rq_size > 2 && resp->rq_size <= most)))
		return 0;
	verbs_err(qp->vqp.qp.context,
		  "ibv_create_qp: the kernel grants rings of %u and %u for qp 0x%x", resp->sq_size,
		  resp->rq_size, resp->sqid);
	return -EPROTO;
}

static int rings_map(struct cx_qp *qp, const struct c4iw_create_qp_resp *resp)
{
	struct cx_context *ctx = to_cctx(qp->vqp.qp.context);
	const struct cx_ring_answer sends = {
		.queue_key = resp->sq_key,
		.registers_key = resp->sq_db_gts_key,
		.bytes = resp->sq_memsize,
		.slots = resp->sq_size * SEND_SLOTS,
		.number = resp->sqid,
		.mask = resp->qid_mask,
	};
	const struct cx_ring_answer receives = {
		.queue_key = resp->rq_key,
		.registers_key = resp->rq_db_gts_key,
		.bytes = resp->rq_memsize,
		.slots = resp->rq_size * RECV_SLOTS,
		.number = resp->rqid,
		.mask = resp->qid_mask,
	};
	int r = answer_check(qp, resp);

	if (!r)
		r = cx_ring_map(&qp->sq.ring, ctx, &sends);
	if (!r && !qp->srq)
		r = cx_ring_map(&qp->rq.ring, ctx, &receives);
	if (!r)
		r = arrays_make(qp, resp);
	if (!r && resp->flags & C4IW_QPF_ONCHIP)
		r = kit_page_map(&ctx->vctx.context, resp->ma_sync_key, sysconf(_SC_PAGESIZE),
				 PROT_WRITE, &qp->sync);
	return r;
}

/* Set up a queue pair whose rings are mapped. */
static void qp_open(struct cx_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		    const struct c4iw_create_qp_resp *resp)
{
	struct cx_context *ctx = to_cctx(qp->vqp.qp.context);
	struct cx_sq *sq = &qp->sq;
	struct cx_rq *rq = &qp->rq;

	qp->number = resp->sqid;
	qp->msn = 1;
	qp->sends.qp = qp->receives.qp = qp;
	qp->error = (uint8_t *)(qp->srq ? sq->ring.status : rq->ring.status) + STATUS_ERROR;
	sq->error = rq->error = qp->error;
	sq->size = resp->sq_size;
	sq->has_imm = resp->flags & C4IW_QPF_WRITE_W_IMM;
	sq->pairs = ctx->pairs;
	sq->always = attr->sq_sig_all ? WR_COMPLETION : 0;
	sq->always_is = attr->sq_sig_all ? SENT_SIGNALED : 0;
	sq->max_sge = attr->cap.max_send_sge;
	sq->max_inline = min_of(attr->cap.max_inline_data, (uint32_t)INLINE_MAX);
	sq->ring.on_chip = resp->flags & C4IW_QPF_ONCHIP;
	sq->ring.workaround =
		sq->ring.on_chip && ctx->workaround &&
		resp->sq_memsize >=
			(uint64_t)(resp->sq_size + 1) * SEND_SLOTS * SLOT + WORKAROUND_BYTES;
	rq->size = qp->srq ? 0 : resp->rq_size;
	rq->max_sge = attr->cap.max_recv_sge;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct cx_qp *qp, const struct verbs_create_qp *in)
{
	struct cx_context *ctx = to_cctx(qp->vqp.qp.context);
	struct c4iw_create_qp_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	r = rings_map(qp, &resp);
	if (!r) {
		qp_open(qp, in->attr, &resp);
		r = idtable_put(&ctx->qps, qp->number, qp);
	}
	if (r < 0) {
		uverbs_destroy_qp(&qp->vqp);
		return r;
	}
	idtable_own(&ctx->qps, qp->number, qp->send_cq, qp->recv_cq);
	LIST_INSERT_HEAD(&ctx->list, qp, entry);
	return 0;
}

int cx_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct cx_context *ctx = to_cctx(vqp->qp.context);
	struct cx_qp *qp = to_cqp(&vqp->qp);
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	qp->send_cq = to_ccq(in->attr->send_cq);
	qp->recv_cq = to_ccq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_csrq(in->attr->srq) : NULL;
	pthread_mutex_lock(&ctx->qp_lock);
	r = qp_create_locked(qp, in);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0) {
		qp_free(qp);
		return r;
	}
	/* The kernel answers with 2^32 - 1 receives if there is an SRQ. */
	if (qp->srq)
		in->attr->cap.max_recv_wr = in->attr->cap.max_recv_sge = 0;
	vqp->cap = in->attr->cap;
	return 0;
}

/* Empty both rings. The caller holds the locks of both completion queues. */
static void qp_reset(struct cx_qp *qp)
{
	struct cx_sq *sq = &qp->sq;
	struct cx_rq *rq = &qp->rq;

	cx_todo_drop(qp->send_cq, &qp->sends);
	cx_todo_drop(qp->recv_cq, &qp->receives);
	qp->sends.flush = qp->sends.flushing = qp->receives.flush = qp->receives.flushing = false;
	cx_cqs_clean(qp);
	qp->flushed = false;
	qp->failed = 0;
	qp->msn = 1;
	qp->srq_index = 0;
	spinlock_lock(&sq->lock);
	spinlock_lock(&rq->lock);
	memset(sq->ring.base, 0, sq->ring.slots * SLOT + STATUS_BYTES);
	if (sq->ring.on_chip)
		barrier_wc_flush();
	memset(sq->sent, 0, sq->size * sizeof(*sq->sent));
	sq->early = sq->ring.at = rq->ring.at = sq->reads_tail = 0;
	sq->ring.unannounced = rq->ring.unannounced = 0;
	atomic_store_explicit(&sq->reads_head, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->head, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->head, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->tail, 0, memory_order_relaxed);
	if (!qp->srq)
		memset(rq->ring.base, 0, rq->ring.slots * SLOT + STATUS_BYTES);
	spinlock_unlock(&rq->lock);
	spinlock_unlock(&sq->lock);
}

/* Refuse packet sequence numbers, which iWARP does not have. The driver would take their bits of
 * the mask as the request to ring a doorbell. */
static int modify_check(struct cx_qp *qp, const struct verbs_modify_qp *in)
{
	struct cx_context *ctx = to_cctx(qp->vqp.qp.context);

	if (!ctx->iwarp || !(in->mask & (IBV_QP_SQ_PSN | IBV_QP_RQ_PSN)))
		return 0;
	verbs_err(&ctx->vctx.context,
		  "ibv_modify_qp: iWARP has no packet sequence numbers: connect by librdmacm");
	return -EINVAL;
}

int cx_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct cx_qp *qp = to_cqp(&vqp->qp);
	bool resets = in->mask & IBV_QP_STATE && in->attr->qp_state == IBV_QPS_RESET;
	int r = modify_check(qp, in);

	if (r < 0)
		return r;
	cx_flush(qp);
	if (!resets)
		return uverbs_modify_qp(vqp, in);
	/* A poll between both steps would find the queue pair failed. */
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
	r = uverbs_modify_qp(vqp, in);
	if (!r)
		qp_reset(qp);
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
	return r;
}

int cx_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r;

	cx_flush(to_cqp(&vqp->qp));
	r = uverbs_query_qp(vqp, in);
	/* The kernel does not know the limits of requests. */
	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int cx_destroy_qp(struct verbs_qp *vqp)
{
	struct cx_context *ctx = to_cctx(vqp->qp.context);
	struct cx_qp *qp = to_cqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r) {
		spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
		cx_todo_drop(qp->send_cq, &qp->sends);
		cx_todo_drop(qp->recv_cq, &qp->receives);
		cx_cqs_clean(qp);
		idtable_take(&ctx->qps, qp->number, qp);
		spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
		LIST_REMOVE(qp, entry);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		qp_free(qp);
	return r;
}
