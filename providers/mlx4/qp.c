/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: two rings in one buffer, and the private state beside them. */
#include <string.h>

#include "providers/kit/qp.h"
#include "providers/mlx4/cqe.h"

enum {
	QP_FLAGS = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS,
	QP_TYPES = 1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD | 1 << IBV_QPT_RAW_PACKET |
		   1 << IBV_QPT_XRC_SEND | 1 << IBV_QPT_XRC_RECV,
};

static int refuse(struct ibv_context *ctx, const char *what, unsigned long long value)
{
	verbs_err(ctx, "ibv_create_qp: %s 0x%llx: not supported by mlx4", what, value);
	return -EOPNOTSUPP;
}

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		    const struct mlx4dv_qp_init_attr *dv)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	const uint32_t rss = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;

	if (!comp_mask_ok(attr->comp_mask, known | rss))
		return refuse(ctx, "comp_mask", attr->comp_mask & ~(known | rss));
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags & ~QP_FLAGS)
		return refuse(ctx, "create_flags", attr->create_flags & ~QP_FLAGS);
	if (!(QP_TYPES & 1u << attr->qp_type))
		return refuse(ctx, "QP type", attr->qp_type);
	if (dv && !comp_mask_ok(dv->comp_mask, MLX4DV_QP_INIT_ATTR_MASK_INL_RECV)) {
		verbs_err(ctx, "mlx4dv_create_qp: comp_mask 0x%llx is not known",
			  (unsigned long long)dv->comp_mask);
		return -EINVAL;
	}
	return 0;
}

/* The queue with the larger slots comes first. */
static void rings_place(struct mlx4_qp *qp, const struct mlx4_qp_size *size)
{
	char *base = qp->buf.base;

	if (size->rq_count && size->rq_shift > size->sq_shift) {
		qp->rq.ring = base;
		qp->sq.ring = base + ((size_t)size->rq_count << size->rq_shift);
	} else {
		qp->sq.ring = base;
		qp->rq.ring = base + ((size_t)size->sq_count << size->sq_shift);
	}
}

/* Allocate the rings and the private state. An unused array gets one entry, so that a mask of 0 is
 * valid. */
static int rings_make(struct mlx4_qp *qp, const struct mlx4_qp_size *size)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	size_t rq_bytes = size->rq_count ? (size_t)size->rq_count << size->rq_shift : 0;
	int r;

	qp->sq.wr_ids = calloc(max_of(size->sq_count, 1u), sizeof(*qp->sq.wr_ids));
	qp->rq.wr_ids = calloc(max_of(size->rq_count, 1u), sizeof(*qp->rq.wr_ids));
	if (!qp->sq.wr_ids || !qp->rq.wr_ids)
		return -ENOMEM;
	r = size->rq_count ? dbrec_alloc(&ctx->records, NULL, &qp->rq.record) : 0;
	if (r < 0)
		return r;
	if (size->sq_count) {
		r = kit_buf_alloc_from(&qp->buf,
				       ((size_t)size->sq_count << size->sq_shift) + rq_bytes,
				       &ctx->allocator);
		if (r < 0)
			return r;
		rings_place(qp, size);
	}
	qp->rq.mask = size->rq_count ? size->rq_count - 1 : 0;
	qp->rq.shift = size->rq_shift;
	qp->rq.max_sge = -1;
	qp->sq.mask = size->sq_count ? size->sq_count - 1 : 0;
	qp->sq.shift = size->sq_shift;
	qp->sq.slot_ds = (1u << size->sq_shift) / MLX_SEGMENT;
	qp->sq.spare = size->sq_spare;
	qp->sq.max_post = size->sq_max_post;
	qp->sq.max_inline = size->max_inline;
	qp->sq.ops = size->sq_ops;
	qp->sq.max_sge = -1;
	return 0;
}

static void rings_free(struct mlx4_qp *qp)
{
	kit_buf_free(&qp->buf);
	dbrec_free(&to_mctx(qp->vqp.qp.context)->records, qp->rq.record, NULL);
	free(qp->rq.wr_ids);
	free(qp->sq.wr_ids);
}

/* Check that the receive queue that the kernel created fits into its ring. */
static int rq_accept(struct mlx4_qp *qp, const struct ibv_qp_cap *cap,
		     const struct mlx4_qp_size *size)
{
	if (!size->rq_count)
		return 0;
	if (!cap->max_recv_wr || cap->max_recv_wr > size->rq_count ||
	    cap->max_recv_sge > (1u << size->rq_shift) / MLX_SEGMENT) {
		verbs_err(qp->vqp.qp.context,
			  "qp 0x%x: the kernel grants %u receives of %u, of %u and %u",
			  qp->vqp.qp.qp_num, cap->max_recv_wr, cap->max_recv_sge, size->rq_count,
			  (1u << size->rq_shift) / MLX_SEGMENT);
		return -EPROTO;
	}
	qp->rq.max_post = cap->max_recv_wr;
	qp->rq.wqe_sge = cap->max_recv_sge;
	return 0;
}

int mlx4_qp_number(struct mlx4_qp *qp, uint32_t number)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	int r = idtable_put(&ctx->qps, number, qp);

	if (r == -EPROTO)
		verbs_err(&ctx->vctx.context,
			  "the kernel gives the number 0x%x, which another queue has", number);
	if (!r)
		idtable_own(&ctx->qps, number, qp->send_cq, qp->recv_cq);
	return r;
}

/* Return whether the queue pair has rings. An XRC receive queue pair has no rings, because its
 * receives complete under the number of the SRQ. */
static bool has_rings(const struct mlx4_qp *qp)
{
	return qp->buf.base;
}

/* The caller holds qp_lock. */
static int qp_create_locked(struct mlx4_qp *qp, const struct verbs_create_qp *in,
			    const struct mlx4_qp_size *size)
{
	int r = uverbs_create_qp(&qp->vqp, in);

	if (r < 0)
		return r;
	qp->vqp.qp.qp_num &= MLX4_CQE_QPN_MASK;
	qp->doorbell = htobe32(qp->vqp.qp.qp_num << 8);
	r = rq_accept(qp, &in->attr->cap, size);
	if (!r && has_rings(qp))
		r = mlx4_qp_number(qp, qp->vqp.qp.qp_num);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

static int qp_create(struct mlx4_qp *qp, const struct verbs_create_qp *in,
		     const struct mlx4_qp_size *size, uint32_t inl_recv)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	struct mlx4_ib_create_qp cmd = {
		.buf_addr = (uintptr_t)qp->buf.base,
		.db_addr = (uintptr_t)qp->rq.record,
		.log_sq_bb_count = size->sq_count ? __builtin_ctz(size->sq_count) : 0,
		.log_sq_stride = size->sq_shift,
		.inl_recv_sz = inl_recv,
	};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_create_qp request = *in;
	int r;

	request.udata = &udata;
	in->attr->cap.max_recv_wr = size->rq_wr;
	in->attr->cap.max_recv_sge = size->rq_sge;
	pthread_mutex_lock(&ctx->qp_lock);
	r = qp_create_locked(qp, &request, size);
	pthread_mutex_unlock(&ctx->qp_lock);
	return r;
}

static void qp_link(struct mlx4_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	qp->send_cq = attr->send_cq ? to_mcq(attr->send_cq) : NULL;
	qp->recv_cq = attr->recv_cq ? to_mcq(attr->recv_cq) : NULL;
	qp->srq = attr->srq ? to_msrq(attr->srq) : NULL;
	qp->sq.flags = attr->sq_sig_all ? MLX4_WQE_CTRL_CQ_UPDATE : 0;
}

int mlx4_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	const struct mlx4dv_qp_init_attr *dv = in->dv;
	struct mlx4_context *ctx = to_mctx(vqp->qp.context);
	struct mlx4_qp *qp = to_mqp(&vqp->qp);
	struct mlx4_qp_size size;
	uint32_t inl_recv = 0;
	int r = qp_check(vqp->qp.context, in->attr, dv);

	if (r < 0)
		return r;
	if (in->attr->comp_mask & (IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE))
		return mlx4_create_rss_qp(qp, in);
	if (dv && dv->comp_mask & MLX4DV_QP_INIT_ATTR_MASK_INL_RECV)
		inl_recv = dv->inl_recv_sz;
	r = mlx4_qp_size(ctx, in->attr, inl_recv, &size);
	if (r < 0)
		return r;
	qp_link(qp, in->attr);
	r = rings_make(qp, &size);
	if (!r)
		r = qp_create(qp, in, &size, inl_recv);
	if (r < 0) {
		rings_free(qp);
		return r;
	}
	in->attr->cap.max_send_wr = size.sq_max_post;
	in->attr->cap.max_send_sge = size.sq_max_sge;
	in->attr->cap.max_inline_data = size.max_inline;
	return 0;
}

/* Open a shared XRC receive queue pair. It has no rings, because it posts nothing and its receives
 * belong to the SRQ. */
int mlx4_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in)
{
	struct mlx4_qp *qp = to_mqp(&vqp->qp);

	qp->sq.max_sge = qp->rq.max_sge = -1;
	return uverbs_open_qp(vqp, in);
}

int mlx4_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	if (to_mqp(&vqp->qp)->rss) {
		verbs_err(vqp->qp.context,
			  "qp 0x%x: one that receives through a table has nothing to query",
			  vqp->qp.qp_num);
		return -EOPNOTSUPP;
	}
	return kit_query_qp(vqp, in);
}

int mlx4_destroy_qp(struct verbs_qp *vqp)
{
	struct mlx4_context *ctx = to_mctx(vqp->qp.context);
	struct mlx4_qp *qp = to_mqp(&vqp->qp);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(vqp);
	if (!r && has_rings(qp))
		mlx4_cqs_clean(qp, true);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		rings_free(qp);
	return r;
}
