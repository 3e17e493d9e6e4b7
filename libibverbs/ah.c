/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#include <infiniband/verbs_more.h>

#include "libibverbs/ah.h"
#include "libibverbs/explain.h"
#include "libibverbs/library.h"
#include "libibverbs/neigh.h"

/* A reply may have to cross as many routers as the message did. */
#define AH_REPLY_HOP_LIMIT 0xff

/* IBTA vol. 1 chapter 8: the next header of a GRH in front of a BTH. */
#define GRH_NEXT_HDR_BTH 0x1b

/* ---- checks and explanations ---- */

_cold_ static int ah_refuse_no_grh(struct ibv_context *ctx, const struct ibv_ah_attr *attr)
{
	verbs_err(ctx,
		  "ibv_create_ah: port %u: RoCE needs is_global = 1, grh.dgid and grh.sgid_index",
		  attr->port_num);
	return -EINVAL;
}

_cold_ static int ah_refuse_sgid_index(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
				       uint32_t gid_tbl_len)
{
	verbs_err(ctx, "ibv_create_ah: port %u: sgid_index %u: the GID table has entries 0 to %d",
		  attr->port_num, attr->grh.sgid_index, (int)gid_tbl_len - 1);
	return -EINVAL;
}

static int ah_port_facts(struct ibv_context *ctx, uint8_t port_num,
			 struct verbs_port_facts *ret_facts)
{
	int r;

	/* A port exists if its facts are cached. */
	if (likely(verbs_port_recall(ctx, port_num, ret_facts)))
		return 0;
	r = verbs_port_check(ctx, "ibv_create_ah", port_num);
	return r < 0 ? r : verbs_port_facts(ctx, port_num, false, ret_facts);
}

static int ah_check(struct ibv_context *ctx, const struct ibv_ah_attr *attr)
{
	struct verbs_port_facts facts = {};
	int r = ah_port_facts(ctx, attr->port_num, &facts);

	if (r < 0)
		return r;
	if (!attr->is_global)
		return facts.link_layer == IBV_LINK_LAYER_ETHERNET ? ah_refuse_no_grh(ctx, attr)
								   : 0;
	return likely(attr->grh.sgid_index < facts.gid_tbl_len)
		       ? 0
		       : ah_refuse_sgid_index(ctx, attr, facts.gid_tbl_len);
}

/* Explain the error @r, by the source of the route if it is known. */
static const char *ah_cause(int r, const union ibv_gid *from, const union ibv_gid *to)
{
	switch (r) {
	case -EINVAL:
		return explain_gid_is_ipv4(from) != explain_gid_is_ipv4(to)
			       ? " (one is IPv4, the other IPv6)"
			       : "";
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		return " (the destination does not answer ARP or ND)";
	case -ENETUNREACH:
		return " (no route from this GID to the destination)";
	case -ENODEV:
		return " (the GID's network interface is gone, or in another namespace)";
	default:
		return "";
	}
}

_cold_ static void ah_explain(struct ibv_context *ctx, const struct ibv_ah_attr *attr, int r)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
	struct ibv_gid_entry entry;
	int query;

	if (!attr->is_global) {
		verbs_err(ctx, "ibv_create_ah: port %u dlid 0x%x: %s", attr->port_num, attr->dlid,
			  strerror(-r));
		return;
	}
	query = ctx_ops(ctx)->query_gid(ctx, attr->port_num, attr->grh.sgid_index, &entry);
	inet_ntop(AF_INET6, &attr->grh.dgid, to, sizeof(to));
	if (query < 0) {
		verbs_err(ctx, "ibv_create_ah: port %u to %s: sgid_index %u: %s: %s",
			  attr->port_num, to, attr->grh.sgid_index,
			  query == -ENODATA ? "this entry of the GID table is empty"
					    : strerror(-query),
			  strerror(-r));
		return;
	}
	verbs_err(ctx, "ibv_create_ah: port %u, sgid_index %u (%s) to %s: %s%s", attr->port_num,
		  attr->grh.sgid_index, inet_ntop(AF_INET6, &entry.gid, from, sizeof(from)), to,
		  strerror(-r), ah_cause(r, &entry.gid, &attr->grh.dgid));
}

/* ---- create, query, destroy ---- */

/* The attributes of an address handle are stored behind the provider's part of it. */
static size_t ah_size(struct ibv_context *ctx)
{
	size_t size = max_of(sizeof(struct ibv_ah), ctx_priv(ctx)->provider->sizes.ah);

	return (size + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

static struct ibv_ah_attr *ah_kept(struct ibv_ah *ah)
{
	return (void *)((char *)ah + ah_size(ah->context));
}

_cold_ static int ah_refuse_null(const char *what)
{
	log_err("libibverbs: ibv_create_ah: the %s is NULL", what);
	return -EINVAL;
}

static int ah_create(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ret_ah)
{
	const struct verbs_create_ah in = { .attr = attr };
	struct ibv_context *ctx;
	struct ibv_ah *ah;
	int r;

	if (unlikely(!pd || !attr))
		return ah_refuse_null(pd ? "ah_attr" : "PD");
	ctx = pd->context;
	if (!ctx_ops(ctx)->create_ah)
		return verbs_unsupported(ctx, "ibv_create_ah");
	r = ah_check(ctx, attr);
	if (r < 0)
		return r;
	ah = verbs_object_alloc(sizeof(*ah), ah_size(ctx) + sizeof(*attr));
	if (!ah)
		return -ENOMEM;
	ah->context = ctx;
	ah->pd = pd;
	r = ctx_ops(ctx)->create_ah(ah, &in);
	if (unlikely(r < 0)) {
		ah_explain(ctx, attr, r);
		free(ah);
		return r;
	}
	*ah_kept(ah) = *attr;
	*ret_ah = ah;
	return 0;
}

VERBS_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = NULL;
	int r = ah_create(pd, attr, &ah);

	return r < 0 ? ret_null(r) : ah;
}

VERBS_EXPORT int ibv_query_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr)
{
	if (!ah || !attr)
		return ret_int(explain_null("ibv_query_ah", ah ? "attr" : "ah"));
	*attr = *ah_kept(ah);
	return 0;
}

VERBS_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct ibv_context *ctx = ah->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_ah: ah", ah->handle,
				     ctx_ops(ctx)->destroy_ah(ah));

	if (!r)
		free(ah);
	return ret_int(r);
}

/* ---- the route back to a sender ---- */

static uint32_t ipv4_checksum(const uint8_t *header, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += header[i] << 8 | header[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

/*
 * RoCE v2 over IPv4: the IP header is the last 20 of the 40 bytes, the first 20 are undefined. If
 * these 20 bytes look like IPv6 by chance, a correct IPv4 checksum decides.
 */
static bool grh_is_ipv4(const uint8_t *header, bool may_be_ipv6)
{
	return header[0] == 0x45 && (!may_be_ipv6 || !ipv4_checksum(header, sizeof(struct iphdr)));
}

static union ibv_gid gid_from_v4(const uint8_t *address)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	memcpy(&gid.raw[12], address, 4);
	return gid;
}

static void route_from_ipv4(const uint8_t *header, struct ah_route *ret_route)
{
	*ret_route = (struct ah_route){
		.local = gid_from_v4(header + offsetof(struct iphdr, daddr)),
		.remote = gid_from_v4(header + offsetof(struct iphdr, saddr)),
		.type = IBV_GID_TYPE_ROCE_V2,
		.traffic_class = header[offsetof(struct iphdr, tos)],
	};
}

static void route_from_grh(const struct ibv_grh *grh, enum ibv_gid_type type,
			   struct ah_route *ret_route)
{
	uint32_t word = be32toh(grh->version_tclass_flow);

	*ret_route = (struct ah_route){
		.local = grh->dgid,
		.remote = grh->sgid,
		.type = type,
		.flow_label = word & IB_GRH_FLOWLABEL_MASK,
		.traffic_class = word >> 20,
	};
}

int ah_grh_parse(const struct ibv_grh *grh, bool ethernet, struct ah_route *ret_route)
{
	const uint8_t *ipv4 = (const uint8_t *)grh + sizeof(*grh) - sizeof(struct iphdr);
	bool may_be_ipv6 = be32toh(grh->version_tclass_flow) >> 28 == 6;

	if (!ethernet) {
		route_from_grh(grh, IBV_GID_TYPE_IB, ret_route);
		return 0;
	}
	if (grh_is_ipv4(ipv4, may_be_ipv6)) {
		route_from_ipv4(ipv4, ret_route);
		return 0;
	}
	if (!may_be_ipv6)
		return -EPROTO;
	switch (grh->next_hdr) {
	case IPPROTO_UDP:
		route_from_grh(grh, IBV_GID_TYPE_ROCE_V2, ret_route);
		return 0;
	case GRH_NEXT_HDR_BTH:
		route_from_grh(grh, IBV_GID_TYPE_ROCE_V1, ret_route);
		return 0;
	default:
		return -EPROTO;
	}
}

static int ah_find_sgid_index(struct ibv_context *ctx, uint8_t port_num, uint32_t gid_tbl_len,
			      const struct ah_route *route, uint8_t *ret_index)
{
	/* ibv_global_route.sgid_index has 8 bits. */
	uint32_t end = min_of(gid_tbl_len, (uint32_t)UINT8_MAX + 1);
	char text[INET6_ADDRSTRLEN];

	if (!neigh_gid_is_multicast(&route->local)) {
		for (uint32_t i = 0; i < end; i++) {
			struct ibv_gid_entry entry;
			int r = ctx_ops(ctx)->query_gid(ctx, port_num, i, &entry);

			if (r < 0 && r != -ENODATA)
				return r;
			if (r < 0 || entry.gid_type != route->type ||
			    memcmp(&entry.gid, &route->local, sizeof(entry.gid)))
				continue;
			*ret_index = i;
			return 0;
		}
	}
	inet_ntop(AF_INET6, &route->local, text, sizeof(text));
	verbs_err(ctx,
		  "ibv_init_ah_from_wc: port %u: %s, which the message was sent to, %s: fill "
		  "ah_attr and choose its sgid_index yourself",
		  port_num, text,
		  neigh_gid_is_multicast(&route->local)
			  ? "is a multicast group"
			  : "is not in the port's GID table with that type");
	return -ENOENT;
}

static int ah_attr_add_route(struct ibv_context *ctx, uint8_t port_num, const struct ibv_grh *grh,
			     const struct verbs_port_facts *facts, struct ibv_ah_attr *attr)
{
	struct ah_route route;
	int r = ah_grh_parse(grh, facts->link_layer == IBV_LINK_LAYER_ETHERNET, &route);

	if (r < 0) {
		verbs_err(ctx,
			  "ibv_init_ah_from_wc: port %u: the first 40 bytes of the buffer hold no "
			  "GRH, IPv6 or IPv4 header: pass the start of the receive buffer",
			  port_num);
		return r;
	}
	attr->is_global = 1;
	attr->grh.dgid = route.remote;
	attr->grh.flow_label = route.flow_label;
	attr->grh.traffic_class = route.traffic_class;
	attr->grh.hop_limit = AH_REPLY_HOP_LIMIT;
	return ah_find_sgid_index(ctx, port_num, facts->gid_tbl_len, &route, &attr->grh.sgid_index);
}

static int ah_attr_from_wc(struct ibv_context *ctx, uint8_t port_num, const struct ibv_wc *wc,
			   const struct ibv_grh *grh, struct ibv_ah_attr *ret_attr)
{
	static const char verb[] = "ibv_init_ah_from_wc";
	struct verbs_port_facts facts;
	struct ibv_ah_attr attr;
	int r;

	if (unlikely(!wc || (wc->wc_flags & IBV_WC_GRH && !grh)))
		return explain_null(verb, wc ? "grh" : "wc");
	r = verbs_port_check(ctx, verb, port_num);
	if (r < 0)
		return r;
	attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port_num,
	};
	if (wc->wc_flags & IBV_WC_GRH) {
		r = verbs_port_facts(ctx, port_num, false, &facts);
		if (r < 0)
			return r;
		r = ah_attr_add_route(ctx, port_num, grh, &facts, &attr);
		if (r < 0)
			return r;
	}
	*ret_attr = attr;
	return 0;
}

VERBS_EXPORT int ibv_init_ah_from_wc(struct ibv_context *ctx, uint8_t port_num, struct ibv_wc *wc,
				     struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	return ret_neg1(ah_attr_from_wc(ctx, port_num, wc, grh, ah_attr));
}

VERBS_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
						  struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;
	int r = likely(pd) ? ah_attr_from_wc(pd->context, port_num, wc, grh, &attr)
			   : ah_refuse_null("PD");

	return r < 0 ? ret_null(r) : ibv_create_ah(pd, &attr);
}
