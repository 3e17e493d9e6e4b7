/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the progress thread waits for: descriptors, and what it means when one has something to say.
 * They come and go at any moment, by any thread; all else here is the thread's.
 *
 * Sockets are a set of their own, which is only waited for when no poller looks at them: a packet
 * to a socket that is waited for costs its sender, who brings it here, a quarter of a microsecond
 * more.
 */
#ifndef UROCE_WATCH_H
#define UROCE_WATCH_H

#include "providers/uroce/host/host.h"

struct uroce_watches;

/* What a wait saw, a bit each. */
enum {
	WATCHES_CAME = 1 << 0,	 /* something, to a socket */
	WATCHES_ROUSED = 1 << 1, /* of what came something wants a pass */
};

int uroce_watches_new(struct uroce_host *host, struct uroce_watches **ret_watches);
/* Guests that are still watched are closed. The thread has ended. */
void uroce_watches_free(struct uroce_watches *watches);

/* Whether sockets are waited for. */
void uroce_watches_sockets(struct uroce_watches *watches, bool wanted);
/*
 * Wait, -1 for ever, for sockets and the rest, or for the rest alone; then see to what is not a
 * packet. Return: WATCHES_*.
 */
unsigned int uroce_watches_wait(struct uroce_watches *watches, int timeout_ms);
unsigned int uroce_watches_wait_rest(struct uroce_watches *watches, int timeout_ms);

#endif
