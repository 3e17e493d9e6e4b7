/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The local name of a datagram socket. */
#include <sys/socket.h>

#include "librdmacm/rsocket/datagram.h"

int ds_name_ask(const struct rs_socket *s, union ds_name *ret_name)
{
	struct sockaddr_storage addr;
	socklen_t size = sizeof(addr);

	if (getsockname(s->ds->udp, (struct sockaddr *)&addr, &size) < 0)
		return -errno;
	return ds_name_take(&addr, size, ret_name);
}

int ds_own_name(struct rs_socket *s, union ds_name *ret_name)
{
	const struct sockaddr_storage any = { .ss_family = s->domain };
	socklen_t size =
		s->domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int r = ds_name_ask(s, ret_name);

	if (r < 0 || ds_name_port(ret_name))
		return r;
	if (bind(s->ds->udp, (const struct sockaddr *)&any, size) < 0)
		return -errno;
	s->state = RS_BOUND;
	return ds_name_ask(s, ret_name);
}
