/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of SRQs that depend on this kernel driver. The rest is in providers/mlx. */
#include "providers/kit/srq.h"
#include "providers/mlx4/mlx4.h"

enum {
	TYPES = 1u << IBV_SRQT_BASIC | 1u << IBV_SRQT_XRC,
	WR_MAX = 65535, /* indices have 16 bits, and one request is never used */
	SGE_MAX = 64,
	XRC_SL_SHIFT = 12, /* position for all ports, because completions do not contain the port */
};

/* Fill unused data segments with an invalid key. */
static void slots_init(struct mlx_srq *srq)
{
	uint32_t count = (1u << srq->shift) / MLX_SEGMENT - 1;

	for (uint32_t i = 0; i <= srq->mask; i++) {
		char *slot = srq->ring + ((size_t)i << srq->shift);
		struct mlx_data_seg *data = (void *)(slot + sizeof(struct mlx_srq_next_seg));

		for (uint32_t n = 0; n < count; n++)
			data[n].lkey = htobe32(MLX_INVALID_LKEY);
	}
}

static int srq_create(struct mlx_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx4_ib_create_srq_resp resp = {};
	struct mlx4_ib_create_srq cmd = {
		.buf_addr = (uintptr_t)srq->buf.base,
		.db_addr = (uintptr_t)srq->record,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct ibv_srq_init_attr_ex attr = *in->attr;
	struct verbs_create_srq request = { .attr = &attr, .udata = &udata };
	int r;

	r = uverbs_create_srq(&srq->vsrq, &request);
	if (!r)
		srq->vsrq.srq_num = srq->srqn = resp.srqn & 0xffffff;
	return r;
}

/* Enter the SRQ into the table, so that completions with its number find it. The caller holds
 * qp_lock. */
static int xrc_number(struct mlx4_srq *srq)
{
	struct verbs_srq *vsrq = &srq->srq.vsrq;
	struct mlx4_context *ctx = to_mctx(vsrq->srq.context);
	struct mlx4_qp *as_qp = &srq->as_qp;

	as_qp->vqp.qp.context = vsrq->srq.context;
	as_qp->recv_cq = to_mcq(vsrq->cq);
	as_qp->srq = &srq->srq;
	as_qp->sl_shift = XRC_SL_SHIFT;
	return kit_srq_enter(&ctx->xrc_srqs, vsrq, as_qp, as_qp->recv_cq);
}

static int xrc_create(struct mlx4_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx4_context *ctx = to_mctx(srq->srq.vsrq.srq.context);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = srq_create(&srq->srq, in);
	if (!r) {
		r = xrc_number(srq);
		if (r < 0)
			uverbs_destroy_srq(&srq->srq.vsrq);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	return r;
}

int mlx4_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct dbrec_pool *records = &to_mctx(vsrq->srq.context)->records;
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct mlx_srq *srq = to_msrq(&vsrq->srq);
	int r = mlx_srq_check(vsrq, attr, TYPES, WR_MAX, SGE_MAX);

	if (r < 0)
		return r;
	srq->max_sge = attr->max_sge;
	r = mlx_srq_make(srq, records, attr, (struct kit_memory){});
	if (!r) {
		slots_init(srq);
		r = vsrq->srq_type == IBV_SRQT_XRC ? xrc_create((struct mlx4_srq *)vsrq, in)
						   : srq_create(srq, in);
	}
	if (r < 0) {
		mlx_srq_free(srq);
		return r;
	}
	attr->max_wr = srq->mask;
	return 0;
}

int mlx4_destroy_srq(struct verbs_srq *vsrq)
{
	struct mlx4_context *ctx = to_mctx(vsrq->srq.context);
	struct mlx4_srq *srq = (struct mlx4_srq *)vsrq;
	int r;

	if (!srq->as_qp.srq)
		return mlx_destroy_srq(vsrq);
	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_srq(vsrq);
	if (!r)
		mlx4_cqs_clean_srq(srq);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		mlx_srq_free(&srq->srq);
	return r;
}
