/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dynamically connected transport: each request of an initiator has its own destination, and a
 * target receives from every initiator that knows its key. Programs create both by
 * mlx5dv_create_qp().
 */
#include "providers/mlx5/cq.h"
#include "providers/mlx5/cqe.h"
#include "providers/mlx5/dc.h"

static int refuse(const struct mlx5_context *ctx, const char *what, uint64_t value, int r)
{
	verbs_err(&ctx->vctx.context, "mlx5dv_create_qp: %s 0x%llx is not possible with DC", what,
		  (unsigned long long)value);
	return r;
}

static int streams_check(const struct mlx5_context *ctx, const struct mlx5dv_dci_streams *streams)
{
	const struct mlx5_ib_dci_streams_caps *caps = &ctx->caps.dci_streams_caps;

	if (streams->log_num_concurent > caps->max_log_num_concurent)
		return refuse(ctx, "log_num_concurent", streams->log_num_concurent, -EINVAL);
	if (streams->log_num_errored > caps->max_log_num_errored)
		return refuse(ctx, "log_num_errored", streams->log_num_errored, -EINVAL);
	return 0;
}

static int target_check(const struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
			const struct mlx5dv_qp_init_attr *dv)
{
	const uint64_t known =
		MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;

	if (attr->comp_mask != IBV_QP_INIT_ATTR_PD)
		return refuse(ctx, "a target's comp_mask", attr->comp_mask, -EINVAL);
	if (dv->comp_mask & ~known)
		return refuse(ctx, "a target's comp_mask", dv->comp_mask & ~known, -EINVAL);
	if (dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS &&
	    dv->create_flags & ~(MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_OOO_DP))
		return refuse(ctx, "a target's create_flags", dv->create_flags, -EINVAL);
	return 0;
}

int mlx5_dc_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		  const struct mlx5dv_qp_init_attr *dv)
{
	const struct mlx5dv_dc_init_attr *dc = mlx5_dc_of(dv);
	bool streams = dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;

	if (!dc)
		return streams ? refuse(ctx, "no dc_type, and comp_mask", dv->comp_mask, -EINVAL)
			       : 0;
	switch (dc->dc_type) {
	case MLX5DV_DCTYPE_DCT:
		return target_check(ctx, attr, dv);
	case MLX5DV_DCTYPE_DCI:
		return streams ? streams_check(ctx, &dc->dci_streams) : 0;
	default:
		return refuse(ctx, "dc_type", dc->dc_type, -EINVAL);
	}
}

void mlx5_dci_request(const struct mlx5dv_qp_init_attr *dv, struct mlx5_ib_create_qp *cmd)
{
	const struct mlx5dv_dc_init_attr *dc = mlx5_dc_of(dv);

	if (!dc)
		return;
	cmd->flags |= MLX5_QP_FLAG_TYPE_DCI;
	if (!(dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS))
		return;
	cmd->flags |= MLX5_QP_FLAG_DCI_STREAM;
	cmd->dci_streams.log_num_concurent = dc->dci_streams.log_num_concurent;
	cmd->dci_streams.log_num_errored = dc->dci_streams.log_num_errored;
}

/* ---- targets */

static int target_create(struct mlx5_qp *qp, const struct verbs_create_qp *in)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	bool ece = ctx->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_create_qp cmd = {
		.flags = MLX5_QP_FLAG_TYPE_DCT,
		.uidx = qp->uidx,
		.access_key = mlx5_dc_of(in->dv)->dct_access_key,
		.ece_options = ece ? MLX5_ECE_ASK : 0,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_qp request = *in;
	int r;

	request.udata = &udata;
	r = uverbs_create_qp(&qp->vqp, &request);
	qp->ece = resp.ece_options;
	return r;
}

/* Create a DC target. Its rings have one unused entry each, so that a faulty completion cannot
 * reach invalid memory. */
int mlx5_create_dct(struct mlx5_qp *qp, const struct verbs_create_qp *in)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	int r;

	qp->dct = true;
	qp->sq.ring = qp->rq.ring = mlx5_no_queue;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	qp->sq.slots = calloc(1, sizeof(*qp->sq.slots));
	qp->rq.wr_ids = calloc(1, sizeof(*qp->rq.wr_ids));
	r = qp->sq.slots && qp->rq.wr_ids ? idtable_add(&ctx->users, qp, &qp->uidx) : -ENOMEM;
	if (!r) {
		r = target_create(qp, in);
		if (r < 0)
			idtable_remove(&ctx->users, qp->uidx);
		else
			idtable_own(&ctx->users, qp->uidx, qp->send_cq, qp->recv_cq);
	}
	if (r < 0) {
		free(qp->sq.slots);
		free(qp->rq.wr_ids);
	}
	return r;
}

/* Change the state. The kernel assigns the number in the transition to RTR. */
int mlx5_modify_dct(struct mlx5_qp *qp, const struct verbs_modify_qp *in)
{
	struct mlx5_ib_modify_qp_resp resp = {};
	struct mlx5_ib_modify_qp cmd = { .comp_mask = mlx5_modify_mask(qp, in),
					 .ece_options = qp->ece_pending ? qp->ece_next : 0 };
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_modify_qp request = *in;
	int r;

	request.udata = &udata;
	r = uverbs_modify_qp(&qp->vqp, &request);
	if (r < 0)
		return r;
	if (!(in->mask & IBV_QP_STATE) || in->attr->qp_state != IBV_QPS_RTR)
		return 0;
	/* Only this transition creates the target, and only its answer has granted options. */
	if (qp->ece_pending) {
		qp->ece = resp.ece_options;
		qp->ece_pending = false;
	}
	if (resp.response_length < offsetof(struct mlx5_ib_modify_qp_resp, ece_options)) {
		verbs_err(qp->vqp.qp.context, "a DC target: the kernel gives it no number");
		return -EINVAL;
	}
	qp->vqp.qp.qp_num = resp.dctn;
	return 0;
}

int mlx5_destroy_dct(struct mlx5_qp *qp)
{
	int r = uverbs_destroy_qp(&qp->vqp);

	if (r < 0)
		return r;
	mlx5_cqs_clean(qp, true);
	free(qp->sq.slots);
	free(qp->rq.wr_ids);
	return 0;
}
