/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A probe is a packet that tests whether a host receives RoCE. If the port is closed, the host
 * answers to the source port, and all processes share port 4791. Therefore a probe leaves from
 * another port.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "providers/uroce/path/udp/udp.h"
#include "providers/uroce/path/udp/udp_call.h"
#include "providers/uroce/wire/wire.h"

enum {
	BIND_ATTEMPTS = 16,
	/*
	 * Source ports of RoCE senders, except for ports of flows: receivers expect packets of
	 * flows to be numbered.
	 */
	PORT_MIN = 0xc000,
	PORTS = 0x4000,
	PACKET_MAX = 512,
};

static void option(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static int bind_own_port(int fd, union uroce_address *from)
{
	uint16_t random;

	for (int i = 0; i < BIND_ATTEMPTS; i++) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			return -EAGAIN;
		uroce_address_set_port(from, PORT_MIN + random % PORTS);
		if (!bind(fd, &from->sa, uroce_address_length(from)))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

/* Make an unconnected socket. Its packets have no number that the ICRC would cover. */
static int probe_socket(const union ibv_gid *sgid, unsigned int ifindex, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	union uroce_address from;
	bool ipv4;
	int r;

	uroce_address_from_gid(sgid, 0, ifindex, &from);
	ipv4 = from.sa.sa_family == AF_INET;
	fd = socket(from.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	option(fd, SOL_SOCKET, SO_RCVBUF, 0); /* this socket receives no packets */
	if (ipv4) {
		option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		option(fd, IPPROTO_IP, IP_RECVERR, 1);
	} else {
		option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	}
	r = bind_own_port(fd, &from);
	if (!r)
		*ret_fd = take_fd(&fd);
	return r;
}

int uroce_udp_probe(const struct uroce_av *av, int ifindex, const void *packet, uint32_t length,
		    int *fd)
{
	uint8_t data[PACKET_MAX];
	union uroce_address from;
	socklen_t size = sizeof(from);
	struct uroce_icrc icrc;
	uint32_t crc;
	int r = 0;

	if (length > sizeof(data) - ICRC_LEN)
		return -EMSGSIZE;
	if (*fd < 0)
		r = probe_socket(&av->route.sgid, ifindex, fd);
	if (r < 0)
		return r;
	if (getsockname(*fd, &from.sa, &size))
		return -errno;
	memcpy(data, packet, length);
	uroce_icrc_init(&icrc, &from, &av->addr);
	crc = htole32(uroce_icrc_compute(&icrc, 0, data, length));
	memcpy(data + length, &crc, sizeof(crc));
	if (uroce_gid_is_ipv4(&av->route.sgid))
		option(*fd, IPPROTO_IP, IP_TOS, av->route.traffic_class);
	else
		option(*fd, IPPROTO_IPV6, IPV6_TCLASS, av->route.traffic_class);
	/* The first call may only return the error of an earlier packet. */
	for (int i = 0; i < 2; i++)
		if (call_sendto(*fd, data, length + ICRC_LEN, &av->addr) >= 0)
			return 0;
	return -errno;
}
