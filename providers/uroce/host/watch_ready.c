/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for watched descriptors, and what the progress thread does if one becomes readable. */
#include <string.h>
#include <sys/epoll.h>

#include "providers/uroce/host/former.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/import_socket.h"
#include "providers/uroce/host/watch.h"

enum {
	EVENTS = 64,
	LISTENER_MS = 50, /* ms after an error until the listener is used again */
};

/* Free watches that pending events of the last wait might have named. */
static void ended_free(struct uroce_watches *watches)
{
	uroce_watches_unwatched_free(watches);
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
 * for example because no descriptor is left. The listener stays readable, so waiting for it would
 * keep the thread awake.
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

static void wake_fd_empty(int wake_fd)
{
	uint64_t rung;

	(void)!read(wake_fd, &rung, sizeof(rung));
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
	case WATCH_WAKE:
		wake_fd_empty(watch->fd);
		uroce_forward_connect(host);
		return WATCHES_ROUSED;
	case WATCH_LISTENER:
		listener_ready(watches, watch);
		return 0;
	case WATCH_INCOMING:
		uroce_shm_incoming(host->shm, watch->fd);
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
