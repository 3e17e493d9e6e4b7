/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Watched descriptors: two epoll sets, one nested in the other, and descriptors that are
 * temporarily in neither set.
 */
#include <string.h>
#include <sys/epoll.h>

#include "providers/uroce/host/watch.h"

static int epoll_of(const struct uroce_watches *watches, enum path_watch what)
{
	return what == WATCH_SOCKET ? watches->all : watches->control;
}

static struct watch_list *bucket_of(struct uroce_watches *watches, int fd)
{
	return &watches->buckets[(unsigned int)fd % WATCH_BUCKETS];
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

void uroce_watches_unwatched_free(struct uroce_watches *watches)
{
	struct watch *watch;

	pthread_mutex_lock(&watches->lock);
	while ((watch = LIST_FIRST(&watches->unwatched))) {
		LIST_REMOVE(watch, entry);
		free(watch);
	}
	pthread_mutex_unlock(&watches->lock);
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

	for (int i = 0; i < WATCH_BUCKETS; i++)
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

	uroce_watches_unwatched_free(watches);
	for (int i = 0; i < WATCH_BUCKETS; i++)
		while ((watch = LIST_FIRST(&watches->buckets[i]))) {
			LIST_REMOVE(watch, entry);
			if (watch->what == WATCH_INCOMING)
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
