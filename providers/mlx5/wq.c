/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues: receive rings without a queue pair. Queue pairs receive through a table of them. */
#include <stdlib.h>
#include <string.h>

#include "providers/mlx5/cq.h"
#include "providers/mlx5/cqe.h"
#include "providers/mlx5/settings.h"
#include "providers/mlx5/wq.h"

static int wq_check(struct ibv_context *ctx, const struct ibv_wq_init_attr *attr)
{
	const struct mlx5_ib_alloc_ucontext_resp *info = &to_mctx(ctx)->info;

	if (attr->wq_type != IBV_WQT_RQ) {
		verbs_err(ctx, "ibv_create_wq: type %d is not supported (receive queues are)",
			  attr->wq_type);
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > info->max_recv_wr ||
	    attr->max_sge > info->max_rq_desc_sz / MLX_SEGMENT) {
		verbs_err(
			ctx,
			"ibv_create_wq: %u requests of %u entries are not possible (%u of %u are)",
			attr->max_wr, attr->max_sge, info->max_recv_wr,
			info->max_rq_desc_sz / MLX_SEGMENT);
		return -EINVAL;
	}
	return 0;
}

/* Return the attributes of mlx5dv_create_wq(), which has checked them, or NULL. */
static const struct mlx5dv_striding_rq_init_attr *striding_of(const struct verbs_create_wq *in)
{
	const struct mlx5dv_wq_init_attr *dv = in->dv;

	return dv && dv->comp_mask & MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ ? &dv->striding_rq_attrs
									  : NULL;
}

/* Allocate the ring. Requests with strided buffers begin with an empty segment. */
static int wq_make(struct mlx5_wq *wq, const struct ibv_wq_init_attr *attr, bool striding)
{
	struct mlx5_context *ctx = to_mctx(wq->vwq.wq.context);
	uint32_t head = striding ? MLX_SEGMENT : 0;
	uint32_t wqe = round_up_pow2(MLX_SEGMENT * max_of(attr->max_sge, 1u) + head);
	uint32_t bytes = max_of(round_up_pow2(attr->max_wr) * wqe, (uint32_t)MLX5_SEND_WQE_BB);
	struct mlx5_qp *qp = &wq->user.qp;
	struct mlx_rq *rq = &qp->rq;
	int r;

	*rq = (struct mlx_rq){
		.mask = bytes / wqe - 1,
		.shift = __builtin_ctz(wqe),
		.max_post = bytes / wqe,
		.wqe_sge = (wqe - head) / MLX_SEGMENT,
		.max_sge = (wqe - head) / MLX_SEGMENT,
	};
	qp->vqp.qp.context = wq->vwq.wq.context;
	qp->vqp.qp.qp_type = IBV_QPT_RAW_PACKET;
	qp->sq.slots = &wq->user.slot;
	qp->recv_cq = to_mcq(attr->cq);
	rq->wr_ids = calloc(rq->max_post, sizeof(*rq->wr_ids));
	if (!rq->wr_ids)
		return -ENOMEM;
	r = dbrec_alloc(&ctx->records, to_vpd(attr->pd), &rq->record);
	if (r < 0)
		return r;
	r = kit_buf_alloc_in(&qp->buf, bytes, ctx->records.allocator, to_vpd(attr->pd),
			     mlx5_memory(MLX5_MEMORY_RWQ));
	rq->ring = qp->buf.base ? (char *)qp->buf.base + head : NULL;
	return r;
}

static void wq_free(struct mlx5_wq *wq)
{
	struct mlx5_qp *qp = &wq->user.qp;

	kit_buf_free(&qp->buf);
	dbrec_free(&to_mctx(wq->vwq.wq.context)->records, qp->rq.record, to_vpd(wq->vwq.wq.pd));
	free(qp->rq.wr_ids);
}

static int post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx5_qp *qp = &((struct mlx5_wq *)ibwq)->user.qp;

	spinlock_lock(&qp->rq.lock);
	return mlx_recv_rest(&qp->vqp.qp, &qp->rq, false, wr, bad_wr, qp->rq.head);
}

static int wq_create(struct mlx5_wq *wq, const struct verbs_create_wq *in)
{
	const struct mlx5_qp *qp = &wq->user.qp;
	struct mlx5_ib_create_wq_resp resp = {};
	struct mlx5_ib_create_wq cmd = {
		.buf_addr = (uintptr_t)qp->buf.base,
		.db_addr = (uintptr_t)qp->rq.record,
		.rq_wqe_count = qp->rq.max_post,
		.rq_wqe_shift = qp->rq.shift,
		.user_index = qp->uidx,
	};
	const struct mlx5dv_striding_rq_init_attr *striding = striding_of(in);
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_wq request = *in;

	if (striding) {
		cmd.comp_mask = MLX5_IB_CREATE_WQ_STRIDING_RQ;
		cmd.single_stride_log_num_of_bytes = striding->single_stride_log_num_of_bytes;
		cmd.single_wqe_log_num_of_strides = striding->single_wqe_log_num_of_strides;
		cmd.two_byte_shift_en = striding->two_byte_shift_en;
	}
	request.udata = &udata;
	return uverbs_create_wq(&wq->vwq, &request);
}

int mlx5_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in)
{
	struct mlx5_context *ctx = to_mctx(vwq->wq.context);
	struct mlx5_wq *wq = (struct mlx5_wq *)vwq;
	struct mlx5_qp *qp = &wq->user.qp;
	int r = wq_check(vwq->wq.context, in->attr);

	if (r < 0)
		return r;
	r = wq_make(wq, in->attr, striding_of(in));
	if (!r)
		r = idtable_add(&ctx->users, qp, &qp->uidx);
	if (r < 0) {
		wq_free(wq);
		return r;
	}
	r = wq_create(wq, in);
	if (r < 0) {
		idtable_remove(&ctx->users, qp->uidx);
		wq_free(wq);
		return r;
	}
	idtable_own(&ctx->users, qp->uidx, qp->recv_cq, NULL);
	qp->vqp.qp.qp_num = vwq->wq.wq_num;
	vwq->wq.post_recv = post_recv;
	return 0;
}

/* Empty the ring and remove its completions. */
static void wq_reset(struct mlx5_qp *qp)
{
	mlx5_cqs_clean(qp, false);
	qp->rq.head = 0;
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	qp->rq.record[MLX5_RCV_DBR] = 0;
}

int mlx5_modify_wq(struct verbs_wq *vwq, const struct verbs_modify_wq *in)
{
	struct mlx5_ib_modify_wq cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_modify_wq request = { .attr = in->attr, .udata = &udata };

	if (in->attr->attr_mask & IBV_WQ_ATTR_STATE && in->attr->wq_state == IBV_WQS_RDY &&
	    vwq->wq.state == IBV_WQS_RESET)
		wq_reset(&((struct mlx5_wq *)vwq)->user.qp);
	return uverbs_modify_wq(vwq, &request);
}

int mlx5_destroy_wq(struct verbs_wq *vwq)
{
	struct mlx5_wq *wq = (struct mlx5_wq *)vwq;
	int r = uverbs_destroy_wq(vwq);

	if (r < 0)
		return r;
	mlx5_cqs_clean(&wq->user.qp, true);
	wq_free(wq);
	return 0;
}

int mlx5_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
			      const struct verbs_create_rwq_ind_table *in)
{
	struct mlx5_ib_create_rwq_ind_tbl_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_rwq_ind_table request = { .attr = in->attr, .udata = &udata };

	return uverbs_create_rwq_ind_table(table, &request);
}

/* ---- a queue pair that receives through a table: it has no rings */

int mlx5_create_rss_qp(struct mlx5_qp *qp, const struct verbs_create_qp *in)
{
	const struct ibv_rx_hash_conf *hash = &in->attr->rx_hash_conf;
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_create_qp_rss cmd = {
		.rx_hash_fields_mask = hash->rx_hash_fields_mask,
		.rx_hash_function = hash->rx_hash_function,
		.rx_key_len = hash->rx_hash_key_len,
		.flags = mlx5_qp_flags(in),
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_qp request = *in;
	int r;

	if (hash->rx_hash_key_len > sizeof(cmd.rx_hash_key)) {
		verbs_err(qp->vqp.qp.context, "ibv_create_qp_ex: a key of %u bytes, at most %zu",
			  hash->rx_hash_key_len, sizeof(cmd.rx_hash_key));
		return -EINVAL;
	}
	memcpy(cmd.rx_hash_key, hash->rx_hash_key, hash->rx_hash_key_len);
	qp->rss = true;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	request.udata = &udata;
	r = uverbs_create_qp(&qp->vqp, &request);
	if (!r)
		mlx5_qp_numbers(qp, &resp);
	return r;
}
