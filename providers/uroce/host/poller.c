/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pollers of the application and the progress thread: which of them receives, and how a poller
 * wakes the thread. */
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/poller.h"

void uroce_thread_wake(struct uroce_host *host)
{
	uint64_t one = 1;

	(void)!uroce_call_write(host->shm->wake_fd, &one, sizeof(one));
}

void uroce_thread_poller_came(struct uroce_host *host)
{
	unsigned int passes = atomic_load_explicit(&host->poller_passes, memory_order_relaxed);

	atomic_store_explicit(&host->poller_passes, passes + 1, memory_order_relaxed);
	if (passes < UROCE_POLLER_PASSES)
		return;
	if (!atomic_exchange_explicit(&host->watching, true, memory_order_relaxed))
		uroce_thread_wake(host);
}

void uroce_thread_poller_leaves(struct uroce_host *host)
{
	atomic_store_explicit(&host->poller_passes, 0, memory_order_relaxed);
	if (atomic_exchange_explicit(&host->watching, false, memory_order_seq_cst))
		uroce_thread_wake(host);
}
