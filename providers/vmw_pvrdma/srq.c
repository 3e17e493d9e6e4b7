/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues: their memory. */
#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	RECV_HEADER = sizeof(struct pvrdma_rq_wqe_hdr),
	SGE_SIZE = sizeof(struct pvrdma_sge),
	WR_MAX = 1 << 20,
	SGE_MAX = 1 << 8,
};

static int srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr)
{
	struct ibv_context *ctx = vsrq->srq.context;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(ctx, "ibv_create_srq_ex: type %d is not supported", vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (attr->max_wr > WR_MAX || attr->max_sge > SGE_MAX) {
		verbs_err(ctx,
			  "ibv_create_srq: max_wr %u with max_sge %u is too much (at most %u, %u)",
			  attr->max_wr, attr->max_sge, WR_MAX, SGE_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Allocate the ring with twice the requested size, as other releases of this provider do. */
static int ring_make(struct pvrdma_srq *srq, const struct ibv_srq_attr *attr)
{
	struct pvrdma_context *ctx = to_pctx(srq->vsrq.srq.context);
	uint32_t stride = round_up_pow2(RECV_HEADER + SGE_SIZE * attr->max_sge);
	uint64_t bytes = ROUND_UP((uint64_t)attr->max_wr * stride, (uint64_t)ctx->page_size);
	int r = pvrdma_buf_alloc(srq->vsrq.srq.context, &srq->buf, 2 * bytes);

	if (r < 0)
		return r;
	srq->rq.ring = pvrdma_ring_make((struct pvrdma_words *)srq->buf.base + 1,
					(char *)srq->buf.base + ctx->page_size, attr->max_wr,
					__builtin_ctz(stride));
	srq->rq.max_sge = attr->max_sge;
	srq->rq.reg = (char *)ctx->uar.base + PVRDMA_UAR_SRQ_OFFSET;
	return 0;
}

static int srq_create(struct pvrdma_srq *srq, const struct verbs_create_srq *in)
{
	struct pvrdma_create_srq_resp resp = {};
	struct pvrdma_create_srq cmd = {
		.buf_addr = (uintptr_t)srq->buf.base,
		.buf_size = srq->buf.size,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct ibv_srq_init_attr_ex attr = *in->attr;
	struct verbs_create_srq request = { .attr = &attr, .udata = &udata };
	int r = uverbs_create_srq(&srq->vsrq, &request);

	if (r < 0)
		return r;
	srq->vsrq.srq_num = resp.srqn;
	srq->rq.doorbell = (resp.srqn & PVRDMA_UAR_HANDLE_MASK) | PVRDMA_UAR_SRQ_RECV;
	return 0;
}

int pvrdma_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct pvrdma_srq *srq = to_psrq(&vsrq->srq);
	int r = srq_check(vsrq, attr);

	if (r < 0)
		return r;
	attr->max_wr = round_up_pow2(attr->max_wr);
	attr->max_sge = max_of(attr->max_sge, 1u);
	r = ring_make(srq, attr);
	if (!r)
		r = srq_create(srq, in);
	if (r < 0)
		kit_buf_free(&srq->buf);
	return r;
}

int pvrdma_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		kit_buf_free(&to_psrq(&vsrq->srq)->buf);
	return r;
}
