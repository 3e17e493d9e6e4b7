/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of both providers. Those that are not in this folder are plain kernel commands. */
#include "providers/kit/context.h"
#include "providers/kit/domain.h"
#include "providers/rdmavt/rdmavt.h"

enum {
	FW_DIGITS = 1, /* minimum digits of the last number of the firmware version */
};

int rvt_ring_map(struct ibv_context *ctx, const char *what, const struct rvt_ring_resp *resp,
		 uint32_t last, uint32_t stride, struct kit_page *ret_ring)
{
	const size_t head = sizeof(struct rvt_cq_wc);
	uint64_t length = head + ((uint64_t)last + 1) * stride;

	if (length > INT_MAX) {
		verbs_err(ctx, "%s: %u slots of %u bytes are not a ring this provider understands",
			  what, last, stride);
		return -EIO;
	}
	return kit_page_map(ctx, resp->offset, length, PROT_READ | PROT_WRITE, ret_ring);
}

static int rvt_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	return kit_context_open(vctx, in, NULL);
}

static int rvt_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr)
{
	int r = kit_context_query(ctx, in, ret_attr, FW_DIGITS);

	/* The command that posts requests has no local invalidation. */
	if (!r)
		kit_context_no_invalidation(ret_attr);
	return r;
}

/* The kernel would ignore IBV_ACCESS_ZERO_BASED. It uses a requested address. */
static int rvt_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	if (in->access & IBV_ACCESS_ZERO_BASED) {
		verbs_err(in->pd->context,
			  "ibv_reg_mr: IBV_ACCESS_ZERO_BASED is not supported: use "
			  "ibv_reg_mr_iova() with a page-aligned address");
		return -EOPNOTSUPP;
	}
	return uverbs_reg_mr(mr, in);
}

const struct verbs_ops rvt_ops = {
	.open_context = rvt_open_context,
	.query_device = rvt_query_device,
	.query_port = uverbs_query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.alloc_td = kit_alloc_td,
	.alloc_parent_domain = kit_alloc_parent_domain,

	.reg_mr = rvt_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = rvt_create_cq,
	.resize_cq = rvt_resize_cq,
	.destroy_cq = rvt_destroy_cq,
	.req_notify_cq = uverbs_req_notify_cq,
	.poll_cq = rvt_poll_cq,

	.create_srq = rvt_create_srq,
	.modify_srq = rvt_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = rvt_destroy_srq,
	.post_srq_recv = rvt_post_srq_recv,

	.create_qp = rvt_create_qp,
	.modify_qp = uverbs_modify_qp,
	.query_qp = uverbs_query_qp,
	.destroy_qp = rvt_destroy_qp,
	.post_send = rvt_post_send,
	.post_recv = rvt_post_recv,

	.create_ah = uverbs_create_ah,
	.destroy_ah = uverbs_destroy_ah,

	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};
