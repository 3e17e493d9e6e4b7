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
bool rs_is_bindable(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen)
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
void rs_silence_resolve(struct rs_socket *s)
{
	int r = -ETIMEDOUT;

	s->silent = false;
	rs_connect_step(s);
	if (s->state != RS_CONNECTED)
		return;
	if (rs_is_bindable(s, rdma_get_peer_addr(s->id), sizeof(struct sockaddr_storage)))
		r = disconnected(s);
	if (r < 0) {
		rs_err(s, "the peer does not answer: %s: connection given up", strerror(-r));
		rs_socket_fail(s, -r);
	}
	s->changes++;
	changed(s);
}

bool rs_connect_has_ended(struct rs_socket *s)
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
