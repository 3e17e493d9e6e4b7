/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a stream can send and receive now. @lock of the socket is held. */
#ifndef LIBRDMACM_RSOCKET_ROOM_H
#define LIBRDMACM_RSOCKET_ROOM_H

#include "librdmacm/rsocket/complete.h"

/* Return the bytes that can be received; with @lock held. */
static inline size_t rs_waiting(const struct rs_socket *s)
{
	return rs_credit_waiting(&s->in);
}

static inline bool rs_has_ended(const struct rs_socket *s)
{
	return (s->state != RS_CONNECTED && !rs_is_opening(s)) || s->peer_end || s->no_recv;
}

/* Return whether more bytes can arrive before the program takes those that wait. */
static inline bool rs_has_room(const struct rs_socket *s)
{
	return s->in.granted != s->in.received || rs_credit_can_grant(&s->in);
}

/*
 * Return whether there are as many bytes as SO_RCVLOWAT asks for or the buffer can hold, the end,
 * or an error.
 */
static inline bool rs_can_receive(struct rs_socket *s)
{
	size_t waiting = rs_waiting(s);

	if (unlikely(waiting && waiting < s->receive_least))
		return rs_has_ended(s) || !rs_has_room(s);
	return waiting || rs_has_ended(s);
}

static inline uint32_t rs_buffer_free(const struct rs_socket *s)
{
	return s->sbuf_size - (uint32_t)(s->sbuf_head - s->sbuf_tail);
}

static inline bool rs_is_open(const struct rs_socket *s)
{
	return s->state == RS_CONNECTED && !s->no_send;
}

/* Return true also if no send will ever be possible again. */
static inline bool rs_can_send(struct rs_socket *s)
{
	if (!rs_is_open(s))
		return !rs_is_opening(s) || s->no_send;
	return rs_slots_free(s) > RS_CONTROL_MAX && rs_buffer_free(s) && rs_credit_room(&s->out);
}

#endif
