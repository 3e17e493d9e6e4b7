/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Intel's Ethernet adapters: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/irdma/wqe.h"
#include "providers/kit/context.h"

enum {
	ABI_OLD = 4,	    /* version of the driver i40iw */
	RING_MAX = 1 << 15, /* quanta: the index of a completion has 15 bits */
	CQ_MAX = 1 << 24,
	MIN_WQ = 8,
};

/* ---- opening */

/* The driver i40iw answers with four members. The limits are those of an X722. */
static void legacy_take(struct irdma_context *ctx, const struct irdma_alloc_ucontext_resp *resp)
{
	ctx->legacy = true;
	ctx->generation = 1;
	ctx->abi = resp->kernel_ver;
	ctx->max_sge = 3;
	ctx->max_read_sge = 1;
	ctx->max_inline = 48;
	ctx->max_rq = 16384;
	ctx->max_sq = 2048;
	ctx->chunk = 2;
	ctx->max_cq = 1048575;
	ctx->min_wq = 4;
}

static bool is_power_of_two(uint32_t value)
{
	return value && !(value & (value - 1));
}

/* Set the properties of the adapter that the kernel reported. */
static int answer_take(struct irdma_context *ctx, const struct irdma_alloc_ucontext_resp *resp,
		       uint32_t abi)
{
	if (!resp->hw_rev) {
		legacy_take(ctx, resp);
		return 0;
	}
	if (resp->hw_rev > 3 || !is_power_of_two(resp->max_hw_sq_chunk) ||
	    resp->max_hw_sq_chunk > QUANTA_MAX) {
		verbs_err(&ctx->vctx.context,
			  "the kernel has an adapter of generation %u with chunks of %u quanta, "
			  "which irdma does not know",
			  resp->hw_rev, resp->max_hw_sq_chunk);
		return -EPROTO;
	}
	ctx->generation = resp->hw_rev;
	ctx->abi = abi;
	ctx->features = resp->feature_flags;
	ctx->max_sge = min_of(resp->max_hw_wq_frags, (uint32_t)FRAGMENTS_MAX - 1);
	ctx->max_read_sge = min_of(resp->max_hw_read_sges, ctx->max_sge);
	ctx->max_inline = min_of(resp->max_hw_inline,
				 (uint32_t)INLINE_FIRST + (QUANTA_MAX - 1) * INLINE_NEXT);
	ctx->chunk = resp->max_hw_sq_chunk;
	ctx->max_sq = min_of(resp->max_hw_wq_quanta, (uint32_t)RING_MAX);
	ctx->max_rq = min_of(resp->max_hw_rq_quanta, (uint32_t)RING_MAX);
	ctx->max_srq = min_of(resp->max_hw_srq_quanta, (uint32_t)RING_MAX);
	ctx->max_cq = min_of(resp->max_hw_cq_size, (uint32_t)CQ_MAX);
	ctx->raw = resp->comp_mask & IRDMA_ALLOC_UCTX_USE_RAW_ATTR;
	ctx->min_wq = MIN_WQ;
	if (resp->comp_mask & IRDMA_ALLOC_UCTX_MIN_HW_WQ_SIZE && resp->min_hw_wq_size)
		ctx->min_wq = min_of((uint32_t)resp->min_hw_wq_size, (uint32_t)RING_MAX);
	return 0;
}

static int context_request(struct irdma_context *ctx, const struct verbs_open_context *in,
			   uint32_t abi, uint64_t *ret_key)
{
	struct irdma_alloc_ucontext_req cmd = {
		.userspace_ver = abi,
		.comp_mask = IRDMA_ALLOC_UCTX_USE_RAW_ATTR | IRDMA_SUPPORT_WQE_FORMAT_V2,
	};
	struct irdma_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_open_context open = *in;
	int r;

	open.udata = &udata;
	r = uverbs_open_context(&ctx->vctx, &open);
	*ret_key = resp.hw_rev ? resp.db_mmap_key : 0;
	return r < 0 ? r : answer_take(ctx, &resp, abi);
}

/* Drivers refuse versions that they do not know. */
static int context_open(struct irdma_context *ctx, const struct verbs_open_context *in,
			uint64_t *ret_key)
{
	int r = kit_context_check(&ctx->vctx, in);

	if (r < 0)
		return r;
	r = context_request(ctx, in, IRDMA_ABI_VER, ret_key);
	if (r == -EINVAL)
		r = context_request(ctx, in, ABI_OLD, ret_key);
	return r < 0 && r != -EPROTO ? kit_context_refused(&ctx->vctx, r) : r;
}

static int pd_request(struct ibv_pd *pd)
{
	struct irdma_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };

	return uverbs_alloc_pd(pd, &udata);
}

static int irdma_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct irdma_context *ctx = (struct irdma_context *)vctx;
	uint64_t key = 0;
	int r = context_open(ctx, in, &key);

	if (!r)
		r = kit_page_map(&vctx->context, key, IRDMA_PAGE, PROT_READ | PROT_WRITE,
				 &ctx->doorbells);
	if (r < 0)
		return r;
	ctx->pd.pd.context = &vctx->context;
	r = pd_request(&ctx->pd.pd);
	if (r < 0) {
		verbs_err(&vctx->context, "cannot allocate a protection domain: %s", strerror(-r));
		kit_page_unmap(&ctx->doorbells);
		return r;
	}
	pthread_mutex_init(&ctx->resize, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

static void irdma_close_context(struct verbs_context *vctx)
{
	struct irdma_context *ctx = (struct irdma_context *)vctx;

	uverbs_dealloc_pd(&ctx->pd.pd);
	kit_page_unmap(&ctx->doorbells);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->resize);
}

/* ---- queries */

/* Advertise only what this provider serves. */
static void attributes_trim(const struct irdma_context *ctx, struct ibv_device_attr_ex *attr)
{
	struct ibv_device_attr *a = &attr->orig_attr;
	const uint64_t never =
		IBV_DEVICE_XRC | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MANAGED_FLOW_STEERING;

	a->device_cap_flags &= ~(unsigned int)never;
	attr->device_cap_flags_ex &= ~never;
	a->max_sge = min_of(a->max_sge, (int)ctx->max_sge);
	a->max_cqe = irdma_cqes_most(ctx, min_of((uint32_t)a->max_cqe + 1, ctx->max_cq));
	if (ctx->max_srq)
		a->max_srq_wr = min_of(a->max_srq_wr, (int)((ctx->max_srq - 1) / QUANTA_MAX));
	if (!(ctx->features & IRDMA_FEATURE_SRQ))
		a->max_srq = a->max_srq_wr = a->max_srq_sge = 0;
	if (!(ctx->features & IRDMA_FEATURE_ATOMICS))
		a->atomic_cap = IBV_ATOMIC_NONE;
}

/* The firmware's version is the upper and the lower 16 bits of 48. */
static int irdma_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			      struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_query_device query = *in;
	uint64_t raw = 0;
	int r;

	query.ret_fw_ver = &raw;
	r = uverbs_query_device(ibctx, &query, ret_attr);
	if (r < 0)
		return r;
	snprintf(ret_attr->orig_attr.fw_ver, sizeof(ret_attr->orig_attr.fw_ver), "%u.%u",
		 (unsigned int)(raw >> 32 & 0xffff), (unsigned int)(raw & 0xffff));
	if (in->ret_fw_ver)
		*in->ret_fw_ver = raw;
	attributes_trim(to_ictx(ibctx), ret_attr);
	return 0;
}

/* ---- objects with data for the driver */

static int irdma_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	return pd_request(pd);
}

static int irdma_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	struct irdma_mem_reg_req cmd = { .reg_type = IRDMA_MEMREG_TYPE_MEM };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_reg_mr request = *in;

	request.udata = &udata;
	return uverbs_reg_mr(mr, &request);
}

static int irdma_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	struct irdma_mem_reg_req cmd = { .reg_type = IRDMA_MEMREG_TYPE_MEM };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_rereg_mr request = *in;

	request.udata = &udata;
	return uverbs_rereg_mr(mr, &request);
}

static int irdma_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	struct irdma_create_ah_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_ah request = *in;
	int r;

	request.udata = &udata;
	r = uverbs_create_ah(ah, &request);
	if (!r)
		((struct irdma_ah *)ah)->number = resp.ah_id & HEADER_AH_MASK;
	return r;
}

static const struct verbs_ops irdma_ops = {
	.open_context = irdma_open_context,
	.close_context = irdma_close_context,
	.query_device = irdma_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,
	.async_event = irdma_async_event,

	.alloc_pd = irdma_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = irdma_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.rereg_mr = irdma_rereg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,
	.bind_mw = irdma_bind_mw,

	.create_cq = irdma_create_cq,
	.resize_cq = irdma_resize_cq,
	.destroy_cq = irdma_destroy_cq,
	.cq_event = irdma_cq_event,
	.req_notify_cq = irdma_req_notify_cq,
	.poll_cq = irdma_poll_cq,

	.create_srq = irdma_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = irdma_destroy_srq,
	.post_srq_recv = irdma_post_srq_recv,

	.create_qp = irdma_create_qp,
	.modify_qp = irdma_modify_qp,
	.query_qp = irdma_query_qp,
	.destroy_qp = irdma_destroy_qp,
	.post_send = irdma_post_send,
	.post_recv = irdma_post_recv,
	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,

	.create_ah = irdma_create_ah,
	.destroy_ah = uverbs_destroy_ah,
};

static const struct verbs_provider irdma_provider = {
	.size = sizeof(irdma_provider),
	.name = "irdma",
	.driver_id = RDMA_DRIVER_IRDMA,
	.min_abi = 0,
	.max_abi = IRDMA_ABI_VER,
	.sizes = {
		.context = sizeof(struct irdma_context),
		.cq = sizeof(struct irdma_cq),
		.srq = sizeof(struct irdma_srq),
		.qp = sizeof(struct irdma_qp),
		.ah = sizeof(struct irdma_ah),
	},
	.ops = &irdma_ops,
};

VERBS_PROVIDER(irdma_provider);
