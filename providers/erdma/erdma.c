/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Alibaba's elastic adapter: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/erdma/erdma.h"
#include "providers/kit/context.h"

enum {
	FW_DIGITS = 1,	   /* minimum digits of the last number of the firmware version */
	RECORD_BYTES = 16, /* bytes of a doorbell record */
	/*
	 * Places of doorbells for sends: a separate page, an entry of a page, or a page that all
	 * share.
	 */
	SDB_ENTRY = 1,
	ENTRY_BYTES = 256,
};

uint64_t *erdma_record_alloc(struct erdma_context *ctx)
{
	uint64_t *record;
	__be32 *words;

	if (dbrec_alloc(&ctx->records, NULL, &words) < 0)
		return NULL;
	record = (uint64_t *)(void *)words;
	record[0] = record[1] = 0;
	return record;
}

void erdma_record_free(struct erdma_context *ctx, uint64_t *record)
{
	dbrec_free(&ctx->records, (__be32 *)(void *)record, NULL);
}

static void pages_unmap(struct erdma_context *ctx)
{
	kit_page_unmap(&ctx->send_page);
	kit_page_unmap(&ctx->recv_page);
	kit_page_unmap(&ctx->cq_page);
}

static int pages_map(struct erdma_context *ctx, const struct erdma_uresp_alloc_ctx *resp)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	int r = kit_page_map(ibctx, resp->sdb, ERDMA_PAGE, PROT_WRITE, &ctx->send_page);

	if (!r)
		r = kit_page_map(ibctx, resp->rdb, ERDMA_PAGE, PROT_WRITE, &ctx->recv_page);
	if (!r)
		r = kit_page_map(ibctx, resp->cdb, ERDMA_PAGE, PROT_WRITE, &ctx->cq_page);
	if (r)
		pages_unmap(ctx);
	return r;
}

/* Find out where the doorbells for sends are. */
static int doorbell_choose(struct erdma_context *ctx, const struct erdma_uresp_alloc_ctx *resp)
{
	ctx->send_shared = resp->sdb_type != SDB_ENTRY;
	if (ctx->send_shared)
		return 0;
	if (resp->sdb_offset >= ERDMA_PAGE / ENTRY_BYTES) {
		verbs_err(&ctx->vctx.context,
			  "the kernel gives doorbell %u of a page that has %u of them",
			  resp->sdb_offset, ERDMA_PAGE / ENTRY_BYTES);
		return -EPROTO;
	}
	ctx->send_offset = resp->sdb_offset * ENTRY_BYTES;
	return 0;
}

static int erdma_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct erdma_uresp_alloc_ctx resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct erdma_context *ctx = (struct erdma_context *)vctx;
	int r = kit_context_open(vctx, in, &udata);

	if (!r)
		r = doorbell_choose(ctx, &resp);
	if (!r)
		r = pages_map(ctx, &resp);
	if (r < 0)
		return r;
	ctx->iwarp = vctx->context.device->node_type == IBV_NODE_RNIC;
	dbrec_pool_init(&ctx->records, RECORD_BYTES);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

static void erdma_close_context(struct verbs_context *vctx)
{
	struct erdma_context *ctx = (struct erdma_context *)vctx;

	pages_unmap(ctx);
	idtable_destroy(&ctx->qps);
	pthread_mutex_destroy(&ctx->qp_lock);
	dbrec_pool_destroy(&ctx->records);
}

static int erdma_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
			      struct ibv_device_attr_ex *ret_attr)
{
	int r = kit_context_query(ibctx, in, ret_attr, FW_DIGITS);

	/* Only the kernel invalidates keys of its own memory with this adapter. */
	if (!r)
		kit_context_no_invalidation(ret_attr);
	return r;
}

static const struct verbs_ops erdma_ops = {
	.open_context = erdma_open_context,
	.close_context = erdma_close_context,
	.query_device = erdma_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = erdma_create_cq,
	.destroy_cq = erdma_destroy_cq,
	.cq_event = erdma_cq_event,
	.req_notify_cq = erdma_req_notify_cq,
	.poll_cq = erdma_poll_cq,

	.create_qp = erdma_create_qp,
	.modify_qp = erdma_modify_qp,
	.query_qp = erdma_query_qp,
	.destroy_qp = erdma_destroy_qp,
	.post_send = erdma_post_send,
	.post_recv = erdma_post_recv,
};

static const struct verbs_provider erdma_provider = {
	.size = sizeof(erdma_provider),
	.name = "erdma",
	.driver_id = RDMA_DRIVER_ERDMA,
	.min_abi = 0,
	.max_abi = ERDMA_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct erdma_context),
		.cq = sizeof(struct erdma_cq),
		.qp = sizeof(struct erdma_qp),
	},
	.ops = &erdma_ops,
};

VERBS_PROVIDER(erdma_provider);
