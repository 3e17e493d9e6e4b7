/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that bind and connect. */
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/rsocket/rs.h"
#include "librdmacm/sockaddr.h"

#define RESOLVE_TIMEOUT_MS 2000

int rs_connect_finish(struct rs_socket *s, bool (*ended)(struct rs_socket *s), enum rs_wait wait)
{
	bool opening;

	pthread_mutex_lock(&s->lock);
	opening = rs_is_opening(s);
	pthread_mutex_unlock(&s->lock);
	return opening ? rs_wait(s, ended, wait, s->send_timeout_ms) : 0;
}

/* ---- the calls ---- */

static int address_check(const struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen)
{
	socklen_t size =
		s->domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (addrlen < size)
		return -EINVAL;
	if (!addr)
		return -EFAULT;
	return addr->sa_family == s->domain ? 0 : -EAFNOSUPPORT;
}

static bool is_mapped(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/*
 * Return the error as sockets have it. The connection manager reports EADDRNOTAVAIL if any address
 * and another one conflict.
 */
static int bind_error(struct rs_socket *s, int error, const struct sockaddr *addr,
		      socklen_t addrlen)
{
	return error == EADDRNOTAVAIL && rs_is_bindable(s, addr, addrlen) ? -EADDRINUSE : -error;
}

static int socket_bind(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen)
{
	int r = address_check(s, addr, addrlen);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->state != RS_NEW || (s->v6only && is_mapped(addr)))
		r = -EINVAL;
	else if (rdma_bind_addr(s->id, (struct sockaddr *)addr) < 0)
		r = bind_error(s, errno, addr, addrlen);
	if (r == 0) {
		s->state = RS_BOUND;
		s->chose_port =
			((const struct sockaddr_in *)addr)->sin_port; /* IPv6: the same place */
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

RS_EXPORT int rbind(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	r = s->ds ? ds_bind(s, addr, addrlen) : socket_bind(s, addr, addrlen);
	rs_socket_put(s);
	return rs_ret(r);
}

/*
 * Start to connect. *ret_again: an earlier call started it. As with the kernel, only one call
 * returns the result.
 */
static int connect_start(struct rs_socket *s, const struct sockaddr *addr, bool *ret_again)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	*ret_again = s->state != RS_NEW && s->state != RS_BOUND;
	if (s->state == RS_NEW || s->state == RS_BOUND) {
		s->state = RS_RESOLVING_ADDR;
		s->unsaid = true;
		r = rdma_resolve_addr(s->id, NULL, (struct sockaddr *)addr, RESOLVE_TIMEOUT_MS);
		if (r < 0) {
			r = -errno;
			rs_socket_fail(s, -r);
		}
	} else if (s->unsaid) {
		r = 0;
	} else {
		r = s->state == RS_FAILED ? -ECONNABORTED : -EISCONN;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* The error of a connection that failed is reported once. */
static int error_take(struct rs_socket *s)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	s->unsaid = false;
	if (s->state == RS_FAILED) {
		r = s->error ? -s->error : -ECONNABORTED;
		s->error = 0;
		s->refused = true;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/*
 * Return whether the first call of a socket that does not block finds the connection made. As with
 * TCP, the next call returns this result.
 */
static bool is_made_early(struct rs_socket *s)
{
	bool made;

	pthread_mutex_lock(&s->lock);
	made = s->state == RS_CONNECTED && rs_patience(s, 0) == RS_WAIT_NOT;
	pthread_mutex_unlock(&s->lock);
	return made;
}

static int stream_connect(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen)
{
	bool again = false;
	int r = address_check(s, addr, addrlen);

	if (r == 0 && s->v6only && is_mapped(addr))
		return -ENETUNREACH;
	if (r == 0)
		r = connect_start(s, addr, &again);
	if (r < 0)
		return r;
	r = rs_connect_finish(s, rs_connect_has_ended, rs_patience(s, 0));
	if (r == -EAGAIN)
		return again ? -EALREADY : -EINPROGRESS;
	if (r == 0 && !again && is_made_early(s))
		return -EINPROGRESS;
	return r < 0 ? r : error_take(s);
}

RS_EXPORT int rconnect(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	RS_CALL_SLEEPY;
	struct rs_socket *s = rs_table_find(fd);
	int r;

	if (!s)
		return rs_ret(-EBADF);
	rs_call_hold(s, NULL);
	r = s->ds ? ds_connect(s, addr, addrlen) : stream_connect(s, addr, addrlen);
	rs_socket_put(s);
	return rs_ret(r);
}
