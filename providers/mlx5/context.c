/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening: negotiation of features with the kernel, and facts of the device. */
#include <string.h>

#include "providers/kit/context.h"
#include "providers/mlx5/clock.h"
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/import.h"
#include "providers/mlx5/mlx5.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/qpn_block.h"
#include "providers/mlx5/settings.h"

enum {
	FW_DIGITS = 4,
	CQE_COUNT_MAX = 1 << 24,
	CQE_VERSION = 1, /* completions have the number that this library assigned to the QP */
};

/* Kernels before 5.0, 4.10 and 4.2 refuse the longer requests. */
static const uint16_t request_lengths[] = {
	sizeof(struct mlx5_ib_alloc_ucontext_req_v2),
	offsetof(struct mlx5_ib_alloc_ucontext_req_v2, lib_caps),
	offsetof(struct mlx5_ib_alloc_ucontext_req_v2, max_cqe_version),
};

static int context_ask(struct mlx5_context *ctx, const struct verbs_open_context *in,
		       uint32_t flags)
{
	struct mlx5_ib_alloc_ucontext_req_v2 request = {
		.total_num_bfregs = ctx->total_bfregs,
		.num_low_latency_bfregs = ctx->low_latency_bfregs,
		.flags = flags,
		.max_cqe_version = CQE_VERSION,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	struct verbs_udata udata = {
		.in = &request,
		.out = &ctx->info,
		.out_len = sizeof(ctx->info),
	};
	struct verbs_open_context open = *in;
	int r = -EINVAL;

	open.udata = &udata;
	for (unsigned int i = 0; i < ARRAY_SIZE(request_lengths); i++) {
		ctx->info = (struct mlx5_ib_alloc_ucontext_resp){};
		udata.in_len = request_lengths[i];
		r = uverbs_open_context(&ctx->vctx, &open);
		/* The length causes no other error. */
		if (r != -EINVAL && r != -EOPNOTSUPP)
			return r;
	}
	return r;
}

/* Check numbers of the kernel that sizes and addresses are computed from. */
static int info_check(struct mlx5_context *ctx)
{
	const struct mlx5_ib_alloc_ucontext_resp *info = &ctx->info;
	struct ibv_context *ibctx = &ctx->vctx.context;
	uint32_t uars = info->log_uar_size || info->num_uars_per_page ? info->num_uars_per_page : 1;

	if (info->cqe_version != CQE_VERSION) {
		verbs_err(ibctx,
			  "the adapter writes completions of version %u, and only version %d is "
			  "supported: update its firmware",
			  info->cqe_version, CQE_VERSION);
		return -EOPNOTSUPP;
	}
	if (!uars || uars > ctx->page_size / MLX5_UAR_SIZE || info->tot_bfregs > MLX5_BFREGS_MAX ||
	    info->tot_bfregs % 2 || info->bf_reg_size > MLX5_UAR_SIZE / 4 ||
	    info->bf_reg_size % 128) {
		verbs_err(
			ibctx,
			"the kernel says of doorbells: %u in all, %u bytes each, %u UARs in a page",
			info->tot_bfregs, info->bf_reg_size, uars);
		return -EPROTO;
	}
	if (info->max_sq_desc_sz < 64 || info->max_rq_desc_sz < 16) {
		verbs_err(ibctx, "the kernel says of requests: %u bytes to send, %u to receive",
			  info->max_sq_desc_sz, info->max_rq_desc_sz);
		return -EPROTO;
	}
	ctx->uars_per_page = uars;
	return 0;
}

/* Query the device, including the driver's own attributes if there are any. */
static int device_ask(struct mlx5_context *ctx, const struct verbs_query_device *in,
		      struct mlx5_ib_query_device_resp *ret_caps,
		      struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_udata udata = { .out = ret_caps, .out_len = sizeof(*ret_caps) };
	struct verbs_query_device query = *in;
	uint64_t fw_ver = 0;
	int r;

	query.ret_fw_ver = &fw_ver;
	if (ctx->info.cmds_supp_uhw & MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE)
		query.udata = &udata;
	r = uverbs_query_device(&ctx->vctx.context, &query, ret_attr);
	if (r < 0)
		return r;
	kit_context_print_fw(&ret_attr->orig_attr, fw_ver, FW_DIGITS);
	if (in->ret_fw_ver)
		*in->ret_fw_ver = fw_ver;
	return 0;
}

static int facts_read(struct mlx5_context *ctx)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	struct ibv_device_attr_ex attr = {};
	struct verbs_query_device query = {};
	int r = device_ask(ctx, &query, &ctx->caps, &attr);

	if (r < 0) {
		verbs_err(ibctx, "cannot query the device: %s", strerror(-r));
		return r;
	}
	ctx->cqe_count_max = mlx_cq_count_max(attr.orig_attr.max_cqe, CQE_COUNT_MAX);
	ctx->atomics = attr.orig_attr.atomic_cap != IBV_ATOMIC_NONE;
	ctx->raw_csum = attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM;
	ctx->ud_csum = attr.orig_attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM;
	for (unsigned int i = 0; i < min_of(attr.orig_attr.phys_port_cnt, MLX5_PORTS_KNOWN); i++) {
		struct ibv_port_attr port;

		/* A port that does not answer is asked again when it is used. */
		if (kit_context_port(ibctx, i + 1, &port) < 0)
			continue;
		ctx->link_layer[i] = port.link_layer;
		ctx->port_flags[i] = port.flags;
	}
	return 0;
}

static int context_make(struct mlx5_context *ctx, const struct verbs_open_context *in)
{
	const struct mlx5dv_context_attr *dv = in->dv;
	int r = context_ask(ctx, in, MLX5_IB_ALLOC_UCTX_DEVX);

	/* The firmware may have no user context left. The driver reports this with various errnos.
	 */
	if (r < 0 && !(dv && dv->flags & MLX5DV_CONTEXT_FLAGS_DEVX))
		r = context_ask(ctx, in, 0);
	return r < 0 ? kit_context_refused(&ctx->vctx, r) : 0;
}

int mlx5_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mlx5_context *ctx = (struct mlx5_context *)vctx;
	const struct mlx5dv_context_attr *dv = in->dv;
	int r;

	if (dv && (!comp_mask_ok(dv->comp_mask, 0) ||
		   !comp_mask_ok(dv->flags, MLX5DV_CONTEXT_FLAGS_DEVX))) {
		verbs_err(&vctx->context, "mlx5dv_open_device: flags 0x%x, comp_mask 0x%llx",
			  dv->flags, (unsigned long long)dv->comp_mask);
		return -EINVAL;
	}
	ctx->page_size = sysconf(_SC_PAGESIZE);
	r = mlx5_setting_registers(ctx);
	if (r < 0)
		return r;
	r = in->imported ? mlx5_context_import(ctx, in) : context_make(ctx, in);
	if (r < 0)
		return r;
	r = info_check(ctx);
	if (r < 0)
		return r;
	dbrec_pool_init(&ctx->records, ctx->info.cache_line_size);
	ctx->records.type = MLX5_MEMORY_DBR;
	idtable_init(&ctx->users);
	pthread_mutex_init(&ctx->qpn_lock, NULL);
	LIST_INIT(&ctx->qpn_blocks);
	pthread_mutex_init(&ctx->sig_lock, NULL);
	LIST_INIT(&ctx->sigs);
	r = mlx5_uar_open(ctx);
	if (!r) {
		mlx5_clock_open(ctx);
		r = facts_read(ctx);
	}
	if (r < 0)
		mlx5_close_context(vctx);
	return r;
}

void mlx5_close_context(struct verbs_context *vctx)
{
	struct mlx5_context *ctx = (struct mlx5_context *)vctx;

	if (ctx->crypto_login)
		mlx5_fw_destroy(ctx->crypto_login);
	mlx5_qpn_blocks_free(ctx);
	for (unsigned int i = 0; i < MLX5_FW_CAPS_COUNT; i++)
		free(ctx->fw_caps[i]);
	mlx5_uar_close(ctx);
	kit_page_unmap(&ctx->clock);
	kit_page_unmap(&ctx->clock_info);
	idtable_destroy(&ctx->users);
	dbrec_pool_destroy(&ctx->records);
}

int mlx5_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	struct mlx5_ib_query_device_resp resp = {};
	int r = device_ask(ctx, in, &resp, ret_attr);

	if (r < 0)
		return r;
	ret_attr->tso_caps.max_tso = resp.tso_caps.max_tso;
	ret_attr->tso_caps.supported_qpts = resp.tso_caps.supported_qpts;
	ret_attr->rss_caps.rx_hash_fields_mask = resp.rss_caps.rx_hash_fields_mask;
	ret_attr->rss_caps.rx_hash_function = resp.rss_caps.rx_hash_function;
	ret_attr->packet_pacing_caps.qp_rate_limit_min = resp.packet_pacing_caps.qp_rate_limit_min;
	ret_attr->packet_pacing_caps.qp_rate_limit_max = resp.packet_pacing_caps.qp_rate_limit_max;
	ret_attr->packet_pacing_caps.supported_qpts = resp.packet_pacing_caps.supported_qpts;
	return 0;
}

int mlx5_alloc_pd(struct ibv_pd *pd, struct verbs_udata *unused)
{
	struct mlx5_ib_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &udata);

	if (!r) {
		((struct mlx5_pd *)pd)->pdn = resp.pdn;
		pthread_mutex_init(&((struct mlx5_pd *)pd)->lock, NULL);
	}
	return r;
}

int mlx5_dealloc_pd(struct ibv_pd *pd)
{
	int r = uverbs_dealloc_pd(pd);

	if (!r)
		pthread_mutex_destroy(&((struct mlx5_pd *)pd)->lock);
	return r;
}
