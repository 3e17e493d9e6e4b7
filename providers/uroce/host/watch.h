/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that the progress thread waits for, and what to do if one becomes readable. Any
 * thread may begin and end a watch at any time. Only the progress thread waits.
 *
 * Sockets are a separate set, which is waited for only while no poller polls sockets. A sender on
 * this host needs a quarter of a microsecond more for a packet to a socket that is waited for.
 */
#ifndef UROCE_WATCH_H
#define UROCE_WATCH_H

#include "providers/uroce/host/host.h"

struct uroce_watches;

/* Results of a wait, a bit each. */
enum {
	WATCHES_CAME = 1 << 0,	 /* a socket became readable */
	WATCHES_ROUSED = 1 << 1, /* an event needs a pass */
};

int uroce_watches_new(struct uroce_host *host, struct uroce_watches **ret_watches);
/* Free the watches and close connections that are still guests. The thread has ended. */
void uroce_watches_free(struct uroce_watches *watches);

/* Set whether to wait for sockets. */
void uroce_watches_sockets(struct uroce_watches *watches, bool wanted);
/*
 * Wait up to @timeout_ms (-1: for ever) for all descriptors, or for all but sockets, and handle
 * events other than packets. Return: WATCHES_*.
 */
unsigned int uroce_watches_wait(struct uroce_watches *watches, int timeout_ms);
unsigned int uroce_watches_wait_rest(struct uroce_watches *watches, int timeout_ms);

#endif
