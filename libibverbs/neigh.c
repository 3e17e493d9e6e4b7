/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Ethernet address and VLAN of a RoCE GID, from the routing and neighbour tables of the kernel.
 * A GID is an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d (annex A17). If the neighbour is
 * not in the table, one UDP datagram to its discard port makes the kernel send ARP or ND requests.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "libibverbs/library.h"
#include "libibverbs/neigh.h"
#include "util/netlink.h"

#define MAC_LEN		   6
#define NEIGH_DISCARD_PORT 9
/* ms between two reads of the table if there is no event of the kernel */
#define NEIGH_POLL_MS 100
#define NEIGH_STATES_VALID \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool neigh_gid_is_v4(const union ibv_gid *gid)
{
	return !memcmp(gid->raw, v4_prefix, sizeof(v4_prefix));
}

bool neigh_gid_is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (neigh_gid_is_v4(gid) && (gid->raw[12] & 0xf0) == 0xe0);
}

bool neigh_gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/*
 * Derive a multicast MAC address: RFC 1112 section 6.4, RFC 2464 section 7. RoCE v1 only has the
 * IPv6 form.
 */
void neigh_multicast_mac(const union ibv_gid *gid, enum ibv_gid_type type, uint8_t ret_mac[MAC_LEN])
{
	const uint8_t *raw = gid->raw;

	if (neigh_gid_is_v4(gid) && type != IBV_GID_TYPE_ROCE_V1) {
		const uint8_t v4[MAC_LEN] = { 0x01, 0x00, 0x5e, raw[13] & 0x7f, raw[14], raw[15] };

		memcpy(ret_mac, v4, MAC_LEN);
	} else {
		const uint8_t v6[MAC_LEN] = { 0x33, 0x33, raw[12], raw[13], raw[14], raw[15] };

		memcpy(ret_mac, v6, MAC_LEN);
	}
}

/*
 * Derive a MAC address: RFC 4291 appendix A, ff:fe in the middle, the universal/local bit inverted.
 */
bool neigh_eui64_mac(const union ibv_gid *gid, uint8_t ret_mac[MAC_LEN])
{
	const uint8_t *id = &gid->raw[8];

	if (!neigh_gid_is_link_local(gid) || id[3] != 0xff || id[4] != 0xfe)
		return false;
	memcpy(ret_mac, id, 3);
	memcpy(ret_mac + 3, id + 5, 3);
	ret_mac[0] ^= 0x02;
	return true;
}

/* ---- addresses ---- */

static int gid_family(const union ibv_gid *gid)
{
	return neigh_gid_is_v4(gid) ? AF_INET : AF_INET6;
}

static const uint8_t *gid_address(const union ibv_gid *gid)
{
	return neigh_gid_is_v4(gid) ? &gid->raw[12] : gid->raw;
}

static int family_length(int family)
{
	return family == AF_INET ? 4 : 16;
}

static socklen_t gid_sockaddr(const union ibv_gid *gid, unsigned int ifindex, uint16_t port,
			      struct sockaddr_storage *ret_address)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;

	*ret_address = (struct sockaddr_storage){ .ss_family = gid_family(gid) };
	if (neigh_gid_is_v4(gid)) {
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, gid_address(gid), sizeof(v4->sin_addr));
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	v6->sin6_scope_id = neigh_gid_is_link_local(gid) ? ifindex : 0;
	memcpy(&v6->sin6_addr, gid_address(gid), sizeof(v6->sin6_addr));
	return sizeof(*v6);
}

bool neigh_sockaddr_is_gid(const struct sockaddr *address, const union ibv_gid *gid)
{
	const void *raw = address->sa_family == AF_INET
				  ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
				  : &((const struct sockaddr_in6 *)address)->sin6_addr;

	return address->sa_family == gid_family(gid) &&
	       !memcmp(raw, gid_address(gid), family_length(address->sa_family));
}

/* Return the interface that has the address; 0: none. */
static unsigned int gid_interface(const union ibv_gid *gid)
{
	struct ifaddrs *list;
	unsigned int found = 0;

	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *i = list; i && !found; i = i->ifa_next)
		if (i->ifa_addr && neigh_sockaddr_is_gid(i->ifa_addr, gid))
			found = if_nametoindex(i->ifa_name);
	freeifaddrs(list);
	return found;
}

/* ---- the kernel's tables ---- */

/* Make a request that begins with the header of its family. NULL: no memory. */
static struct nl_msg *request_new(int type, const void *header, size_t length)
{
	_cleanup_nl_msg_ struct nl_msg *msg = nlmsg_alloc_simple(type, 0);

	if (!msg || nlmsg_append(msg, (void *)header, length, NLMSG_ALIGNTO))
		return NULL;
	return take_ptr(&msg);
}

struct link_facts {
	unsigned int ifindex;
	unsigned int flags; /* IFF_* */
	uint8_t mac[MAC_LEN];
	uint16_t vlan;
};

static struct nlattr *attr_within(struct nlattr *nest, int type)
{
	return nla_find(netlink_attr_data(nest), netlink_attr_size(nest), type);
}

static uint16_t link_vlan(struct nlattr *linkinfo)
{
	static const char vlan[] = "vlan";
	struct nlattr *kind = attr_within(linkinfo, IFLA_INFO_KIND);
	struct nlattr *data = attr_within(linkinfo, IFLA_INFO_DATA);
	struct nlattr *id;

	if (!kind || !data || netlink_attr_size(kind) < sizeof(vlan) ||
	    memcmp(netlink_attr_data(kind), vlan, sizeof(vlan)))
		return NEIGH_VLAN_NONE;
	id = attr_within(data, IFLA_VLAN_ID);
	return id && netlink_attr_size(id) >= sizeof(uint16_t) ? netlink_attr_u16(id)
							       : NEIGH_VLAN_NONE;
}

static int link_answer(struct nlmsghdr *hdr, void *arg)
{
	struct ifinfomsg *info = NLMSG_DATA(hdr);
	struct link_facts *ret_facts = arg;
	struct nlattr *mac, *linkinfo;

	if (!netlink_has(hdr, sizeof(*info)))
		return -EBADMSG;
	*ret_facts = (struct link_facts){
		.ifindex = info->ifi_index,
		.flags = info->ifi_flags,
		.vlan = NEIGH_VLAN_NONE,
	};
	mac = nlmsg_find_attr(hdr, sizeof(*info), IFLA_ADDRESS);
	if (mac && netlink_attr_size(mac) == MAC_LEN)
		memcpy(ret_facts->mac, netlink_attr_data(mac), MAC_LEN);
	linkinfo = nlmsg_find_attr(hdr, sizeof(*info), IFLA_LINKINFO);
	if (linkinfo)
		ret_facts->vlan = link_vlan(linkinfo);
	return 0;
}

static int link_get(struct nl_sock *sock, unsigned int ifindex, struct link_facts *ret_facts)
{
	const struct ifinfomsg header = { .ifi_index = ifindex };
	_cleanup_nl_msg_ struct nl_msg *msg = request_new(RTM_GETLINK, &header, sizeof(header));

	if (!msg || nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS))
		return -ENOMEM;
	return netlink_ask(sock, msg, link_answer, ret_facts);
}

/* Read the gateway. IPv4 routes may go through an IPv6 router: RTA_VIA instead of RTA_GATEWAY. */
static void hop_read_gateway(struct nlmsghdr *hdr, int family, struct neigh_hop *hop)
{
	struct nlattr *gateway = nlmsg_find_attr(hdr, sizeof(struct rtmsg), RTA_GATEWAY);
	struct nlattr *via = nlmsg_find_attr(hdr, sizeof(struct rtmsg), RTA_VIA);

	if (gateway && netlink_attr_size(gateway) == family_length(family)) {
		hop->family = family;
		memcpy(hop->address, netlink_attr_data(gateway), netlink_attr_size(gateway));
	} else if (via &&
		   netlink_attr_size(via) == sizeof(struct rtvia) + family_length(AF_INET6)) {
		hop->family = AF_INET6;
		memcpy(hop->address, ((struct rtvia *)netlink_attr_data(via))->rtvia_addr,
		       family_length(AF_INET6));
	}
}

static int route_answer(struct nlmsghdr *hdr, void *arg)
{
	struct rtmsg *route = NLMSG_DATA(hdr);
	struct neigh_hop *hop = arg;
	struct nlattr *oif;

	if (!netlink_has(hdr, sizeof(*route)))
		return -EBADMSG;
	hop->type = route->rtm_type;
	oif = nlmsg_find_attr(hdr, sizeof(*route), RTA_OIF);
	if (oif && netlink_attr_size(oif) >= sizeof(uint32_t))
		hop->ifindex = netlink_attr_u32(oif);
	hop_read_gateway(hdr, route->rtm_family, hop);
	return 0;
}

/* Get the first hop to dgid of @query, which is the destination itself if it is on the link. */
static int route_get(struct nl_sock *sock, const struct neigh_query *query,
		     struct neigh_hop *ret_hop)
{
	int family = gid_family(&query->dgid), bits = 8 * family_length(family);
	bool from = gid_family(&query->sgid) == family;
	const struct rtmsg header = {
		.rtm_family = family,
		.rtm_dst_len = bits,
		.rtm_src_len = from ? bits : 0,
	};
	_cleanup_nl_msg_ struct nl_msg *msg = request_new(RTM_GETROUTE, &header, sizeof(header));
	struct neigh_hop hop = { .family = family };
	int r;

	if (!msg || nla_put(msg, RTA_DST, bits / 8, gid_address(&query->dgid)) ||
	    (from && nla_put(msg, RTA_SRC, bits / 8, gid_address(&query->sgid))) ||
	    (query->ifindex && nla_put_u32(msg, RTA_OIF, query->ifindex)))
		return -ENOMEM;
	memcpy(hop.address, gid_address(&query->dgid), bits / 8);
	r = netlink_ask(sock, msg, route_answer, &hop);
	if (!r)
		*ret_hop = hop;
	return r;
}

int neigh_first_hop(const struct neigh_query *query, struct neigh_hop *ret_hop)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	int r = netlink_open(NETLINK_ROUTE, &sock);

	return r < 0 ? r : route_get(sock, query, ret_hop);
}

struct neigh_entry {
	uint16_t state; /* NUD_*; 0: not in the table */
	uint8_t mac[MAC_LEN];
};

static int neigh_answer(struct nlmsghdr *hdr, void *arg)
{
	struct ndmsg *neigh = NLMSG_DATA(hdr);
	struct neigh_entry *entry = arg;
	struct nlattr *mac;

	if (!netlink_has(hdr, sizeof(*neigh)))
		return -EBADMSG;
	mac = nlmsg_find_attr(hdr, sizeof(*neigh), NDA_LLADDR);
	if (!mac || netlink_attr_size(mac) != MAC_LEN)
		entry->state = neigh->ndm_state & ~NEIGH_STATES_VALID;
	else {
		entry->state = neigh->ndm_state;
		memcpy(entry->mac, netlink_attr_data(mac), MAC_LEN);
	}
	return 0;
}

static int neigh_get(struct nl_sock *sock, const struct neigh_hop *hop,
		     struct neigh_entry *ret_entry)
{
	const struct ndmsg header = { .ndm_family = hop->family, .ndm_ifindex = hop->ifindex };
	_cleanup_nl_msg_ struct nl_msg *msg = request_new(RTM_GETNEIGH, &header, sizeof(header));
	struct neigh_entry entry = {};
	int r;

	if (!msg || nla_put(msg, NDA_DST, family_length(hop->family), hop->address))
		return -ENOMEM;
	r = netlink_ask(sock, msg, neigh_answer, &entry);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret_entry = entry;
	return 0;
}

/* ---- asking the neighbour ---- */

/*
 * Send one datagram towards dgid. Its time to live ends at the next hop, and it is only sent if the
 * neighbour answers.
 */
static int probe_send(const struct neigh_query *query, unsigned int ifindex)
{
	int family = gid_family(&query->dgid), one = 1;
	_cleanup_close_ int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage to, from;
	socklen_t to_len, from_len;
	uint32_t interface = htonl(ifindex);

	if (fd < 0)
		return -errno;
	to_len = gid_sockaddr(&query->dgid, ifindex, NEIGH_DISCARD_PORT, &to);
	from_len = gid_sockaddr(&query->sgid, ifindex, 0, &from);
	if (family == AF_INET) {
		setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &interface, sizeof(interface));
		setsockopt(fd, IPPROTO_IP, IP_TTL, &one, sizeof(one));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &interface, sizeof(interface));
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof(one));
	}
	/* Ignore a failed bind(). The kernel may then choose another route. */
	if (gid_family(&query->sgid) == family)
		(void)!bind(fd, (struct sockaddr *)&from, from_len);
	if (sendto(fd, "", 1, MSG_DONTWAIT, (struct sockaddr *)&to, to_len) < 0)
		return -errno;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Sleep until the neighbour tables changed, or for a moment. */
static void events_wait(struct nl_sock *events, int timeout_ms)
{
	struct pollfd pfd = { .fd = nl_socket_get_fd(events), .events = POLLIN };
	char drop[4096];

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return;
	while (recv(pfd.fd, drop, sizeof(drop), MSG_DONTWAIT) > 0)
		;
}

/* Resolve the neighbour by a datagram. Return: 0; -EHOSTUNREACH: no answer. */
static int neigh_probe(struct nl_sock *sock, const struct neigh_query *query,
		       const struct neigh_hop *hop, struct neigh_entry *ret_entry)
{
	int64_t left, deadline = now_ms() + NEIGH_TIMEOUT_MS;
	_cleanup_nl_socket_ struct nl_sock *events = NULL;
	bool asked = false;
	int r;

	r = netlink_open(NETLINK_ROUTE, &events);
	if (r < 0)
		return r;
	nl_socket_add_membership(events, RTNLGRP_NEIGH);
	r = probe_send(query, hop->ifindex);
	if (r < 0)
		return r;
	while ((left = deadline - now_ms()) > 0) {
		r = neigh_get(sock, hop, ret_entry);
		if (r < 0)
			return r;
		if (ret_entry->state & NEIGH_STATES_VALID)
			return 0;
		/* FAILED may be left from an earlier attempt. */
		if (asked && (ret_entry->state & NUD_FAILED))
			break;
		asked |= ret_entry->state & NUD_INCOMPLETE;
		events_wait(events, min_of(left, NEIGH_POLL_MS));
	}
	return -EHOSTUNREACH;
}

/* ---- the query ---- */

static int query_complain(const struct neigh_query *query, const char *what, int r)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], name[IF_NAMESIZE] = "?";

	inet_ntop(AF_INET6, &query->sgid, from, sizeof(from));
	inet_ntop(AF_INET6, &query->dgid, to, sizeof(to));
	if_indextoname(query->ifindex, name);
	log_err("%s: no Ethernet address for GID %s, from GID %s on %s: %s: %s", query->device, to,
		from, name, what, strerror(-r));
	return r;
}

static int neighbour_mac(struct nl_sock *sock, const struct neigh_query *query,
			 const struct neigh_hop *hop, uint8_t ret_mac[MAC_LEN])
{
	struct neigh_entry entry;
	int r = neigh_get(sock, hop, &entry);

	if (r < 0)
		return query_complain(query, "neighbour table", r);
	if (!(entry.state & NEIGH_STATES_VALID)) {
		r = neigh_probe(sock, query, hop, &entry);
		if (r == -EHOSTUNREACH)
			return query_complain(query, "the next hop does not answer ARP or ND", r);
		if (r < 0)
			return query_complain(query, "cannot ask the next hop", r);
	}
	memcpy(ret_mac, entry.mac, MAC_LEN);
	return 0;
}

/* Find the Ethernet address of a unicast IP address. */
static int unicast_mac(struct nl_sock *sock, const struct neigh_query *query,
		       const struct link_facts *own, uint8_t ret_mac[MAC_LEN])
{
	struct link_facts out = *own;
	struct neigh_hop hop;
	int r = route_get(sock, query, &hop);

	if (r < 0)
		return query_complain(query, "no route", r);
	if (hop.type != RTN_LOCAL && hop.ifindex != own->ifindex) {
		r = link_get(sock, hop.ifindex, &out);
		if (r < 0)
			return query_complain(query, "network interface of the route", r);
	}
	if (hop.type == RTN_LOCAL || (out.flags & (IFF_LOOPBACK | IFF_NOARP))) {
		memcpy(ret_mac, out.mac, MAC_LEN);
		return 0;
	}
	return neighbour_mac(sock, query, &hop, ret_mac);
}

static int query_own_link(struct nl_sock *sock, struct neigh_query *query,
			  struct link_facts *ret_own)
{
	int r;

	if (!query->ifindex)
		query->ifindex = gid_interface(&query->sgid);
	if (!query->ifindex)
		return query_complain(query, "no network interface has the source address",
				      -ENODEV);
	r = link_get(sock, query->ifindex, ret_own);
	if (r < 0)
		return query_complain(query, "network interface of the source", r);
	return 0;
}

int neigh_resolve(const struct neigh_query *in, uint8_t ret_mac[MAC_LEN], uint16_t *ret_vlan)
{
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	struct neigh_query query = *in;
	struct link_facts own;
	int r = netlink_open(NETLINK_ROUTE, &sock);

	if (r < 0)
		return query_complain(&query, "netlink", r);
	r = query_own_link(sock, &query, &own);
	if (r < 0)
		return r;
	if (neigh_gid_is_multicast(&query.dgid))
		neigh_multicast_mac(&query.dgid, query.gid_type, ret_mac);
	else if (!memcmp(&query.dgid, &query.sgid, sizeof(query.dgid)))
		memcpy(ret_mac, own.mac, MAC_LEN);
	else if (!neigh_eui64_mac(&query.dgid, ret_mac))
		r = unicast_mac(sock, &query, &own, ret_mac);
	if (r < 0)
		return r;
	*ret_vlan = own.vlan;
	return 0;
}

/* ---- RoCE address handles ---- */

int verbs_resolve_eth_l2(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
			 uint8_t ret_mac[MAC_LEN], uint16_t *ret_vlan)
{
	struct ibv_gid_entry source;
	int r;

	if (!attr->is_global) {
		verbs_err(ctx, "port %u: RoCE needs ah_attr.is_global = 1 and a destination GID",
			  attr->port_num);
		return -EINVAL;
	}
	r = ctx_ops(ctx)->query_gid(ctx, attr->port_num, attr->grh.sgid_index, &source);
	if (r < 0) {
		verbs_err(ctx, "port %u: sgid_index %u: %s", attr->port_num, attr->grh.sgid_index,
			  r == -ENODATA ? "this entry of the GID table is empty" : strerror(-r));
		return r;
	}
	const struct neigh_query query = {
		.device = ctx->device->name,
		.sgid = source.gid,
		.dgid = attr->grh.dgid,
		.ifindex = source.ndev_ifindex,
		.gid_type = source.gid_type,
	};

	return neigh_resolve(&query, ret_mac, ret_vlan);
}

VERBS_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *ctx, struct ibv_ah_attr *attr,
					     uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	uint16_t vlan;
	int r = verbs_resolve_eth_l2(ctx, attr, eth_mac, &vlan);

	if (!r && vid)
		*vid = vlan;
	return ret_neg1(r);
}

/* ---- cached results ---- */

bool verbs_neigh_failed(const union ibv_gid *sgid, const union ibv_gid *dgid)
{
	const struct neigh_query query = { .sgid = *sgid, .dgid = *dgid };
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	struct neigh_entry entry = {};
	struct neigh_hop hop;

	if (neigh_gid_is_link_local(dgid)) /* the GID does not say of which interface it is */
		return false;
	if (netlink_open(NETLINK_ROUTE, &sock) < 0 || route_get(sock, &query, &hop) < 0)
		return false;
	return hop.type == RTN_UNICAST && !neigh_get(sock, &hop, &entry) &&
	       entry.state & NUD_FAILED;
}
