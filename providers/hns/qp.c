/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs. One buffer holds the three rings. Another allocation holds the data of this library.
 */
#include "providers/hns/direct/infiniband/hnsdv.h"
#include "providers/hns/wqe.h"
#include "providers/kit/qp.h"
#include "providers/kit/wr.h"

enum {
	DIRECT_PAGE = 1 << 16,
	QP_TYPES =
		1 << IBV_QPT_RC | 1 << IBV_QPT_UD | 1 << IBV_QPT_XRC_SEND | 1 << IBV_QPT_XRC_RECV,
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known =
		IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by hns",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (!(QP_TYPES & 1u << attr->qp_type) ||
	    (attr->qp_type == IBV_QPT_UD && to_hctx(ctx)->old)) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: hns has RC and XRC, and UD since HIP09",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	return kit_wr_check(ctx, kit_wr_ops(attr), hns_wr_ops(attr->qp_type));
}

/* ---- rings */

/* Allocate the buffer: sends, segments and receives in this order. Each part begins at a multiple
 * of 4 KiB. */
static int buf_make(struct hns_qp *qp, const struct hns_qp_size *size)
{
	size_t sends = ROUND_UP((size_t)size->sq_count << WQE_SHIFT, HNS_PART);
	size_t segments = ROUND_UP((size_t)size->segments * SEGMENT, HNS_PART);
	size_t receives = (size_t)size->rq_count * size->rq_sge * SEGMENT;
	int r = kit_buf_alloc(&qp->buf, sends + segments + ROUND_UP(receives, HNS_PART));

	if (r < 0)
		return r;
	qp->sq.ring = qp->buf.base;
	qp->sq.segments = qp->sq.ring + sends;
	qp->rq.ring = qp->sq.segments + segments;
	return 0;
}

/* Allocate the rings and the private state. An unused array gets one entry, so that a mask of 0 is
 * valid. */
static int rings_make(struct hns_qp *qp, const struct hns_qp_size *size)
{
	struct dbrec_pool *records = &to_hctx(qp->vqp.qp.context)->records;
	int r;

	qp->sq.wr_ids = calloc(size->sq_count, sizeof(*qp->sq.wr_ids));
	qp->rq.wr_ids = calloc(max_of(size->rq_count, 1u), sizeof(*qp->rq.wr_ids));
	if (!qp->sq.wr_ids || !qp->rq.wr_ids)
		return -ENOMEM;
	r = buf_make(qp, size);
	if (!r)
		r = dbrec_alloc(records, NULL, (__be32 **)&qp->sq_record);
	if (!r && size->rq_count)
		r = dbrec_alloc(records, NULL, (__be32 **)&qp->rq_record);
	return r;
}

static void rings_free(struct hns_qp *qp)
{
	struct dbrec_pool *records = &to_hctx(qp->vqp.qp.context)->records;

	kit_page_unmap(&qp->direct);
	kit_buf_free(&qp->buf);
	dbrec_free(records, (__be32 *)qp->sq_record, NULL);
	dbrec_free(records, (__be32 *)qp->rq_record, NULL);
	free(qp->rq.wr_ids);
	free(qp->sq.wr_ids);
}

/* Set up the ring of sends. @caps: capability flags from the kernel's answer */
static void sq_open(struct hns_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		    const struct hns_qp_size *size, uint64_t caps)
{
	struct hns_context *ctx = to_hctx(qp->vqp.qp.context);
	struct hns_sq *sq = &qp->sq;

	sq->mask = size->sq_count - 1;
	sq->max_post = min_of(size->sq_count, ctx->max_wr);
	sq->max_inline = min_of(attr->cap.max_inline_data, size->max_inline);
	sq->max_sge = -1;
	sq->mtu = 0;
	sq->segment_count = size->segments;
	sq->segment_mask = size->segments ? size->segments - 1 : 0;
	sq->owned = caps & HNS_ROCE_QP_CAP_OWNER_DB;
	sq->datagrams = attr->qp_type == IBV_QPT_UD;
	sq->xrc = attr->qp_type == IBV_QPT_XRC_SEND;
	sq->index_mask = attr->sq_sig_all ? 0 : sq->mask;
	sq->record = caps & HNS_ROCE_QP_CAP_SQ_RECORD_DB ? qp->sq_record : &qp->unread;
	sq->doorbell = ctx->doorbell;
	sq->tag = hns_doorbell(HNS_DB_SQ, qp->number);
}

static void rq_open(struct hns_qp *qp, const struct hns_qp_size *size, uint64_t caps)
{
	struct hns_context *ctx = to_hctx(qp->vqp.qp.context);
	struct hns_rq *rq = &qp->rq;

	rq->max_sge = -1;
	if (!size->rq_count)
		return;
	rq->mask = size->rq_count - 1;
	rq->shift = __builtin_ctz(size->rq_sge * SEGMENT);
	rq->wqe_sge = size->rq_sge;
	rq->max_post = min_of(size->rq_count, ctx->max_wr);
	rq->completes = !qp->sq.datagrams;
	rq->ends = ctx->old;
	rq->recorded = caps & HNS_ROCE_QP_CAP_RQ_RECORD_DB;
	rq->record = qp->rq_record;
	rq->doorbell = ctx->doorbell;
	rq->tag = hns_doorbell(HNS_DB_RQ, qp->number);
}

/* Map the page into which a whole request can be written. Without the page, the device reads each
 * request from the ring. */
static void direct_map(struct hns_qp *qp, const struct hns_roce_ib_create_qp_resp *resp)
{
	if (!(resp->cap_flags & HNS_ROCE_QP_CAP_DIRECT_WQE) ||
	    kit_page_map(qp->vqp.qp.context, resp->dwqe_mmap_key, DIRECT_PAGE, PROT_WRITE,
			 &qp->direct) < 0)
		return;
	qp->sq.direct = qp->sq.doorbell = qp->direct.base;
}

/* ---- creation */

/* Check that the kernel and this library calculated the same ring of receives. */
static int answer_check(const struct hns_qp *qp, const struct ibv_qp_cap *cap,
			const struct hns_qp_size *size)
{
	if (!size->rq_count ||
	    (cap->max_recv_wr == size->rq_count && cap->max_recv_sge == size->rq_sge))
		return 0;
	verbs_err(qp->vqp.qp.context,
		  "qp 0x%x: the kernel grants %u receives of %u entries, of %u and %u",
		  qp->vqp.qp.qp_num, cap->max_recv_wr, cap->max_recv_sge, size->rq_count,
		  size->rq_sge);
	return -EPROTO;
}

/* Enter the queue pair into the table of numbers. An XRC receiver needs no entry, because its
 * completions name the SRQ. */
static int number_put(struct hns_qp *qp)
{
	struct hns_context *ctx = to_hctx(qp->vqp.qp.context);
	int r;

	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_RECV)
		return 0;
	r = idtable_put(&ctx->qps, qp->number, qp);
	if (r == -EPROTO)
		verbs_err(&ctx->vctx.context,
			  "the kernel gives the number 0x%x, which another queue pair has",
			  qp->number);
	if (!r)
		idtable_own(&ctx->qps, qp->number, qp->send_cq, qp->recv_cq);
	return r;
}

static int qp_create_locked(struct hns_qp *qp, const struct verbs_create_qp *in,
			    const struct hns_qp_size *size, struct verbs_udata *udata)
{
	int r = kit_create_qp(&qp->vqp, in, udata);

	if (r < 0)
		return r;
	qp->number = qp->vqp.qp.qp_num & HNS_NUMBER_MASK;
	r = answer_check(qp, &in->attr->cap, size);
	if (!r)
		r = number_put(qp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

static int qp_create(struct hns_qp *qp, const struct verbs_create_qp *in,
		     const struct hns_qp_size *size)
{
	struct hns_context *ctx = to_hctx(qp->vqp.qp.context);
	const struct hnsdv_qp_init_attr *dv = in->dv;
	struct hns_roce_ib_create_qp cmd = {
		.buf_addr = (uintptr_t)qp->buf.base,
		.db_addr = (uintptr_t)qp->rq_record,
		.log_sq_bb_count = __builtin_ctz(size->sq_count),
		.log_sq_stride = WQE_SHIFT,
		.sdb_addr = (uintptr_t)qp->sq_record,
	};
	struct hns_roce_ib_create_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r;

	if (dv && dv->comp_mask & HNSDV_QP_INIT_ATTR_MASK_QP_CONGEST_TYPE) {
		cmd.comp_mask = HNS_ROCE_CREATE_QP_MASK_CONGEST_TYPE;
		cmd.cong_type_flags = __builtin_ctz(dv->congest_type);
	}
	pthread_mutex_lock(&ctx->qp_lock);
	r = qp_create_locked(qp, in, size, &udata);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (r < 0)
		return r;
	sq_open(qp, in->attr, size, resp.cap_flags);
	rq_open(qp, size, resp.cap_flags);
	direct_map(qp, &resp);
	return 0;
}

/* Return the granted capabilities. They are 0 for an XRC receiver, whose ring of sends exists only
 * for the kernel. */
static struct ibv_qp_cap granted(const struct hns_qp *qp, const struct hns_qp_size *size)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_RECV)
		return (struct ibv_qp_cap){};
	return (struct ibv_qp_cap){
		.max_send_wr = qp->sq.max_post,
		.max_send_sge = size->max_send_sge,
		.max_recv_wr = qp->rq.max_post,
		.max_recv_sge = size->rq_sge - (qp->rq.ends ? 1 : 0),
		.max_inline_data = qp->sq.max_inline,
	};
}

int hns_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct ibv_qp_init_attr_ex *attr = in->attr;
	struct hns_qp *qp = to_hqp(&vqp->qp);
	struct hns_qp_size size;
	int r = qp_check(vqp->qp.context, attr);

	if (!r)
		r = hns_qp_size(to_hctx(vqp->qp.context), attr, &size);
	if (r < 0)
		return r;
	qp->send_cq = attr->send_cq ? to_hcq(attr->send_cq) : NULL;
	qp->recv_cq = attr->recv_cq ? to_hcq(attr->recv_cq) : NULL;
	qp->srq = attr->srq ? to_hsrq(attr->srq) : NULL;
	r = rings_make(qp, &size);
	if (!r)
		r = qp_create(qp, in, &size);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	attr->cap = granted(qp, &size);
	vqp->cap = attr->cap;
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		hns_wr_set_slots(qp, kit_wr_ops(attr));
	}
	return 0;
}

/* Open a shared XRC receive queue pair. It has no rings: it sends nothing, and its receives belong
 * to the SRQ. */
int hns_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in)
{
	struct hns_qp *qp = to_hqp(&vqp->qp);

	qp->opened = true;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	return uverbs_open_qp(vqp, in);
}

int hns_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r = uverbs_query_qp(vqp, in);

	if (!r && !to_hqp(&vqp->qp)->opened)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}

int hns_destroy_qp(struct verbs_qp *vqp)
{
	struct hns_context *ctx = to_hctx(vqp->qp.context);
	struct hns_qp *qp = to_hqp(&vqp->qp);
	int r;

	if (qp->opened)
		return uverbs_destroy_qp(vqp);
	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r) {
		hns_cqs_lock(qp);
		idtable_take(&ctx->qps, qp->number, qp);
		hns_cqs_clean(qp);
		hns_cqs_unlock(qp);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		rings_free(qp);
	return r;
}
