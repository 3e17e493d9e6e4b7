/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that no backend delivers: the end of rdma_resolve_addrinfo(), and rdma_write_cm_event(),
 * if there are both backends. With one backend these events go through it, because its descriptor
 * is the channel's descriptor.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "util/cancel.h"
#include "util/util.h"

static pthread_mutex_t posted_lock = PTHREAD_MUTEX_INITIALIZER;

/* With the first event, add a third member to the channel's epoll. */
static int fd_need(struct cm_channel *ch)
{
	struct epoll_event event = { .events = EPOLLIN };
	_cleanup_close_ int fd = -1;

	if (ch->posted_fd >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0 || epoll_ctl(ch->channel.fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	ch->posted_fd = take_fd(&fd);
	return 0;
}

static int insert(struct cm_channel *ch, struct cm_event *ev)
{
	uint64_t one = 1;
	int r = fd_need(ch);

	if (r < 0)
		return r;
	if (TAILQ_EMPTY(&ch->posted))
		(void)!write(ch->posted_fd, &one, sizeof(one));
	TAILQ_INSERT_TAIL(&ch->posted, ev, entry);
	return 0;
}

static void remove_from(struct cm_channel *ch, struct cm_event *ev)
{
	uint64_t count;

	TAILQ_REMOVE(&ch->posted, ev, entry);
	if (TAILQ_EMPTY(&ch->posted))
		(void)!read(ch->posted_fd, &count, sizeof(count));
}

int cm_posted_put(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct cm_event *ev = calloc(1, sizeof(*ev));
	int r;

	if (!ev)
		return -ENOMEM;
	ev->event.event = event;
	ev->event.status = status;
	ev->event.param.arg = arg;
	ev->id = id;
	ev->posted = true;
	pthread_mutex_lock(&posted_lock);
	r = insert(cm_id_channel(id), ev);
	pthread_mutex_unlock(&posted_lock);
	if (r < 0)
		free(ev);
	return r;
}

int cm_posted_take(struct cm_channel *ch, struct cm_event *ev)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct cm_event *first;

	pthread_mutex_lock(&posted_lock);
	first = TAILQ_FIRST(&ch->posted);
	if (first) {
		remove_from(ch, first);
		first->id->posted_given++;
		*ev = *first;
	}
	pthread_mutex_unlock(&posted_lock);
	free(first);
	return first ? 0 : -EAGAIN;
}

/* Move the events of @id to @to. If @to is NULL, drop them. */
static void move_all(struct cm_id *id, struct cm_channel *to)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct cm_channel *from = cm_id_channel(id);
	struct cm_event *ev, *next;

	if (from == to)
		return;
	pthread_mutex_lock(&posted_lock);
	for (ev = TAILQ_FIRST(&from->posted); ev; ev = next) {
		next = TAILQ_NEXT(ev, entry);
		if (ev->id != id)
			continue;
		remove_from(from, ev);
		if (to && !insert(to, ev))
			continue;
		if (to)
			cm_err(id, "%s is lost: the new channel cannot take it",
			       rdma_event_str(ev->event.event));
		free(ev);
	}
	pthread_mutex_unlock(&posted_lock);
}

void cm_posted_drop(struct cm_id *id)
{
	move_all(id, NULL);
}

void cm_posted_move(struct cm_id *id, struct cm_channel *to)
{
	move_all(id, to);
}

void cm_posted_close(struct cm_channel *ch)
{
	struct cm_event *ev;

	while ((ev = TAILQ_FIRST(&ch->posted))) {
		TAILQ_REMOVE(&ch->posted, ev, entry);
		free(ev);
	}
	if (ch->posted_fd >= 0)
		close(ch->posted_fd);
	ch->posted_fd = -1;
}
