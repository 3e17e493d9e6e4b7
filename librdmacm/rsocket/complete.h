/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of a connection, their completions, and credits. @lock of the socket is held. */
#ifndef LIBRDMACM_RSOCKET_COMPLETE_H
#define LIBRDMACM_RSOCKET_COMPLETE_H

#include "librdmacm/rsocket/socket.h"
#include "librdmacm/rsocket/wire.h"

/* Poll the CQ until it is empty. */
void rs_completions_take(struct rs_socket *s);
unsigned int rs_cq_poll(struct rs_socket *s); /* poll once. Return: the number of completions */
void rs_stream_complete(struct rs_socket *s); /* poll the CQ of a stream, and grant credits */
void ds_complete(struct rs_socket *s);
static inline void rs_complete(struct rs_socket *s)
{
	if (s->ds)
		ds_complete(s);
	else
		rs_stream_complete(s);
}
void rs_consumed(struct rs_socket *s); /* grant credits, after bytes were taken */
/* Socket state that a program can observe. */
struct rs_seen {
	bool can_send, peer_end;
	enum rs_state state;
	uint64_t received;
};
struct rs_seen rs_seen(struct rs_socket *s);
/*
 * Return whether the state has changed for the program. Completed sends and new credits count as a
 * change only if the program could not send before.
 */
bool rs_is_news(struct rs_socket *s, const struct rs_seen *before);
/* post.c. Post one request. The caller has checked rs_slots_free(). */
int rs_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control);
/* Post a message of data. @from: its bytes if they are not in the memory of @wr yet, or NULL. */
int rs_post_data(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, const void *from);
int rs_post_control(struct rs_socket *s, enum rs_wire_control control);
static inline unsigned int rs_slots_free(const struct rs_socket *s)
{
	return s->sq_size - (s->posted - s->done);
}

#endif
