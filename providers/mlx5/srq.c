/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues: requests in a list, by the numbers of their slots. The adapter follows the
 * list in the ring; this library its own copy, which the adapter cannot write.
 */
#include "providers/mlx5/cqe.h"

enum {
	SEGMENT = 16,
	WQE_MIN = 32,
};

static int srq_check(struct mlx5_context *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	uint32_t max_sge = ctx->info.max_rq_desc_sz / SEGMENT - 1;

	if (attr->attr.max_wr > ctx->info.max_srq_recv_wr || attr->attr.max_wr > UINT16_MAX / 2) {
		verbs_err(&ctx->vctx.context, "ibv_create_srq: max_wr %u is too much (at most %u)",
			  attr->attr.max_wr,
			  min_of(ctx->info.max_srq_recv_wr, (uint32_t)UINT16_MAX / 2));
		return -EINVAL;
	}
	if (attr->attr.max_sge > max_sge) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_srq: %u scatter/gather entries, at most %u are possible",
			  attr->attr.max_sge, max_sge);
		return -EINVAL;
	}
	return 0;
}

static void srq_free(struct mlx5_srq *srq)
{
	kit_buf_free(&srq->buf);
	dbrec_free(&to_mctx(srq->vsrq.srq.context)->records, srq->record);
	free(srq->next);
	free(srq->wr_ids);
}

static int srq_make(struct mlx5_srq *srq, uint32_t count, uint32_t shift)
{
	int r;

	srq->mask = count - 1;
	srq->shift = shift;
	srq->max_sge = (1u << shift) / SEGMENT - 1;
	srq->tail = count - 1;
	srq->next = calloc(count, sizeof(*srq->next));
	srq->wr_ids = calloc(count, sizeof(*srq->wr_ids));
	srq->record = dbrec_alloc(&to_mctx(srq->vsrq.srq.context)->records);
	if (!srq->next || !srq->wr_ids || !srq->record)
		return -ENOMEM;
	r = kit_buf_alloc(&srq->buf, (size_t)count << shift);
	if (r < 0)
		return r;
	srq->ring = srq->buf.base;
	for (uint32_t i = 0; i < count; i++) {
		struct mlx5_wqe_srq_next_seg *seg = (void *)(srq->ring + ((size_t)i << shift));

		srq->next[i] = (i + 1) & srq->mask;
		seg->next_wqe_index = htobe16(srq->next[i]);
	}
	return 0;
}

static int srq_create(struct mlx5_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx5_ib_create_srq_resp resp = {};
	struct mlx5_ib_create_srq cmd = {
		.buf_addr = (uintptr_t)srq->buf.base,
		.db_addr = (uintptr_t)srq->record,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = &resp,
		.out_len = sizeof(resp),
	};
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
	struct mlx5_srq *srq = to_msrq(&vsrq->srq);
	uint32_t wqe, count;
	int r;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(vsrq->srq.context, "ibv_create_srq_ex: type %d is not supported",
			  vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	r = srq_check(ctx, in->attr);
	if (r < 0)
		return r;
	wqe = round_up_pow2(max_of(WQE_MIN + 0u, SEGMENT + SEGMENT * in->attr->attr.max_sge));
	count = round_up_pow2(in->attr->attr.max_wr + 1);
	r = srq_make(srq, count, __builtin_ctz(wqe));
	if (!r)
		r = srq_create(srq, in);
	if (r < 0) {
		srq_free(srq);
		return r;
	}
	vsrq->srq_num = srq->srqn;
	in->attr->attr.max_wr = srq->mask;
	in->attr->attr.max_sge = srq->max_sge;
	return 0;
}

int mlx5_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_msrq(&vsrq->srq));
	return r;
}
