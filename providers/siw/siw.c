/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The soft iWARP provider: start reading here. Operations that are not in this folder are plain
 * kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/context.h"
#include "providers/kit/domain.h"
#include "providers/siw/siw.h"

/* The answer is not needed, but the kernel requires room for it. */
static int siw_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct siw_uresp_alloc_ctx resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_open_context open = *in;

	open.udata = &udata;
	return uverbs_open_context(vctx, &open);
}

static int siw_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr)
{
	int r = uverbs_query_device(ctx, in, ret_attr);

	/* The kernel refuses local invalidation from a process. */
	if (!r)
		kit_context_no_invalidation(ret_attr);
	return r;
}

/*
 * The kernel requires the low byte of the key, and then ignores it. It also ignores a requested
 * address, so regions always use their own addresses.
 */
static int siw_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	struct siw_uresp_reg_mr resp = {};
	struct siw_ureq_reg_mr cmd = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_reg_mr request = *in;

	request.udata = &udata;
	return uverbs_reg_mr(mr, &request);
}

/*
 * Try every key, also the key that the header of the kernel calls invalid, because newer kernels
 * use it. mmap() refuses a wrong key.
 */
int siw_ring_map(struct ibv_context *ctx, const char *what, uint64_t key, uint32_t count,
		 size_t size, size_t tail, struct kit_page *ret_ring)
{
	if (!count || count & (count - 1) || count > INT32_MAX / size) {
		verbs_err(ctx, "%s: %u slots of %zu bytes are not a ring this provider understands",
			  what, count, size);
		return -EIO;
	}
	return kit_page_map(ctx, key, count * size + tail, PROT_READ | PROT_WRITE, ret_ring);
}

static const struct verbs_ops siw_ops = {
	.open_context = siw_open_context,
	.query_device = siw_query_device,
	.query_port = uverbs_query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.import_pd = uverbs_import_pd,
	.alloc_td = kit_alloc_td,
	.alloc_parent_domain = kit_alloc_parent_domain,

	.reg_mr = siw_reg_mr,
	.dereg_mr = uverbs_dereg_mr,
	.import_mr = uverbs_import_mr,

	.create_cq = siw_create_cq,
	.destroy_cq = siw_destroy_cq,
	.req_notify_cq = siw_req_notify_cq,
	.poll_cq = siw_poll_cq,

	.create_srq = siw_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = siw_destroy_srq,
	.post_srq_recv = siw_post_srq_recv,

	.create_qp = siw_create_qp,
	.modify_qp = uverbs_modify_qp,
	.query_qp = uverbs_query_qp,
	.destroy_qp = siw_destroy_qp,
	.post_send = siw_post_send,
	.post_recv = siw_post_recv,
};

static const struct verbs_provider siw_provider = {
	.size = sizeof(siw_provider),
	.name = "siw",
	.driver_id = RDMA_DRIVER_SIW,
	.min_abi = SIW_ABI_VERSION,
	.max_abi = SIW_ABI_VERSION,
	.sizes = {
		.cq = sizeof(struct siw_cq),
		.srq = sizeof(struct siw_srq),
		.qp = sizeof(struct siw_qp),
	},
	.ops = &siw_ops,
};

VERBS_PROVIDER(siw_provider);
