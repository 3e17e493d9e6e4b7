/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Broadcom's NetXtreme adapters: start reading here. Operations that are not in
 * this folder are plain kernel commands.
 */
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/bnxt_re/wqe.h"
#include "providers/kit/context.h"

enum {
	CHIP_MASK = 0xffff,
	PAGE_MIN = 4096,
	PAGE_MAX = 1 << 16,
	/* entries, because indices of doorbells count slots in 24 bits */
	QUEUE_MAX = (1 << 20) - 1,
};

/* Return whether packet numbers of this chip have entries of 16 bytes. */
static bool chip_is_new(uint32_t chip)
{
	static const uint16_t chips[] = { 0x1750, 0x1751, 0x1752, 0xd818, 0x1760 };

	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		if (chips[i] == (chip & CHIP_MASK))
			return true;
	return false;
}

/* Set the properties of the adapter that the kernel reported. */
static int answer_take(struct bnxt_re_context *ctx, const struct bnxt_re_uctx_resp *resp)
{
	bool is_new =
		resp->comp_mask & BNXT_RE_UCNTX_CMASK_HAVE_CCTX && chip_is_new(resp->chip_id0);

	if (resp->cqe_sz != CQE_SIZE || resp->pg_size < PAGE_MIN || resp->pg_size > PAGE_MAX ||
	    resp->pg_size & (resp->pg_size - 1)) {
		verbs_err(
			&ctx->vctx.context,
			"the kernel has completions of %u bytes (only %u are known) and pages of %u",
			resp->cqe_sz, CQE_SIZE, resp->pg_size);
		return -EPROTO;
	}
	ctx->page = resp->pg_size;
	ctx->max_cqes = min_of(resp->max_cqd, (uint32_t)QUEUE_MAX);
	ctx->any_depth = resp->comp_mask & BNXT_RE_UCNTX_CMASK_POW2_DISABLED;
	ctx->variable = resp->comp_mask & BNXT_RE_UCNTX_CMASK_HAVE_MODE &&
			resp->mode & BNXT_QPLIB_WQE_MODE_VARIABLE;
	ctx->psn_form = resp->comp_mask & BNXT_RE_UCNTX_CMASK_MSN_TABLE_ENABLED
				? BNXT_RE_PSN_MESSAGES
			: is_new ? BNXT_RE_PSN_16
				 : BNXT_RE_PSN_8;
	return 0;
}

static int limits_query(struct bnxt_re_context *ctx)
{
	const struct verbs_query_device query = {};
	struct ibv_device_attr_ex attr = {};
	int r = uverbs_query_device(&ctx->vctx.context, &query, &attr);

	if (r < 0) {
		verbs_err(&ctx->vctx.context, "cannot query the device: %s", strerror(-r));
		return r;
	}
	ctx->max_sge = attr.orig_attr.max_sge;
	ctx->max_wr = min_of((uint32_t)attr.orig_attr.max_qp_wr, (uint32_t)QUEUE_MAX);
	ctx->max_srq_wr = min_of((uint32_t)attr.orig_attr.max_srq_wr, (uint32_t)QUEUE_MAX);
	ctx->atomics = attr.orig_attr.atomic_cap != IBV_ATOMIC_NONE;
	return 0;
}

static int bnxt_re_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct bnxt_re_uctx_req cmd = {
		.comp_mask = BNXT_RE_COMP_MASK_REQ_UCNTX_POW2_SUPPORT |
			     BNXT_RE_COMP_MASK_REQ_UCNTX_VAR_WQE_SUPPORT,
	};
	struct bnxt_re_context *ctx = (struct bnxt_re_context *)vctx;
	struct bnxt_re_uctx_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = answer_take(ctx, &resp);
	if (!r)
		r = kit_page_map(&vctx->context, 0, ctx->page, PROT_READ | PROT_WRITE,
				 &ctx->shared);
	if (!r) {
		r = limits_query(ctx);
		if (r < 0)
			kit_page_unmap(&ctx->shared);
	}
	if (r < 0)
		return r;
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

static void bnxt_re_close_context(struct verbs_context *vctx)
{
	struct bnxt_re_context *ctx = (struct bnxt_re_context *)vctx;

	kit_page_unmap(&ctx->shared);
	kit_page_unmap(&ctx->doorbells);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
	pthread_mutex_destroy(&ctx->lock);
}

/* The version is four bytes, in the order of memory. Rates of queue pairs are not advertised,
 * because this provider does not set them. */
static int bnxt_re_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
				struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_query_device query = *in;
	uint64_t raw = 0;
	uint8_t bytes[sizeof(raw)];
	int r;

	query.ret_fw_ver = &raw;
	r = uverbs_query_device(ibctx, &query, ret_attr);
	if (r < 0)
		return r;
	memcpy(bytes, &raw, sizeof(raw));
	snprintf(ret_attr->orig_attr.fw_ver, sizeof(ret_attr->orig_attr.fw_ver), "%u.%u.%u.%u",
		 bytes[0], bytes[1], bytes[2], bytes[3]);
	if (in->ret_fw_ver)
		*in->ret_fw_ver = raw;
	ret_attr->orig_attr.max_cqe = min_of(ret_attr->orig_attr.max_cqe, (int)QUEUE_MAX);
	/* Requests of this provider do not invalidate keys. */
	kit_context_no_invalidation(ret_attr);
	return 0;
}

/* Map the register of all queues, whose place is in the kernel's answer for the first domain. */
static int doorbells_map(struct bnxt_re_context *ctx, uint64_t key)
{
	int r = 0;

	pthread_mutex_lock(&ctx->lock);
	if (!ctx->doorbells.base)
		r = kit_page_map(&ctx->vctx.context, key, ctx->page, PROT_WRITE, &ctx->doorbells);
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

static int bnxt_re_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	struct bnxt_re_pd_resp resp = {};
	struct verbs_udata own = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &own);

	if (r < 0)
		return r;
	r = doorbells_map(to_bctx(pd->context), resp.dbr);
	if (r < 0)
		uverbs_dealloc_pd(pd);
	return r;
}

static const struct verbs_ops bnxt_re_ops = {
	.open_context = bnxt_re_open_context,
	.close_context = bnxt_re_close_context,
	.query_device = bnxt_re_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,
	.async_event = bnxt_re_async_event,

	.alloc_pd = bnxt_re_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = bnxt_re_create_cq,
	.resize_cq = bnxt_re_resize_cq,
	.destroy_cq = bnxt_re_destroy_cq,
	.req_notify_cq = bnxt_re_req_notify_cq,
	.poll_cq = bnxt_re_poll_cq,

	.create_srq = bnxt_re_create_srq,
	.modify_srq = bnxt_re_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = bnxt_re_destroy_srq,
	.post_srq_recv = bnxt_re_post_srq_recv,

	.create_qp = bnxt_re_create_qp,
	.modify_qp = bnxt_re_modify_qp,
	.query_qp = bnxt_re_query_qp,
	.destroy_qp = bnxt_re_destroy_qp,
	.post_send = bnxt_re_post_send,
	.post_recv = bnxt_re_post_recv,

	.create_ah = bnxt_re_create_ah,
	.destroy_ah = uverbs_destroy_ah,

	.create_flow = uverbs_create_flow,
	.destroy_flow = uverbs_destroy_flow,
};

static const struct verbs_provider bnxt_re_provider = {
	.size = sizeof(bnxt_re_provider),
	.name = "bnxt_re",
	.driver_id = RDMA_DRIVER_BNXT_RE,
	.min_abi = BNXT_RE_ABI_VERSION,
	.max_abi = BNXT_RE_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct bnxt_re_context),
		.cq = sizeof(struct bnxt_re_cq),
		.srq = sizeof(struct bnxt_re_srq),
		.qp = sizeof(struct bnxt_re_qp),
		.ah = sizeof(struct bnxt_re_ah),
	},
	.ops = &bnxt_re_ops,
};

VERBS_PROVIDER(bnxt_re_provider);
