/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory, queues and queue pair of a connection. */
#ifndef LIBRDMACM_RSOCKET_BUFFER_H
#define LIBRDMACM_RSOCKET_BUFFER_H

#include "librdmacm/rsocket/socket.h"
#include "librdmacm/rsocket/wire.h"

/* Return 0, or log the error and return -errno */
int rs_buffer_create(struct rs_socket *s);
void rs_buffer_destroy(struct rs_socket *s);
struct rs_wire_data rs_buffer_describe(const struct rs_socket *s);
void rs_buffer_start(struct rs_socket *s, const struct rs_wire_data *peer);
/* Post up to RS_REPOST_MAX receives with one call. Return: 0 or a positive errno. */
int rs_receives_post(struct rs_socket *s, unsigned int count);
/*
 * Return the number of receives: one for each credit of the peer, and spare ones, because control
 * messages need no credit.
 */
static inline unsigned int rs_receives(const struct rs_socket *s)
{
	return s->rq_size + RS_RECEIVES_SPARE;
}

#endif
