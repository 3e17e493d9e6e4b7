/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a connected IPv4 socket numbers its packets. The ICRC covers the number, and no call reports
 * it.
 */
#include <linux/net_tstamp.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "providers/uroce/path/udp/udp_socket.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
	ETHERNET_LEN = 14, /* bytes of the link header on the loopback interface; packets to this
			      host use that interface */
	IPV4_VERSION = 4,
	PROBE_SEGMENT = 8,
};

/* Send one datagram, or two datagrams as one large send. */
static int probe_send(int fd, const union uroce_address *to, bool large)
{
	uint8_t data[2 * PROBE_SEGMENT] = {};
	uint16_t segment = PROBE_SEGMENT;
	union {
		char buf[CMSG_SPACE(sizeof(segment))];
		struct cmsghdr align;
	} control = { .align = { .cmsg_len = CMSG_LEN(sizeof(segment)),
				 .cmsg_level = SOL_UDP,
				 .cmsg_type = UDP_SEGMENT } };
	struct iovec iov = { data, large ? sizeof(data) : PROBE_SEGMENT };
	struct msghdr msg = { .msg_name = (void *)&to->sa,
			      .msg_namelen = uroce_address_length(to),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = large ? &control : NULL,
			      .msg_controllen = large ? sizeof(control) : 0 };

	memcpy(CMSG_DATA(&control.align), &segment, sizeof(segment));
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Read the identification of a sent packet. The kernel returns the packet with its headers on the
 * error queue. */
static int probe_read(int fd, uint16_t *ret_id)
{
	uint8_t frame[128];
	struct iphdr ip;
	struct iovec iov = { frame, sizeof(frame) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (n < (ssize_t)(ETHERNET_LEN + sizeof(ip)))
		return -EOPNOTSUPP;
	memcpy(&ip, frame + ETHERNET_LEN, sizeof(ip));
	if (ip.version != IPV4_VERSION || ip.protocol != IPPROTO_UDP)
		return -EOPNOTSUPP;
	*ret_id = ntohs(ip.id);
	return 0;
}

/* Send three probes in a row, the second one large. Fail unless their numbers are as expected. */
static int probes_count(int fd, const union uroce_address *to, uint16_t *ret_id)
{
	uint16_t first = 0, id;

	for (int i = 0; i < 3; i++) {
		int r = probe_send(fd, to, i == 1);

		r = r < 0 ? r : probe_read(fd, &id);
		if (r < 0)
			return r;
		if (i == 0)
			first = id;
		if (id != (uint16_t)(first + i))
			return -EOPNOTSUPP;
	}
	*ret_id = id + 1;
	return 0;
}

int uroce_udp_socket_number(int fd, uint16_t *ret_id)
{
	static const int shown = SOF_TIMESTAMPING_TX_SCHED, hidden = 0;
	union uroce_address here, sink = {};
	socklen_t length = sizeof(here);
	_cleanup_close_ int to = -1;
	int r;

	if (getsockname(fd, &here.sa, &length))
		return -errno;
	/* Send the probes to a socket of this host that has no other use. */
	to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sink.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = here.in.sin_addr };
	if (to < 0 || bind(to, &sink.sa, sizeof(sink.in)) || getsockname(to, &sink.sa, &length))
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &shown, sizeof(shown)))
		return -errno;
	r = probes_count(fd, &sink, ret_id);
	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &hidden, sizeof(hidden));
	return r;
}
