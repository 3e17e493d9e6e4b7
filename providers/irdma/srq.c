/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues, which adapters of the third generation have. A queue is a ring: receives
 * complete in the order in which they were posted, and each completion frees one. */
#include "providers/irdma/wqe.h"

static int srq_check(struct ibv_context *ibctx, const struct ibv_srq_init_attr_ex *attr,
		     uint32_t *ret_shift, uint32_t *ret_depth)
{
	const struct irdma_context *ctx = to_ictx(ibctx);
	const struct ibv_srq_attr *asked = &attr->attr;

	if (!(ctx->features & IRDMA_FEATURE_SRQ) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)) {
		verbs_err(ibctx, "ibv_create_srq: the adapter has no shared receive queues%s",
			  ctx->features & IRDMA_FEATURE_SRQ ? " of this type" : "");
		return -EOPNOTSUPP;
	}
	*ret_shift = irdma_shift(ctx, asked->max_sge, 0);
	if (asked->max_sge <= ctx->max_sge && asked->max_wr &&
	    !irdma_depth(ctx, asked->max_wr, *ret_shift, 1, ctx->max_srq, ret_depth))
		return 0;
	verbs_err(
		ibctx,
		"ibv_create_srq: %u receives (1 to %u quanta of 32 bytes) of %u entries (at most %u)",
		asked->max_wr, ctx->max_srq, asked->max_sge, ctx->max_sge);
	return -EINVAL;
}

static int srq_make(struct irdma_srq *srq, uint32_t depth)
{
	size_t bytes = ROUND_UP((size_t)depth * IRDMA_QUANTUM, (size_t)IRDMA_PAGE);
	const struct irdma_mem_reg_req request = {
		.reg_type = IRDMA_MEMREG_TYPE_SRQ,
		.rq_pages = bytes / IRDMA_PAGE,
	};
	int r = irdma_memory_make(&srq->memory, srq->vsrq.srq.pd, bytes + IRDMA_SHADOW, request);

	if (r < 0)
		return r;
	srq->ring = srq->memory.buf.base;
	srq->shadow = srq->ring + bytes;
	return 0;
}

static int kernel_create(struct irdma_srq *srq, const struct verbs_create_srq *in)
{
	struct irdma_create_srq_req cmd = {
		.user_srq_buf = (uintptr_t)srq->ring,
		.user_shadow_area = (uintptr_t)srq->shadow,
	};
	struct irdma_create_srq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_srq(&srq->vsrq, &request);

	if (r < 0)
		return r;
	if (resp.srq_size == srq->size)
		return 0;
	verbs_err(srq->vsrq.srq.context,
		  "ibv_create_srq: the kernel has a ring of %u receives instead of %u",
		  resp.srq_size, srq->size);
	uverbs_destroy_srq(&srq->vsrq);
	return -EPROTO;
}

int irdma_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct irdma_srq *srq = to_isrq(&vsrq->srq);
	uint32_t shift, depth;
	int r = srq_check(vsrq->srq.context, in->attr, &shift, &depth);

	if (r < 0)
		return r;
	srq->shift = shift;
	srq->size = depth >> shift;
	srq->max_sge = in->attr->attr.max_sge;
	r = srq_make(srq, depth);
	if (!r)
		r = kernel_create(srq, in);
	if (r < 0)
		kit_region_free(&srq->memory);
	else
		in->attr->attr.max_wr = (depth - 1) >> shift;
	return r;
}

int irdma_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		kit_region_free(&to_isrq(&vsrq->srq)->memory);
	return r;
}
