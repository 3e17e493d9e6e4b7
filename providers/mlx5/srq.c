/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, as this kernel driver wants them: providers/mlx has the rest. */
#include "providers/mlx5/mlx5.h"

static int srq_create(struct mlx_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx5_ib_create_srq_resp resp = {};
	struct mlx5_ib_create_srq cmd = {
		.buf_addr = (uintptr_t)srq->buf.base,
		.db_addr = (uintptr_t)srq->record,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct ibv_srq_init_attr_ex attr = *in->attr;
	struct verbs_create_srq request = { .attr = &attr, .udata = &udata };
	int r;

	attr.attr.max_wr = srq->mask;
	attr.attr.max_sge = srq->max_sge;
	r = uverbs_create_srq(&srq->vsrq, &request);
	if (!r)
		srq->srqn = resp.srqn;
	return r;
}

int mlx5_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct mlx5_context *ctx = to_mctx(vsrq->srq.context);
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct mlx_srq *srq = to_msrq(&vsrq->srq);
	int r = mlx_srq_check(vsrq, attr, min_of(ctx->info.max_srq_recv_wr, UINT16_MAX / 2u),
			      ctx->info.max_rq_desc_sz / MLX_SEGMENT - 1);

	if (r < 0)
		return r;
	r = mlx_srq_make(srq, &ctx->records, attr);
	srq->max_sge = (1u << srq->shift) / MLX_SEGMENT - 1;
	if (!r)
		r = srq_create(srq, in);
	if (r < 0) {
		mlx_srq_free(srq);
		return r;
	}
	vsrq->srq_num = srq->srqn;
	attr->max_wr = srq->mask;
	attr->max_sge = srq->max_sge;
	return 0;
}
