/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way of a MAD to another host. It is looked up once a second at most for each, as a lookup
 * reads the host's addresses and routes, and somebody may send a thousand requests a second that
 * all want an answer. And a second way, from a port of its own, for MADs that want to know whether
 * anybody is there: what the host answers to a closed port comes back to the port it was sent from,
 * and 4791 is all processes'.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "providers/uroce/gsi.h"
#include "providers/uroce/icrc.h"
#include "providers/uroce/udp_call.h"

enum {
	BIND_ATTEMPTS = 16,
	/* Ports of RoCE senders, without those of flows, whose packets are expected to be numbered.
	 */
	PORT_MIN = 0xc000,
	PORTS = 0x4000,
};
#define PATH_LIFE 1000000000ull /* ns */

static struct gsi_path *path_place(struct gsi_paths *paths, const struct verbs_gsi_mad *mad)
{
	uint64_t half[2];

	memcpy(half, mad->remote_gid.raw, sizeof(half));
	return &paths->place[((half[0] ^ half[1]) * 0x9e3779b97f4a7c15ull >> 32 ^ mad->sgid_index) %
			     GSI_PATHS];
}

static bool path_is(const struct gsi_path *path, const struct verbs_gsi_mad *mad, uint64_t now)
{
	return now < path->until && path->av.sgid_index == mad->sgid_index &&
	       !memcmp(&path->dgid, &mad->remote_gid, sizeof(path->dgid)) &&
	       !memcmp(&path->av.sgid, &mad->local_gid, sizeof(path->av.sgid));
}

int uroce_gsi_path(struct uroce_dev *dev, struct gsi_paths *paths, const struct verbs_gsi_mad *mad,
		   struct uroce_av *ret_av)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = mad->port_num,
		.grh = { .dgid = mad->remote_gid, .sgid_index = mad->sgid_index, .hop_limit = 64 },
	};
	uint64_t now = uroce_now();
	struct gsi_path *path = path_place(paths, mad), found;
	int r;

	pthread_mutex_lock(&paths->lock);
	found = *path;
	pthread_mutex_unlock(&paths->lock);
	if (path_is(&found, mad, now)) {
		*ret_av = found.av;
		return 0;
	}
	r = uroce_av_resolve(dev, &attr, 0, &found.av);
	if (r < 0)
		return r;
	found.dgid = mad->remote_gid;
	found.until = now + PATH_LIFE;
	pthread_mutex_lock(&paths->lock);
	*path = found;
	pthread_mutex_unlock(&paths->lock);
	*ret_av = found.av;
	return 0;
}

/* --- the second way --- */

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

/* Not connected: then its packets have no number, which the ICRC would cover. */
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
	option(fd, SOL_SOCKET, SO_RCVBUF, 0); /* nobody sends to it */
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

static int probe_send(int fd, const struct uroce_av *av, const uint8_t *mad)
{
	const struct gsi_transit transit = { .mad = mad, .src_qpn = GSI_QPN };
	uint8_t packet[GSI_PACKET_MAX + ICRC_LEN];
	uint32_t length = uroce_gsi_pack(&transit, packet), crc;
	union uroce_address from;
	socklen_t size = sizeof(from);
	struct uroce_icrc icrc;

	if (getsockname(fd, &from.sa, &size))
		return -errno;
	uroce_icrc_init(&icrc, &from, &av->addr);
	crc = htole32(uroce_icrc_compute(&icrc, 0, packet, length));
	memcpy(packet + length, &crc, sizeof(crc));
	/* The first try may only tell of an earlier packet's fate. */
	for (int i = 0; i < 2; i++)
		if (call_sendto(fd, packet, length + ICRC_LEN, &av->addr) >= 0)
			return 0;
	return -errno;
}

int uroce_gsi_path_probe(struct uroce_dev *dev, const struct uroce_av *av, const uint8_t *mad,
			 int *fd)
{
	int r = 0;

	if (av->local)
		return -ENOENT;
	if (*fd < 0)
		r = probe_socket(&av->sgid, dev->ifindex, fd);
	return r < 0 ? r : probe_send(*fd, av, mad);
}
