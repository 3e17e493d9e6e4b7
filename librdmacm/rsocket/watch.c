/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Watches: the sockets of a poller, by the number that the program added. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/poller.h"

void rs_watch_put(struct rs_watch *w)
{
	if (atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) > 1)
		return;
	rs_socket_put(w->socket);
	rs_poller_put(w->poller);
	free(w);
}

void rs_watch_queue(struct rs_watch *w)
{
	if (w->queued || w->gone || w->removed)
		return;
	w->queued = true;
	TAILQ_INSERT_TAIL(&w->poller->ready, w, of_poller);
	w->poller->ready_count++;
}

void rs_watch_unqueue(struct rs_watch *w)
{
	if (!w->queued)
		return;
	w->queued = false;
	TAILQ_REMOVE(&w->poller->ready, w, of_poller);
	w->poller->ready_count--;
}

void rs_poller_wake(struct rs_poller *p)
{
	if (p->waiters || p->outer || p->early)
		eventfd_write(p->wake, 1);
}

void rs_watch_notify(struct rs_socket *s)
{
	struct rs_watch *w;

	LIST_FOREACH(w, &s->watches, of_socket) {
		struct rs_poller *p = w->poller;

		pthread_mutex_lock(&p->lock);
		rs_watch_queue(w);
		if (!w->removed)
			rs_poller_wake(p);
		pthread_mutex_unlock(&p->lock);
	}
}

static int watches_grow(struct rs_poller *p, int fd)
{
	int size = max_of(fd + 1, p->size * 2);
	struct rs_watch **more;

	if (fd < p->size)
		return 0;
	more = realloc(p->watches, size * sizeof(struct rs_watch *));
	if (!more)
		return -ENOMEM;
	memset(more + p->size, 0, (size - p->size) * sizeof(struct rs_watch *));
	p->watches = more;
	p->size = size;
	return 0;
}

void rs_watch_forget(struct rs_poller *p, struct rs_watch *w)
{
	p->watches[w->entry] = NULL;
	w->gone = true;
	rs_watch_unqueue(w);
	epoll_ctl(p->inner, EPOLL_CTL_DEL, w->entry, NULL);
}

/* Take a watch out of the poller's table. Return: the watch, or NULL. */
static struct rs_watch *watch_take_out(struct rs_poller *p, int fd, struct rs_watch *only)
{
	struct rs_watch *w;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (only && w != only)
		w = NULL;
	if (w)
		rs_watch_forget(p, w);
	pthread_mutex_unlock(&p->lock);
	return w;
}

void rs_watch_end(struct rs_watch *w)
{
	pthread_mutex_lock(&w->socket->lock);
	LIST_REMOVE(w, of_socket);
	pthread_mutex_unlock(&w->socket->lock);
	rs_watch_put(w);
}

/* Find the watch of @entry, or any if @entry is -1. Return: the watch with a reference, or NULL. */
static struct rs_watch *watch_find(struct rs_socket *s, int entry)
{
	struct rs_watch *w;

	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(w, &s->watches, of_socket)
		if (entry < 0 || w->entry == entry)
			break;
	if (w)
		atomic_fetch_add(&w->refs, 1);
	pthread_mutex_unlock(&s->lock);
	return w;
}

static void watches_end(struct rs_socket *s, int entry)
{
	struct rs_watch *w;

	while ((w = watch_find(s, entry))) {
		if (watch_take_out(w->poller, w->entry, w))
			rs_watch_end(w);
		rs_watch_put(w);
	}
}

void rs_watch_end_all(struct rs_socket *s)
{
	watches_end(s, -1);
}

void rs_watches_clear(struct rs_poller *p)
{
	for (int i = 0; i < p->size; i++) {
		struct rs_watch *w = watch_take_out(p, i, NULL);

		if (w)
			rs_watch_end(w);
	}
}

/* Set the events, with the poller's lock held. Errors and hang-ups are always reported. */
static void event_set(struct rs_watch *w, const struct epoll_event *event)
{
	w->event = *event;
	w->event.events |= EPOLLERR | EPOLLHUP;
}

static void watch_set(struct rs_watch *w, const struct epoll_event *event)
{
	event_set(w, event);
	w->removed = false;
	w->fresh = true;
	rs_watch_queue(w);
	rs_poller_wake(w->poller);
}

/* Return whether a removed socket was still in the kernel's epoll and has been added again. */
static bool watch_restore(struct rs_poller *p, const struct rs_socket *s, int entry,
			  const struct epoll_event *event)
{
	struct rs_watch *w;
	bool found;

	pthread_mutex_lock(&p->lock);
	w = entry < p->size ? p->watches[entry] : NULL;
	found = w && w->removed && w->socket == s;
	if (found)
		watch_set(w, event);
	pthread_mutex_unlock(&p->lock);
	return found;
}

static int watch_remove(struct rs_poller *p, int fd)
{
	struct rs_watch *w;
	int r = -ENOENT;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (w && !w->removed) {
		rs_watch_unqueue(w);
		w->removed = true;
		r = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

/* Add a watch. On success it owns the reference to the socket. */
static int watch_add(struct rs_poller *p, struct rs_socket *s, int entry,
		     const struct epoll_event *event)
{
	struct rs_watch *w = calloc(1, sizeof(*w));
	/* 0 is @wake. */
	struct epoll_event inner = { .events = EPOLLIN, .data.u64 = entry + 1 };
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct rs_watch){ .poller = p, .socket = s, .entry = entry, .fresh = true };
	event_set(w, event);
	atomic_init(&w->refs, 1);
	pthread_mutex_lock(&s->lock);
	pthread_mutex_lock(&p->lock);
	r = watches_grow(p, entry);
	if (r == 0 && p->watches[entry])
		r = -EEXIST;
	if (r == 0 && epoll_ctl(p->inner, EPOLL_CTL_ADD, entry, &inner) < 0)
		r = -errno;
	if (r == 0) {
		p->watches[entry] = w;
		atomic_fetch_add(&p->file.refs, 1);
		LIST_INSERT_HEAD(&s->watches, w, of_socket);
		rs_watch_queue(w);
		rs_poller_wake(p);
	}
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&s->lock);
	if (r < 0)
		free(w);
	return r;
}

static int watch_change(struct rs_poller *p, int fd, const struct epoll_event *event)
{
	struct rs_watch *w;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (w && w->removed)
		w = NULL;
	if (w)
		watch_set(w, event);
	pthread_mutex_unlock(&p->lock);
	return w ? 0 : -ENOENT;
}

/* Add the socket. The function consumes the reference in any case. */
static int watch_enter(struct rs_poller *p, struct rs_socket *s, int entry,
		       const struct epoll_event *event)
{
	int r = 0;

	if (!watch_restore(p, s, entry, event)) {
		r = watch_add(p, s, entry, event);
		if (r == 0)
			return 0;
	}
	rs_socket_put(s);
	return r;
}

/*
 * Return whether EPOLLEXCLUSIVE has company that the kernel refuses. It cannot be given or taken by
 * a change either.
 */
static bool is_wrongly_exclusive(int op, const struct epoll_event *event)
{
	const uint32_t company =
		EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE;

	return event && op != EPOLL_CTL_DEL && event->events & EPOLLEXCLUSIVE &&
	       (op == EPOLL_CTL_MOD || event->events & ~company);
}

int rs_watch_control(struct rs_poller *p, int op, struct rs_socket *s, int entry,
		     const struct epoll_event *event)
{
	int r;

	if (is_wrongly_exclusive(op, event)) {
		rs_socket_put(s);
		return -EINVAL;
	}
	if (op == EPOLL_CTL_ADD && event)
		return watch_enter(p, s, entry, event);
	if (op != EPOLL_CTL_DEL && !event)
		r = -EFAULT;
	else if (op == EPOLL_CTL_MOD)
		r = watch_change(p, entry, event);
	else if (op == EPOLL_CTL_DEL)
		r = watch_remove(p, entry);
	else
		r = -EINVAL;
	rs_socket_put(s);
	return r;
}

RS_EXPORT void rs_entry_closed(int fd, int entry)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return;
	watches_end(s, entry);
	rs_socket_put(s);
}

RS_EXPORT unsigned int rs_entry_list(int fd, struct rs_entry *entries, unsigned int max)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	unsigned int count = 0;
	struct rs_watch *w;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	LIST_FOREACH(w, &s->watches, of_socket) {
		pthread_mutex_lock(&w->poller->lock);
		if (!w->gone && !w->removed && count++ < max)
			entries[count - 1] =
				(struct rs_entry){ w->poller->file.fd, w->entry, w->event };
		pthread_mutex_unlock(&w->poller->lock);
	}
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return count;
}
