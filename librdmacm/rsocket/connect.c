/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a socket to a connection. Each end is a row of states, and each event of the connection
 * manager leads to the next state. The only waits here are in rs_wait(), therefore any thread can
 * drive it.
 *
 *   active:  NEW -> RESOLVING_ADDR -> RESOLVING_ROUTE -> CONNECTING -> CONNECTED
 *   passive: LISTENING;  a request: ACCEPTING -> CONNECTED
 */
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/rsocket/rs.h"
#include "librdmacm/sockaddr.h"

#define RESOLVE_TIMEOUT_MS 2000

static int event_error(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return event->status == -ETIMEDOUT ? ETIMEDOUT : EHOSTUNREACH;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return event->status < 0 ? -event->status : EHOSTUNREACH;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return ENODEV;
	default:
		return ECONNABORTED;
	}
}

static int request_send(struct rs_socket *s)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rdma_conn_param param = {
		.private_data = bytes,
		.private_data_len = sizeof(bytes),
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rs_wire_data data;
	int r = rs_buffer_create(s);

	if (r < 0)
		return r;
	data = rs_buffer_describe(s);
	data.speaks = s->sends_words;
	rs_wire_put_data(bytes, &data);
	s->state = RS_CONNECTING;
	return rdma_connect(s->id, &param) < 0 ? -errno : 0;
}

static int route_resolve(struct rs_socket *s)
{
	s->state = RS_RESOLVING_ROUTE;
	return rdma_resolve_route(s->id, RESOLVE_TIMEOUT_MS) < 0 ? -errno : 0;
}

/* Take the peer's answer, at the connecting side. */
static int answer_take(struct rs_socket *s, const struct rdma_conn_param *conn)
{
	struct rs_wire_data peer;
	int r = rs_wire_get_data(conn->private_data, conn->private_data_len, &peer);

	if (r < 0) {
		rs_err(s, "the peer that answers is no socket over RDMA");
		return r;
	}
	rs_buffer_start(s, &peer);
	return 0;
}

/* Log that this connection is not one of TCP. */
static void path_log(struct rs_socket *s)
{
	char own[CM_ADDR_TEXT], peer[CM_ADDR_TEXT];

	if (log_enabled(LOG_LEVEL_INFO))
		rs_info(s, "RDMA by %s from %s to %s", ibv_get_device_name(s->id->verbs->device),
			cm_addr_text(rdma_get_local_addr(s->id), own),
			cm_addr_text(rdma_get_peer_addr(s->id), peer));
}

static int established(struct rs_socket *s, const struct rdma_cm_event *event)
{
	bool connects = s->state == RS_CONNECTING;
	int r = connects ? answer_take(s, &event->param.conn) : 0;

	if (r < 0)
		return r;
	s->state = RS_CONNECTED;
	s->unheard = s->sends_words && !connects;
	path_log(s);
	/* A failure sets the socket's state. */
	if (s->sends_words && connects)
		rs_post_control(s, RS_WIRE_KEEPALIVE);
	rs_end_tell_late(s);
	return 0;
}

/*
 * Handle the disconnect. An orderly end was announced by a message behind the last byte. Without
 * that message the peer was killed or gave up, and its last data may be missing. A peer that cannot
 * send the message counts as orderly.
 */
static int disconnected(struct rs_socket *s)
{
	bool lacks = !s->peer_end && s->peer_ends && s->state == RS_CONNECTED;

	s->peer_end = true;
	s->broken = true; /* its queue pair may be gone by now */
	if (lacks || s->state == RS_ACCEPTING)
		return -ECONNRESET;
	if (s->state == RS_CONNECTED)
		s->state = RS_CLOSED;
	return 0;
}

/*
 * Return whether the event ends the connection. A peer that ends before it gets the last message of
 * the handshake rejects a connection that is made on this side.
 */
static bool is_end(const struct rs_socket *s, const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_DISCONNECTED ||
	       (event->event == RDMA_CM_EVENT_REJECTED && s->state == RS_CONNECTED);
}

static int event_apply(struct rs_socket *s, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return s->state == RS_RESOLVING_ADDR ? route_resolve(s) : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return s->state == RS_RESOLVING_ROUTE ? request_send(s) : 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (s->state == RS_CONNECTING || s->state == RS_ACCEPTING)
			return established(s, event);
		if (s->state == RS_FAILED) /* this side ended it meanwhile */
			rdma_disconnect(s->id);
		return 0;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return 0;
	default:
		return s->state < RS_CLOSED ? -event_error(event) : 0;
	}
}

/* Handle an event. Data that arrived before the end of the connection is taken first. */
static void event_handle(struct rs_socket *s, struct rdma_cm_event *event)
{
	int r;

	if (is_end(s, event)) {
		rs_completions_take(s);
		r = disconnected(s);
	} else {
		r = event_apply(s, event);
	}
	if (r < 0) {
		rs_err(s, "%s: %s", rdma_event_str(event->event), strerror(-r));
		rs_socket_fail(s, -r);
	}
	rdma_ack_cm_event(event);
}

/* Wake the threads that wait for the socket. */
static void changed(struct rs_socket *s)
{
	rs_watch_notify(s);
	if (s->pollers || s->sleeper)
		rs_rouse(s);
}

void rs_connect_step(struct rs_socket *s)
{
	struct rdma_cm_event *event;
	struct rs_seen before;
	bool handled = false;

	/* The service handles the events of a listener, also after its shutdown. */
	if (s->accepted_fd >= 0)
		return;
	while (s->channel && rdma_get_cm_event(s->channel, &event) == 0) {
		before = rs_seen(s);
		event_handle(s, event);
		s->changes += rs_is_news(s, &before);
		handled = true;
	}
	if (handled)
		changed(s);
}

/* Return whether an RDMA listener can have the address, with another port. */
static bool is_bindable(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen)
{
	struct sockaddr_storage name = {};
	struct rdma_cm_id *id;
	bool bindable;

	memcpy(&name, addr, min_of(addrlen, (socklen_t)sizeof(name)));
	((struct sockaddr_in *)&name)->sin_port = 0; /* in IPv6 at the same place */
	if (rdma_create_id(s->channel, &id, NULL, s->id->ps) < 0)
		return false;
	bindable = rdma_bind_addr(id, (struct sockaddr *)&name) == 0;
	rdma_destroy_id(id);
	return bindable;
}

/*
 * The event that reports the cause may wait behind the completion. It may also come later. A
 * process of this host that does not answer has ended or is stopped. Another host may have
 * vanished.
 */
void rs_silence_settle(struct rs_socket *s)
{
	int r = -ETIMEDOUT;

	s->silent = false;
	rs_connect_step(s);
	if (s->state != RS_CONNECTED)
		return;
	if (is_bindable(s, rdma_get_peer_addr(s->id), sizeof(struct sockaddr_storage)))
		r = disconnected(s);
	if (r < 0) {
		rs_err(s, "the peer does not answer: %s: connection given up", strerror(-r));
		rs_socket_fail(s, -r);
	}
	s->changes++;
	changed(s);
}

bool rs_connect_is_settled(struct rs_socket *s)
{
	if (rs_is_opening(s))
		rs_connect_step(s);
	return !rs_is_opening(s);
}

bool rs_connect_end(struct rs_socket *s)
{
	bool ended;

	pthread_mutex_lock(&s->lock);
	ended = rs_is_opening(s) && s->state != RS_ACCEPTING;
	if (ended) {
		rs_socket_fail(s, ECONNRESET);
		s->changes++;
		rs_watch_notify(s);
		rs_rouse(s);
	}
	pthread_mutex_unlock(&s->lock);
	return ended;
}

int rs_connect_finish(struct rs_socket *s, bool (*settled)(struct rs_socket *s), enum rs_wait wait)
{
	bool opening;

	pthread_mutex_lock(&s->lock);
	opening = rs_is_opening(s);
	pthread_mutex_unlock(&s->lock);
	return opening ? rs_wait(s, settled, wait, s->send_timeout_ms) : 0;
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
	return error == EADDRNOTAVAIL && is_bindable(s, addr, addrlen) ? -EADDRINUSE : -error;
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
	r = rs_connect_finish(s, rs_connect_is_settled, rs_patience(s, 0));
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
