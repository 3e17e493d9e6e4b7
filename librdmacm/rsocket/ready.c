/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ready list of a poller: the sockets that each wait polls. */
#include <sys/eventfd.h>

#include "librdmacm/rsocket/poller.h"

#define VAIN_LOOKS 32 /* this number of polls costs as much as arming a CQ */

/* Events that a socket can have. */
#define EVENTS                                                                               \
	(EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDNORM | EPOLLWRNORM | EPOLLRDHUP | EPOLLERR | \
	 EPOLLHUP)

/*
 * Return the part of @events that the socket has now. @seen: value of s->changes at the last
 * report.
 */
static uint32_t events_of(struct rs_socket *s, uint32_t events, uint32_t seen, bool fresh)
{
	if (!(events & EVENTS) || (events & EPOLLET && !fresh && seen == s->changes))
		return 0;
	return (uint16_t)rs_revents(s, events & EVENTS);
}

/*
 * Poll the socket of a watch from the ready list, with the socket's lock held. ret_event->events:
 * the events to report. Return: whether the watch stays on the ready list. The watch leaves the
 * list when there is no event to report and the CQ is armed. The CQ is armed if @arm is set, or
 * after VAIN_LOOKS polls.
 */
static bool watch_look(struct rs_watch *w, bool arm, struct epoll_event *ret_event)
{
	struct rs_poller *p = w->poller;
	struct rs_socket *s = w->socket;
	uint32_t events, changes;

	rs_glance(s);
	changes = s->changes;
	pthread_mutex_lock(&p->lock);
	*ret_event = w->event;
	events = w->event.events;
	ret_event->events = w->gone || w->removed ? 0 : events_of(s, events, w->seen, w->fresh);
	w->seen = changes;
	w->fresh = false;
	w->vain = ret_event->events ? 0 : w->vain + 1;
	arm |= w->vain >= VAIN_LOOKS;
	if (ret_event->events && events & EPOLLONESHOT)
		w->event.events &= ~EVENTS;
	pthread_mutex_unlock(&p->lock);
	if (ret_event->events || !arm)
		return true;
	rs_drain(s);
	rs_listener_hush(s);
	return !rs_arm(s) || events_of(s, events, changes, false);
}

static struct rs_watch *ready_pop(struct rs_poller *p)
{
	struct rs_watch *w;

	pthread_mutex_lock(&p->lock);
	w = TAILQ_FIRST(&p->ready);
	if (w) {
		rs_watch_unqueue(w);
		atomic_fetch_add(&w->refs, 1);
	}
	pthread_mutex_unlock(&p->lock);
	return w;
}

unsigned int rs_ready_count(struct rs_poller *p)
{
	unsigned int count;

	pthread_mutex_lock(&p->lock);
	count = p->ready_count;
	pthread_mutex_unlock(&p->lock);
	return count;
}

int rs_ready_look(struct rs_poller *p, struct epoll_event *events, int max, bool arm)
{
	unsigned int count = rs_ready_count(p);
	struct rs_watch *w;
	int n = 0;

	while (count-- && n < max && (w = ready_pop(p))) {
		bool stay;

		pthread_mutex_lock(&w->socket->lock);
		stay = watch_look(w, arm, &events[n]);
		pthread_mutex_unlock(&w->socket->lock);
		n += events[n].events != 0;
		pthread_mutex_lock(&p->lock);
		if (stay)
			rs_watch_queue(w);
		pthread_mutex_unlock(&p->lock);
		rs_watch_put(w);
	}
	return n;
}

/* Return whether the watch has events that were not reported. If not, arm its CQ. */
static bool watch_is_due(struct rs_watch *w)
{
	struct rs_poller *p = w->poller;
	struct rs_socket *s = w->socket;
	bool due;

	pthread_mutex_lock(&s->lock);
	rs_glance(s);
	pthread_mutex_lock(&p->lock);
	due = !w->gone && !w->removed && events_of(s, w->event.events, w->seen, w->fresh);
	pthread_mutex_unlock(&p->lock);
	if (!due) {
		rs_drain(s);
		due = !rs_arm(s);
	}
	pthread_mutex_unlock(&s->lock);
	return due;
}

void rs_ready_announce(struct rs_poller *p)
{
	unsigned int count = rs_ready_count(p);
	struct rs_watch *w;

	while (count-- && (w = ready_pop(p))) {
		if (watch_is_due(w)) {
			pthread_mutex_lock(&p->lock);
			rs_watch_queue(w);
			pthread_mutex_unlock(&p->lock);
		}
		rs_watch_put(w);
	}
	if (rs_ready_count(p))
		eventfd_write(p->wake, 1);
}
