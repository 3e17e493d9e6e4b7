/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pollers, and how they wake the progress thread. */
#ifndef UROCE_HOST_POLLER_H
#define UROCE_HOST_POLLER_H

#include "providers/uroce/host/objects.h"

/* Return whether the thread leaves packets to pollers. */
static inline bool uroce_thread_watches(const struct uroce_host *host)
{
	return atomic_load_explicit(&host->watching, memory_order_relaxed);
}

enum {
	/* minimum passes of a poller, because programs poll once or twice before they sleep */
	UROCE_POLLER_PASSES = 64,
};
/* Count a poller's pass, and wake the thread if it must begin to watch. */
void uroce_thread_poller_came(struct uroce_host *host);

/* Record a poller's pass of the strand: the thread leaves packets to pollers for a while. */
static inline void uroce_thread_poller_seen(struct uroce_host *host, unsigned int strand)
{
	atomic_store_explicit(&host->epochs[strand].epoch, uroce_strand_epoch(host, strand) + 1,
			      memory_order_relaxed);
	if (unlikely(!uroce_thread_watches(host)))
		uroce_thread_poller_came(host);
}

/* Give packets back to the thread, because a CQ was armed and its owner is about to sleep. */
void uroce_thread_poller_leaves(struct uroce_host *host);
/*
 * Wake the thread, for example because a timer was armed that is due before the end of its sleep.
 */
void uroce_thread_wake(struct uroce_host *host);

#endif
