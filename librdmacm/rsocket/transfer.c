/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending and receiving datagrams. */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"
#include "librdmacm/rsocket/private.h"

#define FRESH_NS 1000000000ull /* age at which the number of a peer is requested again */

static size_t message_copy(const struct ds_message *m, const struct iovec *iov, int count)
{
	size_t done = 0;

	for (int i = 0; i < count && done < m->length; i++) {
		size_t n = min_of(iov[i].iov_len, (size_t)m->length - done);

		if (!n)
			continue;
		memcpy(iov[i].iov_base, m->bytes + done, n);
		done += n;
	}
	return done;
}

/* Return the error of an earlier datagram. Each error is returned once. */
static int error_take(struct rs_socket *s)
{
	int error = s->error;

	s->error = 0;
	return -error;
}

/* Take the first datagram. Return: its bytes; -EAGAIN: no datagram is there; another -errno. */
static ssize_t message_take(struct rs_socket *s, const struct iovec *iov, int count, int flags,
			    struct ds_received *ret)
{
	struct ds_message *m = TAILQ_FIRST(&s->ds->waiting);
	size_t copied;

	if (s->moved && !(flags & RS_MSG_MOVED))
		return -EBADF;
	if (s->error)
		return error_take(s);
	/* Datagrams arrive after SHUT_RD as well, and no wait has read them. */
	if (!m && s->no_recv) {
		rs_drain(s);
		m = TAILQ_FIRST(&s->ds->waiting);
	}
	/* As on sockets of the kernel, only a call that may wait reports the end. */
	if (!m)
		return s->no_recv && rs_patience(s, flags) == RS_WAIT ? 0 : -EAGAIN;
	copied = message_copy(m, iov, count);
	ret->name_size = ds_name_give(&m->from, s->domain, &ret->name);
	ret->truncated = copied < m->length;
	ds_ancillary_put(s, m, ret);
	if (flags & MSG_TRUNC)
		copied = m->length;
	if (!(flags & MSG_PEEK))
		ds_message_drop(s, m);
	return copied;
}

ssize_t ds_receive(struct rs_socket *s, const struct iovec *iov, int count, int flags,
		   struct ds_received *ret)
{
	ssize_t r;

	*ret = (struct ds_received){};
	do {
		r = rs_wait(s, ds_can_receive, rs_patience(s, flags), s->recv_timeout_ms);
		if (r < 0)
			return r;
		pthread_mutex_lock(&s->lock);
		r = message_take(s, iov, count, flags, ret);
		pthread_mutex_unlock(&s->lock);
		/* EAGAIN: another thread took the datagram */
	} while (r == -EAGAIN && rs_patience(s, flags) == RS_WAIT);
	return r;
}

static bool by_rdma(const struct ds_destination *d, size_t length)
{
	uint64_t now = rs_now_ns();

	return d->ah && !d->is_moved && d->qpn && length + d->endpoint->header_size <= d->mtu &&
	       length <= ds_payload_max(&d->endpoint->local) &&
	       (now - d->heard < FRESH_NS || now - d->asked < FRESH_NS);
}

static ssize_t rdma_send(struct rs_socket *s, struct ds_destination *d, const struct iovec *iov,
			 int count)
{
	struct ds_endpoint *e = d->endpoint;
	uint32_t length = 0;
	uint8_t *place;
	int r;

	if (ds_endpoint_room(e) <= e->sends / 2)
		ds_endpoint_poll(s, e);
	if (!ds_endpoint_room(e) || e->broken)
		return -EAGAIN;
	place = ds_endpoint_place(e);
	for (int i = 0; i < count; i++) {
		if (!iov[i].iov_len) /* iov_base may be NULL */
			continue;
		memcpy(place + length, iov[i].iov_base, iov[i].iov_len);
		length += iov[i].iov_len;
	}
	r = ds_endpoint_send(s, d, length);
	return r < 0 ? r : (ssize_t)length;
}

/* Find out whether the earlier sends are complete. */
static void way_empty(struct rs_socket *s, struct ds_endpoint *e)
{
	ds_endpoint_mark(s, e);
	ds_endpoint_poll(s, e);
}

/* Send once, without waiting; @lock is held. */
static ssize_t message_send(struct rs_socket *s, const union ds_name *to, const struct msghdr *msg,
			    size_t length, bool *ret_by_udp)
{
	struct ds_destination *d;
	union ds_name own;
	int r;

	if (!to && !s->ds->connected) {
		/* As on UDP, this send has bound the socket. */
		r = ds_own_name(s, &own);
		return r < 0 ? r : -EDESTADDRREQ;
	}
	if (s->error)
		return error_take(s);
	if (s->no_send)
		return -EPIPE;
	r = ds_destination_find(s, to ? to : &s->ds->peer, &d);
	if (r < 0)
		return r;
	/* Only senders read the answer to a datagram that went by UDP. */
	if (!d->ah || d->is_moved || d->asked > d->heard) {
		if (!d->ah || rs_is_due(s))
			rs_drain(s);
		if (d->is_moved && d->old_ah)
			way_empty(s, d->endpoint);
		/* rs_drain() may have added unused destinations, but it keeps the one that was used
		 * last */
		ds_destination_resolve(s, d);
	}
	/* Only the kernel can handle control messages. */
	if (!msg->msg_controllen && by_rdma(d, length))
		return rdma_send(s, d, msg->msg_iov, msg->msg_iovlen);
	*ret_by_udp = true;
	return ds_exchange_send(s, d, msg);
}

static void udp_wait_cancelled(void *arg)
{
	rs_call_abandon();
}

/* Wait until the UDP socket has room. */
static int udp_wait(struct rs_socket *s)
{
	struct pollfd p = { .fd = s->ds->udp, .events = POLLOUT };
	int ms = s->send_timeout_ms, r;
	struct timespec time = { ms / 1000, ms % 1000 * 1000000l };
	const sigset_t *mask;

	pthread_cleanup_push(udp_wait_cancelled, NULL);
	mask = rs_sleep_begin(NULL, NULL, NULL);
	r = ppoll(&p, 1, ms < 0 ? NULL : &time, mask);
	rs_sleep_end();
	pthread_cleanup_pop(0);
	return r > 0 ? 0 : r == 0 ? -EAGAIN : -errno;
}

static ssize_t iov_length(const struct iovec *iov, int count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > DS_UDP_MAX)
			return -EMSGSIZE;
		total += iov[i].iov_len;
		if (total > DS_UDP_MAX)
			return -EMSGSIZE;
	}
	return total;
}

ssize_t ds_send(struct rs_socket *s, const struct msghdr *msg, int flags)
{
	const struct sockaddr *addr = msg->msg_name;
	ssize_t length = iov_length(msg->msg_iov, msg->msg_iovlen), r = length;
	union ds_name to;

	if (flags & MSG_MORE) /* the kernel joins several such sends to one datagram */
		return -EOPNOTSUPP;
	if (r >= 0 && addr)
		r = ds_name_take(addr, msg->msg_namelen, &to);
	if (r >= 0 && addr && addr->sa_family == AF_INET6 && s->domain != AF_INET6)
		r = -EAFNOSUPPORT;
	while (r >= 0) {
		bool by_udp = false;

		pthread_mutex_lock(&s->lock);
		r = message_send(s, addr ? &to : NULL, msg, length, &by_udp);
		pthread_mutex_unlock(&s->lock);
		if (r != -EAGAIN)
			break;
		if (!by_udp)
			r = rs_wait(s, ds_can_send, rs_patience(s, flags), s->send_timeout_ms);
		else if (rs_patience(s, flags) == RS_WAIT)
			r = udp_wait(s);
	}
	return r;
}

static bool is_all_sent(struct rs_socket *s)
{
	struct ds_endpoint *e;

	LIST_FOREACH(e, &s->ds->endpoints, of_socket) {
		if (e->dead)
			continue;
		ds_endpoint_mark(s, e);
		if (e->done != e->posted)
			return false;
	}
	return true;
}

void ds_flush(struct rs_socket *s, int timeout_ms)
{
	rs_wait(s, is_all_sent, RS_WAIT_ALWAYS, timeout_ms);
}
