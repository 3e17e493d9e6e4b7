/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the service does for a connection: keepalives, probes and late ends. */
#include "librdmacm/rsocket/rs.h"

void rs_send_stalled(struct rs_socket *s)
{
	if (s->stalled || s->ds || s->state != RS_CONNECTED)
		return;
	s->stalled = true;
	s->stalled_at = s->data_end;
	rs_service_keep(s); /* if that fails, only an outstanding request detects a dead peer */
}

/* Return whether a sender still waits for room, and no data was posted since the last check. */
static bool is_stalled(struct rs_socket *s)
{
	bool moved = s->stalled_at != s->data_end;

	s->stalled_at = s->data_end;
	if (rs_can_send(s))
		s->stalled = false;
	return s->stalled && !moved;
}

void rs_keep(struct rs_socket *s)
{
	bool probe;

	pthread_mutex_lock(&s->lock);
	if (s->state == RS_ACCEPTING)
		rs_connect_step(s);
	rs_complete(s);
	rs_end_tell_late(s);
	probe = is_stalled(s);
	if (s->keep_alive || probe)
		rs_post_mark(s);
	if (s->keep_alive || s->stalled || rs_end_is_due(s))
		rs_service_keep(s);
	pthread_mutex_unlock(&s->lock);
}
