/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The service thread, and its work for connections. */
#ifndef LIBRDMACM_RSOCKET_SERVICE_H
#define LIBRDMACM_RSOCKET_SERVICE_H

#include "librdmacm/rsocket/socket.h"

int rs_service_listen(struct rs_socket *s, void (*serve)(struct rs_socket *s));
void rs_service_unlisten(struct rs_socket *s);
void rs_service_pause(struct rs_socket *s, bool pause);
/* Send a keepalive every @keep_seconds. While @stalled, probe the peer every few seconds. */
int rs_service_keep(struct rs_socket *s);
void rs_service_forget(struct rs_socket *s);
/* Take the lock before a fork, or release it after the fork in both processes. */
void rs_service_fork(bool begins);

/* keep.c: what the service does for a connection */
void rs_keep(struct rs_socket *s);

/*
 * Record that a sender finds no room. @lock is held. A dead peer sends no messages, and without an
 * outstanding request no request can fail. Therefore the service probes the peer, as TCP does at a
 * closed window.
 */
void rs_send_stalled(struct rs_socket *s);

#endif
