/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* End the two directions of a connection, and send the messages that end them to the peer. */
#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define ACCEPT_TIMEOUT_MS  1000 /* then the service tells the peer */
#define CONTROL_TIMEOUT_MS 5000

static bool can_control(struct rs_socket *s)
{
	return s->state != RS_CONNECTED || (s->controls < RS_CONTROL_MAX && rs_slots_free(s));
}

/*
 * Mark the directions as ended and wake the threads that wait for the socket, before the peer is
 * told.
 */
static void directions_end(struct rs_socket *s, int how)
{
	pthread_mutex_lock(&s->lock);
	if (how != SHUT_RD)
		s->no_send = true;
	if (how != SHUT_WR)
		s->no_recv = true;
	if (s->state == RS_CONNECTED) /* as with TCP, connect() does not return its result later */
		s->unsaid = false;
	s->changes++;
	rs_watch_notify(s);
	rs_rouse(s);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Tell a peer that has ended both directions of the end of this side. The peer then knows that the
 * connection is over, as with TCP.
 */
static void closed_end_tell(struct rs_socket *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == RS_CLOSED && s->no_send && !s->end_told && !s->broken &&
	    s->controls < RS_CONTROL_MAX && rs_slots_free(s))
		s->end_told = rs_post_control(s, RS_WIRE_SHUTDOWN) == 0;
	pthread_mutex_unlock(&s->lock);
}

bool rs_is_accepted(struct rs_socket *s)
{
	rs_connect_step(s);
	return s->state != RS_ACCEPTING;
}

/* As TCP, forget a connection that both ends have ended. */
static bool is_over(struct rs_socket *s)
{
	bool over;

	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	over = rs_is_over(s);
	pthread_mutex_unlock(&s->lock);
	return over;
}

int rs_shutdown(struct rs_socket *s, int how)
{
	int r;

	if (rs_connect_end(s))
		return 0;
	/* An accepted socket becomes a connection first, because the peer already has this
	 * connection. */
	rs_wait(s, rs_is_accepted, RS_WAIT_ALWAYS, ACCEPT_TIMEOUT_MS);
	directions_end(s, how);
	rs_first_word_await(s);
	/* Do not wait for ever: the peer may take no messages. */
	rs_wait(s, can_control, RS_WAIT_ALWAYS, CONTROL_TIMEOUT_MS);
	pthread_mutex_lock(&s->lock);
	r = rs_end_tell(s, how);
	s->changes++;
	rs_watch_notify(s);
	rs_waiters_wake(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

RS_EXPORT int rs_ended(int fd)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int ended;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	ended = (s->no_send ? RS_ENDED_SEND : 0) | (s->no_recv ? RS_ENDED_RECV : 0);
	if (rs_is_unconnected(s))
		ended |= RS_ENDED_NONE;
	else if (!rs_is_opening(s) && (s->state != RS_CONNECTED || rs_is_over(s)))
		ended |= rs_waiting(s) ? RS_ENDED_UNREAD : RS_ENDED_BOTH;
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return ended;
}

RS_EXPORT int rshutdown(int fd, int how)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	bool over;
	int r;

	if (!s)
		return rs_ret(-EBADF);
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		r = -EINVAL;
	else if (s->ds)
		r = ds_shutdown(s, how);
	else if (s->accepted_fd >= 0)
		r = rs_listener_shutdown(s, how);
	else {
		over = is_over(s);
		r = rs_shutdown(s, how);
		closed_end_tell(s);
		r = over ? -ENOTCONN : r;
	}
	rs_socket_put(s);
	return rs_ret(r);
}
