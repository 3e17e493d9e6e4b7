/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of pollers that sockets and calls use: epoll.c, watch.c. */
#ifndef LIBRDMACM_RSOCKET_WATCH_H
#define LIBRDMACM_RSOCKET_WATCH_H

#include "librdmacm/rsocket/socket.h"

void rs_watch_notify(struct rs_socket *s); /* report that the state changed; @lock is held */
void rs_watch_end_all(struct rs_socket *s);
/* Close a number of a poller. Closing the last number ends the poller. */
void rs_poller_close(struct rs_poller *p, int fd);
/*
 * Note that poll() or another epoll is about to wait for that descriptor. Ignored if it is no
 * poller.
 */
void rs_poller_is_polled(int epfd);

#endif
