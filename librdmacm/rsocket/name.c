/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of a socket and of its peer. */
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/rsocket/rs.h"

/* Return the form of an IPv4 address for a socket of IPv6. */
static struct sockaddr_in6 name_map(const struct sockaddr *from)
{
	const struct sockaddr_in *in = (const void *)from;
	struct sockaddr_in6 mapped = {
		.sin6_family = AF_INET6,
		.sin6_port = in->sin_port,
		.sin6_addr = { { { [10] = 0xff, [11] = 0xff } } },
	};

	memcpy(&mapped.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	return mapped;
}

int rs_name_copy(const struct rs_socket *s, const struct sockaddr *from, struct sockaddr *addr,
		 socklen_t *addrlen)
{
	bool is_mapped = s->domain == AF_INET6 && from->sa_family == AF_INET;
	struct sockaddr_in6 mapped = is_mapped ? name_map(from) : (struct sockaddr_in6){};
	socklen_t size =
		s->domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!addr || !addrlen)
		return -EFAULT;
	if ((int)*addrlen < 0)
		return -EINVAL;
	memcpy(addr, is_mapped ? (void *)&mapped : from, min_of(*addrlen, size));
	*addrlen = size;
	return 0;
}

static bool has_peer(const struct rs_socket *s)
{
	return s->state == RS_ACCEPTING || s->state == RS_CONNECTED ||
	       (s->state == RS_CLOSED && s->accepted_fd < 0);
}

static int name_get(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_socket *s = rs_table_find(fd);
	struct sockaddr_storage any = {};
	const struct sockaddr *name;
	int r;

	if (!s)
		return -EBADF;
	if (s->ds) {
		r = ds_name(s, peer, addr, addrlen);
		rs_socket_put(s);
		return r;
	}
	pthread_mutex_lock(&s->lock);
	if (peer && (s->state == RS_CONNECTED || s->state == RS_CLOSED))
		rs_complete(s); /* learn whether the peer has ended */
	name = peer ? rdma_get_peer_addr(s->id) : rdma_get_local_addr(s->id);
	any.ss_family = s->domain;
	if (peer && (!has_peer(s) || rs_is_over(s)))
		r = -ENOTCONN;
	else
		r = rs_name_copy(s, name->sa_family ? name : (struct sockaddr *)&any, addr,
				 addrlen);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return r;
}

RS_EXPORT int rgetpeername(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	RS_CALL;

	return rs_ret(name_get(fd, true, addr, addrlen));
}

RS_EXPORT int rgetsockname(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return rs_ret(name_get(fd, false, addr, addrlen));
}
