/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "providers/uroce/path/udp/udp_socket.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

enum {
	BUFFER_BYTES = 8 << 20, /* requested; the limits of the system decide */
	BIND_ATTEMPTS = 16,
	DISCARD_PORT = 9,
};

static void option(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* Set the size of a buffer. A privileged process may exceed the limit of the system. */
static void buffer_size(int fd, int force, int ordinary)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)))
		option(fd, SOL_SOCKET, ordinary, size);
}

static void options_ipv4(int fd, const struct uroce_udp *udp)
{
	struct ip_mreqn out = { .imr_ifindex = udp->link.ifindex };

	/* This also sets identification 0 on an unconnected socket, which the ICRC needs. */
	option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
}

static void options_ipv6(int fd, const struct uroce_udp *udp)
{
	option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
	option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, udp->link.ifindex);
	/* The kernel's rxe and hardware send a zero checksum, which IPv6 drops otherwise. */
	option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

void uroce_udp_socket_show_header(int fd, bool ipv4)
{
	option(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_RECVTOS : IPV6_RECVTCLASS, 1);
	option(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, 1);
}

bool uroce_udp_socket_join(int fd, bool join)
{
	int waiting = 0;

	option(fd, IPPROTO_UDP, UDP_GRO, join);
	if (join || (!ioctl(fd, FIONREAD, &waiting) && !waiting))
		return join;
	option(fd, IPPROTO_UDP, UDP_GRO, true);
	return true;
}

int uroce_udp_socket(const struct uroce_udp *udp, int family, int *ret_fd)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	buffer_size(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	buffer_size(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	if (family == AF_INET)
		options_ipv4(fd, udp);
	else
		options_ipv6(fd, udp);
	if (atomic_load_explicit(&udp->shows_headers, memory_order_relaxed))
		uroce_udp_socket_show_header(fd, family == AF_INET);
	/* Congestion marks. They are read only with the control data of a stream. */
	option(fd, family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
	       family == AF_INET ? IP_RECVTOS : IPV6_RECVTCLASS, 1);
	uroce_udp_socket_join(fd, true);
	*ret_fd = fd;
	return 0;
}

/*
 * Make a socket bound to @address that shares the port. @only: receive only from the device's
 * interface. Such a socket is not steered.
 */
static int bind_shared_port(const struct uroce_udp *udp, const union uroce_address *address,
			    bool only, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = uroce_udp_socket(udp, address->sa.sa_family, &fd);

	if (r < 0)
		return r;
	option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (only &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, udp->link.netdev, strlen(udp->link.netdev)))
		return -errno;
	if (bind(fd, &address->sa, uroce_address_length(address)))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int socket_connect(int fd, const union uroce_address *to)
{
	return connect(fd, &to->sa, uroce_address_length(to)) ? -errno : 0;
}

/*
 * Make the kernel prefer sockets of flows. Among the sockets that share an address and port, the
 * kernel searches for a connected one only if one of them was ever connected. Therefore connect a
 * second socket for a moment, beside the socket that stays. Do so after the first is bound: if only
 * a connected socket exists, a newly bound socket does not join the group (Linux 6.18) and gets no
 * steered datagrams.
 */
static int shared_port_look_further(const struct uroce_udp *udp, const union uroce_address *address,
				    int *ret_fd)
{
	union uroce_address nobody = *address;
	int r = bind_shared_port(udp, address, false, ret_fd);

	uroce_address_set_port(&nobody, DISCARD_PORT);
	return r < 0 ? r : socket_connect(*ret_fd, &nobody);
}

int uroce_udp_socket_bound(const struct uroce_udp *udp, const union ibv_gid *gid, int *ret_fd)
{
	_cleanup_close_ int fd = -1, other = -1;
	union uroce_address address;
	int r;

	uroce_address_from_gid(gid, UROCE_UDP_PORT, udp->link.ifindex, &address);
	r = bind_shared_port(udp, &address, false, &fd);
	if (r < 0)
		return r;
	(void)shared_port_look_further(udp, &address, &other);
	if (udp->path.host->slot > 1)
		uroce_udp_steer(fd);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- connected --- */

static int bind_flow_port(int fd, const union uroce_address *from)
{
	union uroce_address address = *from;
	uint16_t random;

	for (int i = 0; i < BIND_ATTEMPTS; i++) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			return -EAGAIN;
		uroce_address_set_port(&address, UROCE_FLOW_PORT_MIN + random % UROCE_FLOW_PORTS);
		if (!bind(fd, &address.sa, uroce_address_length(&address)))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -errno;
}

int uroce_udp_socket_connected(const struct uroce_udp *udp, const union uroce_address *from,
			       const union uroce_address *to, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = uroce_udp_socket(udp, from->sa.sa_family, &fd);

	if (!r)
		r = bind_flow_port(fd, from);
	if (!r)
		r = socket_connect(fd, to);
	if (r < 0)
		return r;
	option(fd, from->sa.sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
	       from->sa.sa_family == AF_INET ? IP_TOS : IPV6_TCLASS, ECN_ECT0);
	*ret_fd = take_fd(&fd);
	return 0;
}

int uroce_udp_socket_connected_back(const struct uroce_udp *udp, const union uroce_address *to,
				    const union uroce_address *from, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = bind_shared_port(udp, to, true, &fd);

	if (!r)
		r = socket_connect(fd, from);
	if (!r)
		*ret_fd = take_fd(&fd);
	return r;
}

void uroce_udp_socket_forget(int fd, const union uroce_address *from)
{
	union uroce_address nobody = *from;

	uroce_address_set_port(&nobody, DISCARD_PORT);
	(void)socket_connect(fd, &nobody);
	close(fd);
}

/* --- the owner of the port --- */

struct udp_owner {
	bool found;
	bool kernel; /* a socket without inode, which belongs to no process */
	unsigned int uid;
};

/* A line of /proc/net/udp or udp6: sl local:port remote:port st tx:rx tr:when retrnsmt uid timeout
 * inode ... */
static void line_read(const char *line, struct udp_owner *owner)
{
	unsigned int port, uid;
	unsigned long inode;

	if (sscanf(line,
		   " %*u: %*32[0-9A-Fa-f]:%x %*[0-9A-Fa-f:] %*x %*x:%*x %*x:%*x %*x %u %*d %lu",
		   &port, &uid, &inode) != 3 ||
	    port != UROCE_UDP_PORT)
		return;
	if (owner->found && owner->kernel)
		return;
	*owner = (struct udp_owner){ .found = true, .kernel = !inode, .uid = uid };
}

const char *uroce_udp_port_owner(const union ibv_gid *gid)
{
	static __thread char text[96];
	struct udp_owner owner = {};
	char line[512];
	FILE *f = fopen(uroce_gid_is_ipv4(gid) ? "/proc/net/udp" : "/proc/net/udp6", "re");

	while (f && fgets(line, sizeof(line), f))
		line_read(line, &owner);
	if (f)
		fclose(f);
	if (!owner.found)
		return "another program";
	if (owner.kernel)
		return "the kernel's own RoCE device (rxe)";
	snprintf(text, sizeof(text), "a process of user %u", owner.uid);
	return text;
}
