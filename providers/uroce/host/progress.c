/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One pass over what arrived, what is owed and what is due. */
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/host.h"

enum {
	BUDGET = 32,	  /* packets of one peer, datagrams of one device in one pass */
	DRAIN_PASSES = 8, /* in which all that is there arrives, unless others go on sending */
	REFUSALS_BEFORE_YIELD = 64, /* of a poller, one after the other: some microseconds */
	CLOCK_PASSES = 64,
	CLOCK_PASSES_SOCKETS =
		8, /* where packets get lost, timers are for more than the worst case */
};

static unsigned int sockets_run(struct uroce_host *host)
{
	struct uroce_dev *dev;
	unsigned int n = 0;

	LIST_FOREACH(dev, &host->devices, entry)
		n += uroce_udp_poll(dev->udp, BUDGET) + uroce_mcast_poll(dev, BUDGET);
	return n;
}

static void sockets_flush(struct uroce_host *host)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry)
		if (dev->udp && dev->udp->pending)
			dev->udp->ops->flush(dev->udp);
}

/* The clock is read only now and then when nothing but a timer wants it. */
static bool timers_due_soon(struct uroce_host *host, bool sockets)
{
	unsigned int passes = sockets ? CLOCK_PASSES_SOCKETS : CLOCK_PASSES;

	return !(atomic_load_explicit(&host->poll_epoch, memory_order_relaxed) % passes) &&
	       atomic_load_explicit(&host->engine.wheel.armed, memory_order_relaxed);
}

unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller)
{
	bool timed = !poller || timers_due_soon(host, sockets);
	uint64_t now = timed ? uroce_now() : 0;
	unsigned int n;

	assert_held(&host->paths.progress_lock);
	n = uroce_shm_poll(host->shm, BUDGET, now);
	if (sockets)
		n += sockets_run(host);
	uroce_engine_run(&host->engine, n, poller, timed, now);
	if (unlikely(uroce_forward_waiting(host)))
		uroce_forward_run(host, uroce_now());
	if (unlikely(host->faults))
		uroce_fault_run(host->faults, uroce_now());
	if (sockets)
		sockets_flush(host);
	return n;
}

/*
 * Somebody else makes the pass. Somebody who has the lock but not the processor, perhaps, for this
 * thread is spinning on it: for the rest of its time slice, unless it steps aside.
 */
static __thread unsigned int refusals TLS_QUICK;

static void progress_refused(void)
{
	if (++refusals < REFUSALS_BEFORE_YIELD)
		return;
	refusals = 0;
	sched_yield();
}

unsigned int uroce_progress(struct uroce_host *host)
{
	unsigned int n;

	if (unlikely(!uroce_trylock(&host->paths.progress_lock))) {
		progress_refused();
		return 0;
	}
	refusals = 0;
	/* Who is not watched may stay away, and nobody would know: what it owes is not put off
	 * until it comes back, and it is no poller yet. */
	n = uroce_progress_pass(host,
				atomic_load_explicit(&host->udp_interest, memory_order_relaxed),
				uroce_thread_watches(host));
	uroce_unlock(&host->paths.progress_lock);
	uroce_thread_poller_seen(host);
	return n;
}

void uroce_progress_drain(struct uroce_host *host)
{
	struct uroce_dev *dev;

	uroce_lock(&host->paths.progress_lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_udp_ready(dev->udp);
	for (unsigned int i = 0; i < DRAIN_PASSES; i++)
		if (!uroce_progress_pass(host, true, false))
			break;
	uroce_unlock(&host->paths.progress_lock);
}

void uroce_progress_posted(struct uroce_host *host)
{
	if (uroce_thread_watches(host)) {
		uroce_progress(host);
	} else if (uroce_trylock(&host->paths.progress_lock)) {
		uroce_progress_pass(host, true, false);
		uroce_unlock(&host->paths.progress_lock);
	}
}
