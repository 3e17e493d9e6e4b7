/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Kunpeng's adapters: start reading here. Operations that are not in this folder
 * are plain kernel commands.
 */
#include <limits.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/hns/wqe.h"
#include "providers/kit/context.h"
#include "providers/kit/domain.h"

enum {
	HARDWARE_HIP08 = 0x100,
	UAR_DOORBELL = 0x230,
	CQE_LEAST = 32,
	CQE_MOST = 64,
	QUEUE_MOST = 1 << 15, /* entries: the index of a completion has 16 bits */
	CQ_MOST = 1 << 22,
	INLINE_MOST = 4096,
};

/* Set the properties of the adapter that the kernel reported. Kernels before 5.10 do not report a
 * size of completions. */
static int answer_take(struct hns_context *ctx, const struct hns_roce_ib_alloc_ucontext_resp *resp)
{
	ctx->cqe_size = resp->cqe_size ? resp->cqe_size : CQE_LEAST;
	ctx->long_lists = resp->config & HNS_ROCE_RSP_EXSGE_FLAGS;
	ctx->max_inline = min_of(resp->max_inline_data, (uint32_t)INLINE_MOST);
	ctx->congest_types = resp->congest_type;
	if (ctx->cqe_size > CQE_MOST)
		ctx->cqe_size = CQE_MOST;
	if (ctx->cqe_size == CQE_LEAST || ctx->cqe_size == CQE_MOST)
		return 0;
	verbs_err(&ctx->vctx.context, "the kernel has completions of %u bytes; %u and %u are known",
		  ctx->cqe_size, CQE_LEAST, CQE_MOST);
	return -EPROTO;
}

static uint32_t limit_of(int value, uint32_t most)
{
	return value > 0 ? min_of((uint32_t)value, most) : 0;
}

static int limits_query(struct hns_context *ctx)
{
	const struct verbs_query_device query = {};
	struct ibv_device_attr_ex attr = {};
	const struct ibv_device_attr *a = &attr.orig_attr;
	int r = uverbs_query_device(&ctx->vctx.context, &query, &attr);

	if (r < 0) {
		verbs_err(&ctx->vctx.context, "cannot query the device: %s", strerror(-r));
		return r;
	}
	ctx->old = a->hw_ver == HARDWARE_HIP08;
	ctx->max_wr = limit_of(a->max_qp_wr, QUEUE_MOST);
	ctx->max_sge = limit_of(a->max_sge, UINT8_MAX);
	ctx->max_cqe = limit_of(a->max_cqe, CQ_MOST);
	ctx->max_srq_wr = limit_of(a->max_srq_wr, QUEUE_MOST);
	ctx->max_srq_sge = limit_of(a->max_srq_sge, UINT8_MAX);
	return 0;
}

/* The kernel can be asked to let the adapter place received data in a completion or a receive. Do
 * not ask: this library would have to copy the data to the address of an entry. That address is no
 * valid pointer if the memory was registered with another address. */
static int hns_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	const struct hns_roce_ib_alloc_ucontext cmd = { .config = HNS_ROCE_EXSGE_FLAGS };
	struct hns_context *ctx = (struct hns_context *)vctx;
	struct hns_roce_ib_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = answer_take(ctx, &resp);
	if (!r)
		r = limits_query(ctx);
	if (!r)
		r = kit_page_map(&vctx->context, 0, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
				 &ctx->uar);
	if (r < 0)
		return r;
	ctx->doorbell = (char *)ctx->uar.base + UAR_DOORBELL;
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	idtable_init(&ctx->xrc_srqs);
	dbrec_pool_init(&ctx->records, 0);
	return 0;
}

static void hns_close_context(struct verbs_context *vctx)
{
	struct hns_context *ctx = (struct hns_context *)vctx;

	kit_page_unmap(&ctx->uar);
	dbrec_pool_destroy(&ctx->records);
	idtable_destroy(&ctx->xrc_srqs);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
}

/* Advertise only what this provider serves. */
static int hns_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			       IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MANAGED_FLOW_STEERING;
	struct ibv_device_attr *a = &ret_attr->orig_attr;
	int r = kit_context_query(ibctx, in, ret_attr, 3);

	if (r < 0)
		return r;
	a->device_cap_flags &= ~(unsigned int)never;
	ret_attr->device_cap_flags_ex &= ~never;
	kit_context_no_invalidation(ret_attr);
	a->max_mw = 0;
	a->max_mcast_grp = a->max_mcast_qp_attach = a->max_total_mcast_qp_attach = 0;
	a->max_qp_wr = min_of(a->max_qp_wr, QUEUE_MOST);
	a->max_srq_wr = min_of(a->max_srq_wr, QUEUE_MOST);
	a->max_cqe = min_of(a->max_cqe, CQ_MOST);
	return 0;
}

static int hns_alloc_pd(struct ibv_pd *pd, struct verbs_udata *in)
{
	struct hns_roce_ib_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &udata);

	if (!r)
		((struct hns_pd *)pd)->number = resp.pdn & HNS_NUMBER_MASK;
	return r;
}

static int hns_alloc_parent_domain(struct verbs_pd *parent)
{
	if (!parent->alloc)
		return 0;
	verbs_err(parent->pd.context,
		  "ibv_alloc_parent_domain: allocators: hns does not take the memory of queues "
		  "from them");
	return -EOPNOTSUPP;
}

static const struct verbs_ops hns_ops = {
	.open_context = hns_open_context,
	.close_context = hns_close_context,
	.query_device = hns_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = hns_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.alloc_td = kit_alloc_td,
	.alloc_parent_domain = hns_alloc_parent_domain,

	.open_xrcd = uverbs_open_xrcd,
	.close_xrcd = uverbs_close_xrcd,

	.reg_mr = uverbs_reg_mr,
	.rereg_mr = uverbs_rereg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = hns_create_cq,
	.modify_cq = uverbs_modify_cq,
	.destroy_cq = hns_destroy_cq,
	.cq_event = hns_cq_event,
	.req_notify_cq = hns_req_notify_cq,
	.poll_cq = hns_poll_cq,

	.create_srq = hns_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = hns_query_srq,
	.destroy_srq = hns_destroy_srq,
	.post_srq_recv = hns_post_srq_recv,

	.create_qp = hns_create_qp,
	.open_qp = hns_open_qp,
	.modify_qp = hns_modify_qp,
	.query_qp = hns_query_qp,
	.destroy_qp = hns_destroy_qp,
	.post_send = hns_post_send,
	.post_recv = hns_post_recv,

	.create_ah = hns_create_ah,
	.destroy_ah = uverbs_destroy_ah,
};

static const struct verbs_provider hns_provider = {
	.size = sizeof(hns_provider),
	.name = "hns",
	.driver_id = RDMA_DRIVER_HNS,
	.min_abi = 0,
	.max_abi = INT_MAX,
	.sizes = {
		.context = sizeof(struct hns_context),
		.pd = sizeof(struct hns_pd),
		.cq = sizeof(struct hns_cq),
		.srq = sizeof(struct hns_srq),
		.qp = sizeof(struct hns_qp),
		.ah = sizeof(struct hns_ah),
	},
	.ops = &hns_ops,
};

VERBS_PROVIDER(hns_provider);
