/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of sockets. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

/* Return whether a TCP socket can replace the socket: it has no connection and does not listen. */
static bool is_fresh(int rs)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	return RS(rs_ended(rs)) & RS_ENDED_NONE &&
	       RS(rgetsockopt(rs, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)) == 0 && !listens;
}

/* Return whether only TCP can serve the value of an option. @fd: any socket of the family. */
static bool needs_tcp(int fd, int level, int name, const void *value, socklen_t size)
{
	int domain = AF_INET, error = errno;
	socklen_t domain_size = sizeof(domain);
	bool needs;

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size);
	needs = RS(rs_option_needs_tcp(domain, level, name, value, size));
	errno = error;
	return needs;
}

/* Set an option. If only TCP can serve it, replace the socket by a TCP socket. */
static int stream_option_set(int fd, int rs, int level, int name, const void *value, socklen_t size)
{
	int r = RS(rsetsockopt(rs, level, name, value, size));

	if (r == 0 || errno != ENOPROTOOPT || !needs_tcp(fd, level, name, value, size) ||
	    !is_fresh(rs))
		return r;
	return socket_to_tcp(fd, "setsockopt") < 0
		       ? -1
		       : real()->setsockopt(fd, level, name, value, size);
}

/* Let all descriptors of a socket that went back to TCP stay there. */
static void tcp_keep(int fd)
{
	for (int other = -1; (other = fd_next_of_group(fd, other + 1)) >= 0;)
		fd_set_group(other, 0, false);
	fd_set_group(fd, 0, false);
}

static int option_set(int fd, int rs, int level, int name, const void *value, socklen_t size)
{
	int r;

	if (rs >= 0)
		return stream_option_set(fd, rs, level, name, value, size);
	/* Options of a network have no meaning for the Unix domain socket. */
	if (fd_is_relayed(rs) && level != SOL_SOCKET)
		return relay_option_set(inherited_relay(fd), level, name, value, size);
	r = real()->setsockopt(fd, level, name, value, size);
	if (r == 0 && rs == FD_NONE && unlikely(fd_has_fallen(fd)) &&
	    needs_tcp(fd, level, name, value, size))
		tcp_keep(fd);
	if (rs == FD_RELAYED_DATAGRAM && name == SO_SNDBUF)
		datagram_room_need(fd);
	return r;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	return FD_ASK(fd, rs, option_set(fd, rs, level, name, value, size));
}

/* Return whether the Unix domain socket would report a wrong value of the option. *ret_value: the
 * right value */
static bool relayed_property(int fd, int rs, int level, int name, int *ret_value)
{
	if (level != SOL_SOCKET)
		return false;
	switch (name) {
	case SO_TYPE:
		*ret_value = rs == FD_RELAYED_DATAGRAM ? SOCK_DGRAM : SOCK_STREAM;
		return true;
	case SO_PROTOCOL:
		*ret_value = rs == FD_RELAYED_DATAGRAM ? IPPROTO_UDP : IPPROTO_TCP;
		return true;
	case SO_DOMAIN:
		*ret_value = inherited_family(fd, NULL);
		return true;
	case SO_ACCEPTCONN:
		*ret_value = rs == FD_RELAYED_LISTENER;
		return true;
	default:
		return false;
	}
}

static int option_get(int fd, int rs, int level, int name, void *value, socklen_t *size)
{
	int property;

	if (rs >= 0)
		return RS(rgetsockopt(rs, level, name, value, size));
	if (fd_is_relayed(rs) && relayed_property(fd, rs, level, name, &property) &&
	    real()->getsockopt(fd, level, name, value, size) == 0) {
		memcpy(value, &property, min_of((size_t)*size, sizeof(property)));
		return 0;
	}
	if (fd_is_relayed(rs) && level != SOL_SOCKET)
		return relay_option_get(inherited_relay(fd), level, name, value, size);
	return real()->getsockopt(fd, level, name, value, size);
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	return FD_ASK(fd, rs, option_get(fd, rs, level, name, value, size));
}
