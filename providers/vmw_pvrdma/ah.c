/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles: the destination in a request of a UD queue pair. The kernel has no object for
 * them. */
#include <string.h>

#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	PORT_SHIFT = 24,
	TCLASS_SHIFT = 20,
	FLOW_LABEL_MASK = 0xfffff,
	PATH_BITS_GLOBAL = 0x80,
};

static bool gid_is_link_local(const uint8_t *gid)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	return !memcmp(gid, prefix, sizeof(prefix));
}

static bool gid_is_mapped(const uint8_t *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}

/* Return whether the device supports this type of GID. */
static bool gid_is_known(const uint8_t *gid)
{
	return gid_is_link_local(gid) || gid[0] == 0xff || gid_is_mapped(gid);
}

static int refuse(struct ibv_context *ctx, const char *format, unsigned int port)
{
	verbs_err(ctx, "ibv_create_ah: port %u %s", port, format);
	return -EINVAL;
}

/* Find the MAC address. If GIDs are IP addresses, the neighbour table has it. Otherwise it is part
 * of the GID. */
static int mac_find(struct ibv_context *ctx, const struct ibv_ah_attr *attr, uint32_t port_caps,
		    uint8_t *ret_mac)
{
	const uint8_t *gid = attr->grh.dgid.raw;
	uint16_t vlan;

	if (port_caps & IBV_PORT_IP_BASED_GIDS)
		return verbs_resolve_eth_l2(ctx, attr, ret_mac, &vlan);
	if (!gid_is_link_local(gid))
		return refuse(ctx, "knows link-local GIDs only", attr->port_num);
	memcpy(ret_mac, gid + 8, 3);
	memcpy(ret_mac + 3, gid + 13, 3);
	ret_mac[0] ^= 2;
	return 0;
}

static void av_fill(struct pvrdma_av *av, const struct ibv_ah_attr *attr, uint32_t pdn)
{
	av->port_pd = pdn | (uint32_t)attr->port_num << PORT_SHIFT;
	av->src_path_bits = attr->src_path_bits | PATH_BITS_GLOBAL;
	av->gid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->sl_tclass_flowlabel = (uint32_t)attr->grh.traffic_class << TCLASS_SHIFT |
				  (attr->grh.flow_label & FLOW_LABEL_MASK);
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
}

int pvrdma_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	const struct pvrdma_pd *pd = (struct pvrdma_pd *)verbs_pd_protection(ibah->pd);
	struct pvrdma_av *av = &((struct pvrdma_ah *)ibah)->av;
	const struct ibv_ah_attr *attr = in->attr;
	struct ibv_port_attr port;
	int r;

	if (!attr->is_global)
		return refuse(ibah->context, "needs is_global and a GID", attr->port_num);
	if (!gid_is_known(attr->grh.dgid.raw))
		return refuse(ibah->context,
			      "knows GIDs that are link-local, groups or IPv4 addresses only",
			      attr->port_num);
	r = uverbs_query_port(ibah->context, attr->port_num, &port);
	if (r < 0) {
		verbs_err(ibah->context, "ibv_create_ah: cannot query port %u: %s", attr->port_num,
			  strerror(-r));
		return r;
	}
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return refuse(ibah->context, "is no Ethernet port, and needs to be",
			      attr->port_num);
	av_fill(av, attr, pd->pdn);
	return mac_find(ibah->context, attr, port.port_cap_flags, av->dmac);
}

int pvrdma_destroy_ah(struct ibv_ah *ibah)
{
	return 0;
}
