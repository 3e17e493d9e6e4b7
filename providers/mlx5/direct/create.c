/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queues with attributes of this device, and the allocator of their memory. */
#include "providers/mlx5/cq.h"
#include "providers/mlx5/dc.h"
#include "providers/mlx5/direct/direct.h"

/* ---- completion queues */

static int cq_check(const struct mlx5_context *ctx, const struct mlx5dv_cq_init_attr *dv)
{
	const struct mlx5_ib_query_device_resp *caps = &ctx->caps;
	const struct ibv_context *ibctx = &ctx->vctx.context;
	const uint64_t known = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE |
			       MLX5DV_CQ_INIT_ATTR_MASK_FLAGS | MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
	uint32_t size = mlx5_cq_dv_size(dv);

	if (!comp_mask_ok(dv->comp_mask, known)) {
		verbs_err(ibctx, "mlx5dv_create_cq: comp_mask 0x%llx (0x%llx is possible)",
			  (unsigned long long)dv->comp_mask, (unsigned long long)known);
		return -EINVAL;
	}
	if (size != 64 && size != 128) {
		verbs_err(ibctx, "mlx5dv_create_cq: cqe_size %u is neither 64 nor 128", size);
		return -EINVAL;
	}
	if (dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE &&
	    (!caps->cqe_comp_caps.max_num ||
	     !(dv->cqe_comp_res_format & caps->cqe_comp_caps.supported_format))) {
		verbs_err(ibctx, "mlx5dv_create_cq: cqe_comp_res_format 0x%x (of 0x%x)",
			  dv->cqe_comp_res_format, caps->cqe_comp_caps.supported_format);
		return -EINVAL;
	}
	if (!(dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_FLAGS))
		return 0;
	if (dv->flags & ~MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD ||
	    (dv->flags &&
	     (!(caps->flags & MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD) || size != 128))) {
		verbs_err(
			ibctx,
			"mlx5dv_create_cq: flags 0x%x (0x1 is, on devices that can, with 128 bytes)",
			dv->flags);
		return -EINVAL;
	}
	return 0;
}

MLX5DV_EXPORT struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *ibctx,
						 struct ibv_cq_init_attr_ex *cq_attr,
						 struct mlx5dv_cq_init_attr *mlx5_cq_attr)
{
	const struct verbs_create_cq in = { .attr = cq_attr, .extended = true, .dv = mlx5_cq_attr };
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct verbs_cq *cq;
	int r;

	if (!ctx)
		return NULL;
	r = mlx5_cq_attr ? cq_check(ctx, mlx5_cq_attr) : 0;
	if (!r)
		r = verbs_cq_create(ibctx, __func__, &in, &cq);
	return r < 0 ? mlx5dv_fail(r) : &cq->cq_ex;
}

/* ---- queue pairs */

static int refuse(const struct mlx5_context *ctx, const char *what, uint64_t value, int r)
{
	verbs_err(&ctx->vctx.context, "mlx5dv_create_qp: %s 0x%llx is not possible here", what,
		  (unsigned long long)value);
	return r;
}

/* Return whether data of queue pairs of this type may arrive out of order. */
static bool has_ooo(struct mlx5_context *ctx, enum ibv_qp_type type)
{
	const struct mlx5dv_ooo_recv_wrs_caps caps = mlx5_ooo_caps(ctx);

	switch (type) {
	case IBV_QPT_RC:
		return caps.max_rc;
	case IBV_QPT_UC:
		return caps.max_uc;
	case IBV_QPT_UD:
		return caps.max_ud;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return caps.max_xrc;
	case IBV_QPT_DRIVER:
		return caps.max_dct;
	default:
		return false;
	}
}

static int qp_flags_check(struct mlx5_context *ctx, enum ibv_qp_type type, uint32_t flags)
{
	const uint32_t known =
		MLX5DV_QP_CREATE_TUNNEL_OFFLOADS | MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC |
		MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC |
		MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE |
		MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE | MLX5DV_QP_CREATE_SIG_PIPELINING |
		MLX5DV_QP_CREATE_OOO_DP;
	const uint32_t both =
		MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
	/* The kernel can restart a stopped queue. */
	bool goes_on = ctx->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS;
	const uint32_t missing =
		(goes_on ? 0 : MLX5DV_QP_CREATE_SIG_PIPELINING) |
		(flags & MLX5DV_QP_CREATE_OOO_DP && !has_ooo(ctx, type) ? MLX5DV_QP_CREATE_OOO_DP
									: 0);

	if (flags & ~known)
		return refuse(ctx, "create_flags", flags & ~known, -EINVAL);
	if (flags & missing)
		return refuse(ctx, "create_flags", flags & missing, -EOPNOTSUPP);
	/* The two flags contradict each other. */
	if ((flags & both) == both)
		return refuse(ctx, "create_flags", flags & both, -EINVAL);
	return 0;
}

static int qp_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		    const struct mlx5dv_qp_init_attr *dv)
{
	const uint64_t known =
		MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DC |
		MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	bool dc = dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC;
	int r;

	if (!comp_mask_ok(dv->comp_mask, known))
		return refuse(ctx, "comp_mask", dv->comp_mask & ~known, -EINVAL);
	if (dc != (attr->qp_type == IBV_QPT_DRIVER))
		return refuse(ctx, "with these attributes qp_type", attr->qp_type, -EINVAL);
	r = mlx5_dc_check(ctx, attr, dv);
	if (!r && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS)
		r = mlx5_wr_dv_check(ctx, attr, dv->send_ops_flags);
	if (r < 0)
		return r;
	return dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS
		       ? qp_flags_check(ctx, attr->qp_type, dv->create_flags)
		       : 0;
}

/* A DC target and a queue pair that receives through a table send nothing. */
static void builders_set(struct mlx5_qp *qp, const struct mlx5dv_qp_init_attr *dv)
{
	bool chosen = dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;

	if (!qp->dct && !qp->rss)
		mlx5_wr_set_dv_slots(qp, chosen ? dv->send_ops_flags : 0);
}

MLX5DV_EXPORT struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ibctx,
					      struct ibv_qp_init_attr_ex *qp_attr,
					      struct mlx5dv_qp_init_attr *mlx5_qp_attr)
{
	const struct verbs_create_qp in = { .attr = qp_attr, .extended = true, .dv = mlx5_qp_attr };
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct ibv_qp *qp;
	int r;

	if (!ctx)
		return NULL;
	r = mlx5_qp_attr ? qp_check(ctx, qp_attr, mlx5_qp_attr) : 0;
	if (!r)
		r = verbs_qp_create(ibctx, __func__, &in, &qp);
	if (r < 0)
		return mlx5dv_fail(r);
	builders_set(to_mqp(qp), mlx5_qp_attr);
	return qp;
}

MLX5DV_EXPORT struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	if (!mlx5dv_context(qp->qp_base.context, __func__))
		return NULL;
	return &to_mqp(&qp->qp_base)->dv;
}

/* ---- work queues */

static int wq_check(const struct mlx5_context *ctx, const struct mlx5dv_wq_init_attr *dv)
{
	const struct mlx5_ib_striding_rq_caps *caps = &ctx->caps.striding_rq_caps;
	const struct mlx5dv_striding_rq_init_attr *striding = &dv->striding_rq_attrs;
	const struct ibv_context *ibctx = &ctx->vctx.context;

	if (!comp_mask_ok(dv->comp_mask, MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ)) {
		verbs_err(ibctx, "mlx5dv_create_wq: comp_mask 0x%llx is not known",
			  (unsigned long long)dv->comp_mask);
		return -EINVAL;
	}
	if (!dv->comp_mask)
		return 0;
	if (striding->single_stride_log_num_of_bytes < caps->min_single_stride_log_num_of_bytes ||
	    striding->single_stride_log_num_of_bytes > caps->max_single_stride_log_num_of_bytes ||
	    striding->single_wqe_log_num_of_strides < caps->min_single_wqe_log_num_of_strides ||
	    striding->single_wqe_log_num_of_strides > caps->max_single_wqe_log_num_of_strides) {
		verbs_err(
			ibctx,
			"mlx5dv_create_wq: 2^%u strides of 2^%u bytes (2^%u to 2^%u of 2^%u to 2^%u)",
			striding->single_wqe_log_num_of_strides,
			striding->single_stride_log_num_of_bytes,
			caps->min_single_wqe_log_num_of_strides,
			caps->max_single_wqe_log_num_of_strides,
			caps->min_single_stride_log_num_of_bytes,
			caps->max_single_stride_log_num_of_bytes);
		return -EINVAL;
	}
	return 0;
}

MLX5DV_EXPORT struct ibv_wq *mlx5dv_create_wq(struct ibv_context *ibctx,
					      struct ibv_wq_init_attr *wq_init_attr,
					      struct mlx5dv_wq_init_attr *mlx5_wq_attr)
{
	const struct verbs_create_wq in = { .attr = wq_init_attr, .dv = mlx5_wq_attr };
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	struct verbs_wq *wq;
	int r;

	if (!ctx)
		return NULL;
	r = mlx5_wq_attr ? wq_check(ctx, mlx5_wq_attr) : 0;
	if (!r)
		r = verbs_wq_create(ibctx, &in, &wq);
	return r < 0 ? mlx5dv_fail(r) : &wq->wq;
}

/* ---- memory of queues */

MLX5DV_EXPORT int mlx5dv_set_context_attr(struct ibv_context *ibctx,
					  enum mlx5dv_set_ctx_attr_type type, void *attr)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, __func__);
	const struct mlx5dv_ctx_allocators *from = attr;

	if (!ctx)
		return EOPNOTSUPP;
	if (type != MLX5DV_CTX_ATTR_BUF_ALLOCATORS) {
		verbs_err(ibctx, "%s: type %d is not known", __func__, type);
		return mlx5dv_errno(-EOPNOTSUPP);
	}
	ctx->allocator = (struct kit_allocator){ from->alloc, from->free, from->data };
	ctx->records.allocator = from->alloc ? &ctx->allocator : NULL;
	return 0;
}
