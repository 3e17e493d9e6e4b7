/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation, names and options of a datagram socket. Most options are those of UDP. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "librdmacm/rsocket/datagram.h"

/*
 * Create the UDP socket. It reports the local address of each message, so that answers leave from
 * that address.
 */
static int udp_create(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };
	int on = 1, r;

	s->ds->udp = socket(s->domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->ds->udp < 0)
		return -errno;
	r = s->domain == AF_INET6
		    ? setsockopt(s->ds->udp, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
		    : setsockopt(s->ds->udp, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
	if (r < 0 || epoll_ctl(s->file.fd, EPOLL_CTL_ADD, s->ds->udp, &watch) < 0)
		return -errno;
	return 0;
}

int ds_create(struct rs_socket *s)
{
	struct ds_socket *ds = calloc(1, sizeof(*ds));

	if (!ds)
		return -ENOMEM;
	ds->udp = -1;
	ds->tos = -1;
	LIST_INIT(&ds->endpoints);
	TAILQ_INIT(&ds->used);
	TAILQ_INIT(&ds->unused);
	TAILQ_INIT(&ds->waiting);
	s->ds = ds;
	ds->read = malloc(DS_UDP_MAX);
	return ds->read ? udp_create(s) : -ENOMEM;
}

void ds_destroy(struct rs_socket *s)
{
	struct ds_endpoint *e;

	if (!s->ds)
		return;
	ds_drop_all(s);
	ds_destination_end_all(s);
	while ((e = LIST_FIRST(&s->ds->endpoints)))
		ds_endpoint_destroy(s, e);
	if (s->ds->udp >= 0)
		close(s->ds->udp);
	free(s->ds->read);
	free(s->ds);
}

/* ---- names ---- */

/* Return 0 if the host has a connection manager, so that a device may get the address later.
 * Otherwise return the -errno of a stream. */
static int manager_need(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel)
		return -errno;
	rdma_destroy_event_channel(channel);
	return 0;
}

/*
 * Create the endpoint of a bound address now. Then bind() reports a missing device, and not a later
 * call.
 */
static int endpoint_need(struct rs_socket *s)
{
	struct ds_endpoint *e;
	union ds_name own;
	int r = ds_own_name(s, &own);

	if (r < 0)
		return r;
	if (ds_name_is_any(&own))
		return manager_need();
	r = ds_endpoint_find(s, &own, &e);
	if (r < 0)
		rs_err(s, "datagrams: a queue pair for the local address: %s", strerror(-r));
	return r;
}

int ds_bind(struct rs_socket *s, const struct sockaddr *addr, socklen_t size)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = bind(s->ds->udp, addr, size) < 0 ? -errno : 0;
	if (r == 0) {
		s->state = RS_BOUND;
		r = endpoint_need(s);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int peer_set(struct rs_socket *s, const struct sockaddr *addr, socklen_t size)
{
	struct ds_destination *d;
	union ds_name peer;
	int r = ds_name_take(addr, size, &peer);

	/* Accept the datagrams that have already arrived by the old rule. */
	rs_drain(s);
	ds_complete(s);
	if (r == 0 && connect(s->ds->udp, addr, size) < 0)
		r = -errno;
	if (r < 0)
		return r;
	s->ds->peer = peer;
	s->ds->connected = true;
	s->state = RS_CONNECTED;
	return ds_destination_find(s, &peer, &d);
}

/*
 * Keep the port. The kernel releases the port of a socket that the program has not bound, but peers
 * know it, and the headers of the queue pairs hold it.
 */
static int port_keep(struct rs_socket *s, uint16_t port)
{
	struct sockaddr_storage addr;
	union ds_name own;
	socklen_t size;
	int r = ds_name_ask(s, &own);

	if (r < 0 || ds_name_port(&own))
		return r;
	ds_name_set_port(&own, port);
	size = ds_name_give(&own, s->domain, &addr);
	return bind(s->ds->udp, (const struct sockaddr *)&addr, size) < 0 ? -errno : 0;
}

static int peer_unset(struct rs_socket *s, const struct sockaddr *addr, socklen_t size)
{
	union ds_name own;
	int r = ds_own_name(s, &own);

	if (r < 0)
		return r;
	if (connect(s->ds->udp, addr, size) < 0)
		return -errno;
	s->ds->connected = false;
	s->state = RS_BOUND;
	return port_keep(s, ds_name_port(&own));
}

int ds_connect(struct rs_socket *s, const struct sockaddr *addr, socklen_t size)
{
	int r;

	if (!addr || size < sizeof(addr->sa_family))
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	r = addr->sa_family == AF_UNSPEC ? peer_unset(s, addr, size) : peer_set(s, addr, size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int ds_name(const struct rs_socket *s, bool peer, struct sockaddr *addr, socklen_t *size)
{
	int r = peer ? getpeername(s->ds->udp, addr, size) : getsockname(s->ds->udp, addr, size);

	return r < 0 ? -errno : 0;
}

/*
 * Shut the socket down. As in the kernel, this also works without a peer, but then returns an
 * error.
 */
int ds_shutdown(struct rs_socket *s, int how)
{
	bool connected;

	pthread_mutex_lock(&s->lock);
	connected = s->ds->connected;
	if (how != SHUT_RD)
		s->no_send = true;
	if (how != SHUT_WR)
		s->no_recv = true;
	s->changes++;
	rs_watch_notify(s);
	rs_rouse(s);
	pthread_mutex_unlock(&s->lock);
	return connected ? 0 : -ENOTCONN;
}

/* ---- options ---- */

bool ds_has_queues(const struct rs_socket *s)
{
	return !LIST_EMPTY(&s->ds->endpoints);
}

struct option {
	int level;
	int name;
};

/*
 * Options that UDP takes. Two kinds are missing: options that change the form of messages, because
 * the two ends must agree on it, and options that fill the error queue, because it is never read.
 */
static const struct option udp_options[] = {
	{ SOL_SOCKET, SO_SNDBUF },
	{ SOL_SOCKET, SO_SNDBUFFORCE },
	{ SOL_SOCKET, SO_SNDLOWAT },
	{ SOL_SOCKET, SO_RCVBUF },
	{ SOL_SOCKET, SO_RCVBUFFORCE },
	{ SOL_SOCKET, SO_RCVLOWAT },
	{ SOL_SOCKET, SO_REUSEADDR },
	{ SOL_SOCKET, SO_REUSEPORT },
	{ SOL_SOCKET, SO_BROADCAST },
	{ SOL_SOCKET, SO_BINDTODEVICE },
	{ SOL_SOCKET, SO_DONTROUTE },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ SOL_SOCKET, SO_LINGER },
	{ SOL_SOCKET, SO_OOBINLINE },
	{ SOL_SOCKET, SO_PRIORITY },
	{ SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_BUSY_POLL },
	{ IPPROTO_IP, IP_TOS },
	{ IPPROTO_IP, IP_TTL },
	{ IPPROTO_IP, IP_MTU },
	{ IPPROTO_IP, IP_MTU_DISCOVER },
	{ IPPROTO_IP, IP_FREEBIND },
	{ IPPROTO_IP, IP_TRANSPARENT },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT },
	{ IPPROTO_IP, IP_MULTICAST_IF },
	{ IPPROTO_IP, IP_MULTICAST_TTL },
	{ IPPROTO_IP, IP_MULTICAST_LOOP },
	{ IPPROTO_IP, IP_MULTICAST_ALL },
	{ IPPROTO_IP, IP_ADD_MEMBERSHIP },
	{ IPPROTO_IP, IP_DROP_MEMBERSHIP },
	{ IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP },
	{ IPPROTO_IP, IP_DROP_SOURCE_MEMBERSHIP },
	{ IPPROTO_IP, IP_BLOCK_SOURCE },
	{ IPPROTO_IP, IP_UNBLOCK_SOURCE },
	{ IPPROTO_IP, MCAST_JOIN_GROUP },
	{ IPPROTO_IP, MCAST_LEAVE_GROUP },
	{ IPPROTO_IPV6, IPV6_TCLASS },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS },
	{ IPPROTO_IPV6, IPV6_MTU },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER },
	{ IPPROTO_IPV6, IPV6_V6ONLY },
	{ IPPROTO_IPV6, IPV6_TRANSPARENT },
	{ IPPROTO_IPV6, IPV6_MULTICAST_IF },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP },
	{ IPPROTO_IPV6, IPV6_JOIN_GROUP },
	{ IPPROTO_IPV6, IPV6_LEAVE_GROUP },
	{ IPPROTO_IPV6, MCAST_JOIN_GROUP },
	{ IPPROTO_IPV6, MCAST_LEAVE_GROUP },
};

static bool option_is_udps(int level, int name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(udp_options); i++)
		if (udp_options[i].level == level && udp_options[i].name == name)
			return true;
	return false;
}

int ds_option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size)
{
	int ancillary = ds_ancillary_find(level, name), tos;

	if (ancillary >= 0)
		return ds_ancillary_set(s, ancillary, value, size);
	if (!option_is_udps(level, name)) /* the kernel checks the size first, as for a stream */
		return level == SOL_SOCKET && size < sizeof(int) ? -EINVAL : -ENOPROTOOPT;
	if (setsockopt(s->ds->udp, level, name, value, size) < 0)
		return -errno;
	if (size >= sizeof(tos) && ((level == IPPROTO_IP && name == IP_TOS) ||
				    (level == IPPROTO_IPV6 && name == IPV6_TCLASS))) {
		memcpy(&tos, value, sizeof(tos));
		pthread_mutex_lock(&s->lock);
		s->ds->tos = tos;
		pthread_mutex_unlock(&s->lock);
	}
	return 0;
}

int ds_option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size)
{
	int ancillary = ds_ancillary_find(level, name);

	if (ancillary >= 0)
		return ds_ancillary_get(s, ancillary, value, size);
	if (!option_is_udps(level, name))
		return level == IPPROTO_TCP && s->domain == AF_INET ? -EOPNOTSUPP : -ENOPROTOOPT;
	return getsockopt(s->ds->udp, level, name, value, size) < 0 ? -errno : 0;
}
