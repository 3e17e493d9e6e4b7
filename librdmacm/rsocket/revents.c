/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events that poll() reports for a socket. */
#include <poll.h>

#include "librdmacm/rsocket/rs.h"

/* POSIX has two names for each of these. */
#define CAN_READ  (POLLIN | POLLRDNORM)
#define CAN_WRITE (POLLOUT | POLLWRNORM)

short rs_revents(struct rs_socket *s, short events)
{
	bool opening = rs_is_opening(s);
	short revents = 0;

	if (s->ds)
		return ds_revents(s, events);
	if (s->state == RS_LISTENING)
		return s->accepted_count || s->spent ? events & CAN_READ : 0;
	if (opening && !s->no_send && !s->no_recv)
		return 0;
	if (rs_is_unconnected(s) && (s->state != RS_FAILED || s->refused))
		return (events & (CAN_WRITE | (s->no_recv ? CAN_READ | POLLRDHUP : 0))) | POLLHUP;
	if (opening ? s->no_recv : rs_can_receive(s))
		revents |= CAN_READ;
	if (rs_can_send(s))
		revents |= CAN_WRITE;
	else if (events & CAN_WRITE)
		rs_send_stalled(s);
	if (s->peer_end || s->no_recv || s->state == RS_FAILED)
		revents |= POLLRDHUP;
	revents &= events;
	if (s->state == RS_FAILED)
		revents |= POLLHUP | (s->error ? POLLERR : 0);
	if (opening && s->no_send && s->no_recv)
		revents |= POLLHUP;
	/*
	 * Programs that see a hang-up do not read the data that came before it. Therefore the
	 * hang-up is late if only the peer has ended. On TCP it needs the end of this side as well.
	 */
	if ((s->state == RS_CLOSED && !rs_waiting(s)) ||
	    (s->no_send && (s->no_recv || s->peer_end)))
		revents |= POLLHUP;
	return revents;
}
