/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The progress thread. Asleep it waits for every socket and for its bell; while pollers are at work
 * it only looks once a tick whether they still are. See host.h for the two states.
 */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/host.h"

enum {
	EVENTS = 64,
	POLLER_PASSES = 64, /* a look or two before going to sleep does not make a poller */
	ENTER_SPINS = 200,  /* some microseconds: longer than most passes */
	/* Between two looks of the watching thread, each of which takes a poller its processor; the
	 * second once so many have found pollers at work. */
	WATCH_MS = 1,
	WATCH_LONG_MS = 4,
	WATCH_STEADY = 4,
	BUCKETS = 1024,	  /* of watches, by descriptor: a process may have some thousand peers */
	LISTENER_MS = 50, /* until a listener is looked at again that could not be served */
};

LIST_HEAD(watch_list, watch);

struct watch {
	LIST_ENTRY(watch) entry;       /* of its bucket, or of those that are to be freed */
	LIST_ENTRY(watch) aside_entry; /* of what may be put aside */
	int fd;
	enum path_watch what;
	void *pointer;
	bool dead;  /* unwatched while its event may be at hand; under the lock */
	bool aside; /* a socket that is not waited for now */
};

struct uroce_thread {
	struct uroce_host *host;
	pthread_t id;
	int control;	      /* epoll of everything but sockets */
	int all;	      /* epoll of sockets, and of control */
	int addresses;	      /* netlink: interfaces changed */
	pthread_mutex_t lock; /* watches */
	struct watch_list sockets;
	struct watch_list listeners;
	struct watch_list unwatched; /* freed by the thread between two waits */
	atomic_bool watching;	     /* pollers are at work */
	unsigned int sleeps;	     /* the board says the number of this one */
	unsigned int seen;	     /* looks in a row that found them so */
	atomic_bool started;
	uint64_t listens_at; /* when the listener is waited for again, ns; 0: it is */
	bool listener_said;
	atomic_bool stop;
	bool aside;  /* sockets are not waited for; changed by the thread only, under the lock */
	bool came;   /* something, to one that is; the thread's */
	bool roused; /* what came while it was asleep wants a pass; the thread's */
	struct watch_list watches[BUCKETS]; /* the last: pollers look at what is before */
};

/* --- watched descriptors --- */

static int epoll_of(const struct uroce_thread *thread, enum path_watch what)
{
	return what == WATCH_SOCKET ? thread->all : thread->control;
}

static struct watch_list *bucket_of(struct uroce_thread *thread, int fd)
{
	return &thread->watches[(unsigned int)fd % BUCKETS];
}

static struct watch *watch_find(struct uroce_thread *thread, int fd)
{
	struct watch *watch;

	LIST_FOREACH(watch, bucket_of(thread, fd), entry)
		if (watch->fd == fd)
			break;
	return watch;
}

/* Where it stands besides; NULL: nowhere. */
static struct watch_list *aside_list(struct uroce_thread *thread, enum path_watch what)
{
	if (what == WATCH_SOCKET)
		return &thread->sockets;
	return what == WATCH_LISTENER ? &thread->listeners : NULL;
}

static int watch_begin(struct uroce_thread *thread, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };
	struct watch_list *aside = aside_list(thread, watch->what);

	watch->aside = watch->what == WATCH_SOCKET && thread->aside;
	if (!watch->aside &&
	    epoll_ctl(epoll_of(thread, watch->what), EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	LIST_INSERT_HEAD(bucket_of(thread, watch->fd), watch, entry);
	if (aside)
		LIST_INSERT_HEAD(aside, watch, aside_entry);
	return 0;
}

/* A descriptor may come to mean something else, without a word to the kernel. */
static bool watch_turn(struct uroce_thread *thread, const struct watch *turned)
{
	struct watch *watch = watch_find(thread, turned->fd);

	if (!watch || aside_list(thread, watch->what) || aside_list(thread, turned->what))
		return false;
	watch->what = turned->what;
	watch->pointer = turned->pointer;
	return true;
}

int uroce_thread_watch(struct uroce_host *host, int fd, enum path_watch what, void *pointer)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct uroce_thread *thread = host->thread;
	bool turned;
	int r = 0;

	if (!watch)
		return -ENOMEM;
	*watch = (struct watch){ .fd = fd, .what = what, .pointer = pointer };
	pthread_mutex_lock(&thread->lock);
	turned = watch_turn(thread, watch);
	if (!turned)
		r = watch_begin(thread, watch);
	pthread_mutex_unlock(&thread->lock);
	if (turned || r < 0)
		free(watch);
	return r;
}

void uroce_thread_unwatch(struct uroce_host *host, int fd)
{
	struct uroce_thread *thread = host->thread;
	struct watch *watch;

	if (!thread)
		return;
	pthread_mutex_lock(&thread->lock);
	watch = watch_find(thread, fd);
	if (watch) {
		epoll_ctl(epoll_of(thread, watch->what), EPOLL_CTL_DEL, fd, NULL);
		watch->dead = true;
		LIST_REMOVE(watch, entry);
		if (aside_list(thread, watch->what))
			LIST_REMOVE(watch, aside_entry);
		LIST_INSERT_HEAD(&thread->unwatched, watch, entry);
	}
	pthread_mutex_unlock(&thread->lock);
}

/*
 * Whether sockets are waited for. Each packet that comes to one that is costs its sender, who
 * brings it here, a quarter of a microsecond more.
 */
static void sockets_aside(struct uroce_thread *thread, bool aside)
{
	struct watch *watch;

	if (thread->aside == aside) /* only this thread changes it */
		return;
	pthread_mutex_lock(&thread->lock);
	thread->aside = aside;
	LIST_FOREACH(watch, &thread->sockets, aside_entry) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

		if (watch->aside == aside)
			continue;
		watch->aside = aside;
		epoll_ctl(thread->all, aside ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, watch->fd, &event);
	}
	pthread_mutex_unlock(&thread->lock);
}

static void unwatched_free(struct uroce_thread *thread)
{
	struct watch *watch;

	pthread_mutex_lock(&thread->lock);
	while ((watch = LIST_FIRST(&thread->unwatched))) {
		LIST_REMOVE(watch, entry);
		free(watch);
	}
	pthread_mutex_unlock(&thread->lock);
}

static void addresses_changed(struct uroce_host *host, int fd)
{
	struct uroce_dev *dev;

	uroce_gids_drain(fd);
	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_gids_refresh(dev);
	pthread_mutex_unlock(&host->lock);
}

/*
 * A connection waits that cannot be accepted, for want of a descriptor, say: the listener stays
 * readable, and whoever waits for it would be awake until one is free.
 */
static void listener_aside(struct uroce_thread *thread, struct watch *watch, int r)
{
	if (!thread->listener_said)
		log_warn("uroce: a process of this host cannot connect: %s%s; it is tried again",
			 strerror(-r),
			 r == -EMFILE ? ": the limit is RLIMIT_NOFILE (ulimit -n)" : "");
	thread->listener_said = true;
	thread->listens_at = uroce_now() + LISTENER_MS * 1000000ull;
	watch->aside = true;
	epoll_ctl(thread->control, EPOLL_CTL_DEL, watch->fd, NULL);
}

static void listener_back(struct uroce_thread *thread)
{
	struct watch *watch;

	thread->listens_at = 0;
	pthread_mutex_lock(&thread->lock);
	LIST_FOREACH(watch, &thread->listeners, aside_entry) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

		watch->aside = false;
		epoll_ctl(thread->control, EPOLL_CTL_ADD, watch->fd, &event);
	}
	pthread_mutex_unlock(&thread->lock);
}

/* How long a wait of @timeout_ms may be, -1 for ever, while the listener is aside. */
static int listener_wait(struct uroce_thread *thread, int timeout_ms)
{
	uint64_t now;

	if (likely(!thread->listens_at))
		return timeout_ms;
	now = uroce_now();
	if (now >= thread->listens_at) {
		listener_back(thread);
		return timeout_ms;
	}
	return timeout_ms < 0 ? LISTENER_MS : min_of(timeout_ms, (int)LISTENER_MS);
}

/*
 * What a watch means now, or false: it is no longer one. Paths of UDP are the only ones that may go
 * while their event is at hand, so they are told under the lock; the pass that follows receives.
 * Calls and peers stay until the thread has ended.
 */
static bool watch_read(struct uroce_thread *thread, const struct watch *watch,
		       enum path_watch *ret_what, void **ret_pointer)
{
	bool alive;

	pthread_mutex_lock(&thread->lock);
	alive = !watch->dead;
	*ret_what = watch->what;
	*ret_pointer = watch->pointer;
	if (alive && watch->what == WATCH_SOCKET)
		uroce_udp_ready(watch->pointer);
	pthread_mutex_unlock(&thread->lock);
	return alive;
}

static void watch_ready(struct uroce_thread *thread, struct watch *watch)
{
	struct uroce_host *host = thread->host;
	enum path_watch what;
	uint64_t rung;
	void *pointer;
	int r;

	if (!watch_read(thread, watch, &what, &pointer))
		return;
	switch (what) {
	case WATCH_BELL:
		thread->roused = true;
		(void)!read(watch->fd, &rung, sizeof(rung));
		uroce_forward_connect(host);
		break;
	case WATCH_LISTENER:
		r = uroce_shm_accept(host->shm, watch->fd);
		if (r < 0)
			listener_aside(thread, watch, r);
		break;
	case WATCH_GUEST:
		uroce_shm_guest(host->shm, watch->fd);
		break;
	case WATCH_CALL:
		uroce_shm_called(host->shm, pointer);
		break;
	case WATCH_PEER:
		uroce_shm_conn_ready(host->shm, pointer);
		thread->roused |= uroce_shm_peer_dead(pointer);
		break;
	case WATCH_PROCESS:
		thread->roused = true;
		uroce_shm_process_ended(host->shm, pointer);
		break;
	case WATCH_SOCKET:
		thread->roused = true;
		thread->came = true;
		break;
	case WATCH_ADDRESSES:
		thread->roused = true;
		addresses_changed(host, watch->fd);
		break;
	case WATCH_IMPORT:
		uroce_import_ready(host, watch->fd);
		break;
	}
}

/* Wait on one of the two sets, then see to what is not a packet. */
static void wait_on(struct uroce_thread *thread, int epoll, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(epoll, events, EVENTS, listener_wait(thread, timeout_ms));

	for (int i = 0; i < n; i++) {
		struct watch *watch = events[i].data.ptr;

		if (watch)
			watch_ready(thread, watch);
	}
	if (epoll == thread->all && n > 0)
		wait_on(thread, thread->control, 0);
	unwatched_free(thread);
}

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
		atomic_exchange_explicit(&thread->watching, true, memory_order_seq_cst);
		if (poller_at_work(host))
			return false;
		atomic_store_explicit(&thread->watching, false, memory_order_relaxed);
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
	bool fences, pending, retry;

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
	path_host_go(&host->paths);
	if (unlikely(host->faults))
		retry |= uroce_fault_waiting(host->faults);
	if (retry)
		*timeout = *timeout < 0 ? 1 : min_of(*timeout, 1);
	return !pending;
}

/*
 * Until something wants a pass. A peer that comes does not: what it sends rings the bell, as long
 * as the board says "sleeping".
 */
static void sleep_on(struct uroce_thread *thread, int timeout)
{
	uint64_t now = uroce_now(), end = timeout < 0 ? UINT64_MAX : now + timeout * 1000000ull;

	thread->roused = false;
	do {
		wait_on(thread, thread->all, timeout);
		if (timeout < 0)
			continue;
		now = uroce_now();
		timeout = now < end ? (end - now) / 1000000 + 1 : 0;
	} while (!thread->roused && now < end);
}

static void sleep_once(struct uroce_thread *thread)
{
	struct uroce_host *host = thread->host;
	int timeout;

	sockets_aside(thread, false);
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
	while (!atomic_load_explicit(&thread->watching, memory_order_relaxed) && pass(thread))
		;
}

/*
 * A tick: pollers see to packets, this only to descriptors, and to sockets where no QP makes
 * pollers look at those: what is for QP1 comes there all the same. Return: whether it was cut short
 * by that.
 */
static bool watch_wait(struct uroce_thread *thread)
{
	bool polled = atomic_load_explicit(&thread->host->udp_interest, memory_order_relaxed);

	thread->came = false;
	if (!polled)
		sockets_aside(thread, false);
	wait_on(thread, polled ? thread->control : thread->all,
		thread->seen < WATCH_STEADY ? WATCH_MS : WATCH_LONG_MS);
	if (!thread->came)
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
			sockets_aside(thread, true);
		return;
	}
	thread->seen = 0;
	/* Somebody is in a pass, only slow: waiting for the lock would slow it down more. */
	if (!path_host_try(&host->paths))
		return;
	atomic_store_explicit(&thread->watching, false, memory_order_relaxed);
	uroce_gsi_pass(host);
}

static void *thread_main(void *arg)
{
	struct uroce_thread *thread = arg;

	uroce_shm_life_begin(thread->host->shm);
	atomic_store_explicit(&thread->started, true, memory_order_release);
	while (!atomic_load_explicit(&thread->stop, memory_order_acquire)) {
		if (atomic_load_explicit(&thread->watching, memory_order_relaxed))
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

	(void)!write(host->shm->bell, &one, sizeof(one));
}

bool uroce_thread_watches(const struct uroce_host *host)
{
	return atomic_load_explicit(&host->thread->watching, memory_order_relaxed);
}

void uroce_thread_poller_seen(struct uroce_host *host, unsigned int strand)
{
	struct uroce_thread *thread = host->thread;
	unsigned int epoch = uroce_strand_epoch(host, strand), passes;

	atomic_store_explicit(&host->epochs[strand].epoch, epoch + 1, memory_order_relaxed);
	if (likely(atomic_load_explicit(&thread->watching, memory_order_relaxed)))
		return;
	passes = atomic_load_explicit(&host->poller_passes, memory_order_relaxed);
	atomic_store_explicit(&host->poller_passes, passes + 1, memory_order_relaxed);
	if (passes < POLLER_PASSES)
		return;
	if (!atomic_exchange_explicit(&thread->watching, true, memory_order_relaxed))
		uroce_thread_wake(host);
}

void uroce_thread_poller_leaves(struct uroce_host *host)
{
	struct uroce_thread *thread = host->thread;

	atomic_store_explicit(&host->poller_passes, 0, memory_order_relaxed);
	if (atomic_exchange_explicit(&thread->watching, false, memory_order_seq_cst))
		uroce_thread_wake(host);
}

/* --- fork --- */

void uroce_thread_fork_begin(struct uroce_host *host)
{
	pthread_mutex_lock(&host->thread->lock);
}

void uroce_thread_fork_end(struct uroce_host *host)
{
	pthread_mutex_unlock(&host->thread->lock);
}

/*
 * A child is none of those who are watched here: its copies of their descriptors would keep
 * connections and ports open after the parent's death.
 */
void uroce_thread_forked(struct uroce_host *host)
{
	struct uroce_thread *thread = host->thread;
	struct watch *watch;

	for (int i = 0; i < BUCKETS; i++)
		LIST_FOREACH(watch, &thread->watches[i], entry)
			close(watch->fd);
	close(thread->control);
	close(thread->all);
	uroce_shm_forked(host->shm);
	uroce_thread_fork_end(host);
}

/* --- start and stop --- */

/* The application's signals are the application's; the two of a fault are ours to recover from
 * (copy.c). */
static int thread_create(struct uroce_thread *thread)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread->id, NULL, thread_main, thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		pthread_setname_np(thread->id, "uroce");
	/* Peers ask whether it is there. */
	while (!r && !atomic_load_explicit(&thread->started, memory_order_acquire))
		sched_yield();
	return -r;
}

int uroce_thread_start(struct uroce_host *host)
{
	struct uroce_thread *thread = calloc(1, sizeof(*thread));
	struct epoll_event nested = { .events = EPOLLIN };
	int r;

	if (!thread)
		return -ENOMEM;
	thread->host = host;
	thread->addresses = -1;
	thread->control = epoll_create1(EPOLL_CLOEXEC);
	thread->all = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_init(&thread->lock, NULL);
	host->thread = thread;
	r = thread->control < 0 || thread->all < 0 ? -errno : 0;
	if (!r && epoll_ctl(thread->all, EPOLL_CTL_ADD, thread->control, &nested))
		r = -errno;
	if (!r)
		r = uroce_thread_watch(host, host->shm->bell, WATCH_BELL, NULL);
	if (!r)
		r = uroce_thread_watch(host, uroce_shm_listener(host->shm), WATCH_LISTENER, NULL);
	if (!r)
		r = uroce_gids_watch(&thread->addresses);
	if (!r)
		r = uroce_thread_watch(host, thread->addresses, WATCH_ADDRESSES, NULL);
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
	struct watch *watch;

	if (thread->id) {
		atomic_store_explicit(&thread->stop, true, memory_order_release);
		uroce_thread_wake(host);
		pthread_join(thread->id, NULL);
	}
	unwatched_free(thread);
	for (int i = 0; i < BUCKETS; i++)
		while ((watch = LIST_FIRST(&thread->watches[i]))) {
			LIST_REMOVE(watch, entry);
			if (watch->what == WATCH_GUEST)
				close(watch->fd);
			free(watch);
		}
	if (thread->addresses >= 0)
		close(thread->addresses);
	if (thread->control >= 0)
		close(thread->control);
	if (thread->all >= 0)
		close(thread->all);
	pthread_mutex_destroy(&thread->lock);
	free(thread);
	host->thread = NULL;
}
