/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of all options, with functions that set and get those whose value is an int. rsocket(7)
 * lists what happens to each option.
 */
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "librdmacm/rsocket/option_row.h"

#define KEEP_SECONDS_MAX 32767
#define SEGMENT_MIN	 88
#define SEGMENT_MAX	 32767

/* Return whether sizes can still change. Making the connection uses them. */
static bool is_early(const struct rs_socket *s)
{
	return s->ds ? !ds_has_queues(s) : s->state < RS_RESOLVING_ADDR;
}

/*
 * Return twice the value, as TCP does, so that data has at least the room that the program asked
 * for.
 */
static uint32_t buffer_size(int value)
{
	uint32_t size = value < 0 ? RS_BUFFER_MAX : (uint32_t)value;

	return max_of(2 * min_of(size, RS_BUFFER_MAX / 2), RS_BUFFER_MIN);
}

static int set_sndbuf(struct rs_socket *s, int value)
{
	if (is_early(s))
		s->sbuf_size = buffer_size(value);
	return s->ds ? ds_option_set(s, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)) : 0;
}

static int get_sndbuf(struct rs_socket *s)
{
	return s->sbuf_size;
}

static int set_rcvbuf(struct rs_socket *s, int value)
{
	if (is_early(s))
		s->rbuf_size = buffer_size(value);
	return s->ds ? ds_option_set(s, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)) : 0;
}

static int get_rcvbuf(struct rs_socket *s)
{
	return s->rbuf_size;
}

static int set_reuse(struct rs_socket *s, int value)
{
	int on = !!value;

	s->reuse_address = on;
	/* As with TCP, a listener keeps its port for itself. */
	if (!is_early(s) || s->state == RS_LISTENING)
		return 0;
	return rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)) < 0
		       ? -errno
		       : 0;
}

static int get_reuse(struct rs_socket *s)
{
	return s->reuse_address;
}

static int set_v6only(struct rs_socket *s, int value)
{
	int on = !!value;

	s->v6only = on;
	return rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)) < 0
		       ? -errno
		       : 0;
}

static int set_tos(struct rs_socket *s, int value)
{
	uint8_t tos = value;

	if (value < 0 || value > UINT8_MAX)
		return -EINVAL;
	if (!is_early(s))
		return 0;
	return rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) < 0
		       ? -errno
		       : 0;
}

static int set_keepalive(struct rs_socket *s, int value)
{
	s->keep_alive = value;
	return value ? rs_service_keep(s) : 0;
}

static int get_keepalive(struct rs_socket *s)
{
	return s->keep_alive;
}

static int set_keepidle(struct rs_socket *s, int value)
{
	if (value < 1 || value > KEEP_SECONDS_MAX)
		return -EINVAL;
	s->keep_seconds = value;
	return s->keep_alive ? rs_service_keep(s) : 0;
}

static int get_keepidle(struct rs_socket *s)
{
	return s->keep_seconds;
}

/* Only store the value, because data is never held back to be merged. */
static int set_nodelay(struct rs_socket *s, int value)
{
	s->no_delay = value;
	return 0;
}

static int get_nodelay(struct rs_socket *s)
{
	return s->no_delay;
}

static int set_kept(struct rs_socket *s, int value)
{
	return 0;
}

/* Refuse sizes that no segment can have, as TCP does. The actual size depends on the path. */
static int set_segment(struct rs_socket *s, int value)
{
	return value && (value < SEGMENT_MIN || value > SEGMENT_MAX) ? -EINVAL : 0;
}

static int set_ttl(struct rs_socket *s, int value)
{
	return value < 1 || value > UINT8_MAX ? -EINVAL : 0;
}

static int get_error(struct rs_socket *s)
{
	int error;

	if (s->ds)
		rs_drain(s);
	else
		rs_connect_step(s);
	error = s->error;
	s->error = 0;
	return error;
}

static int get_type(struct rs_socket *s)
{
	return s->ds ? SOCK_DGRAM : SOCK_STREAM;
}

static int get_listening(struct rs_socket *s)
{
	return s->state == RS_LISTENING;
}

static int get_domain(struct rs_socket *s)
{
	return s->domain;
}

static int set_rcvlowat(struct rs_socket *s, int value)
{
	s->receive_least = value < 0 ? INT_MAX : max_of(value, 1);
	s->changes++;
	rs_watch_notify(s);
	rs_rouse(s);
	return 0;
}

static int get_rcvlowat(struct rs_socket *s)
{
	return s->receive_least;
}

/* As in the kernel, SO_SNDLOWAT can only be read. */
static int get_one(struct rs_socket *s)
{
	return 1;
}

static int get_protocol(struct rs_socket *s)
{
	return s->ds ? IPPROTO_UDP : IPPROTO_TCP;
}

int rs_segment_size(struct rs_socket *s)
{
	return s->id->route.num_paths ? 128 << s->id->route.path_rec->mtu : 1024;
}

static int queue_set(struct rs_socket *s, uint16_t *queue, int value)
{
	if (value < 0 || value > RS_QUEUE_MAX)
		return -EINVAL;
	if (is_early(s))
		*queue = max_of(value, RS_QUEUE_MIN);
	return 0;
}

static int set_sqsize(struct rs_socket *s, int value)
{
	return queue_set(s, &s->sq_size, value);
}

static int get_sqsize(struct rs_socket *s)
{
	return s->sq_size;
}

static int set_rqsize(struct rs_socket *s, int value)
{
	return queue_set(s, &s->rq_size, value);
}

static int get_rqsize(struct rs_socket *s)
{
	return s->rq_size;
}

/* Set the inline size, with room for a credit, because credits are sent inline. */
static int set_inline(struct rs_socket *s, int value)
{
	if (value < 0 || value > UINT16_MAX)
		return -EINVAL;
	if (is_early(s))
		s->inline_size = max_of((size_t)value, sizeof(struct rs_wire_mapping));
	return 0;
}

static int get_inline(struct rs_socket *s)
{
	return s->inline_size;
}

static int set_mappings(struct rs_socket *s, int value)
{
	if (value < 0)
		return -EINVAL;
	if (is_early(s))
		s->mappings_max = rs_wire_mappings_fit(value);
	return 0;
}

static int get_mappings(struct rs_socket *s)
{
	return s->mappings_max;
}

#define KEPT(first, least, most) set_kept, NULL, false, first, least, most

const struct rs_option rs_options[] = {
	{ SOL_SOCKET, SO_SNDBUF, set_sndbuf, get_sndbuf, true },
	{ SOL_SOCKET, SO_RCVBUF, set_rcvbuf, get_rcvbuf, true },
	{ SOL_SOCKET, SO_REUSEADDR, set_reuse, get_reuse },
	{ SOL_SOCKET, SO_KEEPALIVE, set_keepalive, get_keepalive },
	{ SOL_SOCKET, SO_OOBINLINE, KEPT(0, 0, 1), .is_switch = true },
	{ SOL_SOCKET, SO_RCVLOWAT, set_rcvlowat, get_rcvlowat },
	{ SOL_SOCKET, SO_REUSEPORT, KEPT(0, 0, 1), .is_switch = true },
	{ SOL_SOCKET, SO_BROADCAST, KEPT(0, 0, 1), .is_switch = true },
	{ SOL_SOCKET, SO_DONTROUTE, KEPT(0, 0, 1), .is_switch = true },
	{ SOL_SOCKET, SO_SNDLOWAT, NULL, get_one },
	{ SOL_SOCKET, SO_ERROR, NULL, get_error, true },
	{ SOL_SOCKET, SO_TYPE, NULL, get_type, true },
	{ SOL_SOCKET, SO_ACCEPTCONN, NULL, get_listening, true },
	{ SOL_SOCKET, SO_DOMAIN, NULL, get_domain, true },
	{ SOL_SOCKET, SO_PROTOCOL, NULL, get_protocol, true },
	{ IPPROTO_TCP, TCP_NODELAY, set_nodelay, get_nodelay },
	{ IPPROTO_TCP, TCP_KEEPIDLE, set_keepidle, get_keepidle },
	{ IPPROTO_TCP, TCP_KEEPINTVL, KEPT(75, 1, 32767) },
	{ IPPROTO_TCP, TCP_KEEPCNT, KEPT(9, 1, 127) },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, KEPT(0, 0, INT_MAX) },
	{ IPPROTO_TCP, TCP_QUICKACK, KEPT(1, 0, 1), .is_switch = true },
	{ IPPROTO_TCP, TCP_CORK, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, KEPT(0, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_SYNCNT, KEPT(6, 1, 127) },
	{ IPPROTO_TCP, TCP_LINGER2, KEPT(60, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, KEPT(0, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, KEPT(0, 0, 1) },
	{ IPPROTO_TCP, TCP_MAXSEG, set_segment, rs_segment_size },
	/* as with TCP, a program cannot set the congestion bits */
	{ IPPROTO_IP, IP_TOS, set_tos, NULL, .clears = ~0xfc },
	/* setting IP_TOS of TCP sets the priority, too */
	{ SOL_SOCKET, SO_PRIORITY, KEPT(0, 0, 6) },
	{ IPPROTO_IP, IP_TTL, set_ttl, NULL, .first = 64, .has_default = true },
	{ IPPROTO_IP, IP_MTU_DISCOVER, KEPT(1, 0, 5) },
	{ IPPROTO_IP, IP_FREEBIND, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IP, IP_RECVERR, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IPV6, IPV6_TCLASS, set_tos, NULL, .clears = 3, .has_default = true },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, KEPT(64, 0, 255), .has_default = true },
	{ IPPROTO_IPV6, IPV6_V6ONLY, set_v6only, NULL, .is_switch = true },
	{ SOL_RDMA, RDMA_SQSIZE, set_sqsize, get_sqsize, true },
	{ SOL_RDMA, RDMA_RQSIZE, set_rqsize, get_rqsize, true },
	{ SOL_RDMA, RDMA_INLINE, set_inline, get_inline, true },
	{ SOL_RDMA, RDMA_IOMAPSIZE, set_mappings, get_mappings },
	{ SOL_SOCKET, SO_RCVTIMEO, .of_datagrams = true, .kind = RS_OPTION_TIME },
	{ SOL_SOCKET, SO_SNDTIMEO, .of_datagrams = true, .kind = RS_OPTION_TIME },
	{ SOL_SOCKET, SO_LINGER, .kind = RS_OPTION_LINGER },
	{ SOL_SOCKET, SO_BUSY_POLL, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_INCOMING_CPU, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_MARK, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_DEBUG, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_NO_CHECK, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_BSDCOMPAT, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_RXQ_OVFL, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_NOFCS, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_SELECT_ERR_QUEUE, .kind = RS_OPTION_KERNEL },
#ifdef SO_PREFER_BUSY_POLL
	{ SOL_SOCKET, SO_PREFER_BUSY_POLL, .kind = RS_OPTION_KERNEL },
	{ SOL_SOCKET, SO_BUSY_POLL_BUDGET, .kind = RS_OPTION_KERNEL },
#endif
#ifdef SO_TXREHASH
	{ SOL_SOCKET, SO_TXREHASH, .kind = RS_OPTION_KERNEL },
#endif
#ifdef SO_RCVMARK
	{ SOL_SOCKET, SO_RCVMARK, .kind = RS_OPTION_KERNEL },
#endif
	{ SOL_SOCKET, SO_BINDTODEVICE, .kind = RS_OPTION_TCP },
#ifdef SO_BINDTOIFINDEX
	{ SOL_SOCKET, SO_BINDTOIFINDEX, .kind = RS_OPTION_TCP },
#endif
	{ IPPROTO_TCP, TCP_CONGESTION, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_FASTOPEN, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_THIN_DUPACK, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_WINDOW_CLAMP, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_TCP, TCP_MD5SIG, .kind = RS_OPTION_TCP },
	{ IPPROTO_TCP, TCP_MD5SIG_EXT, .kind = RS_OPTION_TCP },
	{ IPPROTO_IP, IP_MINTTL, .kind = RS_OPTION_KERNEL },
	/* A TCP socket receives no ancillary data, and cannot send to multicast groups. */
	{ IPPROTO_IP, IP_PKTINFO, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_RECVTTL, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_RECVTOS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_RECVOPTS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_RETOPTS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_RECVORIGDSTADDR, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_MULTICAST_IF, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_MULTICAST_TTL, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_MULTICAST_LOOP, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_MULTICAST_ALL, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IP, IP_TRANSPARENT, .kind = RS_OPTION_TCP },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVERR, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVRTHDR, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVHOPOPTS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_RECVDSTOPTS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_DONTFRAG, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_MINHOPCOUNT, .kind = RS_OPTION_KERNEL },
	{ IPPROTO_IPV6, IPV6_TRANSPARENT, .kind = RS_OPTION_TCP },
};

const unsigned int rs_options_count = ARRAY_SIZE(rs_options);

const struct rs_option *rs_option_find(int level, int name)
{
	for (unsigned int i = 0; i < rs_options_count; i++)
		if (rs_options[i].level == level && rs_options[i].name == name)
			return &rs_options[i];
	return NULL;
}

bool rs_option_allows(const struct rs_option *option, int number)
{
	return option->set != set_kept || option->get ||
	       (number >= option->least && number <= option->most);
}

socklen_t rs_option_size(const struct rs_option *option)
{
	switch (option->kind) {
	case RS_OPTION_INT:
		return sizeof(int);
	case RS_OPTION_TIME:
		return sizeof(struct timeval);
	case RS_OPTION_LINGER:
		return sizeof(struct linger);
	default:
		return RS_OPTION_TEXT;
	}
}

bool rs_option_is_copied(const struct rs_option *option)
{
	return option->level != SOL_RDMA && (option->set || option->kind != RS_OPTION_INT);
}
