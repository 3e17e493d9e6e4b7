/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Watched descriptors: two epoll sets, one nested in the other, and descriptors that are
 * temporarily in neither set.
 */
#include <string.h>
#include <sys/epoll.h>

#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/watch.h"

enum {
	EVENTS = 64,
	/* hash buckets of watches, by descriptor: a process may have some thousand peers */
	BUCKETS = 1024,
	LISTENER_MS = 50, /* ms until a listener is tried again after an error */
};

LIST_HEAD(watch_list, watch);

struct watch {
	LIST_ENTRY(watch) entry;       /* in its bucket, or in unwatched */
	LIST_ENTRY(watch) aside_entry; /* in sockets or in listeners */
	int fd;
	enum path_watch what;
	void *pointer;
	bool dead;  /* unwatched, but its event may be pending; under the lock */
	bool aside; /* not in its epoll set now */
};

struct uroce_watches {
	struct uroce_host *host;
	int control;	      /* epoll set of all descriptors but sockets */
	int all;	      /* epoll set of sockets and of control */
	pthread_mutex_t lock; /* protects the following members, except those of the thread */
	struct watch_list sockets;
	struct watch_list listeners;
	struct watch_list unwatched; /* ended watches, freed by the thread between two waits */
	/* ns: when the listener is tried again, 0: it is watched; used by the thread only */
	uint64_t listens_at;
	bool listener_said; /* the error of the listener was logged; used by the thread only */
	bool aside; /* sockets are not in their set; changed by the thread only, under the lock */
	struct watch_list buckets[BUCKETS];
};

static int epoll_of(const struct uroce_watches *watches, enum path_watch what)
{
	return what == WATCH_SOCKET ? watches->all : watches->control;
}

static struct watch_list *bucket_of(struct uroce_watches *watches, int fd)
{
	return &watches->buckets[(unsigned int)fd % BUCKETS];
}

static struct watch *watch_find(struct uroce_watches *watches, int fd)
{
	struct watch *watch;

	LIST_FOREACH(watch, bucket_of(watches, fd), entry)
		if (watch->fd == fd)
			break;
	return watch;
}

/*
 * Return the list of watches of this kind that may be removed from their set. NULL: they may not.
 */
static struct watch_list *aside_list(struct uroce_watches *watches, enum path_watch what)
{
	if (what == WATCH_SOCKET)
		return &watches->sockets;
	return what == WATCH_LISTENER ? &watches->listeners : NULL;
}

static int watch_enter(struct uroce_watches *watches, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };
	struct watch_list *aside = aside_list(watches, watch->what);

	watch->aside = watch->what == WATCH_SOCKET && watches->aside;
	if (!watch->aside &&
	    epoll_ctl(epoll_of(watches, watch->what), EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	LIST_INSERT_HEAD(bucket_of(watches, watch->fd), watch, entry);
	if (aside)
		LIST_INSERT_HEAD(aside, watch, aside_entry);
	return 0;
}

/* Change the meaning of a watched descriptor, which needs no system call. */
static bool watch_turn(struct uroce_watches *watches, const struct watch *turned)
{
	struct watch *watch = watch_find(watches, turned->fd);

	if (!watch || aside_list(watches, watch->what) || aside_list(watches, turned->what))
		return false;
	watch->what = turned->what;
	watch->pointer = turned->pointer;
	return true;
}

int uroce_watch_begin(struct uroce_host *host, int fd, enum path_watch what, void *pointer)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct uroce_watches *watches = host->watches;
	bool turned;
	int r = 0;

	if (!watch || !watches) {
		free(watch);
		return watches ? -ENOMEM : -ECANCELED; /* the thread has ended */
	}
	*watch = (struct watch){ .fd = fd, .what = what, .pointer = pointer };
	pthread_mutex_lock(&watches->lock);
	turned = watch_turn(watches, watch);
	if (!turned)
		r = watch_enter(watches, watch);
	pthread_mutex_unlock(&watches->lock);
	if (turned || r < 0)
		free(watch);
	return r;
}

void uroce_watch_end(struct uroce_host *host, int fd)
{
	struct uroce_watches *watches = host->watches;
	struct watch *watch;

	if (!watches)
		return;
	pthread_mutex_lock(&watches->lock);
	watch = watch_find(watches, fd);
	if (watch) {
		epoll_ctl(epoll_of(watches, watch->what), EPOLL_CTL_DEL, fd, NULL);
		watch->dead = true;
		LIST_REMOVE(watch, entry);
		if (aside_list(watches, watch->what))
			LIST_REMOVE(watch, aside_entry);
		LIST_INSERT_HEAD(&watches->unwatched, watch, entry);
	}
	pthread_mutex_unlock(&watches->lock);
}

void uroce_watches_sockets(struct uroce_watches *watches, bool wanted)
{
	bool aside = !wanted;
	struct watch *watch;

	if (watches->aside == aside) /* read without lock: only this thread changes it */
		return;
	pthread_mutex_lock(&watches->lock);
	watches->aside = aside;
	LIST_FOREACH(watch, &watches->sockets, aside_entry) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

		if (watch->aside == aside)
			continue;
		watch->aside = aside;
		epoll_ctl(watches->all, aside ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, watch->fd, &event);
	}
	pthread_mutex_unlock(&watches->lock);
}

static void unwatched_free(struct uroce_watches *watches)
{
	struct watch *watch;

	pthread_mutex_lock(&watches->lock);
	while ((watch = LIST_FIRST(&watches->unwatched))) {
		LIST_REMOVE(watch, entry);
		free(watch);
	}
	pthread_mutex_unlock(&watches->lock);
}

/* Free watches that pending events of the last wait might have named. */
static void ended_free(struct uroce_watches *watches)
{
	unwatched_free(watches);
	uroce_former_peers_free(watches->host);
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
 * Remove the listener from its set for a while, because a pending connection cannot be accepted,
 * for example for lack of a descriptor. The listener stays readable, so waiting for it would keep
 * the thread awake.
 */
static void listener_aside(struct uroce_watches *watches, struct watch *watch, int r)
{
	if (!watches->listener_said)
		log_warn("uroce: a process of this host cannot connect: %s%s; it is tried again",
			 strerror(-r),
			 r == -EMFILE ? ": the limit is RLIMIT_NOFILE (ulimit -n)" : "");
	watches->listener_said = true;
	watches->listens_at = uroce_now() + LISTENER_MS * 1000000ull;
	watch->aside = true;
	epoll_ctl(watches->control, EPOLL_CTL_DEL, watch->fd, NULL);
}

static void listener_back(struct uroce_watches *watches)
{
	struct watch *watch;

	watches->listens_at = 0;
	pthread_mutex_lock(&watches->lock);
	LIST_FOREACH(watch, &watches->listeners, aside_entry) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

		watch->aside = false;
		epoll_ctl(watches->control, EPOLL_CTL_ADD, watch->fd, &event);
	}
	pthread_mutex_unlock(&watches->lock);
}

/* Shorten a wait of @timeout_ms (-1: for ever) while the listener is not in its set. */
static int listener_wait(struct uroce_watches *watches, int timeout_ms)
{
	uint64_t now;

	if (likely(!watches->listens_at))
		return timeout_ms;
	now = uroce_now();
	if (now >= watches->listens_at) {
		listener_back(watches);
		return timeout_ms;
	}
	return timeout_ms < 0 ? LISTENER_MS : min_of(timeout_ms, (int)LISTENER_MS);
}

/*
 * Read the meaning of a watch. Return: false if it has ended. UDP paths may be freed while their
 * event is pending, so call uroce_udp_ready() under the lock. The next pass receives. Calls and
 * peers stay valid until the thread has ended.
 */
static bool watch_read(struct uroce_watches *watches, const struct watch *watch,
		       enum path_watch *ret_what, void **ret_pointer)
{
	bool alive;

	pthread_mutex_lock(&watches->lock);
	alive = !watch->dead;
	*ret_what = watch->what;
	*ret_pointer = watch->pointer;
	if (alive && watch->what == WATCH_SOCKET)
		uroce_udp_ready(watch->pointer);
	pthread_mutex_unlock(&watches->lock);
	return alive;
}

static void bell_empty(int bell)
{
	uint64_t rung;

	(void)!read(bell, &rung, sizeof(rung));
}

static void listener_ready(struct uroce_watches *watches, struct watch *watch)
{
	int r = uroce_shm_accept(watches->host->shm, watch->fd);

	if (r < 0)
		listener_aside(watches, watch, r);
}

/* Handle an event of a peer's connection. If the peer has ended, a pass must handle that. */
static unsigned int peer_ready(struct uroce_host *host, struct shm_peer *peer)
{
	uroce_shm_conn_ready(host->shm, peer);
	return uroce_shm_peer_dead(peer) ? WATCHES_ROUSED : 0;
}

/* Return: WATCHES_*. */
static unsigned int watch_ready(struct uroce_watches *watches, struct watch *watch)
{
	struct uroce_host *host = watches->host;
	enum path_watch what;
	void *pointer;

	if (!watch_read(watches, watch, &what, &pointer))
		return 0;
	switch (what) {
	case WATCH_BELL:
		bell_empty(watch->fd);
		uroce_forward_connect(host);
		return WATCHES_ROUSED;
	case WATCH_LISTENER:
		listener_ready(watches, watch);
		return 0;
	case WATCH_GUEST:
		uroce_shm_guest(host->shm, watch->fd);
		return 0;
	case WATCH_CALL:
		uroce_shm_called(host->shm, pointer);
		return 0;
	case WATCH_PEER:
		return peer_ready(host, pointer);
	case WATCH_PROCESS:
		uroce_shm_process_ended(host->shm, pointer);
		return WATCHES_ROUSED;
	case WATCH_SOCKET:
		return WATCHES_ROUSED | WATCHES_CAME;
	case WATCH_ADDRESSES:
		addresses_changed(host, watch->fd);
		return WATCHES_ROUSED;
	case WATCH_IMPORT:
		uroce_import_ready(host, watch->fd);
		return 0;
	}
	return 0;
}

/* Wait on one of the two sets. */
static unsigned int wait_on(struct uroce_watches *watches, int epoll, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(epoll, events, EVENTS, listener_wait(watches, timeout_ms));
	unsigned int saw = 0;

	for (int i = 0; i < n; i++) {
		struct watch *watch = events[i].data.ptr;

		if (watch)
			saw |= watch_ready(watches, watch);
	}
	if (epoll == watches->all && n > 0)
		saw |= wait_on(watches, watches->control, 0);
	ended_free(watches);
	return saw;
}

unsigned int uroce_watches_wait(struct uroce_watches *watches, int timeout_ms)
{
	return wait_on(watches, watches->all, timeout_ms);
}

unsigned int uroce_watches_wait_rest(struct uroce_watches *watches, int timeout_ms)
{
	return wait_on(watches, watches->control, timeout_ms);
}

/* --- fork --- */

void uroce_watches_fork_begin(struct uroce_host *host)
{
	pthread_mutex_lock(&host->watches->lock);
}

void uroce_watches_fork_end(struct uroce_host *host)
{
	pthread_mutex_unlock(&host->watches->lock);
}

/*
 * Close the copies of all watched descriptors in a child. Otherwise they would keep connections and
 * ports open after the parent's death.
 */
void uroce_watches_forked(struct uroce_host *host)
{
	struct uroce_watches *watches = host->watches;
	struct watch *watch;

	for (int i = 0; i < BUCKETS; i++)
		LIST_FOREACH(watch, &watches->buckets[i], entry)
			close(watch->fd);
	close(watches->control);
	close(watches->all);
	uroce_shm_forked(host->shm);
	uroce_watches_fork_end(host);
}

/* --- life --- */

int uroce_watches_new(struct uroce_host *host, struct uroce_watches **ret_watches)
{
	struct uroce_watches *watches = calloc(1, sizeof(*watches));
	struct epoll_event nested = { .events = EPOLLIN };
	int r;

	if (!watches)
		return -ENOMEM;
	watches->host = host;
	watches->control = epoll_create1(EPOLL_CLOEXEC);
	watches->all = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_init(&watches->lock, NULL);
	r = watches->control < 0 || watches->all < 0 ? uroce_call_failed("epoll_create1") : 0;
	if (!r && epoll_ctl(watches->all, EPOLL_CTL_ADD, watches->control, &nested))
		r = uroce_call_failed("epoll_ctl");
	if (r < 0) {
		uroce_watches_free(watches);
		return r;
	}
	*ret_watches = watches;
	return 0;
}

void uroce_watches_free(struct uroce_watches *watches)
{
	struct watch *watch;

	unwatched_free(watches);
	for (int i = 0; i < BUCKETS; i++)
		while ((watch = LIST_FIRST(&watches->buckets[i]))) {
			LIST_REMOVE(watch, entry);
			if (watch->what == WATCH_GUEST)
				close(watch->fd);
			free(watch);
		}
	if (watches->control >= 0)
		close(watches->control);
	if (watches->all >= 0)
		close(watches->all);
	pthread_mutex_destroy(&watches->lock);
	free(watches);
}
