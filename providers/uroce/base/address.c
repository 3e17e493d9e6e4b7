/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ifaddrs.h>

#include "providers/uroce/base/address.h"
#include "util/util.h"

void uroce_address_from_gid(const union ibv_gid *gid, uint16_t port, unsigned int ifindex,
			    union uroce_address *ret_address)
{
	if (uroce_gid_is_ipv4(gid)) {
		ret_address->in =
			(struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
		memcpy(&ret_address->in.sin_addr, gid->raw + 12, sizeof(ret_address->in.sin_addr));
		return;
	}
	ret_address->in6 =
		(struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
	memcpy(&ret_address->in6.sin6_addr, gid->raw, sizeof(ret_address->in6.sin6_addr));
	if (IN6_IS_ADDR_LINKLOCAL(&ret_address->in6.sin6_addr) ||
	    IN6_IS_ADDR_MC_LINKLOCAL(&ret_address->in6.sin6_addr) ||
	    IN6_IS_ADDR_MC_NODELOCAL(&ret_address->in6.sin6_addr))
		ret_address->in6.sin6_scope_id = ifindex;
}

void uroce_address_to_gid(const union uroce_address *address, union ibv_gid *ret_gid)
{
	if (address->sa.sa_family == AF_INET6) {
		memcpy(ret_gid->raw, &address->in6.sin6_addr, sizeof(ret_gid->raw));
		return;
	}
	*ret_gid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	memcpy(ret_gid->raw + 12, &address->in.sin_addr, sizeof(address->in.sin_addr));
}

bool uroce_address_equal(const union uroce_address *a, const union uroce_address *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return a->in6.sin6_scope_id == b->in6.sin6_scope_id &&
	       !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
}

static bool address_equal(const struct sockaddr *a, const union uroce_address *b)
{
	if (!a || a->sa_family != b->sa.sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == b->in.sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &b->in6.sin6_addr,
		       sizeof(b->in6.sin6_addr));
}

/* Return whether the address is loopback. Such addresses belong to this host even if lo is down. */
static bool is_loopback(const union uroce_address *address)
{
	if (address->sa.sa_family == AF_INET)
		return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

int uroce_address_is_own(const union uroce_address *address)
{
	struct ifaddrs *all;
	bool found = is_loopback(address);

	if (found)
		return 1;
	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *a = all; a && !found; a = a->ifa_next)
		found = address_equal(a->ifa_addr, address);
	freeifaddrs(all);
	return found;
}

/* Look up the route by connecting a datagram socket. This sends no packet. */
int uroce_address_route(const union uroce_address *from, const union uroce_address *to)
{
	_cleanup_close_ int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union uroce_address any_port = *from;

	if (fd < 0)
		return -errno;
	if (from->sa.sa_family == AF_INET)
		any_port.in.sin_port = 0;
	else
		any_port.in6.sin6_port = 0;
	if (bind(fd, &any_port.sa, uroce_address_length(&any_port)) ||
	    connect(fd, &to->sa, uroce_address_length(to)))
		return -errno;
	return 0;
}
