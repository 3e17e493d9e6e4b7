/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receive passes. A pass handles received packets, owed acknowledgements and due timers. */
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/mcast.h"
#include "providers/uroce/host/poller.h"
#include "providers/uroce/host/progress.h"

enum {
	BUDGET = 32,	   /* limit of a pass: packets of a peer, or datagrams of a device */
	DRAIN_PASSES = 64, /* enough passes to receive all packets, unless peers keep sending */
	/*
	 * Twice the passes that a full ring takes: SHM_RING_BYTES hold 32768 small packets. A
	 * socket holds less.
	 */
	DRAIN_FULL_PASSES = 2048,
	REFUSALS_BEFORE_YIELD =
		64,	   /* refused passes of a poller in a row, which take some microseconds */
	STRAND_LOOKS = 32, /* polls of a CQ between two checks for strands without pollers */
	/*
	 * Passes between two readings of the clock. Packets get lost on a network, so timers are
	 * needed more often there.
	 */
	CLOCK_PASSES = 64,
	CLOCK_PASSES_SOCKETS = 8,
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

/* Return whether to read the clock. It is read only in some passes, because only timers need it. */
static bool timers_due_soon(struct uroce_host *host, bool sockets)
{
	unsigned int passes = sockets ? CLOCK_PASSES_SOCKETS : CLOCK_PASSES; /* a power of two */

	return !(uroce_strand_epoch(host, 0) & (passes - 1)) &&
	       atomic_load_explicit(&host->engine.wheel.armed, memory_order_relaxed);
}

/*
 * Make a pass of a strand other than the first: shared memory, and acknowledgements of its QPs. The
 * strand is locked.
 */
static unsigned int strand_pass(struct uroce_host *host, unsigned int strand, bool poller)
{
	unsigned int n = uroce_shm_poll(host->shm, strand, BUDGET, poller ? 0 : uroce_now());

	uroce_strand_run(&host->engine, strand, n, poller, false, 0);
	return n;
}

/* Make a pass of all strands but the first. The caller holds the locks of all strands. */
static unsigned int strands_pass(struct uroce_host *host, bool poller)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < PATH_STRANDS; i++)
		n += strand_pass(host, i, poller);
	return n;
}

/*
 * Run the other strands whose QPs received packets from a network in this pass, so that owed
 * acknowledgements leave as they do after a pass of these strands.
 */
static void strands_entered(struct uroce_host *host, unsigned int packets, bool poller)
{
	unsigned int entered = host->paths.entered;

	for (unsigned int i = 1; i < PATH_STRANDS; i++) {
		if (!(entered & 1u << i))
			continue;
		path_strand_enter(&host->paths, i);
		uroce_strand_run(&host->engine, i, packets, poller, false, 0);
		path_strand_leave(&host->paths, i);
	}
	host->paths.entered = 0;
}

static ALWAYS_INLINE unsigned int pass(struct uroce_host *host, bool sockets, bool poller)
{
	bool timed = !poller || timers_due_soon(host, sockets);
	uint64_t now = timed ? uroce_now() : 0;
	unsigned int n;

	assert_held(&host->paths.progress_lock);
	n = uroce_shm_poll(host->shm, 0, BUDGET, poller ? 0 : now);
	if (sockets)
		n += sockets_run(host);
	uroce_strand_run(&host->engine, 0, n, poller, timed, now);
	if (unlikely(uroce_forward_waiting(host)))
		uroce_forward_run(host, uroce_now());
	if (unlikely(host->faults))
		uroce_fault_run(host->faults, uroce_now());
	if (unlikely(host->paths.whole) &&
	    atomic_load_explicit(&host->strands_used, memory_order_relaxed))
		n += strands_pass(host, poller);
	if (unlikely(host->paths.entered))
		strands_entered(host, n, poller);
	if (sockets)
		sockets_flush(host);
	return n;
}

unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller)
{
	return pass(host, sockets, poller);
}

/*
 * Passes in a row that this thread did not make because another thread held the lock. That thread
 * may be waiting for this processor, which this thread keeps for the rest of its time slice by
 * polling. Therefore yield after some refusals.
 */
static __thread unsigned int refusals TLS_QUICK;

static void progress_refused(void)
{
	if (++refusals < REFUSALS_BEFORE_YIELD)
		return;
	refusals = 0;
	sched_yield();
}

/* Make a poller's pass of the first strand. Most passes only poll shared memory. */
static unsigned int first_poll(struct uroce_host *host)
{
	bool sockets = atomic_load_explicit(&host->udp_interest, memory_order_relaxed);
	/*
	 * If the thread did not watch, it would not notice that this poller stops polling.
	 * Therefore the pass does not leave owed acknowledgements to a later pass.
	 */
	bool poller = uroce_thread_watches(host);
	unsigned int n;

	if (unlikely(!uroce_trylock(&host->paths.progress_lock))) {
		progress_refused();
		return 0;
	}
	refusals = 0;
	if (likely(!sockets && poller))
		n = pass(host, false, true);
	else
		n = uroce_progress_pass(host, sockets, poller);
	uroce_unlock(&host->paths.progress_lock);
	uroce_thread_poller_seen(host, 0);
	return n;
}

/* Make a poller's pass of one strand. */
static unsigned int strand_poll(struct uroce_host *host, unsigned int strand)
{
	struct uroce_lock *lock = path_strand_lock(&host->paths, strand);
	unsigned int n;

	if (!strand)
		return first_poll(host);
	if (unlikely(!uroce_trylock(lock))) {
		progress_refused();
		return 0;
	}
	refusals = 0;
	n = strand_pass(host, strand, uroce_thread_watches(host));
	uroce_unlock(lock);
	uroce_thread_poller_seen(host, strand);
	return n;
}

/*
 * Return the strands other than @own, a bit each, that no other poller polled since the last call.
 * Every pass of a poller increments the epoch of its strand; strands_visit() accounts for the
 * passes of this poller.
 */
static unsigned int strands_deserted(struct uroce_host *host, struct uroce_cq *cq, unsigned int own)
{
	unsigned int deserted = 0;

	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		unsigned int epoch = uroce_strand_epoch(host, i);
		atomic_uint *seen = &cq->seen_epoch[i];

		if (!(own & 1u << i) && epoch == atomic_load_explicit(seen, memory_order_relaxed))
			deserted |= 1u << i;
		atomic_store_explicit(seen, epoch, memory_order_relaxed);
	}
	return deserted;
}

/*
 * Poll the strands other than @own that have no other poller, which are all others if this thread
 * is the only poller. Do so each time @own was idle. If @own is busy, do so every STRAND_LOOKS
 * polls, because @own may be busy for ever.
 */
static unsigned int strands_visit(struct uroce_host *host, struct uroce_cq *cq, unsigned int own,
				  bool busy)
{
	unsigned int looks = atomic_load_explicit(&cq->idle_looks, memory_order_relaxed) + 1, n = 0;
	unsigned int deserted = atomic_load_explicit(&cq->deserted, memory_order_relaxed);

	atomic_store_explicit(&cq->idle_looks, looks, memory_order_relaxed);
	if (!(looks % STRAND_LOOKS)) {
		deserted = strands_deserted(host, cq, own);
		atomic_store_explicit(&cq->deserted, deserted, memory_order_relaxed);
	} else if (busy) {
		return 0;
	}
	for (unsigned int i = 0; deserted >> i; i++) {
		if (!(deserted & 1u << i))
			continue;
		n += strand_poll(host, i);
		atomic_store_explicit(&cq->seen_epoch[i], uroce_strand_epoch(host, i),
				      memory_order_relaxed);
	}
	return n;
}

static unsigned int strands_poll(struct uroce_host *host, struct uroce_cq *cq)
{
	unsigned int own = atomic_load_explicit(&cq->strands, memory_order_relaxed), n = 0;

	own = own ? own : 1;
	for (unsigned int i = 0; own >> i; i++)
		if (own & 1u << i)
			n += strand_poll(host, i);
	return n + strands_visit(host, cq, own, n);
}

unsigned int uroce_progress(struct uroce_host *host, struct uroce_cq *cq)
{
	if (unlikely(atomic_load_explicit(&host->strands_used, memory_order_relaxed)) && cq)
		return strands_poll(host, cq);
	return first_poll(host);
}

void uroce_progress_visit(struct uroce_host *host, unsigned int strand)
{
	struct uroce_lock *lock = path_strand_lock(&host->paths, strand);

	if (!uroce_trylock(lock))
		return;
	if (strand)
		strand_pass(host, strand, false);
	else
		uroce_progress_pass(host, true, false);
	uroce_unlock(lock);
}

static void drain(struct uroce_host *host, unsigned int passes)
{
	struct uroce_dev *dev;

	path_host_stop(&host->paths);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_udp_ready(dev->udp);
	for (unsigned int i = 0; i < passes; i++)
		if (!uroce_progress_pass(host, true, false))
			break;
	path_host_go(&host->paths);
}

void uroce_progress_drain(struct uroce_host *host)
{
	drain(host, DRAIN_PASSES);
}

void uroce_progress_drain_full(struct uroce_host *host)
{
	drain(host, DRAIN_FULL_PASSES);
}

void uroce_progress_posted(struct uroce_host *host)
{
	if (uroce_thread_watches(host)) {
		uroce_progress(host, NULL);
	} else if (uroce_trylock(&host->paths.progress_lock)) {
		uroce_progress_pass(host, true, false);
		uroce_unlock(&host->paths.progress_lock);
	}
}
