/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening: the registers. Memory of queues. */
#include <unistd.h>

#include "providers/kit/context.h"
#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	FW_DIGITS = 3, /* digits of the last number of the firmware version */
};

int pvrdma_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	/* The answer has the size of a table of the kernel, which is not needed here. */
	struct pvrdma_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct pvrdma_context *ctx = (struct pvrdma_context *)vctx;
	int r = kit_context_open(vctx, in, &udata);

	if (r < 0)
		return r;
	ctx->page_size = sysconf(_SC_PAGESIZE);
	r = kit_page_map(&vctx->context, 0, ctx->page_size, PROT_WRITE, &ctx->uar);
	if (r < 0)
		return r;
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qpns);
	return 0;
}

void pvrdma_close_context(struct verbs_context *vctx)
{
	struct pvrdma_context *ctx = (struct pvrdma_context *)vctx;

	kit_page_unmap(&ctx->uar);
	pthread_mutex_destroy(&ctx->qp_lock);
	idtable_destroy(&ctx->qpns);
}

int pvrdma_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *ret_attr)
{
	int r = kit_context_query(ibctx, in, ret_attr, FW_DIGITS);
	struct ibv_device_attr *attr = &ret_attr->orig_attr;

	/* The kernel compares the next power of 2 with its limit. */
	if (!r && attr->max_cqe > 0)
		attr->max_cqe = 1 << (31 - __builtin_clz(attr->max_cqe));
	return r;
}

int pvrdma_alloc_pd(struct ibv_pd *pd, struct verbs_udata *unused)
{
	struct pvrdma_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &udata);

	if (!r)
		((struct pvrdma_pd *)pd)->pdn = resp.pdn & 0xffffff;
	return r;
}

int pvrdma_buf_alloc(struct ibv_context *ctx, struct kit_buf *buf, uint64_t bytes)
{
	uint32_t page = to_pctx(ctx)->page_size;

	/* The limit of the field in the command. */
	if (bytes > UINT32_MAX - page) {
		verbs_err(ctx, "a queue of %llu bytes: at most %u are possible",
			  (unsigned long long)bytes, UINT32_MAX - page);
		return -EINVAL;
	}
	return kit_buf_alloc(buf, page + bytes);
}
