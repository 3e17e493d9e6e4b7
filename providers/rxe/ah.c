/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address handles. Since Linux 5.16 they have numbers, and a request names the number. On older
 * kernels each request has the resolved address.
 */
#include <string.h>
#include <sys/socket.h>

#include "providers/rxe/rxe.h"

/*
 * Return whether the GID is ::ffff:a.b.c.d, or an IPv4 group in the form of the connection manager,
 * ff0e::ffff:a.b.c.d.
 */
static bool gid_is_ipv4(const uint8_t raw[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t group[12] = { 0xff, 0x0e, [10] = 0xff, [11] = 0xff };

	return !memcmp(raw, mapped, sizeof(mapped)) || !memcmp(raw, group, sizeof(group));
}

static struct sockaddr_in gid_sockaddr_in(const uint8_t raw[16])
{
	struct sockaddr_in sin = {};

	memcpy(&sin.sin_addr, &raw[12], sizeof(sin.sin_addr));
	return sin;
}

static struct sockaddr_in6 gid_sockaddr_in6(const uint8_t raw[16])
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	memcpy(&sin6.sin6_addr, raw, sizeof(sin6.sin6_addr));
	return sin6;
}

static int ah_fill_av(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
		      struct rxe_av *ret_av)
{
	struct rxe_av av = {
		.port_num = attr->port_num,
		.grh = {
			.flow_label = attr->grh.flow_label,
			.sgid_index = attr->grh.sgid_index,
			.hop_limit = attr->grh.hop_limit,
			.traffic_class = attr->grh.traffic_class,
		},
	};
	struct ibv_gid_entry sgid = {};
	uint16_t vlan;
	int r = uverbs_query_gid(ctx, attr->port_num, attr->grh.sgid_index, &sgid);

	if (r < 0) {
		verbs_err(ctx, "ibv_create_ah: port %u has no GID at index %u: %s", attr->port_num,
			  attr->grh.sgid_index, strerror(-r));
		return r;
	}
	r = verbs_resolve_eth_l2(ctx, attr, av.dmac, &vlan);
	if (r < 0)
		return r;
	memcpy(&av.grh.dgid, &attr->grh.dgid, sizeof(av.grh.dgid));
	if (gid_is_ipv4(attr->grh.dgid.raw)) {
		av.network_type = RXE_NETWORK_TYPE_IPV4;
		av.sgid_addr._sockaddr_in = gid_sockaddr_in(sgid.gid.raw);
		av.dgid_addr._sockaddr_in = gid_sockaddr_in(attr->grh.dgid.raw);
	} else {
		av.network_type = RXE_NETWORK_TYPE_IPV6;
		av.sgid_addr._sockaddr_in6 = gid_sockaddr_in6(sgid.gid.raw);
		av.dgid_addr._sockaddr_in6 = gid_sockaddr_in6(attr->grh.dgid.raw);
	}
	*ret_av = av;
	return 0;
}

int rxe_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct rxe_ah *ah = to_rah(ibah);
	struct rxe_create_ah_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_ah request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_ah(ibah, &request);

	if (r < 0)
		return r;
	ah->ah_num = resp.ah_num;
	if (ah->ah_num)
		return 0;
	r = ah_fill_av(ibah->context, in->attr, &ah->av);
	if (r < 0)
		uverbs_destroy_ah(ibah);
	return r;
}
