/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities: whether software may own tables, and the destination of packets without a match. */
#include "providers/mlx5/steering/steering.h"

/* Offsets in the answers to QUERY_HCA_CAP. */
enum {
	GENERAL_FUNCTION = 0x14,
	GENERAL_PRIORITY_TAG = 0x20,
	GENERAL_SWITCH = 0x44,
	GENERAL_ROCE = 0x50,
	GENERAL_LOOPBACK = 0x58,
	GENERAL_FORMAT = 0x98,
	GENERAL_PROTOCOLS = 0xb8,
	GENERAL_PARSER_CHANGE = 0xbc,
	GENERAL_GTPU_DW_0 = 0xcc,
	GENERAL_GTPU_TEID = 0xd0,
	GENERAL_PARSERS = 0xe8,
	GENERAL_GTPU_MORE = 0xf0,
	GENERAL_ARGUMENTS = 0xfc,
	GENERAL_DEFINERS = 0x108,
	TABLES_ENCAP = 0x14,
	TABLES_RECEIVE = 0x50,
	TABLES_LEVELS = 0x54,
	TABLES_FIELDS = 0x78,
	TABLES_SEND = 0x110,
	TABLES_FIELDS_2 = 0x2a0,
	TABLES_RECEIVE_DROP = 0x410,
	TABLES_SEND_DROP = 0x418,
	TABLES_SEND_ALLOW = 0x420,
	SWITCH_OWNER = 0x50,
	SWITCH_RECEIVE_DROP = 0x310,
	SWITCH_SEND_DROP = 0x318,
	SWITCH_UPLINK_RECEIVE = 0x320,
	SWITCH_UPLINK_SEND = 0x328,
	MEMORY_SIZES = 0x30,
	MEMORY_SIZES_MORE = 0x34,
	MEMORY_CHANGES = 0x38,
	MEMORY_PATTERNS = 0x48,
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

static uint32_t general(struct mlx5_context *ctx, unsigned int offset)
{
	return mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, offset);
}

static uint64_t tables_64(struct mlx5_context *ctx, unsigned int offset)
{
	return cap_64(ctx, MLX5_FW_CAPS_NIC_TABLES, offset);
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
	bool roce = general(ctx, GENERAL_ROCE) >> 2 & 1;

	if (roce && is_roce_enabled(&ctx->vctx.context))
		return mlx5_fw_cap(ctx, MLX5_FW_CAPS_ROCE, ROCE_LOOPBACK) >> 25 & 1;
	return general(ctx, GENERAL_LOOPBACK) >> 23 & 1 ||
	       (roce && mlx5_fw_cap(ctx, MLX5_FW_CAPS_ROCE, ROCE_LOOPBACK) >> 26 & 1);
}

/* Return whether software may own the tables: by an older bit, or by one for known formats. */
static bool is_owner(uint32_t bits, uint8_t format)
{
	return bits >> 14 & 1 || (bits >> 1 & 1 && format <= FORMAT_LAST);
}

static bool has_tables(struct mlx5_context *ctx, enum mlx5dv_dr_domain_type type, uint8_t format)
{
	switch (type) {
	case MLX5DV_DR_DOMAIN_TYPE_FDB:
		return general(ctx, GENERAL_SWITCH) >> 24 & 1 &&
		       is_owner(mlx5_fw_cap(ctx, MLX5_FW_CAPS_SWITCH_TABLES, SWITCH_OWNER), format);
	case MLX5DV_DR_DOMAIN_TYPE_NIC_TX:
		return is_owner(mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_SEND), format);
	default:
		return is_owner(mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_RECEIVE), format);
	}
}

static int memory_read(struct mlx5_context *ctx, struct dr_caps *caps)
{
	uint32_t sizes = mlx5_fw_cap(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_SIZES);
	uint32_t more = mlx5_fw_cap(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_SIZES_MORE);

	caps->log_icm = sizes & 0xff;
	caps->log_changes = sizes >> 16 & 0xff;
	caps->changes_at = cap_64(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_CHANGES);
	caps->patterns_at = cap_64(ctx, MLX5_FW_CAPS_MEMORY, MEMORY_PATTERNS);
	if (caps->log_icm < LOG_ENTRIES_MIN || caps->log_changes < LOG_CHANGES_MIN ||
	    (caps->format && (more & 0xff) < LOG_CHANGES_MIN))
		return -ENOMEM;
	return 0;
}

static void parsers_read(struct mlx5_context *ctx, struct dr_caps *caps)
{
	uint32_t ids = general(ctx, GENERAL_PARSERS), more = general(ctx, GENERAL_GTPU_MORE);

	caps->protocols = general(ctx, GENERAL_PROTOCOLS);
	caps->has_parser_change = general(ctx, GENERAL_PARSER_CHANGE) >> 15 & 1;
	caps->parsers = (struct dr_parsers){
		.icmp = { { ids >> 16 & 0xf, ids >> 20 & 0xf },
			  { ids >> 8 & 0xf, ids >> 12 & 0xf } },
		.geneve_option = ids >> 24 & 0xf,
		.mpls_gre = ids >> 4 & 0xf,
		.mpls_udp = ids & 0xf,
		.gtpu_dw_0 = general(ctx, GENERAL_GTPU_DW_0) >> 20 & 0xf,
		.gtpu_teid = general(ctx, GENERAL_GTPU_TEID) >> 4 & 0xf,
		.gtpu_dw_2 = more >> 28,
		.gtpu_extension = more >> 24 & 0xf,
	};
}

static void fields_read(struct mlx5_context *ctx, struct dr_caps *caps)
{
	uint32_t fields = mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_FIELDS_2);
	uint32_t arguments = general(ctx, GENERAL_ARGUMENTS);

	parsers_read(ctx, caps);
	caps->has_option_exists =
		mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_FIELDS) >> 30 & 1;
	caps->has_tunnel_header = (fields >> 15 & 3) == 3;
	caps->has_checksum = fields & 1;
	caps->definers = cap_64(ctx, MLX5_FW_CAPS_GENERAL, GENERAL_DEFINERS);
	caps->has_arguments = mlx5_fw_has_object(ctx, MLX5_FW_OBJ_ARGUMENT);
	caps->log_argument_step = arguments >> 16 & 0xf;
	caps->log_argument_most = arguments >> 8 & 0x1f;
	caps->encap_most = mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_ENCAP) & 0x3ff;
	caps->has_priority_tag = general(ctx, GENERAL_PRIORITY_TAG) >> 7 & 1;
}

/* Read the addresses for packets that match no rule, and for packets that a rule drops. */
static int ends_read(struct ibv_context *ibctx, enum mlx5dv_dr_domain_type type,
		     struct dr_caps *caps)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	uint64_t *drop = caps->drop, *miss = caps->miss;

	if (caps->is_switch_manager) {
		caps->uplink[DR_RECEIVE] =
			cap_64(ctx, MLX5_FW_CAPS_SWITCH_TABLES, SWITCH_UPLINK_RECEIVE);
		caps->uplink[DR_SEND] = cap_64(ctx, MLX5_FW_CAPS_SWITCH_TABLES, SWITCH_UPLINK_SEND);
	}
	caps->adapter_drop[DR_RECEIVE] = tables_64(ctx, TABLES_RECEIVE_DROP);
	caps->adapter_drop[DR_SEND] = tables_64(ctx, TABLES_SEND_DROP);
	if (type != MLX5DV_DR_DOMAIN_TYPE_FDB) {
		drop[DR_RECEIVE] = miss[DR_RECEIVE] = tables_64(ctx, TABLES_RECEIVE_DROP);
		drop[DR_SEND] = tables_64(ctx, TABLES_SEND_DROP);
		miss[DR_SEND] = tables_64(ctx, TABLES_SEND_ALLOW);
		return 0;
	}
	drop[DR_RECEIVE] = cap_64(ctx, MLX5_FW_CAPS_SWITCH_TABLES, SWITCH_RECEIVE_DROP);
	drop[DR_SEND] = cap_64(ctx, MLX5_FW_CAPS_SWITCH_TABLES, SWITCH_SEND_DROP);
	return dr_vport_query(ibctx, 0, false, miss);
}

int dr_caps_read(struct ibv_context *ibctx, enum mlx5dv_dr_domain_type type, struct dr_caps *ret)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	struct dr_caps caps = {
		.format = general(ctx, GENERAL_FORMAT) >> 24 & 0xf,
		.function = general(ctx, GENERAL_FUNCTION) & 0xffff,
		.is_switch_manager = general(ctx, GENERAL_SWITCH) >> 24 & 1,
	};
	int r;

	if (!has_tables(ctx, type, caps.format) || !has_loopback(ctx))
		return -EOPNOTSUPP;
	if (caps.format > FORMAT_LAST)
		return -EOPNOTSUPP;
	r = memory_read(ctx, &caps);
	if (!r)
		r = ends_read(ibctx, type, &caps);
	if (r < 0)
		return r;
	fields_read(ctx, &caps);
	caps.levels = mlx5_fw_cap(ctx, MLX5_FW_CAPS_NIC_TABLES, TABLES_LEVELS) & 0xff;
	*ret = caps;
	return 0;
}
