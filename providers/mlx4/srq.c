/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues: requests in a list, by the numbers of their slots. The adapter follows the
 * list in the ring; this library its own copy, which the adapter cannot write.
 */
#include "providers/mlx4/cqe.h"

enum {
	WQE_MIN = 32,
	WR_MAX = 65535, /* a request is named by 16 bits, and one stays */
	SGE_MAX = 64,
};

static int srq_check(struct mlx4_context *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	if (attr->attr.max_wr > WR_MAX) {
		verbs_err(&ctx->vctx.context, "ibv_create_srq: max_wr %u is too much (at most %d)",
			  attr->attr.max_wr, WR_MAX);
		return -EINVAL;
	}
	if (attr->attr.max_sge > SGE_MAX) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_srq: %u scatter/gather entries, at most %d are possible",
			  attr->attr.max_sge, SGE_MAX);
		return -EINVAL;
	}
	return 0;
}

static void srq_free(struct mlx4_srq *srq)
{
	kit_buf_free(&srq->buf);
	dbrec_free(&to_mctx(srq->vsrq.srq.context)->records, srq->record);
	free(srq->next);
	free(srq->wr_ids);
}

/* Segments of which nothing was said are no memory's. */
static void slot_init(struct mlx4_srq *srq, uint32_t i)
{
	char *slot = srq->ring + ((size_t)i << srq->shift);
	struct mlx4_wqe_srq_next_seg *next = (void *)slot;
	struct mlx4_wqe_data_seg *data = (void *)(slot + sizeof(*next));

	srq->next[i] = (i + 1) & srq->mask;
	next->next_wqe_index = htobe16(srq->next[i]);
	for (uint32_t n = 0; n < (1u << srq->shift) / MLX4_SEGMENT - 1; n++)
		data[n].lkey = htobe32(MLX4_INVALID_LKEY);
}

static int srq_make(struct mlx4_srq *srq, uint32_t count, uint32_t shift)
{
	struct mlx4_context *ctx = to_mctx(srq->vsrq.srq.context);
	int r;

	srq->mask = count - 1;
	srq->shift = shift;
	srq->tail = count - 1;
	srq->next = calloc(count, sizeof(*srq->next));
	srq->wr_ids = calloc(count, sizeof(*srq->wr_ids));
	srq->record = dbrec_alloc(&ctx->records);
	if (!srq->next || !srq->wr_ids || !srq->record)
		return -ENOMEM;
	r = kit_buf_alloc_from(&srq->buf, (size_t)count << shift, &ctx->allocator);
	if (r < 0)
		return r;
	srq->ring = srq->buf.base;
	for (uint32_t i = 0; i < count; i++)
		slot_init(srq, i);
	return 0;
}

static int srq_create(struct mlx4_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx4_ib_create_srq_resp resp = {};
	struct mlx4_ib_create_srq cmd = {
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

	r = uverbs_create_srq(&srq->vsrq, &request);
	if (!r)
		srq->srqn = resp.srqn & 0xffffff;
	return r;
}

int mlx4_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct mlx4_context *ctx = to_mctx(vsrq->srq.context);
	struct mlx4_srq *srq = to_msrq(&vsrq->srq);
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
	wqe = max_of(WQE_MIN + 0u, MLX4_SEGMENT * (1 + in->attr->attr.max_sge));
	count = round_up_pow2(in->attr->attr.max_wr + 1);
	srq->max_sge = in->attr->attr.max_sge;
	r = srq_make(srq, count, __builtin_ctz(round_up_pow2(wqe)));
	if (!r)
		r = srq_create(srq, in);
	if (r < 0) {
		srq_free(srq);
		return r;
	}
	vsrq->srq_num = srq->srqn;
	in->attr->attr.max_wr = srq->mask;
	return 0;
}

int mlx4_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_msrq(&vsrq->srq));
	return r;
}
