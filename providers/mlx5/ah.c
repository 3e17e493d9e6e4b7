/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles: the address vector at the start of a request of a UD queue pair. */
#include <string.h>
#include <sys/random.h>

#include "providers/mlx5/ah.h"
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/mlx5.h"

enum {
	AV_GRH = 1 << 30,
	UDP_SPORT_MIN = 0xc000,
};

/* Return the adapter's code of a rate of enum ibv_rate. An unknown rate means the rate of the port.
 */
static uint8_t rate_code(uint8_t rate)
{
	static const uint8_t codes[] = { 0,  0,	 7, 8, 9,  10, 11, 12, 13, 14, 15, 11,
					 13, 15, 0, 9, 15, 0,  0,  9,  13, 0,  0 };

	return rate < ARRAY_SIZE(codes) ? codes[rate] : 0;
}

int mlx5_port_facts(struct ibv_context *ibctx, uint8_t port_num, uint8_t *ret_link_layer,
		    uint8_t *ret_flags)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	struct ibv_port_attr port;
	int r;

	if (port_num && port_num <= MLX5_PORTS_KNOWN && ctx->link_layer[port_num - 1]) {
		*ret_link_layer = ctx->link_layer[port_num - 1];
		*ret_flags = ctx->port_flags[port_num - 1];
		return 0;
	}
	r = uverbs_query_port(ibctx, port_num, &port);
	if (r < 0) {
		verbs_err(ibctx, "ibv_create_ah: cannot query port %u: %s", port_num, strerror(-r));
		return r;
	}
	*ret_link_layer = port.link_layer;
	*ret_flags = port.flags;
	return 0;
}

/* Derive the UDP source port from the flow label, because switches choose paths by it. Without a
 * label choose a random port. */
static uint16_t udp_sport(uint32_t flow_label)
{
	uint16_t any;

	if (flow_label)
		return ((flow_label & 0x3fff) ^ (flow_label >> 14 & 0x3f)) | UDP_SPORT_MIN;
	if (getrandom(&any, sizeof(any), GRND_NONBLOCK) != sizeof(any))
		any = (uintptr_t)&any >> 4;
	return any | UDP_SPORT_MIN;
}

/* Resolve the MAC address in the kernel, which then also has the handle, or in this library. */
static int dmac_resolve(struct mlx5_ah *ah, const struct verbs_create_ah *in)
{
	struct mlx5_context *ctx = to_mctx(ah->ah.context);
	struct mlx5_ib_create_ah_resp resp = { .response_length = sizeof(resp) };
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_ah request = { .attr = in->attr, .udata = &udata };
	uint16_t vlan;
	int r;

	if (!(ctx->info.cmds_supp_uhw & MLX5_USER_CMDS_SUPP_UHW_CREATE_AH))
		return verbs_resolve_eth_l2(ah->ah.context, in->attr, ah->av.rmac, &vlan);
	r = uverbs_create_ah(&ah->ah, &request);
	if (r < 0)
		return r;
	ah->in_kernel = true;
	memcpy(ah->av.rmac, resp.dmac, sizeof(ah->av.rmac));
	return 0;
}

static int ethernet_fill(struct mlx5_ah *ah, const struct verbs_create_ah *in)
{
	const struct ibv_ah_attr *attr = in->attr;
	struct ibv_gid_entry sgid = {};
	int r = uverbs_query_gid(ah->ah.context, attr->port_num, attr->grh.sgid_index, &sgid);

	if (r < 0) {
		verbs_err(ah->ah.context, "ibv_create_ah: port %u has no GID at index %u: %s",
			  attr->port_num, attr->grh.sgid_index, strerror(-r));
		return r;
	}
	if (sgid.gid_type == IBV_GID_TYPE_ROCE_V2)
		ah->av.rlid = htobe16(udp_sport(attr->grh.flow_label & 0xfffff));
	ah->av.stat_rate_sl = rate_code(attr->static_rate) << 4 | (attr->sl & 7) << 1;
	return dmac_resolve(ah, in);
}

static void infiniband_fill(struct mlx5_ah *ah, const struct ibv_ah_attr *attr)
{
	ah->av.stat_rate_sl = rate_code(attr->static_rate) << 4 | (attr->sl & 15);
	ah->av.fl_mlid = attr->src_path_bits & 0x7f;
	ah->av.rlid = htobe16(attr->dlid);
}

int mlx5_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	const struct ibv_ah_attr *attr = in->attr;
	struct mlx5_ah *ah = to_mah(ibah);
	uint8_t link_layer, flags;
	bool ethernet;
	int r = mlx5_port_facts(ibah->context, attr->port_num, &link_layer, &flags);

	if (r < 0)
		return r;
	ethernet = link_layer == IBV_LINK_LAYER_ETHERNET;
	if (!attr->is_global && (ethernet || flags & IBV_QPF_GRH_REQUIRED)) {
		verbs_err(ibah->context, "ibv_create_ah: port %u needs is_global and a GID",
			  attr->port_num);
		return -EINVAL;
	}
	ah->is_global = attr->is_global;
	ah->av.dqp_dct = htobe32(MLX5_EXTENDED_UD_AV);
	if (attr->is_global) {
		ah->av.tclass = attr->grh.traffic_class;
		ah->av.hop_limit = attr->grh.hop_limit;
		ah->av.grh_gid_fl =
			htobe32((ethernet ? 0 : AV_GRH) | (uint32_t)attr->grh.sgid_index << 20 |
				(attr->grh.flow_label & 0xfffff));
		memcpy(ah->av.rgid, attr->grh.dgid.raw, sizeof(ah->av.rgid));
	}
	if (ethernet)
		return ethernet_fill(ah, in);
	infiniband_fill(ah, attr);
	return 0;
}

int mlx5_destroy_ah(struct ibv_ah *ibah)
{
	struct mlx5dv_devx_obj *mapping = to_mah(ibah)->mapping;
	int r = to_mah(ibah)->in_kernel ? uverbs_destroy_ah(ibah) : 0;

	if (!r && mapping)
		mlx5_fw_destroy(mapping);
	return r;
}
