/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The progress thread. While it sleeps it waits for all watched descriptors (watch.c). While
 * pollers are active it only checks once a tick whether they still are. See host.h for the two
 * states.
 */
#include <limits.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/poller.h"
#include "providers/uroce/host/progress.h"
#include "providers/uroce/host/thread.h"
#include "providers/uroce/host/watch.h"
#include "util/thread.h"

enum {
	ENTER_SPINS = 200, /* spins that take some microseconds, longer than most passes */
	/*
	 * Ticks in ms. Each tick takes the processor from a poller, so ticks become longer after
	 * WATCH_STEADY ticks with active pollers.
	 */
	WATCH_MS = 1,
	WATCH_LONG_MS = 4,
	WATCH_STEADY = 4,
	BUSY_PASSES = 64, /* passes with packets between two checks of the other descriptors */
};

struct uroce_thread {
	struct uroce_host *host;
	pthread_t id;
	int addresses;		  /* netlink socket that reports changes of interfaces */
	unsigned int sleeps;	  /* number of the present sleep, shown on the board */
	unsigned int busy_passes; /* passes that received packets */
	unsigned int seen;	  /* ticks in a row with active pollers */
	atomic_bool started;
	atomic_bool stop;
};

/* --- the two states --- */

static bool poller_at_work(struct uroce_host *host)
{
	return atomic_load_explicit(&host->poller_passes, memory_order_relaxed) >=
	       UROCE_POLLER_PASSES;
}

/*
 * Take the locks of all strands. A poller may hold one for long, for example because this thread
 * took its processor. In this case leave packets to pollers and begin to watch. Pairs with
 * uroce_thread_poller_leaves(): either that function finds the thread watching, or this function
 * finds that no poller is left.
 */
static bool pass_enter(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;

	for (int i = 0; i < ENTER_SPINS; i++) {
		if (path_host_try(&host->paths))
			return true;
		uroce_lock_pause();
	}
	if (poller_at_work(host)) {
		atomic_exchange_explicit(&host->watching, true, memory_order_seq_cst);
		if (poller_at_work(host))
			return false;
		atomic_store_explicit(&host->watching, false, memory_order_relaxed);
	}
	path_host_stop(&host->paths);
	return true;
}

static unsigned int pass(struct uroce_thread *thread)
{
	return pass_enter(thread) ? uroce_gsi_pass(thread->host) : 0;
}

/* Return the milliseconds until the next timer is due; -1: never. */
static int timer_wait(struct uroce_host *host)
{
	uint64_t next = uroce_wheel_next(&host->engine.wheel), now = uroce_now();

	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)min_of((next - now) / 1000000 + 1, (uint64_t)60000);
}

/* Return whether packets wait for room in a full socket. A later pass sends them. */
static bool udp_pending(struct uroce_host *host)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry)
		if (dev->udp && atomic_load_explicit(&dev->udp->pending, memory_order_relaxed))
			return true;
	return false;
}

/*
 * Return whether a pass must be repeated without a descriptor becoming readable, because of blocked
 * QPs or full pipes.
 */
static bool must_retry(struct uroce_host *host)
{
	bool must = uroce_forward_waiting(host) || udp_pending(host);

	assert_held(&host->paths.progress_lock);
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		must |= uroce_strand_must_run(&host->engine, i);
	return must;
}

/*
 * Check for packets once more after "sleeping" is on the board. Pairs with shm_record_commit(),
 * which publishes the record before it reads "sleeping". The fence is for senders without a fence
 * of their own.
 */
static bool may_sleep(struct uroce_thread *thread, int *timeout)
{
	struct uroce_host *host = thread->host;
	bool fences, pending, retry, urgent;

	if (!pass_enter(thread))
		return false;
	fences = uroce_shm_fences_for_peers(host->shm);
	path_host_go(&host->paths);
	if (fences)
		uroce_fence_all();
	if (!pass_enter(thread))
		return false;
	pending = uroce_shm_pending(host->shm);
	retry = must_retry(host);
	urgent = uroce_answers_wait(&host->engine);
	path_host_go(&host->paths);
	if (unlikely(host->faults))
		retry |= uroce_fault_waiting(host->faults);
	if (retry)
		*timeout = *timeout < 0 ? 1 : min_of(*timeout, 1);
	if (urgent)
		*timeout = 0;
	return !pending;
}

/*
 * Sleep until a pass is needed. A new peer does not end the sleep: its first packet wakes the
 * thread, because the board says "sleeping".
 */
static void sleep_on(struct uroce_thread *thread, int timeout)
{
	uint64_t now = uroce_now(), end = timeout < 0 ? UINT64_MAX : now + timeout * 1000000ull;
	bool roused = false;

	do {
		roused |= uroce_watches_wait(thread->host->watches, timeout) & WATCHES_ROUSED;
		if (timeout < 0)
			continue;
		now = uroce_now();
		timeout = now < end ? (end - now) / 1000000 + 1 : 0;
	} while (!roused && now < end);
}

/*
 * Make passes as long as they receive packets. Peers may send for ever, so check the other
 * descriptors in between.
 */
static void passes_run(struct uroce_thread *thread)
{
	while (!atomic_load_explicit(&thread->host->watching, memory_order_relaxed) &&
	       pass(thread)) {
		if (atomic_load_explicit(&thread->stop, memory_order_relaxed))
			break;
		if (!(++thread->busy_passes % BUSY_PASSES))
			uroce_watches_wait_rest(thread->host->watches, 0);
	}
}

static void sleep_once(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;
	int timeout;

	uroce_watches_sockets(host->watches, true);
	/* Pairs with uroce_qp_timer(): a timer armed from here on wakes the thread. */
	atomic_store_explicit(&host->engine.wakes_at, UINT64_MAX, memory_order_seq_cst);
	timeout = timer_wait(host);
	if (timeout >= 0)
		atomic_store_explicit(&host->engine.wakes_at, uroce_now() + timeout * 1000000ull,
				      memory_order_relaxed);
	thread->sleeps += thread->sleeps == UINT_MAX ? 2 : 1; /* 0 means awake */
	atomic_exchange_explicit(&host->shm->board->first_page.sleeping, thread->sleeps,
				 memory_order_seq_cst);
	if (may_sleep(thread, &timeout))
		sleep_on(thread, timeout);
	atomic_store_explicit(&host->shm->board->first_page.sleeping, 0, memory_order_relaxed);
	atomic_store_explicit(&host->engine.wakes_at, 0, memory_order_relaxed);
	passes_run(thread);
}

/*
 * Wait for one tick. Pollers receive the packets, so wait only for descriptors that are no sockets.
 * If no QP makes pollers poll sockets, wait for sockets too, because packets for QP1 arrive there.
 * Return: whether a packet ended the wait.
 */
static bool watch_wait(struct uroce_thread *thread)
{
	struct uroce_watches *watches = thread->host->watches;
	int tick = thread->seen < WATCH_STEADY ? WATCH_MS : WATCH_LONG_MS;
	unsigned int saw;

	if (atomic_load_explicit(&thread->host->udp_interest, memory_order_relaxed)) {
		saw = uroce_watches_wait_rest(watches, tick);
	} else {
		uroce_watches_sockets(watches, true);
		saw = uroce_watches_wait(watches, tick);
	}
	if (!(saw & WATCHES_CAME))
		return false;
	pass(thread);
	return true;
}

static void epochs_read(const struct uroce_host *host, unsigned int epoch[PATH_STRANDS])
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		epoch[i] = uroce_strand_epoch(host, i);
}

/*
 * Return the strands that pollers polled during the tick, a bit each. @epoch: epochs before the
 * tick.
 */
static unsigned int strands_polled(const struct uroce_host *host,
				   const unsigned int epoch[PATH_STRANDS])
{
	unsigned int polled = 0;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		polled |= (uroce_strand_epoch(host, i) != epoch[i]) << i;
	return polled;
}

/*
 * Make a pass of each strand without a poller. Active pollers may only poll other strands, or QP1.
 */
static void strands_unpolled(struct uroce_host *host, unsigned int polled)
{
	if (!atomic_load_explicit(&host->strands_used, memory_order_relaxed))
		return;
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		if (!(polled & 1u << i))
			uroce_progress_visit(host, i);
}

/* Watch for one tick. If no poller was active, the thread returns to sleep. */
static void watch_once(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;
	unsigned int epoch[PATH_STRANDS], polled;

	epochs_read(host, epoch);
	if (watch_wait(thread))
		return;
	polled = strands_polled(host, epoch);
	if (polled) {
		thread->seen++;
		strands_unpolled(host, polled);
		if (atomic_load_explicit(&host->udp_interest, memory_order_relaxed))
			uroce_watches_sockets(host->watches, false);
		return;
	}
	thread->seen = 0;
	/* A poller is in a slow pass. Waiting for its lock would make it slower. */
	if (!path_host_try(&host->paths))
		return;
	atomic_store_explicit(&host->watching, false, memory_order_relaxed);
	uroce_gsi_pass(host);
}

static void *thread_main(void *arg)
{
	struct uroce_thread *thread = arg;

	uroce_shm_life_begin(thread->host->shm);
	atomic_store_explicit(&thread->started, true, memory_order_release);
	while (!atomic_load_explicit(&thread->stop, memory_order_acquire)) {
		if (atomic_load_explicit(&thread->host->watching, memory_order_relaxed))
			watch_once(thread);
		else
			sleep_once(thread);
		if (unlikely(thread->host->faults))
			uroce_fault_events(thread->host);
	}
	uroce_shm_life_end(thread->host->shm);
	return NULL;
}

/* --- start and stop --- */

static int thread_create(struct uroce_thread *thread)
{
	int r = thread_run(thread_main, thread, &thread->id);

	if (!r)
		pthread_setname_np(thread->id, "uroce");
	/* Wait for the start, because peers check that the thread runs. */
	while (!r && !atomic_load_explicit(&thread->started, memory_order_acquire))
		sched_yield();
	return r;
}

static int watches_begin(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;
	int r = uroce_watch_begin(host, host->shm->wake_fd, WATCH_WAKE, NULL);

	if (!r)
		r = uroce_watch_begin(host, uroce_shm_listener(host->shm), WATCH_LISTENER, NULL);
	if (!r)
		r = uroce_gids_watch(&thread->addresses);
	if (!r)
		r = uroce_watch_begin(host, thread->addresses, WATCH_ADDRESSES, NULL);
	return r;
}

int uroce_thread_start(struct uroce_host *host)
{
	struct uroce_thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	thread->host = host;
	thread->addresses = -1;
	host->thread = thread;
	r = uroce_watches_new(host, &host->watches);
	if (!r)
		r = watches_begin(thread);
	if (!r)
		r = thread_create(thread);
	if (r < 0) {
		thread->id = 0;
		uroce_thread_stop(host);
	}
	return r;
}

void uroce_thread_stop(struct uroce_host *host)
{
	struct uroce_thread *thread = host->thread;

	if (thread->id) {
		atomic_store_explicit(&thread->stop, true, memory_order_release);
		uroce_thread_wake(host);
		pthread_join(thread->id, NULL);
	}
	if (host->watches)
		uroce_watches_free(host->watches);
	host->watches = NULL;
	if (thread->addresses >= 0)
		close(thread->addresses);
	free(thread);
	host->thread = NULL;
}
