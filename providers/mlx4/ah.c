/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles: the address vector at the start of a request of a UD queue pair. The kernel has
 * no object for them. */
#include <string.h>

#include "providers/mlx4/mlx4.h"

enum {
	PORT_SHIFT = 24,
	VLAN_PRESENT = 1 << 29,
	G_SLID_GLOBAL = 0x80,
	RATE_BASE = 5, /* added to a rate in the adapter's code */
	SL_INFINIBAND = 28,
	SL_ETHERNET = 29,
	DLID_MULTICAST = 0xc000, /* on Ethernet any multicast LID works */
	VLAN_NONE = 0x1000,
};
#define FORCE_MULTICAST (1u << 31)

/* Derive the MAC address from the GID. Kernels before 3.14 make GIDs from MAC addresses. */
static int mac_from_gid(struct mlx4_ah *ah, const struct ibv_ah_attr *attr, uint16_t *ret_vlan)
{
	const uint8_t *gid = attr->grh.dgid.raw;
	static const uint8_t link_local[8] = { 0xfe, 0x80 };
	struct ibv_gid_entry sgid = {};
	int r;

	if (!memcmp(gid, link_local, sizeof(link_local))) {
		memcpy(ah->mac, gid + 8, 3);
		memcpy(ah->mac + 3, gid + 13, 3);
		ah->mac[0] ^= 2;
		*ret_vlan = gid[11] << 8 | gid[12];
		return 0;
	}
	if (gid[0] != 0xff) {
		verbs_err(ah->ah.context,
			  "ibv_create_ah: port %u knows link-local GIDs and groups only",
			  attr->port_num);
		return -EINVAL;
	}
	r = uverbs_query_gid(ah->ah.context, attr->port_num, attr->grh.sgid_index, &sgid);
	if (r < 0) {
		verbs_err(ah->ah.context, "ibv_create_ah: port %u has no GID at index %u: %s",
			  attr->port_num, attr->grh.sgid_index, strerror(-r));
		return r;
	}
	ah->mac[0] = ah->mac[1] = 0x33;
	memcpy(ah->mac + 2, gid + 12, 4);
	ah->av.dlid = htobe16(DLID_MULTICAST);
	ah->av.port_pd |= htobe32(FORCE_MULTICAST);
	*ret_vlan = sgid.gid.raw[11] << 8 | sgid.gid.raw[12];
	return 0;
}

static int ethernet_fill(struct mlx4_ah *ah, const struct ibv_ah_attr *attr, uint32_t port_caps)
{
	uint16_t vlan = VLAN_NONE;
	int r = port_caps & IBV_PORT_IP_BASED_GIDS
			? verbs_resolve_eth_l2(ah->ah.context, attr, ah->mac, &vlan)
			: mac_from_gid(ah, attr, &vlan);

	if (r < 0)
		return r;
	if (vlan < VLAN_NONE) {
		ah->av.port_pd |= htobe32(VLAN_PRESENT);
		ah->vlan = vlan | (attr->sl & 7) << 13;
	}
	return 0;
}

static void grh_fill(struct mlx4_ah *ah, const struct ibv_ah_attr *attr)
{
	ah->av.g_slid |= G_SLID_GLOBAL;
	ah->av.gid_index = attr->grh.sgid_index;
	ah->av.hop_limit = attr->grh.hop_limit;
	ah->av.sl_tclass_flowlabel |=
		htobe32((uint32_t)attr->grh.traffic_class << 20 | (attr->grh.flow_label & 0xfffff));
	memcpy(ah->av.dgid, attr->grh.dgid.raw, sizeof(ah->av.dgid));
}

int mlx4_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct mlx4_context *ctx = to_mctx(ibah->context);
	const struct ibv_ah_attr *attr = in->attr;
	struct mlx4_ah *ah = to_mah(ibah);
	const struct mlx4_pd *pd = (struct mlx4_pd *)verbs_pd_protection(ibah->pd);
	struct mlx4_port port;
	bool ethernet;
	int r = mlx4_port_ask(ctx, attr->port_num, &port);

	if (r < 0)
		return r;
	ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	if (!attr->is_global && (ethernet || port.flags & IBV_QPF_GRH_REQUIRED)) {
		verbs_err(ibah->context, "ibv_create_ah: port %u needs is_global and a GID",
			  attr->port_num);
		return -EINVAL;
	}
	ah->av.port_pd = htobe32(pd->pdn | (uint32_t)attr->port_num << PORT_SHIFT);
	ah->av.sl_tclass_flowlabel = htobe32(ethernet ? (attr->sl & 7u) << SL_ETHERNET
						      : (attr->sl & 15u) << SL_INFINIBAND);
	ah->av.stat_rate = attr->static_rate ? attr->static_rate + RATE_BASE : 0;
	if (!ethernet) {
		ah->av.g_slid = attr->src_path_bits & 0x7f;
		ah->av.dlid = htobe16(attr->dlid);
	}
	if (attr->is_global)
		grh_fill(ah, attr);
	return ethernet ? ethernet_fill(ah, attr, port.caps) : 0;
}

int mlx4_destroy_ah(struct ibv_ah *ibah)
{
	return 0;
}
