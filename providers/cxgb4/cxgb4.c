/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Chelsio's adapters: start reading here. Operations that are not in this folder
 * are plain kernel commands.
 */
#include <limits.h>
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/cxgb4/wqe.h"
#include "providers/kit/context.h"
#include "util/env.h"

enum {
	ABI_MIN = 3, /* of Linux since 3.14 */
	CHIP_SHIFT = 12,
	CHIP_MIN = 4,
	CHIP_MAX = 6,
	CHIP_COPIES = 5, /* registers take whole requests from this adapter on */
	PAGE_BY_KERNEL = 0,
	PAGE_PAIRS = 1,
};

static int page_map(struct cx_context *ctx, const struct c4iw_alloc_ucontext_resp *resp)
{
	const volatile uint8_t *page;
	int r;

	ctx->by_kernel = &cx_never; /* without a page of the kernel the process rings doorbells */
	if (!resp->status_page_size)
		return 0;
	r = kit_page_map(&ctx->vctx.context, resp->status_page_key, resp->status_page_size,
			 PROT_READ, &ctx->status);
	if (r < 0)
		return r;
	page = ctx->status.base;
	ctx->by_kernel = page + PAGE_BY_KERNEL;
	ctx->pairs = page[PAGE_PAIRS];
	return 0;
}

/* Return whether a variable is 1, as in release 44. @otherwise: its value if it is not set */
static bool is_on(enum env_name name, bool otherwise)
{
	const char *value = env_get(name);

	return value ? strtol(value, NULL, 0) == 1 : otherwise;
}

static int chip_find(struct cx_context *ctx)
{
	const struct verbs_query_device query = {};
	struct ibv_device_attr_ex attr = {};
	int r = uverbs_query_device(&ctx->vctx.context, &query, &attr);

	if (r < 0) {
		verbs_err(&ctx->vctx.context, "cannot query the device: %s", strerror(-r));
		return r;
	}
	ctx->chip = attr.orig_attr.vendor_part_id >> CHIP_SHIFT & 0xf;
	if (ctx->chip < CHIP_MIN || ctx->chip > CHIP_MAX) {
		verbs_err(&ctx->vctx.context, "adapter 0x%x: cxgb4 knows T4, T5 and T6",
			  attr.orig_attr.vendor_part_id);
		return -EOPNOTSUPP;
	}
	ctx->workaround = is_on(ENV_CXGB4_MA_WR, false);
	ctx->copies = ctx->chip >= CHIP_COPIES && is_on(ENV_T5_ENABLE_WC, true);
	ctx->pairs = ctx->pairs && ctx->chip >= CHIP_COPIES;
	return 0;
}

static int cx_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct c4iw_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct cx_context *ctx = (struct cx_context *)vctx;
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = page_map(ctx, &resp);
	if (r < 0)
		return r;
	r = chip_find(ctx);
	if (r < 0) {
		kit_page_unmap(&ctx->status);
		return r;
	}
	ctx->iwarp = vctx->context.device->node_type == IBV_NODE_RNIC;
	pthread_mutex_init(&ctx->qp_lock, NULL);
	LIST_INIT(&ctx->list);
	idtable_init(&ctx->qps);
	return 0;
}

static void cx_close_context(struct verbs_context *vctx)
{
	struct cx_context *ctx = (struct cx_context *)vctx;

	kit_page_unmap(&ctx->status);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
}

static int cx_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			   struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never_served = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				      IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC |
				      IBV_DEVICE_MANAGED_FLOW_STEERING;
	struct verbs_query_device query = *in;
	struct ibv_device_attr *attr = &ret_attr->orig_attr;
	uint64_t version = 0;
	int r;

	query.ret_fw_ver = &version;
	r = uverbs_query_device(ibctx, &query, ret_attr);
	if (r < 0)
		return r;
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%u.%u",
		 (unsigned int)(version >> 24 & 0xff), (unsigned int)(version >> 16 & 0xff),
		 (unsigned int)(version >> 8 & 0xff), (unsigned int)(version & 0xff));
	if (in->ret_fw_ver)
		*in->ret_fw_ver = version;
	attr->device_cap_flags &= ~(unsigned int)never_served;
	ret_attr->device_cap_flags_ex &= ~never_served;
	/* Only queue pairs of the kernel can invalidate keys locally. */
	kit_context_no_invalidation(ret_attr);
	return 0;
}

static int cx_alloc_pd(struct ibv_pd *pd, struct verbs_udata *in)
{
	struct c4iw_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };

	return uverbs_alloc_pd(pd, &udata);
}

static const struct verbs_ops cx_ops = {
	.open_context = cx_open_context,
	.close_context = cx_close_context,
	.query_device = cx_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,
	.async_event = cx_async_event,

	.alloc_pd = cx_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = cx_create_cq,
	.destroy_cq = cx_destroy_cq,
	.req_notify_cq = cx_req_notify_cq,
	.poll_cq = cx_poll_cq,

	.create_srq = cx_create_srq,
	.modify_srq = cx_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = cx_destroy_srq,
	.post_srq_recv = cx_post_srq_recv,

	.create_qp = cx_create_qp,
	.modify_qp = cx_modify_qp,
	.query_qp = cx_query_qp,
	.destroy_qp = cx_destroy_qp,
	.post_send = cx_post_send,
	.post_recv = cx_post_recv,
};

static const struct verbs_provider cxgb4_provider = {
	.size = sizeof(cxgb4_provider),
	.name = "cxgb4",
	.driver_id = RDMA_DRIVER_CXGB4,
	.min_abi = ABI_MIN,
	.max_abi = INT_MAX,
	.sizes = {
		.context = sizeof(struct cx_context),
		.cq = sizeof(struct cx_cq),
		.srq = sizeof(struct cx_srq),
		.qp = sizeof(struct cx_qp),
	},
	.ops = &cx_ops,
};

VERBS_PROVIDER(cxgb4_provider);
