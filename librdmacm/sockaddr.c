/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/sockaddr.h"
#include "util/util.h"

static const struct sockaddr_in *in4(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)addr;
}

static const struct sockaddr_in6 *in6(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)addr;
}

static const struct sockaddr_ib *ib(const struct sockaddr *addr)
{
	return (const struct sockaddr_ib *)addr;
}

socklen_t cm_addr_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

bool cm_addr_is_any(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return in4(addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr);
	case AF_IB:
		return ib_addr_any(&ib(addr)->sib_addr);
	default:
		return true;
	}
}

bool cm_addr_is_loopback(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ntohl(in4(addr)->sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&in6(addr)->sin6_addr);
	default:
		return false;
	}
}

bool cm_addr_is_multicast(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return IN_MULTICAST(ntohl(in4(addr)->sin_addr.s_addr));
	case AF_INET6:
		return IN6_IS_ADDR_MULTICAST(&in6(addr)->sin6_addr);
	default:
		return false;
	}
}

__be16 cm_addr_port(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return in4(addr)->sin_port;
	case AF_INET6:
		return in6(addr)->sin6_port;
	case AF_IB:
		return htons(be64toh(ib(addr)->sib_sid) & 0xffff);
	default:
		return 0;
	}
}

void cm_addr_set_port(struct sockaddr *addr, __be16 port)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		((struct sockaddr_in *)addr)->sin_port = port;
		break;
	case AF_INET6:
		((struct sockaddr_in6 *)addr)->sin6_port = port;
		break;
	case AF_IB:
		sib->sib_sid = htobe64((be64toh(sib->sib_sid) & ~0xffffull) | ntohs(port));
		break;
	}
}

static const char *scope_text(const struct sockaddr_in6 *addr, char name[IF_NAMESIZE + 1])
{
	name[0] = '%';
	if (!addr->sin6_scope_id || !if_indextoname(addr->sin6_scope_id, name + 1))
		return "";
	return name;
}

const char *cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT])
{
	char number[INET6_ADDRSTRLEN] = "", scope[IF_NAMESIZE + 1];
	unsigned int port = ntohs(cm_addr_port(addr));

	switch (addr->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in4(addr)->sin_addr, number, sizeof(number));
		snprintf(text, CM_ADDR_TEXT, "%s:%u", number, port);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6(addr)->sin6_addr, number, sizeof(number));
		snprintf(text, CM_ADDR_TEXT, "[%s%s]:%u", number, scope_text(in6(addr), scope),
			 port);
		break;
	case AF_IB:
		inet_ntop(AF_INET6, &ib(addr)->sib_addr, number, sizeof(number));
		snprintf(text, CM_ADDR_TEXT, "GID %s service 0x%llx", number,
			 (unsigned long long)be64toh(ib(addr)->sib_sid));
		break;
	default:
		snprintf(text, CM_ADDR_TEXT, "nothing");
		break;
	}
	return text;
}

int cm_addr_source_for(const struct sockaddr *dst, struct sockaddr_storage *ret_src)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_storage to = {}, from = {};
	socklen_t length = sizeof(from);

	if (dst->sa_family != AF_INET && dst->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	memcpy(&to, dst, cm_addr_size(dst));
	/* Set a port, because some systems do not connect a UDP socket to port 0. */
	cm_addr_set_port((struct sockaddr *)&to, htons(4791));
	fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, cm_addr_size(dst)) ||
	    getsockname(fd, (struct sockaddr *)&from, &length))
		return -errno;
	cm_addr_set_port((struct sockaddr *)&from, 0);
	*ret_src = from;
	return 0;
}
