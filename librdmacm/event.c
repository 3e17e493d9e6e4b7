/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events: a backend reports them, and the program reads them. In between the library does its own
 * part: it looks up addresses and devices, makes the identifier of a connection request, and moves
 * the QP through its states.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/util.h"

/* seconds of waiting for acknowledgements before the missing event is logged */
#define LATE_SECONDS 2

/* ------------------------------------------------------------------ acknowledgements */

static void event_given(struct cm_event *ev)
{
	pthread_mutex_lock(&ev->id->lock);
	TAILQ_INSERT_TAIL(&ev->id->unacked, ev, entry);
	pthread_mutex_unlock(&ev->id->lock);
}

/* Count an event of the backend as acknowledged, whether or not the program saw it. */
static void event_count(struct cm_event *ev)
{
	struct cm_id *id = ev->id;

	pthread_mutex_lock(&id->lock);
	if (ev->mc)
		ev->mc->events_acked++;
	if (ev->posted)
		id->posted_acked++;
	else
		id->events_acked++;
	pthread_cond_broadcast(&id->acked);
	pthread_mutex_unlock(&id->lock);
}

void cm_event_count_early(struct cm_event *ev)
{
	pthread_mutex_lock(&ev->id->lock);
	TAILQ_REMOVE(&ev->id->unacked, ev, entry);
	pthread_mutex_unlock(&ev->id->lock);
	event_count(ev);
	ev->id = NULL;
	ev->mc = NULL;
}

CM_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_event *ev = to_cm_event(event);

	if (!event)
		return ret_neg1(-EINVAL);
	if (ev->id)
		cm_event_count_early(ev);
	free(ev);
	return 0;
}

/* Log the events that a waiting thread misses. */
static void missing_log(struct cm_id *id, const char *who)
{
	struct cm_event *ev = TAILQ_FIRST(&id->unacked);

	cm_err(id, "%s waits for rdma_ack_cm_event() of %s%s, see rdma-symptoms(7)", who,
	       ev ? rdma_event_str(ev->event.event) : "an event being read by another thread",
	       ev && TAILQ_NEXT(ev, entry) ? " and others" : "");
}

void cm_events_wait(struct cm_id *id, const uint32_t *acked, uint32_t reported, const char *who)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct timespec late;
	bool said = false;

	pthread_mutex_lock(&id->lock);
	clock_gettime(CLOCK_MONOTONIC, &late);
	late.tv_sec += LATE_SECONDS;
	while ((int32_t)(reported - *acked) > 0) {
		if (said) {
			pthread_cond_wait(&id->acked, &id->lock);
		} else if (pthread_cond_timedwait(&id->acked, &id->lock, &late)) {
			missing_log(id, who);
			said = true;
		}
	}
	pthread_mutex_unlock(&id->lock);
}

uint32_t cm_events_given(struct cm_id *id)
{
	struct cm_event *ev;
	uint32_t given;

	pthread_mutex_lock(&id->lock);
	given = id->events_acked;
	TAILQ_FOREACH(ev, &id->unacked, entry)
		given += !ev->posted;
	pthread_mutex_unlock(&id->lock);
	return given;
}

/* ------------------------------------------------------------------ the library's part */

/* Turn an event into the error event of its step, because the library's part failed. */
static void event_fail(struct cm_event *ev, enum rdma_cm_event_type type, int r)
{
	ev->event.event = type;
	ev->event.status = r;
}

static void do_addr_resolved(struct cm_event *ev)
{
	int r = ev->event.status ? 0 : ev->id->backend->query_addr(ev->id);

	if (!r && !ev->event.status && !ev->id->id.verbs)
		r = -ENODEV;
	if (r < 0)
		event_fail(ev, RDMA_CM_EVENT_ADDR_ERROR, r);
}

static void do_route_resolved(struct cm_event *ev)
{
	int r = ev->event.status ? 0 : ev->id->backend->query_route(ev->id);

	if (r < 0)
		event_fail(ev, RDMA_CM_EVENT_ROUTE_ERROR, r);
}

/* Handle the other side's answer. If the library has the QP, complete the connection. */
static void do_connect_response(struct cm_event *ev)
{
	struct cm_id *id = ev->id;
	int r;

	id->remote_ece = ev->ece;
	if (!id->id.qp)
		return;
	r = cm_conn_complete(id);
	if (r < 0) {
		event_fail(ev, RDMA_CM_EVENT_CONNECT_ERROR, r);
		id->connect_failed = true;
	} else {
		ev->event.event = RDMA_CM_EVENT_ESTABLISHED;
	}
}

static void do_multicast_join(struct cm_event *ev)
{
	int r = ev->event.status ? 0 : cm_mc_joined(ev->mc, &ev->event.param.ud.ah_attr);

	if (r < 0)
		event_fail(ev, RDMA_CM_EVENT_MULTICAST_ERROR, r);
}

/*
 * Make the identifier of a connection request. The program sees its own listener, not the hidden
 * one for the other backend.
 */
static int do_connect_request(struct cm_channel *ch, struct cm_event *ev)
{
	struct cm_id *listener = cm_id_visible(ev->id), *id;
	int r = cm_id_alloc(ch, listener->id.context, listener->id.ps, listener->id.qp_type, &id);

	if (r < 0)
		return r;
	id->id.route.addr.src_storage = listener->id.route.addr.src_storage;
	id->backend = ev->id->backend;
	id->handle = ev->new_handle;
	id->in_kernel = true;
	id->ibcm = ev->new_ibcm;
	id->remote_ece = ev->ece;
	if (!cm_id_is_ud(id)) {
		id->initiator_depth = ev->event.param.conn.initiator_depth;
		id->responder_resources = ev->event.param.conn.responder_resources;
	}
	r = id->backend->query_addr(id);
	if (!r)
		r = id->backend->query_route(id);
	if (!r && !id->id.verbs)
		r = -ENODEV;
	/* It must not end together with its listener. Its calls wait like those of the listener. */
	if (!r && listener->sync)
		r = cm_id_migrate(id, NULL);
	if (r < 0) {
		cm_err(listener, "a connection request is dropped: it cannot be used: %s",
		       strerror(-r));
		cm_id_free(id);
		return r;
	}
	ev->event.listen_id = &listener->id;
	ev->event.id = &id->id;
	return 0;
}

/* Move the QP of an ended connection to the error state. */
static void do_ended(struct cm_event *ev)
{
	if (ev->event.event == RDMA_CM_EVENT_REJECTED)
		cm_err(ev->id, "rejected: %s", rdma_reject_str(ev->event.status));
	cm_qp_to_error(ev->id);
}

/* Log the other side's answer for datagrams. The answer is not an errno. */
static void log_refused_datagram(const struct cm_event *ev)
{
	static const char *const words[] = {
		[1] = "nobody listens on that port there", [2] = "the other side's program refused",
		[3] = "the other side has no queue pair",  [4] = "the service is somewhere else",
		[5] = "the version is not supported",
	};
	int status = ev->event.status;

	cm_err(ev->id, "%s: %s (SIDR status %d)", rdma_event_str(ev->event.event),
	       status < (int)ARRAY_SIZE(words) ? words[status] : "refused", status);
}

static const char *unreachable_cause(int status)
{
	switch (status) {
	case -EHOSTUNREACH:
		return "; no host on the link answers for that address";
	case -ETIMEDOUT:
		return "; the other side did not answer; RoCE needs UDP port 4791 let through";
	case -ECONNRESET:
		return "; the other side's process ended";
	default:
		return "";
	}
}

static void log_error_event(const struct cm_event *ev)
{
	int status = ev->event.status;

	if (ev->event.event == RDMA_CM_EVENT_UNREACHABLE && cm_id_is_ud(ev->id) && status > 0) {
		log_refused_datagram(ev);
		return;
	}
	switch (ev->event.event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		cm_explain_addr(ev->id, &ev->id->id.route.addr.dst_addr, status);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		cm_err(ev->id, "%s: %s", rdma_event_str(ev->event.event),
		       strerror(status < 0 ? -status : status));
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		cm_err(ev->id, "%s: %s%s", rdma_event_str(ev->event.event),
		       strerror(status < 0 ? -status : status), unreachable_cause(status));
		break;
	default:
		break;
	}
}

/*
 * Do the library's part of an event. Return: 1: the program gets the event; 0: it does not; -errno:
 * a connection request failed.
 */
static int event_process(struct cm_channel *ch, struct cm_event *ev)
{
	ev->event.id = &cm_id_visible(ev->id)->id;
	switch (ev->event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		do_addr_resolved(ev);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		do_route_resolved(ev);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return do_connect_request(ch, ev) < 0 ? -ENODEV : 1;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		do_connect_response(ev);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (ev->id->connect_failed)
			return 0;
		do_ended(ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (ev->id->connect_failed)
			return 0;
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		do_multicast_join(ev);
		break;
	case RDMA_CM_EVENT_INTERNAL: /* written by rdma_resolve_addrinfo() */
		ev->event.event = ev->event.status ? RDMA_CM_EVENT_ADDRINFO_ERROR
						   : RDMA_CM_EVENT_ADDRINFO_RESOLVED;
		break;
	default:
		break;
	}
	if (ev->mc)
		ev->event.param.ud.private_data = ev->mc->context;
	log_error_event(ev);
	return 1;
}

/*
 * Wait for the next event. A thread may be cancelled only here, because it holds nothing else yet.
 */
static int event_next(struct cm_channel *ch, struct cm_event *ev)
{
	int r;

	pthread_cleanup_push(free, ev);
	r = cm_channel_next(ch, ev);
	pthread_cleanup_pop(0);
	return r;
}

/* Take an event. Return: 1: the program gets it; 0: it does not; -errno: there is no event. */
static int event_take(struct cm_channel *ch, struct cm_event *ev)
{
	int r = event_next(ch, ev);
	_cleanup_cancel_ int cancel = cancel_off();

	if (r < 0)
		return r;
	r = event_process(ch, ev);
	if (r < 0)
		ev->id->backend->drop_request(ch, ev);
	if (r > 0)
		event_given(ev);
	else
		event_count(ev);
	return r > 0;
}

CM_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cm_event *ev;
	int r = 0;

	if (!channel || !event)
		return ret_neg1(-EINVAL);
	while (!r) {
		ev = calloc(1, sizeof(*ev));
		r = ev ? event_take(to_cm_channel(channel), ev) : -ENOMEM;
		if (r <= 0)
			free(ev);
	}
	if (r < 0)
		return ret_neg1(r);
	*event = &ev->event;
	return 0;
}

/* ------------------------------------------------------------------ synchronous identifiers */

void cm_sync_drop_event(struct cm_id *id)
{
	if (!id->id.event)
		return;
	rdma_ack_cm_event(id->id.event);
	id->id.event = NULL;
}

/* Convert the status of an event to the errno that a synchronous call returns. */
static int event_errno(const struct rdma_cm_event *event)
{
	if (!event->status)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return event->status < 0 ? event->status : -event->status;
}

int cm_sync_wait(struct cm_id *id)
{
	if (!id->sync)
		return 0;
	cm_sync_drop_event(id);
	if (rdma_get_cm_event(id->id.channel, &id->id.event))
		return -errno;
	return event_errno(id->id.event);
}
