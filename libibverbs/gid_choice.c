/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Choice of the entry of a GID table for a program whose user named none. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "libibverbs/explain.h"
#include "libibverbs/gid_choice.h"
#include "libibverbs/library.h"
#include "libibverbs/neigh.h"

#define LINK_UP (IFF_UP | IFF_RUNNING)

/* largest index, because an address vector has 8 bits for it */
#define SGID_INDEX_MAX UINT8_MAX

/* ---- flaws of entries ---- */

/* Return flaws of the interface. An unknown or missing interface has none. */
static uint32_t gid_link_flaws(const struct ibv_gid_entry *entry, const struct gid_host *host)
{
	int flags;

	if (!entry->ndev_ifindex)
		return 0;
	flags = host->link_flags(entry->ndev_ifindex);
	if (flags < 0)
		return IBV_GID_FLAW_NO_INTERFACE;
	return (flags & LINK_UP) == LINK_UP ? 0 : IBV_GID_FLAW_LINK_DOWN;
}

/* Return flaws of the entry as source of packets to the peer. */
static uint32_t gid_peer_flaws(const struct ibv_gid_entry *entry, const union ibv_gid *peer,
			       const struct gid_host *host)
{
	if (neigh_gid_is_v4(&entry->gid) != neigh_gid_is_v4(peer))
		return IBV_GID_FLAW_OTHER_FAMILY;
	return host->has_route(entry, peer) ? 0 : IBV_GID_FLAW_NO_ROUTE;
}

uint32_t gid_flaws(const struct ibv_gid_entry *entry, const union ibv_gid *peer,
		   const struct gid_host *host)
{
	bool near = peer && neigh_gid_is_link_local(peer);
	uint32_t flaws = gid_link_flaws(entry, host);

	if (entry->gid_type == IBV_GID_TYPE_IB)
		return flaws;
	if (entry->gid_type == IBV_GID_TYPE_ROCE_V1)
		flaws |= IBV_GID_FLAW_ROCE_V1;
	if (neigh_gid_is_link_local(&entry->gid) && !near)
		flaws |= IBV_GID_FLAW_LINK_LOCAL;
	/* Addresses of interfaces in other namespaces are not visible here. */
	if (!(flaws & IBV_GID_FLAW_NO_INTERFACE) && !host->has_address(&entry->gid))
		flaws |= IBV_GID_FLAW_NO_ADDRESS;
	if (peer)
		flaws |= gid_peer_flaws(entry, peer, host);
	return flaws;
}

const struct ibv_gid_entry *gid_choose(const struct ibv_gid_entry *entries, size_t count,
				       uint32_t port_num, const union ibv_gid *peer,
				       const struct gid_host *host)
{
	const struct ibv_gid_entry *best = NULL;
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		uint32_t flaws;

		if (entries[i].port_num != port_num || entries[i].gid_index > SGID_INDEX_MAX)
			continue;
		flaws = gid_flaws(&entries[i], peer, host);
		if (flaws < least || (flaws == least && entries[i].gid_index < best->gid_index)) {
			best = &entries[i];
			least = flaws;
		}
	}
	return best;
}

/* ---- this host ---- */

static int link_flags(unsigned int ifindex)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {};

	if (!if_indextoname(ifindex, request.ifr_name))
		return -ENODEV;
	/* If the flags cannot be read without IPv4, assume that the link is up. */
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request))
		return LINK_UP;
	return (uint16_t)request.ifr_flags;
}

static bool has_address(const union ibv_gid *gid)
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list))
		return true;
	for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
		found = i->ifa_addr && neigh_sockaddr_is_gid(i->ifa_addr, gid);
	freeifaddrs(list);
	return found;
}

/* Return whether a route exists. The kernel routes addresses of this host by lo, on any interface.
 */
static bool has_route(const struct ibv_gid_entry *entry, const union ibv_gid *peer)
{
	struct neigh_query query = { .sgid = entry->gid, .dgid = *peer };
	struct neigh_hop hop = {};
	int r;

	if (neigh_gid_is_link_local(peer))
		query.ifindex = entry->ndev_ifindex;
	r = neigh_first_hop(&query, &hop);
	if (r < 0)
		return r != -ENETUNREACH && r != -EHOSTUNREACH && r != -EINVAL && r != -EACCES;
	if (hop.type == RTN_LOCAL)
		return true;
	return hop.type == RTN_UNICAST &&
	       (!entry->ndev_ifindex || hop.ifindex == entry->ndev_ifindex);
}

static const struct gid_host this_host = {
	.link_flags = link_flags,
	.has_address = has_address,
	.has_route = has_route,
};

/* ---- the public functions ---- */

/* Return the size of the tables of all ports. */
static ssize_t gid_table_size(struct ibv_context *ctx)
{
	const struct ibv_device_attr_ex *device;
	ssize_t size = 1;
	int r = verbs_device_attr(ctx, &device);

	for (unsigned int port = 1; r >= 0 && port <= device->orig_attr.phys_port_cnt; port++) {
		struct verbs_port_facts facts;

		r = verbs_port_facts(ctx, port, true, &facts);
		if (r >= 0)
			size += facts.gid_tbl_len;
	}
	return r < 0 ? r : size;
}

static int gid_best(struct ibv_context *ctx, uint32_t port_num, const union ibv_gid *peer,
		    uint32_t *ret_index)
{
	static const char verb[] = "ibv_best_gid";
	_cleanup_free_ struct ibv_gid_entry *entries = NULL;
	const struct ibv_gid_entry *best;
	ssize_t count;
	int r = verbs_port_check(ctx, verb, port_num);

	if (r < 0)
		return r;
	count = gid_table_size(ctx);
	if (count < 0)
		return count;
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	count = ibv_query_gid_table(ctx, entries, count, 0);
	if (count < 0)
		return count;
	best = gid_choose(entries, count, port_num, peer, &this_host);
	if (!best) {
		verbs_err(ctx, "%s: port %u: its GID table is empty", verb, port_num);
		return -ENODATA;
	}
	*ret_index = best->gid_index;
	return 0;
}

VERBS_EXPORT int ibv_best_gid(struct ibv_context *ctx, uint32_t port_num, const union ibv_gid *peer,
			      uint32_t *gid_index)
{
	if (!ctx || !gid_index)
		return ret_int(explain_null("ibv_best_gid", ctx ? "gid_index" : "context"));
	return ret_int(gid_best(ctx, port_num, peer, gid_index));
}

VERBS_EXPORT int ibv_gid_flaws(struct ibv_context *ctx, uint32_t port_num, uint32_t gid_index,
			       const union ibv_gid *peer, uint32_t *flaws)
{
	struct ibv_gid_entry entry;
	int r;

	if (!ctx || !flaws)
		return ret_int(explain_null("ibv_gid_flaws", ctx ? "flaws" : "context"));
	r = ibv_query_gid_ex(ctx, port_num, gid_index, &entry, 0);
	if (!r)
		*flaws = gid_flaws(&entry, peer, &this_host);
	return r;
}

VERBS_EXPORT const char *ibv_gid_flaw_str(enum ibv_gid_flaw flaw)
{
	switch (flaw) {
	case IBV_GID_FLAW_LINK_LOCAL:
		return "link-local";
	case IBV_GID_FLAW_NO_ROUTE:
		return "no route";
	case IBV_GID_FLAW_ROCE_V1:
		return "RoCE v1";
	case IBV_GID_FLAW_OTHER_FAMILY:
		return "other address family";
	case IBV_GID_FLAW_NO_ADDRESS:
		return "not an address of this host";
	case IBV_GID_FLAW_LINK_DOWN:
		return "interface is down";
	case IBV_GID_FLAW_NO_INTERFACE:
		return "interface of another namespace";
	}
	return "unknown";
}
