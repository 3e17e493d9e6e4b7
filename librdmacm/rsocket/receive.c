/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

/* As rs_can_receive(). For a call by the old number, the error is already determined. */
static bool can_answer(struct rs_socket *s)
{
	return s->moved || rs_can_receive(s);
}

/* As can_answer(), after the first bytes: each more is welcome. */
static bool can_go_on(struct rs_socket *s)
{
	return s->moved || rs_waiting(s) || rs_has_ended(s);
}

/* Return whether the buffer has room for more bytes than the peeked ones. */
static bool is_more_to_come(struct rs_socket *s)
{
	bool more;

	pthread_mutex_lock(&s->lock);
	more = rs_has_room(s);
	pthread_mutex_unlock(&s->lock);
	return more;
}

static bool can_peek(struct rs_socket *s)
{
	return s->moved || rs_waiting(s) > s->peeked || rs_has_ended(s);
}

static void bytes_copy(const struct rs_socket *s, uint64_t from, uint8_t *to, uint32_t length)
{
	uint32_t offset = from % s->rbuf_size;
	uint32_t first = min_of(length, s->rbuf_size - offset);

	memcpy(to, s->rbuf + offset, first);
	memcpy(to + first, s->rbuf, length - first);
}

/* Return the result of a call that finds no bytes. */
static int nothing_waits(const struct rs_socket *s)
{
	if (rs_is_unconnected(s)) {
		bool listens = s->accepted_fd >= 0;

		return s->no_recv && !listens ? 0 : -ENOTCONN; /* as TCP */
	}
	if (s->state == RS_FAILED && s->error)
		return -s->error;
	return rs_has_ended(s) ? 0 : -EAGAIN;
}

/*
 * Take the bytes behind @skip, up to @size. Only the holder of the turn reads the filled part of
 * the buffer. Therefore copy it without the lock. Return: bytes; 0: the end; -EAGAIN: nothing yet;
 * -EBADF: the socket has another number now; another -errno.
 */
static ssize_t buffer_take(struct rs_socket *s, uint64_t skip, uint8_t *to, size_t size, int flags)
{
	uint64_t from;
	uint32_t length, waiting;
	ssize_t r = 0;

	pthread_mutex_lock(&s->lock);
	/*
	 * As with TCP, bytes arrive after SHUT_RD as well, and a peek finds all that have arrived.
	 */
	if ((s->no_recv || (flags & MSG_PEEK && rs_credit_waiting(&s->in) < skip + size)) &&
	    s->state == RS_CONNECTED)
		rs_complete(s);
	from = s->in.consumed + skip;
	waiting = rs_credit_waiting(&s->in);
	length = waiting > skip ? min_of((size_t)(waiting - skip), size) : 0;
	if (s->moved && !(flags & RS_MSG_MOVED)) {
		length = 0;
		r = -EBADF;
	} else if (!length) {
		r = nothing_waits(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (!length)
		return r;
	if (!(flags & MSG_TRUNC)) /* like TCP, which discards the bytes in this case */
		bytes_copy(s, from, to, length);
	if (flags & MSG_PEEK)
		return length;
	pthread_mutex_lock(&s->lock);
	s->in.consumed += length;
	rs_consumed(s);
	pthread_mutex_unlock(&s->lock);
	return length;
}

/* Wait for bytes, or for more bytes than the @peeked ones. */
static int bytes_wait(struct rs_socket *s, size_t peeked, bool begun, int flags)
{
	bool (*ready)(struct rs_socket * s) = peeked ? can_peek : begun ? can_go_on : can_answer;

	s->peeked = peeked;
	return rs_turn_wait(s, &s->recv_turn, begun, flags & RS_MSG_MOVED ? rs_can_receive : ready,
			    rs_patience(s, flags), s->recv_timeout_ms);
}

/* @got: bytes in the earlier pieces. @least: bytes of all pieces that end the wait. */
static ssize_t bytes_receive(struct rs_socket *s, uint8_t *to, size_t size, int flags, size_t got,
			     size_t least)
{
	const size_t before = got, end = got + size;
	bool peek = flags & MSG_PEEK;
	ssize_t n = 0;

	while (got < end) {
		n = buffer_take(s, peek ? got : 0, to + (got - before), end - got, flags);
		if (n == -EAGAIN && !(peek && got && !is_more_to_come(s))) {
			n = bytes_wait(s, peek ? got : 0, got, flags);
			if (n == 0)
				continue;
		}
		if (n <= 0)
			break;
		got += n;
		if (got >= least)
			break;
	}
	return got > before ? (ssize_t)(got - before) : n;
}

/* Serve a receive of 0 bytes: wait until the stream has bytes, and leave them there. */
static ssize_t nothing_receive(struct rs_socket *s, int flags)
{
	ssize_t n;

	do {
		pthread_mutex_lock(&s->lock);
		n = s->moved && !(flags & RS_MSG_MOVED) ? -EBADF
		    : rs_waiting(s)			? 0
							: nothing_waits(s);
		pthread_mutex_unlock(&s->lock);
		if (n == -EAGAIN)
			n = bytes_wait(s, 0, false, flags);
		else
			break;
	} while (n == 0);
	return n;
}

/* A direction that was shut down has its answer before the connection is made. */
static bool receive_may_start(struct rs_socket *s)
{
	return s->no_recv || rs_connect_has_ended(s);
}

static ssize_t vector_receive(struct rs_socket *s, const struct iovec *iov, int count, int flags)
{
	size_t got = 0, total = rs_vector_size(iov, count);
	size_t least = flags & MSG_WAITALL ? total : min_of(total, s->receive_least);
	ssize_t n = rs_connect_finish(s, receive_may_start, rs_patience(s, flags));

	if (n == 0)
		n = rs_turn_take(s, &s->recv_turn, rs_patience(s, flags));
	if (n < 0)
		return n;
	if (!total)
		n = nothing_receive(s, flags);
	for (int i = 0; i < count; i++) {
		/* After the least bytes, do not wait for the rest. */
		int more = got >= least ? MSG_DONTWAIT : 0;

		if (!iov[i].iov_len)
			continue;
		n = bytes_receive(s, iov[i].iov_base, iov[i].iov_len, flags | more, got, least);
		if (n <= 0)
			break;
		got += n;
		if ((size_t)n < iov[i].iov_len)
			break;
	}
	n = got ? (ssize_t)got : n;
	rs_error_told(s, n);
	rs_turn_give(s, &s->recv_turn);
	return n;
}

/* @ret: for a datagram; for a stream its name_size is 0 */
static ssize_t fd_receive_from(int fd, const struct iovec *iov, int count, int flags,
			       struct ds_received *ret)
{
	RS_CALL_SLEEPY;
	struct rs_socket *s = rs_table_find(fd);
	ssize_t r;

	*ret = (struct ds_received){};
	if (!s)
		return rs_ret(-EBADF);
	rs_call_hold(s, NULL);
	r = flags & MSG_OOB ? -EOPNOTSUPP : rs_vector_check(iov, count);
	/* the error queue is always empty: do not wait for it */
	if (r == 0 && (flags & MSG_ERRQUEUE))
		r = -EAGAIN;
	else if (r == 0 && s->ds)
		r = ds_receive(s, iov, count, flags, ret);
	else if (r == 0)
		r = vector_receive(s, iov, count, flags);
	rs_socket_put(s);
	return rs_ret(r);
}

static ssize_t fd_receive(int fd, const struct iovec *iov, int count, int flags)
{
	struct ds_received from;

	return fd_receive_from(fd, iov, count, flags, &from);
}

RS_EXPORT ssize_t rrecv(int fd, void *buf, size_t len, int flags)
{
	const struct iovec iov = { buf, len };

	return fd_receive(fd, &iov, 1, flags);
}

RS_EXPORT ssize_t rrecvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *src_addr,
			    socklen_t *addrlen)
{
	const struct iovec iov = { buf, len };
	struct ds_received from;
	ssize_t n = fd_receive_from(fd, &iov, 1, flags, &from);

	if (n < 0 || !src_addr || !addrlen)
		return n;
	if (from.name_size) {
		memcpy(src_addr, &from.name, min_of(*addrlen, from.name_size));
		*addrlen = from.name_size;
	} else {
		rgetpeername(fd, src_addr, addrlen);
	}
	return n;
}

RS_EXPORT ssize_t rrecvmsg(int fd, struct msghdr *msg, int flags)
{
	struct ds_received from;
	ssize_t n;

	if (msg->msg_iovlen > IOV_MAX)
		return rs_ret(-EMSGSIZE);
	n = fd_receive_from(fd, msg->msg_iov, msg->msg_iovlen, flags, &from);
	if (n < 0)
		return n;
	if (msg->msg_name)
		memcpy(msg->msg_name, &from.name, min_of(msg->msg_namelen, from.name_size));
	msg->msg_namelen = msg->msg_name ? from.name_size : 0;
	msg->msg_flags = from.truncated ? MSG_TRUNC : 0;
	ds_ancillary_give(&from, msg);
	return n;
}

/* As read() of the kernel, read nothing without a wait, and take no datagram. */
static ssize_t fd_read(int fd, const struct iovec *iov, int count)
{
	struct rs_socket *s;
	int r = rs_vector_check(iov, count);

	if (r < 0 || rs_vector_size(iov, count))
		return fd_receive(fd, iov, count, 0);
	s = rs_table_find(fd);
	if (!s)
		return rs_ret(-EBADF);
	rs_socket_put(s);
	return 0;
}

RS_EXPORT ssize_t rread(int fd, void *buf, size_t count)
{
	const struct iovec iov = { buf, count };

	return fd_read(fd, &iov, 1);
}

RS_EXPORT ssize_t rreadv(int fd, const struct iovec *iov, int iovcnt)
{
	return fd_read(fd, iov, iovcnt);
}
