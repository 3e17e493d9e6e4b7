/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Emulex's OneConnect adapters: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/context.h"
#include "providers/ocrdma/wqe.h"

enum {
	WINDOW_BYTES = 4096, /* on any host */
	REQUEST_MAX = 2048,  /* bytes: the size has 8 bits */
	AH_NONE = 0xff,	     /* each byte of a free entry */
};

/* ---- context */

/* Check the sizes that bound each request. */
static int sizes_check(struct ibv_context *ctx, const struct ocrdma_alloc_ucontext_resp *resp)
{
	if (resp->wqe_size >= HEADER + UD_BYTES + ENTRY && resp->wqe_size <= REQUEST_MAX &&
	    resp->rqe_size >= HEADER + ENTRY && resp->rqe_size <= REQUEST_MAX &&
	    !(resp->wqe_size % ENTRY) && !(resp->rqe_size % ENTRY) && resp->ah_tbl_len &&
	    !(resp->ah_tbl_len % sizeof(uint32_t)))
		return 0;
	verbs_err(
		ctx,
		"the kernel says requests of %u and %u bytes and a table of %u bytes: not possible",
		resp->wqe_size, resp->rqe_size, resp->ah_tbl_len);
	return -EPROTO;
}

static int oc_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct ocrdma_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct oc_context *ctx = (struct oc_context *)vctx;
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = sizes_check(&vctx->context, &resp);
	if (!r)
		r = kit_page_map(&vctx->context, resp.ah_tbl_page, resp.ah_tbl_len,
				 PROT_READ | PROT_WRITE, &ctx->addresses);
	if (r < 0)
		return r;
	memset(ctx->addresses.base, AH_NONE, resp.ah_tbl_len);
	ctx->wqe_bytes = resp.wqe_size;
	ctx->rqe_bytes = resp.rqe_size;
	ctx->max_inline = resp.max_inline_data;
	memcpy(ctx->fw_ver, resp.fw_ver, sizeof(resp.fw_ver));
	pthread_mutex_init(&ctx->ah_lock, NULL);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	LIST_INIT(&ctx->failed);
	return 0;
}

static void oc_close_context(struct verbs_context *vctx)
{
	struct oc_context *ctx = (struct oc_context *)vctx;

	kit_page_unmap(&ctx->addresses);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
	pthread_mutex_destroy(&ctx->ah_lock);
}

/* Report only calls that this provider has. */
static int oc_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			   struct ibv_device_attr_ex *ret_attr)
{
	const uint64_t never = IBV_DEVICE_XRC | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
			       IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			       IBV_DEVICE_MANAGED_FLOW_STEERING;
	struct ibv_device_attr *attr = &ret_attr->orig_attr;
	int r = uverbs_query_device(ibctx, in, ret_attr);

	if (r < 0)
		return r;
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", to_octx(ibctx)->fw_ver);
	attr->device_cap_flags &= ~(unsigned int)never;
	ret_attr->device_cap_flags_ex &= ~never;
	kit_context_no_invalidation(ret_attr);
	attr->max_mw = 0;
	return 0;
}

/* ---- protection domains */

static int oc_alloc_pd(struct ibv_pd *ibpd, struct verbs_udata *unused)
{
	struct ocrdma_alloc_pd_ureq cmd = {};
	struct ocrdma_alloc_pd_uresp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct oc_pd *pd = (struct oc_pd *)ibpd;
	int r = uverbs_alloc_pd(ibpd, &udata);

	if (r < 0 || !resp.dpp_enabled)
		return r;
	r = kit_page_map(ibpd->context,
			 (uint64_t)resp.dpp_page_addr_hi << 32 | resp.dpp_page_addr_lo,
			 WINDOW_BYTES, PROT_WRITE, &pd->window);
	if (r < 0)
		uverbs_dealloc_pd(ibpd);
	return r;
}

static int oc_dealloc_pd(struct ibv_pd *ibpd)
{
	int r = uverbs_dealloc_pd(ibpd);

	if (!r)
		kit_page_unmap(&((struct oc_pd *)ibpd)->window);
	return r;
}

/* ---- rings */

int oc_ring_map(struct ibv_context *ctx, const struct oc_ring_answer *answer,
		struct kit_page *ret_page)
{
	uint32_t entries = answer->entries;

	if (answer->pages != 1 || !entries || entries & (entries - 1) ||
	    answer->bytes / answer->stride < entries) {
		verbs_err(ctx,
			  "%s: the kernel says %u entries in %u bytes of %u ranges: not possible",
			  answer->name, entries, answer->bytes, answer->pages);
		return -EPROTO;
	}
	return kit_page_map(ctx, answer->address, answer->bytes, PROT_READ | PROT_WRITE, ret_page);
}

char *oc_register(struct ibv_context *ctx, const struct kit_page *page, uint32_t offset)
{
	char *at = page->length >= sizeof(uint32_t) ? kit_page_register(page, offset) : NULL;

	if (!at)
		verbs_err(ctx, "the kernel says a doorbell at 0x%x of %zu bytes: not possible",
			  offset, page->length);
	return at;
}

/* ---- */

static const struct verbs_ops oc_ops = {
	.open_context = oc_open_context,
	.close_context = oc_close_context,
	.query_device = oc_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = oc_alloc_pd,
	.dealloc_pd = oc_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = oc_create_cq,
	.resize_cq = oc_resize_cq,
	.destroy_cq = oc_destroy_cq,
	.req_notify_cq = oc_req_notify_cq,
	.poll_cq = oc_poll_cq,

	.create_srq = oc_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = oc_destroy_srq,
	.post_srq_recv = oc_post_srq_recv,

	.create_qp = oc_create_qp,
	.modify_qp = oc_modify_qp,
	.query_qp = oc_query_qp,
	.destroy_qp = oc_destroy_qp,
	.post_send = oc_post_send,
	.post_recv = oc_post_recv,

	.create_ah = oc_create_ah,
	.destroy_ah = oc_destroy_ah,
	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};

static const struct verbs_provider oc_provider = {
	.size = sizeof(oc_provider),
	.name = "ocrdma",
	.driver_id = RDMA_DRIVER_OCRDMA,
	.min_abi = OCRDMA_ABI_VERSION,
	.max_abi = OCRDMA_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct oc_context),
		.pd = sizeof(struct oc_pd),
		.cq = sizeof(struct oc_cq),
		.srq = sizeof(struct oc_srq),
		.qp = sizeof(struct oc_qp),
		.ah = sizeof(struct oc_ah),
	},
	.ops = &oc_ops,
};

VERBS_PROVIDER(oc_provider);
