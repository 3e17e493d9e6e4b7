/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. An address handle holds the second half of a request of a UD queue pair. */
#include <string.h>
#include <sys/random.h>

#include "providers/hns/wqe.h"

enum {
	SL_MOST = 7,
	SL_SHIFT = 20,
	DSCP_SHIFT = 2, /* from a traffic class to its DSCP */
	HOP_SHIFT = 16,
	TCLASS_SHIFT = 24,
	LABEL_MASK = 0xfffff,
	TC_MODE_DSCP = 1,
	/* Byte offsets in hns_ah.words. */
	AH_CLASS = 0,
	AH_LABEL = 4,
	AH_MAC = 8,
	AH_GID_INDEX = 14,
	AH_GID = 16,
};

/* Derive the UDP source port from the flow label. Without a label choose a random port. */
static uint16_t sport_of(uint32_t label)
{
	uint16_t any;

	if (label)
		return ibv_flow_label_to_udp_sport(label);
	if (getrandom(&any, sizeof(any), GRND_NONBLOCK) != sizeof(any))
		any = (uintptr_t)&any >> 4;
	return any | IB_ROCE_UDP_ENCAP_VALID_PORT_MIN;
}

/* Return the traffic class in the form of the adapter. A RoCE v2 GID needs the DSCP without the
 * congestion bits. */
static int class_find(struct ibv_context *ctx, const struct ibv_ah_attr *attr, uint8_t *ret_class)
{
	struct ibv_gid_entry entry = {};
	int r = uverbs_query_gid(ctx, attr->port_num, attr->grh.sgid_index, &entry);

	if (r < 0) {
		verbs_err(ctx, "ibv_create_ah: port %u has no GID at index %u: %s", attr->port_num,
			  attr->grh.sgid_index, strerror(-r));
		return r;
	}
	*ret_class = attr->grh.traffic_class;
	if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
		*ret_class >>= DSCP_SHIFT;
	return 0;
}

static int attr_check(struct ibv_context *ctx, const struct ibv_ah_attr *attr)
{
	if (to_hctx(ctx)->old) {
		verbs_err(ctx, "ibv_create_ah: HIP08 has no datagrams");
		return -EOPNOTSUPP;
	}
	if (!attr->is_global || attr->sl > SL_MOST) {
		verbs_err(ctx,
			  "ibv_create_ah: port %u needs is_global, a GID, and a service level of 0 "
			  "to %u",
			  attr->port_num, SL_MOST);
		return -EINVAL;
	}
	return 0;
}

/* Fill in the address. Kernels before 6.7 do not resolve the MAC address. */
static int words_fill(struct hns_ah *ah, const struct ibv_ah_attr *attr,
		      const struct hns_roce_ib_create_ah_resp *resp)
{
	static const uint8_t none[sizeof(resp->dmac)] = {};
	uint8_t class, mac[sizeof(none)];
	uint16_t vlan;
	int r = class_find(ah->ah.context, attr, &class);

	if (r < 0)
		return r;
	memcpy(mac, resp->dmac, sizeof(mac));
	if (!memcmp(mac, none, sizeof(mac)))
		r = verbs_resolve_eth_l2(ah->ah.context, attr, mac, &vlan);
	if (r < 0)
		return r;
	ah->sl = resp->tc_mode == TC_MODE_DSCP ? resp->priority & SL_MOST : attr->sl;
	ah->sport = sport_of(attr->grh.flow_label & LABEL_MASK);
	put_32(ah->words + AH_CLASS,
	       (uint32_t)attr->grh.hop_limit << HOP_SHIFT | (uint32_t) class << TCLASS_SHIFT);
	put_32(ah->words + AH_LABEL,
	       (attr->grh.flow_label & LABEL_MASK) | (uint32_t)ah->sl << SL_SHIFT);
	memcpy(ah->words + AH_MAC, mac, sizeof(mac));
	ah->words[AH_GID_INDEX] = attr->grh.sgid_index;
	memcpy(ah->words + AH_GID, attr->grh.dgid.raw, sizeof(attr->grh.dgid.raw));
	return 0;
}

int hns_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct hns_roce_ib_create_ah_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	const struct verbs_create_ah request = { .attr = in->attr, .udata = &udata };
	struct hns_ah *ah = (struct hns_ah *)ibah;
	int r = attr_check(ibah->context, in->attr);

	if (!r)
		r = uverbs_create_ah(ibah, &request);
	if (r < 0)
		return r;
	ah->pd_number = ((struct hns_pd *)verbs_pd_protection(ibah->pd))->number;
	r = words_fill(ah, in->attr, &resp);
	if (r < 0)
		uverbs_destroy_ah(ibah);
	return r;
}
