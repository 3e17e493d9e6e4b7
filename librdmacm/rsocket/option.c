/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options, as rows of a table, and flags. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define KEEP_SECONDS_MAX 32767
#define LINGER_MAX	 32767

/*
 * An option whose value is an int: all except times and SO_LINGER. @set: NULL if the option is
 * read-only. @get: NULL if the value is only stored. A setter gets the program's value and returns
 * 0 or -errno.
 */
struct option {
	int level;
	int name;
	int (*set)(struct rs_socket *s, int value);
	int (*get)(struct rs_socket *s);
	/* datagram sockets have the option here; their other options are those of UDP */
	bool of_datagrams;
	/* An option without @get is stored for rgetsockopt() and has no effect. */
	int first, least, most;
	bool is_switch; /* 0 or 1 */
};

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

/* -1 is the default of the host. */
static int set_ttl(struct rs_socket *s, int value)
{
	return value == 0 || value < -1 || value > UINT8_MAX ? -EINVAL : 0;
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

/* Return the MTU of the path, because the device cuts messages into segments of this size. */
static int get_segment(struct rs_socket *s)
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

static const struct option options[] = {
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
	{ IPPROTO_TCP, TCP_QUICKACK, KEPT(1, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_CORK, KEPT(0, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, KEPT(0, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_SYNCNT, KEPT(6, 1, 127) },
	{ IPPROTO_TCP, TCP_LINGER2, KEPT(60, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, KEPT(0, INT_MIN, INT_MAX) },
	{ IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, KEPT(0, 0, 1) },
	{ IPPROTO_TCP, TCP_MAXSEG, set_kept, get_segment },
	{ IPPROTO_IP, IP_TOS, set_tos, NULL, .most = 255 },
	/* setting IP_TOS of TCP sets the priority, too */
	{ SOL_SOCKET, SO_PRIORITY, KEPT(0, 0, 6) },
	{ IPPROTO_IP, IP_TTL, set_ttl, NULL, .first = 64 },
	{ IPPROTO_IP, IP_MTU_DISCOVER, KEPT(1, 0, 5) },
	{ IPPROTO_IP, IP_FREEBIND, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IP, IP_RECVERR, KEPT(0, 0, 1), .is_switch = true },
	{ IPPROTO_IPV6, IPV6_TCLASS, set_tos, NULL, .most = 255 },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS, KEPT(64, -1, 255) },
	{ IPPROTO_IPV6, IPV6_V6ONLY, set_v6only, NULL, .most = 1 },
	{ SOL_RDMA, RDMA_SQSIZE, set_sqsize, get_sqsize, true },
	{ SOL_RDMA, RDMA_RQSIZE, set_rqsize, get_rqsize, true },
	{ SOL_RDMA, RDMA_INLINE, set_inline, get_inline, true },
	{ SOL_RDMA, RDMA_IOMAPSIZE, set_mappings, get_mappings },
};

_Static_assert(ARRAY_SIZE(options) <= RS_OPTIONS_MAX, "a socket keeps each of them");

static const struct option *option_find(int level, int name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level && options[i].name == name)
			return &options[i];
	return NULL;
}

/* Return the socket's time in ms for SO_RCVTIMEO or SO_SNDTIMEO, or NULL. */
static atomic_int *timeout_find(struct rs_socket *s, int level, int name)
{
	if (level != SOL_SOCKET)
		return NULL;
	return name == SO_RCVTIMEO   ? &s->recv_timeout_ms
	       : name == SO_SNDTIMEO ? &s->send_timeout_ms
				     : NULL;
}

static int timeout_set(atomic_int *timeout_ms, const void *value, socklen_t size)
{
	struct timeval time;

	if (!value || size < sizeof(time))
		return -EINVAL;
	memcpy(&time, value, sizeof(time));
	if (time.tv_usec < 0 || time.tv_usec >= 1000000)
		return -EDOM;
	if (time.tv_sec < 0 || time.tv_sec >= INT_MAX / 1000 || (!time.tv_sec && !time.tv_usec))
		*timeout_ms = -1;
	else
		*timeout_ms = time.tv_sec * 1000 + (time.tv_usec + 999) / 1000;
	return 0;
}

/* Copy a value of @from_size bytes. As in the kernel, a smaller size cuts the value. */
static int value_give(const void *from, socklen_t from_size, void *value, socklen_t *size)
{
	if (!value || !size || (int)*size < 0)
		return -EINVAL;
	*size = min_of(*size, from_size);
	memcpy(value, from, *size);
	return 0;
}

static int timeout_get(const atomic_int *timeout_ms, void *value, socklen_t *size)
{
	int ms = max_of(atomic_load(timeout_ms), 0);
	const struct timeval time = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	return value_give(&time, sizeof(time), value, size);
}

static int linger_set(struct rs_socket *s, const void *value, socklen_t size)
{
	struct linger linger;

	if (!value || size < sizeof(linger))
		return -EINVAL;
	memcpy(&linger, value, sizeof(linger));
	pthread_mutex_lock(&s->lock);
	s->linger_seconds = linger.l_onoff ? min_of(max_of(linger.l_linger, 0), LINGER_MAX) : -1;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int linger_get(struct rs_socket *s, void *value, socklen_t *size)
{
	struct linger linger = { .l_onoff = s->linger_seconds >= 0,
				 .l_linger = max_of(s->linger_seconds, 0) };

	return value_give(&linger, sizeof(linger), value, size);
}

static bool is_linger(const struct rs_socket *s, int level, int name)
{
	return !s->ds && level == SOL_SOCKET && name == SO_LINGER;
}

/*
 * Read the value of an option. As with the kernel, only options of IP may have a size of one byte.
 * Most of these may also have a size of 0, which means the value 0.
 */
static int number_take(const struct option *option, const void *value, socklen_t size,
		       int *ret_number)
{
	if (option->level == IPPROTO_IP && !size && option->name != IP_TTL &&
	    option->name != IP_FREEBIND) {
		*ret_number = 0;
		return 0;
	}
	if (!value)
		return -EFAULT;
	if (size < sizeof(*ret_number) && (option->level != IPPROTO_IP || !size))
		return -EINVAL;
	if (size < sizeof(*ret_number))
		*ret_number = *(const uint8_t *)value;
	else
		memcpy(ret_number, value, sizeof(*ret_number));
	/* As in the kernel, any number except 0 turns a switch on. */
	if (option->is_switch)
		*ret_number = *ret_number != 0;
	return option->set == set_kept && !option->get &&
			       (*ret_number < option->least || *ret_number > option->most)
		       ? -EINVAL
		       : 0;
}

static int option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size)
{
	const struct option *option = option_find(level, name);
	atomic_int *timeout_ms = timeout_find(s, level, name);
	int number, r, kernels = rs_kernel_option_find(level, name);

	if (timeout_ms)
		return timeout_set(timeout_ms, value, size);
	if (is_linger(s, level, name))
		return linger_set(s, value, size);
	if (s->ds && !(option && option->of_datagrams))
		return ds_option_set(s, level, name, value, size);
	if (kernels >= 0)
		return rs_kernel_option_set(s, kernels, value, size);
	if (size < sizeof(number) && level != IPPROTO_IP)
		return -EINVAL; /* as the kernel, which has not looked at the name yet */
	if (!option || !option->set)
		return -ENOPROTOOPT;
	r = number_take(option, value, size, &number);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = option->set(s, number);
	if (r == 0) {
		s->given[option - options] = number;
		s->given_set |= 1ull << (option - options);
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

RS_EXPORT int rsetsockopt(int fd, int level, int optname, const void *optval, socklen_t optlen)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	r = option_set(s, level, optname, optval, optlen);
	rs_socket_put(s);
	return rs_ret(r);
}

/* Fill in the members of TCP_INFO that a stream has: its state and the size of segments. */
static int tcp_info_get(struct rs_socket *s, void *value, socklen_t *size)
{
	struct tcp_info info = {};

	if (!value || !size)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	info.tcpi_state = s->state == RS_CONNECTED   ? TCP_ESTABLISHED
			  : s->state == RS_LISTENING ? TCP_LISTEN
			  : rs_is_opening(s)	     ? TCP_SYN_SENT
						     : TCP_CLOSE;
	info.tcpi_snd_mss = info.tcpi_rcv_mss = get_segment(s);
	pthread_mutex_unlock(&s->lock);
	*size = min_of(*size, (socklen_t)sizeof(info));
	memcpy(value, &info, *size);
	return 0;
}

static bool is_given(const struct rs_socket *s, unsigned int i)
{
	return s->given_set & 1ull << i;
}

static int option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size)
{
	const struct option *option = option_find(level, name);
	atomic_int *timeout_ms = timeout_find(s, level, name);
	int number, kernels = rs_kernel_option_find(level, name);

	if (level == IPPROTO_TCP && name == TCP_INFO && !s->ds)
		return tcp_info_get(s, value, size);
	if (timeout_ms)
		return timeout_get(timeout_ms, value, size);
	if (is_linger(s, level, name))
		return linger_get(s, value, size);
	if (s->ds && !(option && option->of_datagrams))
		return ds_option_get(s, level, name, value, size);
	if (kernels >= 0)
		return rs_kernel_option_get(s, kernels, value, size);
	if (!option)
		return -ENOPROTOOPT;
	if (!value || !size)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	number = option->get			 ? option->get(s)
		 : is_given(s, option - options) ? s->given[option - options]
						 : option->first;
	pthread_mutex_unlock(&s->lock);
	return value_give(&number, sizeof(number), value, size);
}

/* ---- for librspreload ---- */

static const struct rs_option_value others[] = {
	{ SOL_SOCKET, SO_RCVTIMEO, sizeof(struct timeval) },
	{ SOL_SOCKET, SO_SNDTIMEO, sizeof(struct timeval) },
	{ SOL_SOCKET, SO_LINGER, sizeof(struct linger) },
};

static bool other_is_given(const struct rs_socket *s, int name)
{
	return name == SO_LINGER     ? s->linger_seconds >= 0
	       : name == SO_RCVTIMEO ? s->recv_timeout_ms >= 0
				     : s->send_timeout_ms >= 0;
}

RS_EXPORT bool rs_option_of_tcp(unsigned int *next, struct rs_option_value *ret)
{
	unsigned int i = (*next)++;

	while (i < ARRAY_SIZE(options) && (!options[i].set || options[i].level == SOL_RDMA))
		i = (*next)++;
	if (i >= ARRAY_SIZE(options) + ARRAY_SIZE(others))
		return rs_kernel_option_row(i - ARRAY_SIZE(options) - ARRAY_SIZE(others), ret);
	*ret = i < ARRAY_SIZE(options)
		       ? (struct rs_option_value){ options[i].level, options[i].name, sizeof(int) }
		       : others[i - ARRAY_SIZE(options)];
	return true;
}

static bool option_given(struct rs_socket *s, unsigned int i, struct rs_option_value *ret)
{
	if (i >= ARRAY_SIZE(options) + ARRAY_SIZE(others))
		return rs_kernel_option_kept(s, i - ARRAY_SIZE(options) - ARRAY_SIZE(others), ret);
	if (i >= ARRAY_SIZE(options))
		return other_is_given(s, ret->name) &&
		       option_get(s, ret->level, ret->name, &ret->number, &ret->size) == 0;
	ret->number = s->given[i];
	return is_given(s, i);
}

RS_EXPORT bool rs_option_next(int fd, unsigned int *next, struct rs_option_value *ret)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	bool found = false;

	if (!s)
		return false;
	while (!found && rs_option_of_tcp(next, ret))
		found = option_given(s, *next - 1, ret);
	rs_socket_put(s);
	return found;
}

RS_EXPORT int rgetsockopt(int fd, int level, int optname, void *optval, socklen_t *optlen)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	r = option_get(s, level, optname, optval, optlen);
	rs_socket_put(s);
	return rs_ret(r);
}

RS_EXPORT int rfcntl(int fd, int cmd, ...)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	va_list args;
	int arg, r;

	if (!s)
		return rs_ret(-EBADF);
	va_start(args, cmd);
	arg = cmd == F_SETFL || cmd == F_SETFD ? va_arg(args, int) : 0;
	va_end(args);
	switch (cmd) {
	case F_GETFL:
		r = O_RDWR | atomic_load(&s->flags);
		break;
	case F_SETFL:
		atomic_store(&s->flags, arg & (O_NONBLOCK | O_APPEND));
		r = 0;
		break;
	case F_GETFD:
	case F_SETFD:
		r = fcntl(fd, cmd, arg) < 0 ? -errno : fcntl(fd, F_GETFD);
		if (cmd == F_SETFD && r > 0)
			r = 0;
		break;
	default:
		r = -EINVAL;
	}
	rs_socket_put(s);
	return rs_ret(r);
}

static int bytes_waiting(struct rs_socket *s)
{
	int count;

	pthread_mutex_lock(&s->lock);
	if (s->ds) {
		rs_glance(s);
		count = ds_bytes_waiting(s);
	} else {
		rs_glance(s); /* the handshake may have ended a moment ago */
		count = min_of(rs_waiting(s), (size_t)INT_MAX);
	}
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Return the bytes that may not have reached the peer's memory yet. */
static int bytes_unsent(struct rs_socket *s)
{
	int count;

	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	count = s->ds ? 0 : s->sbuf_head - s->sbuf_tail;
	pthread_mutex_unlock(&s->lock);
	return count;
}

RS_EXPORT int rioctl(int fd, unsigned long request, int *value)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r = 0;

	if (!s)
		return rs_ret(-EBADF);
	if (!value)
		r = -EFAULT;
	else if ((request == FIONREAD || request == SIOCOUTQ) && !s->ds && s->state == RS_LISTENING)
		r = -EINVAL;
	else if (request == FIONREAD)
		*value = bytes_waiting(s);
	else if (request == SIOCOUTQ)
		*value = bytes_unsent(s);
	else if (request == SIOCATMARK && !s->ds)
		*value = 0; /* urgent data does not exist */
	else if (request == FIONBIO && *value)
		atomic_fetch_or(&s->flags, O_NONBLOCK);
	else if (request == FIONBIO)
		atomic_fetch_and(&s->flags, ~O_NONBLOCK);
	else
		r = -ENOTTY;
	rs_socket_put(s);
	return rs_ret(r);
}
