/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening: negotiation of features with the kernel, and facts of the device. */
#include <stdio.h>
#include <string.h>

#include "providers/efa/efa.h"
#include "providers/kit/context.h"

enum {
	SUB_CQS_MAX = 256,
};

static int context_ask(struct efa_context *ctx, const struct verbs_open_context *in)
{
	struct efa_ibv_alloc_ucontext_cmd request = {
		.comp_mask = EFA_ALLOC_UCONTEXT_CMD_COMP_TX_BATCH |
			     EFA_ALLOC_UCONTEXT_CMD_COMP_MIN_SQ_WR,
	};
	struct verbs_udata udata = VERBS_UDATA(request, ctx->info);

	return kit_context_open(&ctx->vctx, in, &udata);
}

/* Check numbers of the kernel that sizes and addresses are computed from. */
static int info_check(struct efa_context *ctx)
{
	struct efa_ibv_alloc_ucontext_resp *info = &ctx->info;
	struct ibv_context *ibctx = &ctx->vctx.context;

	if (!(info->cmds_supp_udata_mask & EFA_USER_CMDS_SUPP_UDATA_CREATE_AH)) {
		verbs_err(ibctx, "the kernel's driver is too old: it numbers no address handles");
		return -EOPNOTSUPP;
	}
	if (!info->sub_cqs_per_cq || info->sub_cqs_per_cq > SUB_CQS_MAX) {
		verbs_err(ibctx,
			  "the kernel says of completion queues: %u parts (1 to %d are known)",
			  info->sub_cqs_per_cq, SUB_CQS_MAX);
		return -EPROTO;
	}
	if (!info->inline_buf_size_ex)
		info->inline_buf_size_ex = info->inline_buf_size;
	info->inline_buf_size_ex = min_of(info->inline_buf_size_ex, (uint16_t)EFA_INLINE_LARGE);
	return 0;
}

/* Query the device, including the driver's own attributes if there are any. */
static int device_ask(struct efa_context *ctx, const struct verbs_query_device *in,
		      struct efa_ibv_ex_query_device_resp *ret_caps,
		      struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_udata udata = { .out = ret_caps, .out_len = sizeof(*ret_caps) };
	struct verbs_query_device query = *in;

	if (ctx->info.cmds_supp_udata_mask & EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE)
		query.udata = &udata;
	return uverbs_query_device(&ctx->vctx.context, &query, ret_attr);
}

static int facts_read(struct efa_context *ctx)
{
	struct ibv_device_attr_ex attr = {};
	struct verbs_query_device query = {};
	int r = device_ask(ctx, &query, &ctx->caps, &attr);

	if (r < 0) {
		verbs_err(&ctx->vctx.context, "cannot query the device: %s", strerror(-r));
		return r;
	}
	ctx->max_rdma_sge = attr.orig_attr.max_sge_rd > 0; /* a request has room for one buffer */
	return 0;
}

int efa_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct efa_context *ctx = (struct efa_context *)vctx;
	int r = context_ask(ctx, in);

	ctx->page_size = sysconf(_SC_PAGESIZE);
	if (!r)
		r = info_check(ctx);
	if (!r)
		r = facts_read(ctx);
	if (r < 0)
		return r;
	pthread_mutex_init(&ctx->qp_lock, NULL);
	idtable_init(&ctx->qps);
	return 0;
}

void efa_close_context(struct verbs_context *vctx)
{
	struct efa_context *ctx = (struct efa_context *)vctx;

	pthread_mutex_destroy(&ctx->qp_lock);
	idtable_destroy(&ctx->qps);
}

int efa_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
		     struct ibv_device_attr_ex *ret_attr)
{
	struct efa_context *ctx = to_ectx(ibctx);
	struct ibv_device_attr *attr = &ret_attr->orig_attr;
	struct efa_ibv_ex_query_device_resp unused = {};
	struct verbs_query_device query = *in;
	uint8_t version[sizeof(uint64_t)];
	uint64_t raw = 0;
	int r;

	query.ret_fw_ver = &raw;
	r = device_ask(ctx, &query, &unused, ret_attr);
	if (r < 0)
		return r;
	if (in->ret_fw_ver)
		*in->ret_fw_ver = raw;
	memcpy(version, &raw, sizeof(version));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%u.%u", version[0], version[1],
		 version[2], version[3]);
	attr->max_qp_wr =
		min_of(attr->max_qp_wr, (int)(ctx->info.max_llq_size >> EFA_WQE_SMALL_SHIFT));
	return 0;
}
