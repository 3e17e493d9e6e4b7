/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of InfiniHost adapters: start reading here. Operations that are not in this folder
 * are plain kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/context.h"
#include "providers/kit/qp.h"
#include "providers/mthca/mthca.h"

enum {
	FW_DIGITS = 3, /* minimum digits of the last number of the firmware version */
};

/* ---- context */

static int pd_request(struct ibv_pd *pd, uint32_t *ret_number)
{
	struct mthca_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &udata);

	*ret_number = resp.pdn & MTHCA_NUMBER_MASK;
	return r;
}

/* Allocate the protection domain of completion rings. */
static int own_pd_alloc(struct mthca_context *ctx)
{
	int r;

	ctx->pd.pd.context = &ctx->vctx.context;
	r = pd_request(&ctx->pd.pd, &ctx->pd_number);
	if (r < 0)
		verbs_err(&ctx->vctx.context, "cannot allocate a protection domain: %s",
			  strerror(-r));
	return r;
}

static const struct verbs_ops tavor_ops = {
	.req_notify_cq = mthca_tavor_req_notify_cq,
	.post_send = mthca_tavor_post_send,
	.post_recv = mthca_tavor_post_recv,
	.post_srq_recv = mthca_tavor_post_srq_recv,
};

static int registers_open(struct mthca_context *ctx)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	int r = kit_page_map(ibctx, 0, sysconf(_SC_PAGESIZE), PROT_WRITE, &ctx->uar);

	if (r < 0)
		return r;
	r = own_pd_alloc(ctx);
	if (!r && !mthca_has_records(ctx)) {
		r = verbs_context_overlay_ops(&ctx->vctx, &tavor_ops);
		if (r < 0)
			uverbs_dealloc_pd(&ctx->pd.pd);
	}
	if (r < 0)
		kit_page_unmap(&ctx->uar);
	return r;
}

static int mthca_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mthca_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct mthca_context *ctx = (struct mthca_context *)vctx;
	int r = kit_context_open(vctx, in, &udata);

	if (r < 0)
		return r;
	r = mthca_records_init(&ctx->records, resp.uarc_size);
	if (!r)
		r = registers_open(ctx);
	if (r < 0) {
		mthca_records_destroy(&ctx->records);
		return r;
	}
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

static void mthca_close_context(struct verbs_context *vctx)
{
	struct mthca_context *ctx = (struct mthca_context *)vctx;

	uverbs_dealloc_pd(&ctx->pd.pd);
	kit_page_unmap(&ctx->uar);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
	mthca_records_destroy(&ctx->records);
}

/* Report only calls that this provider has. */
static int mthca_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			      struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never = IBV_DEVICE_XRC | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
			       IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			       IBV_DEVICE_MANAGED_FLOW_STEERING;
	int r = kit_context_query(ibctx, in, ret_attr, FW_DIGITS);

	if (r < 0)
		return r;
	ret_attr->orig_attr.device_cap_flags &= ~(unsigned int)never;
	ret_attr->device_cap_flags_ex &= ~never;
	kit_context_no_invalidation(ret_attr);
	ret_attr->orig_attr.max_mw = 0;
	return 0;
}

/* ---- protection domains and memory */

static int mthca_alloc_pd(struct ibv_pd *ibpd, struct verbs_udata *unused)
{
	struct mthca_pd *pd = (struct mthca_pd *)ibpd;
	int r = pd_request(ibpd, &pd->number);

	if (!r)
		pthread_mutex_init(&pd->lock, NULL);
	return r;
}

static int mthca_dealloc_pd(struct ibv_pd *ibpd)
{
	int r = uverbs_dealloc_pd(ibpd);

	if (!r)
		pthread_mutex_destroy(&((struct mthca_pd *)ibpd)->lock);
	return r;
}

static int mthca_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	struct mthca_reg_mr cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_reg_mr request = *in;

	request.udata = &udata;
	return uverbs_reg_mr(mr, &request);
}

int mthca_region_make(struct kit_region *region, struct ibv_pd *pd, size_t bytes,
		      uint32_t attributes)
{
	struct mthca_reg_mr cmd = { .mr_attrs = attributes };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	const struct verbs_reg_mr in = {
		.pd = pd,
		.length = bytes,
		.access = attributes & MTHCA_MR_DMASYNC ? IBV_ACCESS_LOCAL_WRITE : 0,
		.udata = &udata,
	};

	return kit_region_make(region, &in, KIT_REGION_FROM_ZERO);
}

/* ---- */

static const struct verbs_ops mthca_ops = {
	.open_context = mthca_open_context,
	.close_context = mthca_close_context,
	.query_device = mthca_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = mthca_alloc_pd,
	.dealloc_pd = mthca_dealloc_pd,

	.reg_mr = mthca_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = mthca_create_cq,
	.resize_cq = mthca_resize_cq,
	.destroy_cq = mthca_destroy_cq,
	.cq_event = mthca_cq_event,
	.req_notify_cq = mthca_req_notify_cq,
	.poll_cq = mthca_poll_cq,

	.create_srq = mthca_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = mthca_destroy_srq,
	.post_srq_recv = mthca_post_srq_recv,

	.create_qp = mthca_create_qp,
	.modify_qp = mthca_modify_qp,
	.query_qp = kit_query_qp,
	.destroy_qp = mthca_destroy_qp,
	.post_send = mthca_post_send,
	.post_recv = mthca_post_recv,

	.create_ah = mthca_create_ah,
	.destroy_ah = mthca_destroy_ah,
	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};

static const struct verbs_provider mthca_provider = {
	.size = sizeof(mthca_provider),
	.name = "mthca",
	.driver_id = RDMA_DRIVER_MTHCA,
	.min_abi = 0,
	.max_abi = MTHCA_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct mthca_context),
		.pd = sizeof(struct mthca_pd),
		.cq = sizeof(struct mthca_cq),
		.srq = sizeof(struct mthca_srq),
		.qp = sizeof(struct mthca_qp),
		.ah = sizeof(struct mthca_ah),
	},
	.ops = &mthca_ops,
};

VERBS_PROVIDER(mthca_provider);
