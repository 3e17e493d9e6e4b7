/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a connection, and of a socket. */
#ifndef LIBRDMACM_RSOCKET_END_H
#define LIBRDMACM_RSOCKET_END_H

#include "librdmacm/rsocket/socket.h"

/* end.c */
/* Post a signalled write without data. @lock is held. */
void rs_post_mark(struct rs_socket *s);

int rs_shutdown(struct rs_socket *s, int how);
/*
 * With @lock held: return whether the socket was shut down before the peer could be told. The
 * handshake has not ended yet. Therefore the end follows after it, as with TCP.
 */
bool rs_end_is_due(const struct rs_socket *s);
int rs_end_tell(struct rs_socket *s, int how); /* with @lock held; @how: as shutdown() */

void rs_end_tell_late(struct rs_socket *s); /* with @lock held; no action if the peer was told */

bool rs_is_accepted(struct rs_socket *s); /* the handshake at the accepting side has ended */

/* close.c */
/* Deliver the remaining data and the end of the stream within a limit of time. */
void rs_socket_deliver(struct rs_socket *s);
/*
 * End the socket and put the reference. A peer that is in the middle of a copy, and is stopped,
 * delays this call until it continues or ends.
 */
void rs_socket_end(struct rs_socket *s);
/* Do the same. If a peer is in the middle of a copy, a thread does it. */
void rs_socket_finish(struct rs_socket *s);

/* Return whether all requests and the message of the end have completed, or the peer has gone. */
bool rs_all_is_there(struct rs_socket *s);

/* leave.c: end the sockets that are open when the process exits. */
void rs_leave(void) __attribute__((destructor));

/* linger.c: deliver the data and end the socket in a new thread, or here if there is none. */
void rs_linger(struct rs_socket *s);
/* lingering.c: count the sockets that deliver data, and all sockets that threads end. */
void rs_lingering_begin(void);
void rs_lingering_add(int delivering, int count);
void rs_linger_fork(bool begins); /* as rs_service_fork() */

#endif
