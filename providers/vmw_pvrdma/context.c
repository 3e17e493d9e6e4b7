/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening: the registers. And memory of queues. */
#include <string.h>
#include <unistd.h>

#include "providers/vmw_pvrdma/pvrdma.h"

static int context_ask(struct pvrdma_context *ctx, const struct verbs_open_context *in)
{
	/* The size of the kernel's own table, which says nothing here. */
	struct pvrdma_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_open_context open = *in;
	int r;

	open.udata = &udata;
	r = uverbs_open_context(&ctx->vctx, &open);
	if (r < 0)
		verbs_err(&ctx->vctx.context, "the kernel makes no context: %s", strerror(-r));
	return r;
}

int pvrdma_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct pvrdma_context *ctx = (struct pvrdma_context *)vctx;
	int r;

	if (in->imported) {
		verbs_err(&vctx->context, "importing a context is not supported by vmw_pvrdma");
		return -EOPNOTSUPP;
	}
	ctx->page_size = sysconf(_SC_PAGESIZE);
	r = context_ask(ctx, in);
	if (r < 0)
		return r;
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
	return kit_buf_alloc(buf, to_pctx(ctx)->page_size + bytes);
}
