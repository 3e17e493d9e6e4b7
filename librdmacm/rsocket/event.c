/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events of a socket: of its CQs and of the connection manager. */
#include "librdmacm/rsocket/rs.h"

#define GLANCES	  64 /* each 64th call of rs_glance() also checks the descriptor */
#define GLANCE_NS 50000ull
#define ACK_BATCH 64

bool rs_arm(struct rs_socket *s)
{
	if (s->ds)
		return ds_arm(s);
	if (s->armed || !s->cq)
		return true;
	s->armed = true;
	ibv_req_notify_cq(s->cq, 0);
	/*
	 * A completion before the arming causes no event, so poll for it. Completions stay in the
	 * CQ until the connection is made.
	 */
	return rs_is_opening(s) || rs_cq_poll(s) == 0;
}

/* Take the event of the CQ. Each arming causes one event. */
static bool event_take(struct rs_socket *s)
{
	struct ibv_cq *cq;
	void *context;

	if (!s->armed || ibv_get_cq_event(s->comp, &cq, &context) < 0)
		return false;
	s->armed = false;
	if (++s->unacked == ACK_BATCH) {
		ibv_ack_cq_events(s->cq, s->unacked);
		s->unacked = 0;
	}
	return true;
}

void rs_drain(struct rs_socket *s)
{
	if (s->sleeper)
		return;
	s->looked = rs_now_ns();
	/* A thread checks the state again before it sleeps. */
	if (!s->pollers && !s->moving)
		rs_rouse_end(s);
	if (s->ds) {
		ds_drain(s);
		return;
	}
	/*
	 * Do not check the connection manager as well, because that costs two system calls. Its
	 * events keep the descriptor readable.
	 */
	if (!event_take(s)) {
		rs_connect_step(s);
		return;
	}
	/* The event is taken. Therefore wake the other threads that wait for the socket. */
	rs_watch_notify(s);
	if (s->pollers)
		rs_rouse(s);
}

bool rs_is_due(struct rs_socket *s)
{
	return ++s->looks % GLANCES == 0 || rs_now_ns() - s->looked > GLANCE_NS;
}

void rs_glance(struct rs_socket *s)
{
	if ((!s->ds && (s->state != RS_CONNECTED || s->broken)) || rs_is_due(s))
		rs_drain(s);
	rs_complete(s);
}
