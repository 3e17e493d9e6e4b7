/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues: receive rings without a queue pair. A queue pair that receives through a table of
 * work queues is also created here. */
#include <stdlib.h>
#include <string.h>

#include "providers/mlx4/wqe.h"

enum {
	SQ_SLOT_SHIFT = 6, /* of the unused send queue */
};

static int wq_check(struct ibv_context *ctx, const struct verbs_create_wq *in)
{
	const struct ibv_wq_init_attr *attr = in->attr;
	uint32_t flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0;

	if (attr->wq_type != IBV_WQT_RQ) {
		verbs_err(ctx, "ibv_create_wq: type %d is not supported (receive queues are)",
			  attr->wq_type);
		return -EOPNOTSUPP;
	}
	if (flags & ~IBV_WQ_FLAGS_SCATTER_FCS) {
		verbs_err(ctx, "ibv_create_wq: create_flags 0x%x are not supported", flags);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Allocate the rings. As in any queue pair, the ring with the larger slots comes first. */
static int rings_make(struct mlx4_qp *qp, struct mlx4_context *ctx, const struct mlx4_qp_size *size)
{
	size_t bytes = (size_t)size->rq_count << size->rq_shift, slot = 1u << SQ_SLOT_SHIFT;
	bool first = size->rq_shift > SQ_SLOT_SHIFT;
	int r;

	qp->rq.wr_ids = calloc(size->rq_count, sizeof(*qp->rq.wr_ids));
	if (!qp->rq.wr_ids)
		return -ENOMEM;
	r = dbrec_alloc(&ctx->records, NULL, &qp->rq.record);
	if (r < 0)
		return r;
	r = kit_buf_alloc_from(&qp->buf, bytes + slot, &ctx->allocator);
	if (r < 0)
		return r;
	qp->rq.ring = (char *)qp->buf.base + (first ? 0 : slot);
	qp->rq.mask = size->rq_count - 1;
	qp->rq.shift = size->rq_shift;
	qp->sq.ring = (char *)qp->buf.base + (first ? bytes : 0);
	qp->sq.shift = SQ_SLOT_SHIFT;
	qp->sq.slot_ds = slot / MLX_SEGMENT;
	qp->sq.max_sge = -1;
	qp->sq.wr_ids = &((struct mlx4_wq *)((char *)qp - offsetof(struct mlx4_wq, as_qp)))->no_id;
	mlx4_sq_init(&qp->sq);
	return 0;
}

static void rings_free(struct mlx4_qp *qp, struct mlx4_context *ctx)
{
	kit_buf_free(&qp->buf);
	dbrec_free(&ctx->records, qp->rq.record, NULL);
	free(qp->rq.wr_ids);
}

/* Check that the work queue that the kernel created fits into its ring. */
static int wq_accept(struct mlx4_wq *wq, const struct ibv_wq_init_attr *attr)
{
	struct mlx_rq *rq = &wq->as_qp.rq;
	uint32_t segments = (1u << rq->shift) / MLX_SEGMENT;

	if (!attr->max_wr || attr->max_wr > rq->mask + 1 || attr->max_sge > segments) {
		verbs_err(wq->vwq.wq.context,
			  "ibv_create_wq: the kernel grants %u receives of %u, of %u and %u",
			  attr->max_wr, attr->max_sge, rq->mask + 1, segments);
		return -EPROTO;
	}
	rq->max_post = attr->max_wr;
	rq->wqe_sge = attr->max_sge;
	rq->max_sge = attr->max_sge;
	return 0;
}

/* The caller holds qp_lock. */
static int wq_create_locked(struct mlx4_wq *wq, const struct verbs_create_wq *in)
{
	struct ibv_qp *as_qp = &wq->as_qp.vqp.qp;
	int r = uverbs_create_wq(&wq->vwq, in);

	if (r < 0)
		return r;
	as_qp->qp_num = wq->vwq.wq.wq_num & MLX4_CQE_QPN_MASK;
	r = wq_accept(wq, in->attr);
	if (!r)
		r = mlx4_qp_number(&wq->as_qp, as_qp->qp_num);
	if (r < 0)
		uverbs_destroy_wq(&wq->vwq);
	return r;
}

static int wq_create(struct mlx4_wq *wq, const struct verbs_create_wq *in)
{
	struct mlx4_context *ctx = to_mctx(wq->vwq.wq.context);
	struct mlx4_ib_create_wq cmd = {
		.buf_addr = (uintptr_t)wq->as_qp.buf.base,
		.db_addr = (uintptr_t)wq->as_qp.rq.record,
	};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_create_wq request = *in;
	int r;

	request.udata = &udata;
	pthread_mutex_lock(&ctx->qp_lock);
	cmd.log_range_size = ctx->log_wq_range;
	r = wq_create_locked(wq, &request);
	if (!r)
		ctx->log_wq_range =
			0; /* the setting applies to the range of numbers that begins here */
	pthread_mutex_unlock(&ctx->qp_lock);
	return r;
}

int mlx4_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in)
{
	struct mlx4_context *ctx = to_mctx(vwq->wq.context);
	struct mlx4_wq *wq = (struct mlx4_wq *)vwq;
	struct mlx4_qp *qp = &wq->as_qp;
	struct mlx4_qp_size size = {};
	int r = wq_check(vwq->wq.context, in);

	if (!r)
		r = mlx4_rq_size(ctx, "ibv_create_wq", in->attr->max_wr, in->attr->max_sge, 0,
				 &size);
	if (r < 0)
		return r;
	qp->vqp.qp.context = vwq->wq.context;
	qp->vqp.qp.qp_type = IBV_QPT_RAW_PACKET;
	qp->recv_cq = to_mcq(in->attr->cq);
	in->attr->max_wr = size.rq_wr;
	in->attr->max_sge = size.rq_sge;
	r = rings_make(qp, ctx, &size);
	if (!r)
		r = wq_create(wq, in);
	if (r < 0) {
		rings_free(qp, ctx);
		return r;
	}
	vwq->wq.post_recv = mlx4_post_wq_recv;
	return 0;
}

/* Empty the ring and remove its completions. */
static void wq_reset(struct mlx4_qp *qp)
{
	mlx4_cqs_clean(qp, false);
	qp->rq.head = 0;
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	*qp->rq.record = 0;
}

int mlx4_modify_wq(struct verbs_wq *vwq, const struct verbs_modify_wq *in)
{
	struct mlx4_ib_modify_wq cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_modify_wq request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_modify_wq(vwq, &request);

	if (!r && in->attr->attr_mask & IBV_WQ_ATTR_STATE && in->attr->wq_state == IBV_WQS_RESET)
		wq_reset(&((struct mlx4_wq *)vwq)->as_qp);
	return r;
}

int mlx4_destroy_wq(struct verbs_wq *vwq)
{
	struct mlx4_context *ctx = to_mctx(vwq->wq.context);
	struct mlx4_qp *qp = &((struct mlx4_wq *)vwq)->as_qp;
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_wq(vwq);
	if (!r)
		mlx4_cqs_clean(qp, true);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		rings_free(qp, ctx);
	return r;
}

/* ---- a queue pair that receives through a table: it has no rings */

static int rss_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr, size_t key)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;

	if ((attr->comp_mask & both) != both || attr->qp_type != IBV_QPT_RAW_PACKET) {
		verbs_err(ctx, "ibv_create_qp_ex: who receives through a table is a queue pair of "
			       "raw packets with a table and a hash");
		return -EINVAL;
	}
	if (attr->rx_hash_conf.rx_hash_key_len != key) {
		verbs_err(ctx, "ibv_create_qp_ex: a key of %u bytes (it has %zu)",
			  attr->rx_hash_conf.rx_hash_key_len, key);
		return -EOPNOTSUPP;
	}
	return 0;
}

int mlx4_create_rss_qp(struct mlx4_qp *qp, const struct verbs_create_qp *in)
{
	const struct ibv_rx_hash_conf *hash = &in->attr->rx_hash_conf;
	struct mlx4_ib_create_qp_rss cmd = {
		.rx_hash_fields_mask = hash->rx_hash_fields_mask,
		.rx_hash_function = hash->rx_hash_function,
	};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_create_qp request = *in;
	int r = rss_check(qp->vqp.qp.context, in->attr, sizeof(cmd.rx_hash_key));

	if (r < 0)
		return r;
	memcpy(cmd.rx_hash_key, hash->rx_hash_key, sizeof(cmd.rx_hash_key));
	qp->rss = true;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	request.udata = &udata;
	return uverbs_create_qp(&qp->vqp, &request);
}
