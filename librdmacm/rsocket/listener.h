/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listeners, and the queue of accepted connections: accept.c, listener.c. */
#ifndef LIBRDMACM_RSOCKET_LISTENER_H
#define LIBRDMACM_RSOCKET_LISTENER_H

#include "librdmacm/rsocket/socket.h"

void rs_listener_step(struct rs_socket *s); /* called by the service */
/* Accept no more connections, and end the connections that wait for raccept(). */
int rs_listener_shutdown(struct rs_socket *s, int how);
/*
 * Make the descriptor of a listener unreadable until the next connection arrives, with @lock held.
 * A caller that sleeps, and does not accept the waiting connections, calls this first.
 */
void rs_listener_hush(struct rs_socket *s);
void rs_listener_close(struct rs_socket *s);

#endif
