/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Marvell's FastLinQ adapters: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/context.h"
#include "providers/qedr/wqe.h"

enum {
	WR_MAX = 1 << 15, /* the counters of requests have 16 bits */
	CQE_MAX = 1 << 24,
	DOORBELLS_MAX = 1 << 20,
	/* limits of requests through registers, if the kernel does not tell them */
	LIST_MOST = 8192,
	DATA_MOST = 256,
	PIECE = 64,
};

char *qedr_register(struct qedr_context *ctx, uint32_t offset, uint32_t bytes)
{
	const struct kit_page *page = &ctx->doorbells;

	if (offset % bytes || offset > page->length - bytes) {
		verbs_err(&ctx->vctx.context,
			  "the kernel gives a doorbell at 0x%x of a page of 0x%zx bytes", offset,
			  page->length);
		return NULL;
	}
	return (char *)page->base + offset;
}

int qedr_doorbell_open(struct qedr_context *ctx, struct qedr_doorbell *doorbell, uint32_t offset,
		       uint32_t bytes, uint64_t key)
{
	int r;

	doorbell->reg = qedr_register(ctx, offset, bytes);
	doorbell->record = &doorbell->spare;
	if (!doorbell->reg)
		return -EPROTO;
	if (!key)
		return 0;
	r = kit_page_map(&ctx->vctx.context, key, sysconf(_SC_PAGESIZE), PROT_WRITE,
			 &doorbell->page);
	if (!r)
		doorbell->record = doorbell->page.base;
	return r;
}

static void dpm_find(struct qedr_context *ctx, const struct qedr_alloc_ucontext_resp *resp)
{
	struct qedr_dpm *dpm = &ctx->dpm;
	bool sizes = resp->dpm_flags & QEDR_DPM_SIZES_SET;

	if (ctx->iwarp) {
		dpm->lists = resp->dpm_flags & QEDR_DPM_TYPE_IWARP_LEGACY;
	} else {
		dpm->lists = resp->dpm_flags & QEDR_DPM_TYPE_ROCE_LEGACY;
		dpm->data = resp->dpm_flags & QEDR_DPM_TYPE_ROCE_ENHANCED;
	}
	dpm->acknowledged = resp->dpm_flags & QEDR_DPM_TYPE_ROCE_EDPM_MODE;
	dpm->list_most = sizes ? resp->ldpm_limit_size : LIST_MOST;
	dpm->data_most = sizes && resp->edpm_limit_size ? resp->edpm_limit_size : DATA_MOST;
	dpm->data_most = min_of(dpm->data_most, (uint32_t)INLINE_MAX);
	dpm->piece = sizes ? resp->edpm_trans_size : PIECE;
	dpm->piece = max_of(dpm->piece / 8 * 8, 8u);
}

/* Take the limits from the answer. Each adapter supports receives of one entry. */
static int answer_take(struct qedr_context *ctx, const struct qedr_alloc_ucontext_resp *resp)
{
	if (!resp->max_send_wr || !resp->max_recv_wr || !resp->max_cqes ||
	    !resp->sges_per_recv_wr || !resp->db_size || resp->db_size > DOORBELLS_MAX ||
	    resp->sges_per_send_wr > 2 * SEND_ELEMENTS_MAX) {
		verbs_err(
			&ctx->vctx.context,
			"the kernel answers with %u sends of %u elements, %u receives of %u entries, "
			"%u completions, and %u bytes of doorbells",
			resp->max_send_wr, resp->sges_per_send_wr, resp->max_recv_wr,
			resp->sges_per_recv_wr, resp->max_cqes, resp->db_size);
		return -EPROTO;
	}
	ctx->max_send_wr = min_of(resp->max_send_wr, (uint32_t)WR_MAX);
	ctx->max_recv_wr = min_of(resp->max_recv_wr, (uint32_t)WR_MAX);
	ctx->max_srq_wr = min_of(resp->max_srq_wr, (uint32_t)WR_MAX);
	ctx->max_cqe = min_of(resp->max_cqes, (uint32_t)CQE_MAX);
	ctx->recv_sge = min_of(resp->sges_per_recv_wr, 7u); /* 3 bits of a receive */
	ctx->send_elements = max_of(resp->sges_per_send_wr, (uint32_t)SEND_ELEMENTS_MAX);
	dpm_find(ctx, resp);
	return 0;
}

/* XRC exists only on RoCE. */
static const struct verbs_ops roce_ops = {
	.open_xrcd = uverbs_open_xrcd,
	.close_xrcd = uverbs_close_xrcd,
	.open_qp = uverbs_open_qp,
};

static int qedr_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct qedr_context *ctx = (struct qedr_context *)vctx;
	struct qedr_alloc_ucontext_req cmd = { .context_flags = QEDR_ALLOC_UCTX_EDPM_MODE |
								QEDR_ALLOC_UCTX_DB_REC |
								QEDR_SUPPORT_DPM_SIZES };
	struct qedr_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_context_open(vctx, in, &udata);

	ctx->iwarp = vctx->context.device->node_type == IBV_NODE_RNIC;
	if (!r)
		r = answer_take(ctx, &resp);
	if (!r)
		r = kit_page_map(&vctx->context, resp.db_pa, resp.db_size, PROT_WRITE,
				 &ctx->doorbells);
	if (!r && !ctx->iwarp)
		r = verbs_context_overlay_ops(vctx, &roce_ops);
	if (r < 0) {
		kit_page_unmap(&ctx->doorbells);
		return r;
	}
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	idtable_init(&ctx->xrc_srqs);
	return 0;
}

static void qedr_close_context(struct verbs_context *vctx)
{
	struct qedr_context *ctx = (struct qedr_context *)vctx;

	kit_page_unmap(&ctx->doorbells);
	idtable_destroy(&ctx->qps);
	idtable_destroy(&ctx->xrc_srqs);
	pthread_mutex_destroy(&ctx->qp_lock);
}

static int qedr_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			     struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never_served = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				      IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MANAGED_FLOW_STEERING;
	int r = kit_context_query_bytes(ibctx, in, ret_attr);

	if (r < 0)
		return r;
	ret_attr->orig_attr.device_cap_flags &= ~(unsigned int)never_served;
	ret_attr->device_cap_flags_ex &= ~never_served;
	if (to_qctx(ibctx)->iwarp) {
		ret_attr->orig_attr.device_cap_flags &= ~(unsigned int)IBV_DEVICE_XRC;
		ret_attr->device_cap_flags_ex &= ~(uint64_t)IBV_DEVICE_XRC;
	}
	ret_attr->orig_attr.max_mw = ret_attr->orig_attr.max_ah = 0;
	/* Only queue pairs of the kernel can invalidate keys locally. */
	kit_context_no_invalidation(ret_attr);
	return 0;
}

static int qedr_alloc_pd(struct ibv_pd *pd, struct verbs_udata *in)
{
	struct qedr_alloc_pd_uresp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };

	return uverbs_alloc_pd(pd, &udata);
}

static const struct verbs_ops qedr_ops = {
	.open_context = qedr_open_context,
	.close_context = qedr_close_context,
	.query_device = qedr_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = qedr_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = qedr_create_cq,
	.destroy_cq = qedr_destroy_cq,
	.cq_event = qedr_cq_event,
	.req_notify_cq = qedr_req_notify_cq,
	.poll_cq = qedr_poll_cq,

	.create_srq = qedr_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = qedr_destroy_srq,
	.post_srq_recv = qedr_post_srq_recv,

	.create_qp = qedr_create_qp,
	.modify_qp = qedr_modify_qp,
	.query_qp = qedr_query_qp,
	.destroy_qp = qedr_destroy_qp,
	.post_send = qedr_post_send,
	.post_recv = qedr_post_recv,
};

static const struct verbs_provider qedr_provider = {
	.size = sizeof(qedr_provider),
	.name = "qedr",
	.driver_id = RDMA_DRIVER_QEDR,
	.min_abi = QEDR_ABI_VERSION,
	.max_abi = QEDR_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct qedr_context),
		.cq = sizeof(struct qedr_cq),
		.srq = sizeof(struct qedr_srq),
		.qp = sizeof(struct qedr_qp),
	},
	.ops = &qedr_ops,
};

VERBS_PROVIDER(qedr_provider);
