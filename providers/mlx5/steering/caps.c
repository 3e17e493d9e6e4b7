/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities: whether software may own tables, and where packets go that match nothing. */
#include "providers/mlx5/steering/steering.h"

/* Offsets in the answers to QUERY_HCA_CAP. */
enum {
	GENERAL_FUNCTION = 0x14,
	GENERAL_ROCE = 0x50,
	GENERAL_LOOPBACK = 0x58,
	GENERAL_FORMAT = 0x98,
	TABLES_RECEIVE = 0x50,
	TABLES_LEVELS = 0x54,
	TABLES_SEND = 0x110,
	TABLES_RECEIVE_DROP = 0x410,
	TABLES_SEND_DROP = 0x418,
	TABLES_SEND_ALLOW = 0x420,
	MEMORY_SIZES = 0x30,
	MEMORY_SIZES_MORE = 0x34,
	ROCE_LOOPBACK = 0x10,
};

enum {
	FORMAT_LAST = 3, /* of entries whose format this library knows */
	LOG_ENTRIES_MIN = 26,
	LOG_CHANGES_MIN = 15, /* also of patterns */
	QUERY_NIC_VPORT = 0x754,
	QUERY_NIC_VPORT_OUT = 0x110,
};

static uint64_t cap_64(struct mlx5_context *ctx, enum mlx5_fw_caps group, unsigned int offset)
{
	return (uint64_t)mlx5_fw_cap(ctx, group, offset) << 32 |
	       mlx5_fw_cap(ctx, group, offset + 4);
}

/* Return whether RoCE is enabled on the port of this function. */
static bool is_roce_enabled(struct ibv_context *ctx)
{
	uint32_t in[FW_HEAD / 4] = {}, out[QUERY_NIC_VPORT_OUT / 4] = {};

	fw_set(in, 0, QUERY_NIC_VPORT << 16);
	return mlx5_fw_general(ctx, "QUERY_NIC_VPORT_CONTEXT", in, sizeof(in), out, sizeof(out)) >=
		       0 &&
	       fw_get(out, 0x10) & 1;
}

/* Return whether a queue pair can be connected to itself without an address. */
static bool has_loopback(struct mlx5_context *ctx)
{
	bool roce = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, GENERAL_ROCE) >> 2 & 1;

	if (roce && is_roce_enabled(&ctx->vctx.context))
		return mlx5_fw_cap(ctx, MLX5_FW_CAPS_ROCE, ROCE_LOOPBACK) >> 25 & 1;
	return mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, GENERAL_LOOPBACK) >> 23 & 1 ||
	       (roce && mlx5_fw_cap(ctx, MLX5_FW_CAPS_ROCE, ROCE_LOOPBACK) >> 26 & 1);
}

/* Return whether software may own the tables: by an older bit, or by one for known formats. */
static bool is_owner(struct mlx5_context *ctx, unsigned int offset, uint8_t format)
{
	uint32_t bits = mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, offset);

	return bits >> 14 & 1 || (bits >> 1 & 1 && format <= FORMAT_LAST);
}

static int memory_check(struct mlx5_context *ctx, struct dr_caps *caps)
{
	uint32_t sizes = mlx5_fw_cap(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_SIZES);
	uint32_t more = mlx5_fw_cap(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_SIZES_MORE);

	caps->log_icm = sizes & 0xff;
	if (caps->log_icm < LOG_ENTRIES_MIN || (sizes >> 16 & 0xff) < LOG_CHANGES_MIN ||
	    (more & 0xff) < LOG_CHANGES_MIN)
		return -ENOMEM;
	return 0;
}

int dr_caps_read(struct ibv_context *ibctx, enum mlx5dv_dr_domain_type type, struct dr_caps *ret)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	bool receives = type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX;
	struct dr_caps caps = {
		.format = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, GENERAL_FORMAT) >> 24 & 0xf,
		.function = mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, GENERAL_FUNCTION) & 0xffff,
	};
	int r;

	if (type == MLX5DV_DR_DOMAIN_TYPE_FDB ||
	    !is_owner(ctx, receives ? TABLES_RECEIVE : TABLES_SEND, caps.format) || !caps.format ||
	    caps.format > FORMAT_LAST || !has_loopback(ctx))
		return -EOPNOTSUPP;
	r = memory_check(ctx, &caps);
	if (r < 0)
		return r;
	caps.levels = mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_LEVELS) & 0xff;
	caps.drop = cap_64(ctx, MLX5_FW_CAPS_NIC_TABLES,
			   receives ? TABLES_RECEIVE_DROP : TABLES_SEND_DROP);
	caps.miss = receives ? caps.drop : cap_64(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_SEND_ALLOW);
	*ret = caps;
	return 0;
}
