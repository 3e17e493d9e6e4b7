/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue of datagrams that have arrived, and the check whether a call would wait. */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"
#include "librdmacm/rsocket/private.h"

#define ACK_BATCH 64

/* ---- polling ---- */

void ds_complete(struct rs_socket *s)
{
	struct ds_endpoint *e;

	LIST_FOREACH(e, &s->ds->endpoints, of_socket)
		ds_endpoint_poll(s, e);
}

bool ds_arm(struct rs_socket *s)
{
	struct ds_endpoint *e;
	bool quiet = true;

	LIST_FOREACH(e, &s->ds->endpoints, of_socket) {
		if (e->armed)
			continue;
		e->armed = true;
		ibv_req_notify_cq(e->cq, 0);
		/* A completion before the arming causes no event, so poll for it. */
		quiet &= ds_endpoint_poll(s, e) == 0;
	}
	return quiet;
}

static bool event_take(struct ds_endpoint *e)
{
	struct ibv_cq *cq;
	void *context;

	if (!e->armed || ibv_get_cq_event(e->comp, &cq, &context) < 0)
		return false;
	e->armed = false;
	if (++e->unacked == ACK_BATCH) {
		ibv_ack_cq_events(e->cq, e->unacked);
		e->unacked = 0;
	}
	return true;
}

void ds_drain(struct rs_socket *s)
{
	struct ds_endpoint *e;
	bool any = false;

	LIST_FOREACH(e, &s->ds->endpoints, of_socket)
		any |= event_take(e);
	any |= ds_exchange_read(s);
	ds_destination_step(s);
	if (!any)
		return;
	/* The events are taken. Therefore wake the other threads that sleep on the descriptor. */
	if (s->pollers)
		rs_rouse(s);
	rs_watch_notify(s);
}

static bool is_queue_empty(const struct rs_socket *s)
{
	return TAILQ_EMPTY(&s->ds->waiting);
}

bool ds_can_receive(struct rs_socket *s)
{
	return !is_queue_empty(s) || s->no_recv || s->error || s->moved;
}

/* Return whether a send to any destination is possible. */
bool ds_can_send(struct rs_socket *s)
{
	struct ds_endpoint *e;

	if (s->no_send || s->error)
		return true;
	LIST_FOREACH(e, &s->ds->endpoints, of_socket)
		if (!ds_endpoint_room(e) && !e->dead)
			return false;
	return true;
}

short ds_revents(struct rs_socket *s, short events)
{
	short revents = 0;

	if (!is_queue_empty(s) || s->no_recv)
		revents |= POLLIN | POLLRDNORM;
	if (ds_can_send(s))
		revents |= POLLOUT | POLLWRNORM;
	if (s->no_recv)
		revents |= POLLRDHUP;
	revents &= events;
	if (s->error)
		revents |= POLLERR;
	if (s->no_recv && s->no_send)
		revents |= POLLHUP;
	return revents;
}

int ds_bytes_waiting(const struct rs_socket *s)
{
	const struct ds_message *m = TAILQ_FIRST(&s->ds->waiting);

	return m ? m->length : 0;
}

/* ---- in ---- */

bool ds_is_welcome(const struct rs_socket *s, const union ds_name *from)
{
	return !s->ds->connected || ds_name_equal(from, &s->ds->peer);
}

void ds_deliver(struct rs_socket *s, struct ds_message *m)
{
	TAILQ_INSERT_TAIL(&s->ds->waiting, m, of_socket);
	if (s->waiters)
		rs_waiters_wake(s);
}

void ds_message_drop(struct rs_socket *s, struct ds_message *m)
{
	TAILQ_REMOVE(&s->ds->waiting, m, of_socket);
	if (m->endpoint) {
		ds_endpoint_repost(s, m);
	} else {
		s->ds->copies--;
		s->ds->copied -= m->length;
		free(m);
	}
}

void ds_drop_all(struct rs_socket *s)
{
	while (!is_queue_empty(s))
		ds_message_drop(s, TAILQ_FIRST(&s->ds->waiting));
}
