/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The progress thread. Asleep it waits for all that is watched (watch.c); while pollers are at work
 * it only looks once a tick whether they still are. See host.h for the two states.
 */
#include <limits.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/host.h"
#include "providers/uroce/host/watch.h"
#include "util/thread.h"

enum {
	POLLER_PASSES = 64, /* a look or two before going to sleep does not make a poller */
	ENTER_SPINS = 200,  /* some microseconds: longer than most passes */
	/* Between two looks of the watching thread, each of which takes a poller its processor; the
	 * second once so many have found pollers at work. */
	WATCH_MS = 1,
	WATCH_LONG_MS = 4,
	WATCH_STEADY = 4,
	BUSY_PASSES = 64, /* from one look at who connects or ends to the next */
};

struct uroce_thread {
	struct uroce_host *host;
	pthread_t id;
	int addresses;		  /* netlink: interfaces changed */
	unsigned int sleeps;	  /* the board says the number of this one */
	unsigned int busy_passes; /* that brought something */
	unsigned int seen;	  /* looks in a row that found them so */
	atomic_bool started;
	atomic_bool stop;
};

/* --- the two states --- */

static bool poller_at_work(struct uroce_host *host)
{
	return atomic_load_explicit(&host->poller_passes, memory_order_relaxed) >= POLLER_PASSES;
}

/*
 * Take the locks of a pass. If a poller has it for long, one that lost its processor to this very
 * thread, perhaps, packets are its, and this thread watches. Pairs with
 * uroce_thread_poller_leaves(): either that finds the thread watching, or its word that there is no
 * poller any more is found here.
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

/* Milliseconds until the wheel wants to run; -1 never. */
static int timer_wait(struct uroce_host *host)
{
	uint64_t next = uroce_wheel_next(&host->engine.wheel), now = uroce_now();

	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)min_of((next - now) / 1000000 + 1, (uint64_t)60000);
}

/* A socket was full: what waits for room in it goes out with a later pass. */
static bool udp_pending(struct uroce_host *host)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry)
		if (dev->udp && atomic_load_explicit(&dev->udp->pending, memory_order_relaxed))
			return true;
	return false;
}

/* Not all waits for a descriptor: blocked QPs and full pipes have none. */
static bool must_retry(struct uroce_host *host)
{
	bool must = uroce_forward_waiting(host) || udp_pending(host);

	assert_held(&host->paths.progress_lock);
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		must |= uroce_strand_must_run(&host->engine, i);
	return must;
}

/*
 * The look after "sleeping" is said: pairs with shm_record_commit(), where the record is published
 * before "sleeping" is read. The fence is for senders that have none of their own there.
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
 * Until something wants a pass. A peer that comes does not: what it sends rings the bell, as long
 * as the board says "sleeping".
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

/* As long as they bring something; others may see to it that all do. */
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
	/* Pairs with uroce_qp_timer(): a timer armed from here on rings the bell. */
	atomic_store_explicit(&host->engine.wakes_at, UINT64_MAX, memory_order_seq_cst);
	timeout = timer_wait(host);
	if (timeout >= 0)
		atomic_store_explicit(&host->engine.wakes_at, uroce_now() + timeout * 1000000ull,
				      memory_order_relaxed);
	thread->sleeps += thread->sleeps == UINT_MAX ? 2 : 1; /* 0 is awake */
	atomic_exchange_explicit(&host->shm->board->front.sleeping, thread->sleeps,
				 memory_order_seq_cst);
	if (may_sleep(thread, &timeout))
		sleep_on(thread, timeout);
	atomic_store_explicit(&host->shm->board->front.sleeping, 0, memory_order_relaxed);
	atomic_store_explicit(&host->engine.wakes_at, 0, memory_order_relaxed);
	passes_run(thread);
}

/*
 * A tick: pollers see to packets, this only to descriptors, and to sockets where no QP makes
 * pollers look at those: what is for QP1 comes there all the same. Return: whether it was cut short
 * by that.
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

/* Strands of which a poller made a pass in the tick, a bit each; @epoch: before it. */
static unsigned int strands_polled(const struct uroce_host *host,
				   const unsigned int epoch[PATH_STRANDS])
{
	unsigned int polled = 0;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		polled |= (uroce_strand_epoch(host, i) != epoch[i]) << i;
	return polled;
}

/* Pollers may be at work elsewhere and never come here: who polls QP1, say. */
static void strands_unpolled(struct uroce_host *host, unsigned int polled)
{
	if (!atomic_load_explicit(&host->strands_used, memory_order_relaxed))
		return;
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		if (!(polled & 1u << i))
			uroce_progress_visit(host, i);
}

/* Back to sleep when no poller was seen in a tick. */
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
	/* Somebody is in a pass, only slow: waiting for the lock would slow it down more. */
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

void uroce_thread_wake(struct uroce_host *host)
{
	uint64_t one = 1;

	(void)!uroce_call_write(host->shm->bell, &one, sizeof(one));
}

void uroce_thread_poller_came(struct uroce_host *host)
{
	unsigned int passes = atomic_load_explicit(&host->poller_passes, memory_order_relaxed);

	atomic_store_explicit(&host->poller_passes, passes + 1, memory_order_relaxed);
	if (passes < POLLER_PASSES)
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

/* --- start and stop --- */

static int thread_create(struct uroce_thread *thread)
{
	int r = thread_run(thread_main, thread, &thread->id);

	if (!r)
		pthread_setname_np(thread->id, "uroce");
	/* Peers ask whether it is there. */
	while (!r && !atomic_load_explicit(&thread->started, memory_order_acquire))
		sched_yield();
	return r;
}

static int watches_begin(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;
	int r = uroce_watch_begin(host, host->shm->bell, WATCH_BELL, NULL);

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
