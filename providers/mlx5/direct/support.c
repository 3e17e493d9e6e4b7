/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detection of mlx5 devices, opening, and capabilities. */
#include "providers/mlx5/clock.h"
#include "providers/mlx5/copy.h"
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/vfio/vfio.h"

MLX5DV_EXPORT bool mlx5dv_is_supported(struct ibv_device *device)
{
	return verbs_device_is(device, "mlx5");
}

MLX5DV_EXPORT struct ibv_context *mlx5dv_open_device(struct ibv_device *device,
						     struct mlx5dv_context_attr *attr)
{
	struct ibv_context *ctx;
	int r = -EOPNOTSUPP;

	if (mlx5dv_is_supported(device))
		r = verbs_context_open(device, attr, &ctx);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	return ctx;
}

static uint64_t device_flags(const struct mlx5_context *ctx)
{
	const struct mlx5_ib_query_device_resp *caps = &ctx->caps;
	uint64_t flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;

	if (caps->mlx5_ib_support_multi_pkt_send_wqes & MLX5_IB_ALLOW_MPW)
		flags |= MLX5DV_CONTEXT_FLAGS_MPW_ALLOWED;
	if (caps->mlx5_ib_support_multi_pkt_send_wqes & MLX5_IB_SUPPORT_EMPW)
		flags |= MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW;
	if (caps->flags & MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP)
		flags |= MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP;
	if (caps->flags & MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD)
		flags |= MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD;
	if (caps->flags & MLX5_IB_QUERY_DEV_RESP_PACKET_BASED_CREDIT_MODE)
		flags |= MLX5DV_CONTEXT_FLAGS_PACKET_BASED_CREDIT_MODE;
	if (ctx->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS)
		flags |= MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS;
	if (ctx->info.bf_reg_size)
		flags |= MLX5DV_CONTEXT_FLAGS_BLUEFLAME;
	return flags;
}

struct mlx5dv_ooo_recv_wrs_caps mlx5_ooo_caps(struct mlx5_context *ctx)
{
	enum {
		UD = 1 << 15,
		UC = 1 << 14,
		XRC = 1 << 13,
		DC = 1 << 12,
		RC = 1 << 11
	};
	/* A ring needs two entries for each receive. A list needs one. */
	uint32_t most = ctx->info.max_recv_wr, ring = most > 1 ? most / 2 : most, types;

	if (!(ctx->caps.flags & MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP))
		return (struct mlx5dv_ooo_recv_wrs_caps){};
	types = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x74);
	return (struct mlx5dv_ooo_recv_wrs_caps){
		.max_rc = types & RC ? ring : 0,
		.max_xrc = types & XRC ? most : 0,
		.max_dct = types & DC ? most : 0,
		.max_ud = types & UD ? ring : 0,
		.max_uc = types & UC ? ring : 0,
	};
}

/* The functions below fill in one requested group of fields each. */
static void striding_fill(const struct mlx5_ib_striding_rq_caps *from,
			  struct mlx5dv_striding_rq_caps *to)
{
	to->min_single_stride_log_num_of_bytes = from->min_single_stride_log_num_of_bytes;
	to->max_single_stride_log_num_of_bytes = from->max_single_stride_log_num_of_bytes;
	to->min_single_wqe_log_num_of_strides = from->min_single_wqe_log_num_of_strides;
	to->max_single_wqe_log_num_of_strides = from->max_single_wqe_log_num_of_strides;
	to->supported_qpts = from->supported_qpts;
}

/*
 * Return the operations of DC that can use memory on demand. @word: capability word of the firmware
 */
static uint32_t dc_odp(uint32_t word)
{
	/* In the order of the firmware's bits, from the highest on. */
	static const uint32_t ops[] = {
		IBV_ODP_SUPPORT_SEND, IBV_ODP_SUPPORT_RECV,   IBV_ODP_SUPPORT_WRITE,
		IBV_ODP_SUPPORT_READ, IBV_ODP_SUPPORT_ATOMIC, IBV_ODP_SUPPORT_SRQ_RECV,
	};
	uint32_t caps = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++)
		caps |= word >> (31 - i) & 1 ? ops[i] : 0;
	return caps;
}

/* Fill in the groups that the firmware reports. Return: the mask of these groups. */
static uint64_t firmware_fill(struct mlx5_context *ctx, uint64_t asked, struct mlx5dv_context *out)
{
	uint64_t filled = 0;
	uint32_t word;

	word = asked & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS
		       ? mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x5c) & 0xf
		       : 0;
	if (word) {
		out->num_lag_ports = word;
		filled |= MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS) {
		out->dc_odp_caps = dc_odp(mlx5_fw_cap(ctx, MLX5_FW_CAPS_ODP, 0x30));
		filled |= MLX5DV_CONTEXT_MASK_DC_ODP_CAPS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM) {
		word = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x34);
		out->max_dc_rd_atom = 1ull << (word >> 16 & 0x3f);
		out->max_dc_init_rd_atom = 1ull << (word & 0x3f);
		filled |= MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM;
	}
	if (asked & MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH) {
		out->max_wr_memcpy_length = mlx5_copies_most(ctx);
		filled |= MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH;
	}
	if (asked & MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD) {
		mlx5_sig_caps(ctx, &out->sig_caps);
		filled |= MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD;
	}
	if (asked & MLX5DV_CONTEXT_MASK_OOO_RECV_WRS &&
	    ctx->caps.flags & MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP) {
		out->ooo_recv_wrs_caps = mlx5_ooo_caps(ctx);
		filled |= MLX5DV_CONTEXT_MASK_OOO_RECV_WRS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD) {
		mlx5_crypto_caps(ctx, &out->crypto_caps);
		filled |= MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD;
	}
	return filled;
}

static uint64_t groups_fill(const struct mlx5_context *ctx, uint64_t asked,
			    struct mlx5dv_context *out)
{
	const struct mlx5_ib_query_device_resp *caps = &ctx->caps;
	uint64_t filled = 0;

	if (asked & MLX5DV_CONTEXT_MASK_CQE_COMPRESION) {
		out->cqe_comp_caps.max_num = caps->cqe_comp_caps.max_num;
		out->cqe_comp_caps.supported_format = caps->cqe_comp_caps.supported_format;
		filled |= MLX5DV_CONTEXT_MASK_CQE_COMPRESION;
	}
	if (asked & MLX5DV_CONTEXT_MASK_SWP) {
		out->sw_parsing_caps.sw_parsing_offloads =
			caps->sw_parsing_caps.sw_parsing_offloads;
		out->sw_parsing_caps.supported_qpts = caps->sw_parsing_caps.supported_qpts;
		filled |= MLX5DV_CONTEXT_MASK_SWP;
	}
	if (asked & MLX5DV_CONTEXT_MASK_STRIDING_RQ) {
		striding_fill(&caps->striding_rq_caps, &out->striding_rq_caps);
		filled |= MLX5DV_CONTEXT_MASK_STRIDING_RQ;
	}
	if (asked & MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS) {
		out->tunnel_offloads_caps = caps->tunnel_offloads_caps;
		filled |= MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_DYN_BFREGS) {
		out->max_dynamic_bfregs = ctx->info.num_dyn_bfregs;
		filled |= MLX5DV_CONTEXT_MASK_DYN_BFREGS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_FLOW_ACTION_FLAGS) {
		out->flow_action_flags = ctx->info.flow_action_flags;
		filled |= MLX5DV_CONTEXT_MASK_FLOW_ACTION_FLAGS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_DCI_STREAMS) {
		out->dci_streams_caps.max_log_num_concurent =
			caps->dci_streams_caps.max_log_num_concurent;
		out->dci_streams_caps.max_log_num_errored =
			caps->dci_streams_caps.max_log_num_errored;
		filled |= MLX5DV_CONTEXT_MASK_DCI_STREAMS;
	}
	if (asked & MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE && ctx->clock_info.base) {
		out->max_clock_info_update_nsec = mlx5_clock_info_period(ctx);
		filled |= MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
	}
	if (asked & MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK && ctx->clock.base) {
		out->hca_core_clock =
			(char *)ctx->clock.base + ctx->info.hca_core_clock_offset % ctx->page_size;
		filled |= MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK;
	}
	if (asked & MLX5DV_CONTEXT_MASK_REG_C0 && caps->reg_c0.mask) {
		out->reg_c0 = caps->reg_c0;
		filled |= MLX5DV_CONTEXT_MASK_REG_C0;
	}
	return filled;
}

MLX5DV_EXPORT int mlx5dv_query_device(struct ibv_context *ibctx, struct mlx5dv_context *attrs_out)
{
	struct mlx5_context *ctx = mlx5dv_context(ibctx, "mlx5dv_query_device");

	if (!ctx)
		return EOPNOTSUPP;
	/* Write only requested groups, because the caller's struct may be shorter. */
	attrs_out->version = 0;
	attrs_out->flags = device_flags(ctx);
	attrs_out->comp_mask = groups_fill(ctx, attrs_out->comp_mask, attrs_out) |
			       firmware_fill(ctx, attrs_out->comp_mask, attrs_out);
	return 0;
}
