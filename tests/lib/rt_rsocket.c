/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/lib/rt_rsocket.h"

#include <netinet/in.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"

socklen_t rt_rs_size(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);

	CHECK_OK(rgetsockname(fd, (struct sockaddr *)&name, &size));
	return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
						: ((struct sockaddr_in *)&name)->sin_port);
}

int rt_rs_listener(uint16_t *ret_port)
{
	struct sockaddr_storage address = rt_cm_address(0);
	int fd = rsocket(address.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rbind(fd, (struct sockaddr *)&address, rt_rs_size(&address)));
	CHECK_OK(rlisten(fd, 256));
	*ret_port = port_of(fd);
	return fd;
}

int rt_rs_client(uint16_t port)
{
	struct sockaddr_storage address = rt_cm_address(port);
	int fd = rsocket(address.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rconnect(fd, (struct sockaddr *)&address, rt_rs_size(&address)));
	return fd;
}
