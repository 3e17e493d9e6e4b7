/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: sizes of their rings, creation, states and destruction. */
#include "providers/kit/qp.h"
#include "providers/mthca/wqe.h"

enum {
	INLINE_MAX = 1024,
	REQUEST_MIN = 32, /* bytes of the smallest body of a request */
	QP_TYPES = 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD,
	UD_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
	UC_OPS = UD_OPS | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
	RC_OPS = UC_OPS | 1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP |
		 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* The rings of a queue pair. The kernel computes the same numbers. */
struct size {
	uint32_t sends, receives; /* slots */
	uint32_t send_shift, recv_shift;
	uint32_t offset; /* of sends in the buffer */
};

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by mthca",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->qp_type > 31 || !(QP_TYPES & 1u << attr->qp_type)) {
		verbs_err(ctx, "ibv_create_qp: QP type %d: mthca has RC, UC and UD", attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		verbs_err(ctx, "ibv_create_qp: a queue pair needs both completion queues");
		return -EINVAL;
	}
	if (max_of(cap->max_send_wr, cap->max_recv_wr) > MTHCA_WR_MAX ||
	    max_of(cap->max_send_sge, cap->max_recv_sge) > MTHCA_SGE_MAX ||
	    cap->max_inline_data > INLINE_MAX) {
		verbs_err(ctx,
			  "ibv_create_qp: %u sends and %u receives (at most %u each) of %u and %u "
			  "entries (at most %u), %u bytes inline (at most %u)",
			  cap->max_send_wr, cap->max_recv_wr, MTHCA_WR_MAX, cap->max_send_sge,
			  cap->max_recv_sge, MTHCA_SGE_MAX, cap->max_inline_data, INLINE_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Return the slots of a ring. Adapters with records need a power of 2. */
static uint32_t slots(const struct mthca_context *ctx, uint32_t requests)
{
	return requests && mthca_has_records(ctx) ? round_up_pow2(requests) : requests;
}

static struct size size_of(const struct mthca_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t data = ROUND_UP(cap->max_inline_data + (uint32_t)sizeof(__be32), MLX_SEGMENT);
	uint32_t list = max_of(data, cap->max_send_sge * MLX_SEGMENT);
	uint32_t body = list + (attr->qp_type == IBV_QPT_UD ? (uint32_t)UD_BYTES
							    : sizeof(struct mlx_raddr_seg));
	uint32_t atomic = sizeof(struct mlx_raddr_seg) + ATOMIC_BYTES + MLX_SEGMENT;
	struct size size = {
		.sends = slots(ctx, cap->max_send_wr),
		.receives = slots(ctx, cap->max_recv_wr),
		.recv_shift = mthca_shift(NEXT_BYTES + MLX_SEGMENT * cap->max_recv_sge),
	};

	body = max_of(body, attr->qp_type == IBV_QPT_RC ? atomic : (uint32_t)REQUEST_MIN);
	size.send_shift = mthca_shift(NEXT_BYTES + body);
	size.offset = ROUND_UP(size.receives << size.recv_shift, 1u << size.send_shift);
	return size;
}

/* ---- rings */

static struct mthca_next_seg *slot_at(char *ring, uint32_t slot, uint32_t shift)
{
	return (void *)(ring + ((size_t)slot << shift));
}

/*
 * Write the parts of the rings that do not change: the links between receives and, with records,
 * the links between sends and the size of receives. Each receive is as large as its slot, because a
 * program may post more entries than it asked for.
 */
static void rings_init(char *base, const struct size *size, bool records)
{
	uint32_t segments = (1u << size->recv_shift) / MLX_SEGMENT, place;

	for (uint32_t i = 0; i < size->receives; i++) {
		struct mthca_next_seg *next = slot_at(base, i, size->recv_shift);
		struct mlx_data_seg *seg = (void *)(next + 1);

		place = (i + 1 == size->receives ? 0 : i + 1) << size->recv_shift;
		next->nda_op = htobe32(records ? place : place | NDA_RECV);
		if (records)
			next->ee_nds = htobe32(min_of(segments, (uint32_t)EE_SIZE_MASK));
		for (uint32_t n = 1; records && n < segments; n++, seg++)
			seg->lkey = htobe32(MLX_INVALID_LKEY);
	}
	for (uint32_t i = 0; records && i < size->sends; i++) {
		place = (i + 1 == size->sends ? 0 : i + 1) << size->send_shift;
		slot_at(base + size->offset, i, size->send_shift)->nda_op =
			htobe32(size->offset + place);
	}
}

/* Start both rings at their first slots. */
static void rings_reset(struct mthca_qp *qp)
{
	struct mthca_sq *sq = &qp->sq;

	sq->head = sq->slot = 0;
	sq->place = sq->offset;
	sq->done = sq->max_post - 1;
	sq->last = sq->max_post ? sq->base + sq->offset + ((size_t)sq->done << sq->shift) : NULL;
	qp->rq.head = qp->rq_slot = 0;
	qp->rq_done = qp->rq.max_post - 1;
	qp->rq_last = qp->rq.ring + ((size_t)(qp->rq.max_post ? qp->rq_done : 0) << qp->rq.shift);
	atomic_store_explicit(&sq->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	if (sq->record.words)
		sq->record.words[0] = qp->rq_record.words[0] = 0;
}

static void rings_open(struct mthca_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		       const struct size *size)
{
	char *base = qp->memory.buf.base, *uar = to_mctx(qp->vqp.qp.context)->uar.base;
	struct mthca_sq *sq = &qp->sq;
	struct mlx_rq *rq = &qp->rq;

	sq->max_post = size->sends;
	sq->shift = size->send_shift;
	sq->offset = size->offset;
	sq->base = base;
	sq->stride = 1u << size->send_shift;
	sq->ops = attr->qp_type == IBV_QPT_RC	? RC_OPS
		  : attr->qp_type == IBV_QPT_UC ? UC_OPS
						: UD_OPS;
	sq->max_inline = attr->cap.max_inline_data;
	sq->max_sge = rq->max_sge = -1;
	sq->doorbell = uar + MTHCA_REG_SEND;
	qp->rq_doorbell = uar + MTHCA_REG_RECV;
	rq->shift = size->recv_shift;
	/* The kernel requires a ring even with an SRQ, but its receives would never complete. */
	rq->max_post = qp->srq ? 0 : size->receives;
	rq->mask = size->receives - 1;
	rq->wqe_sge = attr->cap.max_recv_sge;
	rq->record = qp->rq_record.words;
	/* With doorbell records the first segment never changes. A post only writes the list behind
	 * it. */
	rq->ring = rq->record ? base + NEXT_BYTES : base;
	rings_reset(qp);
}

static void qp_free(struct mthca_qp *qp)
{
	struct mthca_context *ctx = to_mctx(qp->vqp.qp.context);

	mthca_record_free(ctx, &qp->rq_record);
	mthca_record_free(ctx, &qp->sq.record);
	kit_region_free(&qp->memory);
	free(qp->sq.wr_ids);
	free(qp->rq.wr_ids);
}

static int memory_make(struct mthca_qp *qp, const struct size *size)
{
	struct mthca_context *ctx = to_mctx(qp->vqp.qp.context);
	size_t bytes = size->offset + ((size_t)size->sends << size->send_shift);
	int r = -ENOMEM;

	qp->sq.wr_ids = calloc(max_of(size->sends, 1u), sizeof(*qp->sq.wr_ids));
	qp->rq.wr_ids = calloc(max_of(size->receives, 1u), sizeof(*qp->rq.wr_ids));
	if (qp->sq.wr_ids && qp->rq.wr_ids)
		r = mthca_region_make(&qp->memory, qp->vqp.qp.pd, bytes, 0);
	if (r < 0)
		return r;
	rings_init(qp->memory.buf.base, size, mthca_has_records(ctx));
	r = mthca_record_alloc(ctx, MTHCA_RECORD_SQ, &qp->sq.record);
	return r < 0 ? r : mthca_record_alloc(ctx, MTHCA_RECORD_RQ, &qp->rq_record);
}

/* ---- creation */

/* Check the sizes in the kernel's answer. They become the limits of each request. */
static int answer_check(const struct mthca_qp *qp, const struct ibv_qp_init_attr_ex *attr,
			const struct size *size)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t data =
		(1u << size->send_shift) - NEXT_BYTES -
		(attr->qp_type == IBV_QPT_UD ? (uint32_t)UD_BYTES : sizeof(struct mlx_raddr_seg));
	uint32_t list = (1u << size->recv_shift) - NEXT_BYTES;

	if (cap->max_send_wr == size->sends && cap->max_recv_wr == size->receives &&
	    cap->max_send_sge <= data / MLX_SEGMENT && cap->max_recv_sge <= list / MLX_SEGMENT &&
	    cap->max_inline_data + sizeof(__be32) <= data)
		return 0;
	verbs_err(
		qp->vqp.qp.context,
		"ibv_create_qp: the kernel grants %u sends and %u receives (of %u and %u), %u and "
		"%u entries, %u bytes inline",
		cap->max_send_wr, cap->max_recv_wr, size->sends, size->receives, cap->max_send_sge,
		cap->max_recv_sge, cap->max_inline_data);
	return -EPROTO;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct mthca_qp *qp, const struct verbs_create_qp *in,
			    const struct size *size)
{
	struct idtable *table = &to_mctx(qp->vqp.qp.context)->qps;
	struct mthca_create_qp cmd = {
		.lkey = qp->memory.mr.ibv_mr.lkey,
		.sq_db_page = mthca_record_page(&qp->sq.record),
		.rq_db_page = mthca_record_page(&qp->rq_record),
		.sq_db_index = qp->sq.record.index,
		.rq_db_index = qp->rq_record.index,
	};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	int r = kit_create_qp(&qp->vqp, in, &udata);

	if (r < 0)
		return r;
	qp->number = qp->vqp.qp.qp_num & MTHCA_NUMBER_MASK;
	qp->sq.number = qp->number << DB_NUMBER_SHIFT;
	r = answer_check(qp, in->attr, size);
	if (!r)
		r = idtable_put(table, qp->number, qp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	else
		idtable_own(table, qp->number, qp->send_cq, qp->recv_cq);
	return r;
}

int mthca_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct mthca_context *ctx = to_mctx(vqp->qp.context);
	struct mthca_qp *qp = to_mthca_qp(&vqp->qp);
	struct size size;
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	size = size_of(ctx, in->attr);
	qp->send_cq = to_mthca_cq(in->attr->send_cq);
	qp->recv_cq = to_mthca_cq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_mthca_srq(in->attr->srq) : NULL;
	r = memory_make(qp, &size);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = qp_create_locked(qp, in, &size);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	if (r < 0) {
		qp_free(qp);
		return r;
	}
	mthca_record_name(&qp->sq.record, MTHCA_RECORD_SQ, qp->number);
	mthca_record_name(&qp->rq_record, MTHCA_RECORD_RQ, qp->number);
	rings_open(qp, in->attr, &size);
	vqp->cap = in->attr->cap;
	return 0;
}

/* ---- states and destruction */

int mthca_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct mthca_qp *qp = to_mthca_qp(&vqp->qp);
	int r = uverbs_modify_qp(vqp, in);

	if (r < 0 || !(in->mask & IBV_QP_STATE))
		return r;
	if (in->attr->qp_state == IBV_QPS_RESET) {
		mthca_cqs_lock(qp);
		mthca_cqs_clean(qp);
		mthca_cqs_unlock(qp);
		rings_reset(qp);
	}
	mlx_post_limits_set(vqp, in->attr->qp_state, &qp->sq.max_sge, &qp->rq);
	if (!qp->sq.max_post)
		qp->sq.max_sge = -1;
	qp->sq.plain = qp->sq.max_sge > 0 && vqp->qp.qp_type != IBV_QPT_UD
			       ? qp->sq.ops & MLX_PLAIN_OPS
			       : 0;
	return 0;
}

int mthca_destroy_qp(struct verbs_qp *vqp)
{
	struct mthca_context *ctx = to_mctx(vqp->qp.context);
	struct mthca_qp *qp = to_mthca_qp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r) {
		mthca_cqs_lock(qp);
		mthca_cqs_clean(qp);
		idtable_take(&ctx->qps, qp->number, qp);
		mthca_cqs_unlock(qp);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		qp_free(qp);
	return r;
}
