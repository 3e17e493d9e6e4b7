/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets of multicast groups. */
#include <arpa/inet.h>
#include <string.h>

#include "providers/uroce/path/udp/udp_socket.h"

static int join_ipv4(int fd, const struct uroce_udp *udp, const union ibv_gid *gid)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(UROCE_UDP_PORT) };
	struct ip_mreqn join = { .imr_ifindex = udp->link.ifindex };

	memcpy(&address.sin_addr, gid->raw + 12, sizeof(address.sin_addr));
	join.imr_multiaddr = address.sin_addr;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)))
		return -errno;
	return 0;
}

static int join_ipv6(int fd, const struct uroce_udp *udp, const union ibv_gid *gid)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					.sin6_port = htons(UROCE_UDP_PORT),
					.sin6_scope_id = udp->link.ifindex };
	struct ipv6_mreq join = { .ipv6mr_interface = udp->link.ifindex };

	memcpy(&address.sin6_addr, gid->raw, sizeof(address.sin6_addr));
	join.ipv6mr_multiaddr = address.sin6_addr;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof(join)))
		return -errno;
	return 0;
}

int uroce_udp_join(const struct uroce_path *path, const union ibv_gid *gid, int *ret_fd)
{
	const struct uroce_udp *udp = (const struct uroce_udp *)path;
	bool ipv4 = uroce_gid_is_ipv4(gid);
	_cleanup_close_ int fd = -1;
	int one = 1, r = uroce_udp_socket(udp, ipv4 ? AF_INET : AF_INET6, &fd);

	if (r < 0)
		return r;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	r = ipv4 ? join_ipv4(fd, udp, gid) : join_ipv6(fd, udp, gid);
	if (!r)
		*ret_fd = take_fd(&fd);
	return r;
}
