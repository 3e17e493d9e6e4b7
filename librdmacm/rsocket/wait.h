/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for completions and credits. */
#ifndef LIBRDMACM_RSOCKET_WAIT_H
#define LIBRDMACM_RSOCKET_WAIT_H

#include "librdmacm/rsocket/complete.h"

/*
 * wait.c: wait until @ready, which is called with @lock held. -EAGAIN: not ready, and the caller
 * does not want to wait, or @timeout_ms passed (-1: no limit). -EINTR: a signal.
 */
int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms);
/* waiter.c; with @lock held, which is released during the wait. Return: 0 or -EINTR. */
int rs_waiter_wait(struct rs_socket *s, enum rs_wait wait, int timeout_ms);
void rs_waiters_wake(struct rs_socket *s); /* something changed */

/* event.c */
/*
 * Arm the CQ. Its next completion makes the descriptor readable. False: a
 * completion came in between, so poll again.
 */
bool rs_arm(struct rs_socket *s);
/* Take the events that made the descriptor readable, unless a thread sleeps on it. */
void rs_drain(struct rs_socket *s);
/*
 * Poll for callers that call often and never sleep: the CQ each time, and the descriptor, which
 * costs system calls, only while the connection is being made and once in a while afterwards.
 */
void rs_glance(struct rs_socket *s);
bool rs_is_due(struct rs_socket *s); /* time for rs_drain() */

/* rouse.c */
/*
 * Wake all threads that sleep on the descriptor, without a completion. A local shutdown needs this,
 * because a stopped peer may never cause a completion.
 */
void rs_rouse(struct rs_socket *s);
void rs_rouse_end(struct rs_socket *s);
/* Call before a socket is made. Return: 0 or -errno. */
int rs_rouse_prepare(void);
void rs_rouse_fork(bool begins); /* as rs_service_fork() */

/* clock.c */
uint64_t rs_now_ns(void);
/* Return the rest of @timeout_ms since @start; -1: no limit. */
int rs_timeout_left(int timeout_ms, uint64_t start);

#endif
