/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/host/address_list.h"
#include "util/netlink.h"

/* --- order --- */

static bool is_link_local(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)gid->raw);
}

bool uroce_addresses_have(const struct uroce_addresses *list, const union ibv_gid *gid)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (!memcmp(&list->gid[i], gid, sizeof(*gid)))
			return true;
	return false;
}

static void list_add(struct uroce_addresses *list, const union ibv_gid *gid)
{
	if (list->count < UROCE_ADDRESSES_MAX && !uroce_addresses_have(list, gid))
		list->gid[list->count++] = *gid;
}

/*
 * Return whether @a precedes @b, which was found later. The kernel counts an address's age in
 * hundredths of a second. It lists the oldest IPv4 address first, but the newest IPv6 address
 * first. Therefore the later of two equally old IPv6 addresses is the older one.
 */
static bool goes_first(const struct uroce_found *a, const struct uroce_found *b)
{
	if (a->created != b->created)
		return (int32_t)(a->created - b->created) < 0;
	return uroce_gid_is_ipv4(&a->gid);
}

static void add_by_age(struct uroce_addresses *list, const struct uroce_found *found,
		       unsigned int count, bool link_local)
{
	bool done[UROCE_ADDRESSES_MAX] = {};

	for (;;) {
		int next = -1;

		for (unsigned int i = 0; i < count; i++)
			if (!done[i] && is_link_local(&found[i].gid) == link_local &&
			    (next < 0 || !goes_first(&found[next], &found[i])))
				next = i;
		if (next < 0)
			return;
		done[next] = true;
		list_add(list, &found[next].gid);
	}
}

void uroce_addresses_order(const struct uroce_found *found, unsigned int count,
			   struct uroce_addresses *ret)
{
	ret->count = ret->left_out = 0;
	add_by_age(ret, found, count, true);
	ret->link_local = ret->count;
	add_by_age(ret, found, count, false);
}

/* --- reading the kernel's list --- */

struct reading {
	unsigned int ifindex;
	struct uroce_found found[UROCE_ADDRESSES_MAX];
	unsigned int count;
	unsigned int left_out;
};

static void gid_of(int family, const void *address, union ibv_gid *ret)
{
	union uroce_address a = { .sa.sa_family = family };

	if (family == AF_INET)
		memcpy(&a.in.sin_addr, address, sizeof(a.in.sin_addr));
	else
		memcpy(&a.in6.sin6_addr, address, sizeof(a.in6.sin6_addr));
	uroce_address_to_gid(&a, ret);
}

static int address_answer(struct nlmsghdr *hdr, void *arg)
{
	struct reading *reading = arg;
	const struct ifaddrmsg *message = NLMSG_DATA(hdr);
	struct uroce_found *found;
	struct nlattr *address, *age;
	int length;

	if (!netlink_has(hdr, sizeof(*message)))
		return -EBADMSG;
	if (message->ifa_index != reading->ifindex || (message->ifa_flags & IFA_F_DADFAILED))
		return 0;
	if (message->ifa_family != AF_INET && message->ifa_family != AF_INET6)
		return 0;
	length = message->ifa_family == AF_INET ? 4 : 16;
	/* On a point-to-point link IFA_ADDRESS is the peer's address. */
	address = nlmsg_find_attr(hdr, sizeof(*message), IFA_LOCAL);
	if (!address)
		address = nlmsg_find_attr(hdr, sizeof(*message), IFA_ADDRESS);
	if (!address || netlink_attr_size(address) != length)
		return 0;
	if (reading->count == UROCE_ADDRESSES_MAX) {
		reading->left_out++;
		return 0;
	}
	found = &reading->found[reading->count];
	gid_of(message->ifa_family, netlink_attr_data(address), &found->gid);
	age = nlmsg_find_attr(hdr, sizeof(*message), IFA_CACHEINFO);
	found->created = 0;
	if (age && netlink_attr_size(age) >= sizeof(struct ifa_cacheinfo))
		found->created = ((struct ifa_cacheinfo *)netlink_attr_data(age))->cstamp;
	reading->count++;
	return 0;
}

static int addresses_ask(struct reading *reading)
{
	struct ifaddrmsg header = { .ifa_family = AF_UNSPEC };
	_cleanup_nl_socket_ struct nl_sock *sock = NULL;
	_cleanup_nl_msg_ struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETADDR, NLM_F_DUMP);
	int r;

	if (!msg || nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO))
		return -ENOMEM;
	r = netlink_open(NETLINK_ROUTE, &sock);
	return r < 0 ? r : netlink_ask(sock, msg, address_answer, reading);
}

int uroce_addresses_read(int ifindex, bool loopback, struct uroce_addresses *ret)
{
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));
	int r;

	if (!reading)
		return -ENOMEM;
	reading->ifindex = ifindex;
	r = addresses_ask(reading);
	if (r < 0)
		return r;
	uroce_addresses_order(reading->found, reading->count, ret);
	ret->left_out = reading->left_out;
	if (loopback) {
		const struct in_addr ipv4 = { htonl(INADDR_LOOPBACK) };
		union ibv_gid gid;

		gid_of(AF_INET, &ipv4, &gid);
		list_add(ret, &gid);
		gid_of(AF_INET6, &in6addr_loopback, &gid);
		list_add(ret, &gid);
	}
	return 0;
}
