/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * repoll: an epoll of sockets over RDMA and of other descriptors.
 *
 * The program's descriptor is an epoll of the kernel. In it are the program's other descriptors,
 * with the data of the program, and an inner epoll with the descriptors of the sockets. A socket on
 * the ready list is polled by each wait. For any other socket the armed CQ makes the inner epoll
 * readable. A CQ is armed before the poller sleeps, and when several polls of its socket were in
 * vain. Therefore idle sockets cost nothing, whatever the others do.
 *
 * A socket that the program removes stays in the kernel's epoll until the kernel has an event for
 * it. Programs often add a socket again a moment later, and adding an epoll to an epoll is slow.
 *
 * Locks: a socket's lock before a poller's. A watch is on its socket's list under the socket's lock
 * and on the ready list under the poller's. It holds a reference to its socket.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define BATCH	    64
#define ARM_NS	    4000ull /* time to arm a CQ, to wake up, and to take its event */
#define SPIN_MAX_NS 200000ull
#define VAIN_LOOKS  32 /* number of polls that cost as much as arming a CQ */

/* Events that a socket can have. */
#define EVENTS                                                                               \
	(EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDNORM | EPOLLWRNORM | EPOLLRDHUP | EPOLLERR | \
	 EPOLLHUP)

struct rs_watch {
	LIST_ENTRY(rs_watch) of_socket;
	TAILQ_ENTRY(rs_watch) of_poller;
	struct rs_poller *poller;
	struct rs_socket *socket;
	int entry; /* the descriptor that the program added, which may be a duplicate */
	atomic_int refs;
	bool queued, gone;
	/* the program removed the watch, and only the kernel's epoll still has the socket */
	bool parked;
	struct epoll_event event;
	uint32_t seen;	   /* s->changes at the last report, for EPOLLET */
	bool fresh;	   /* no event was reported since the watch was added or changed */
	unsigned int vain; /* polls since the last report */
};

struct rs_poller {
	struct rs_file file;
	int inner;
	int wake; /* an eventfd in @inner */
	pthread_mutex_t lock;
	TAILQ_HEAD(, rs_watch) ready;
	unsigned int ready_count;
	struct rs_watch **watches; /* by @entry */
	int size;
	unsigned int waiters;
	/* alternates between sockets and kernel if there is room for one event */
	atomic_uint turn;
	atomic_bool outer; /* poll() or another epoll waits for the descriptor of the poller */
};

void rs_poller_put(struct rs_poller *p)
{
	if (atomic_fetch_sub_explicit(&p->file.refs, 1, memory_order_acq_rel) > 1)
		return;
	if (p->wake >= 0)
		close(p->wake);
	if (p->inner >= 0)
		close(p->inner);
	pthread_mutex_destroy(&p->lock);
	free(p->watches);
	free(p);
}

static void watch_put(struct rs_watch *w)
{
	if (atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) > 1)
		return;
	rs_socket_put(w->socket);
	rs_poller_put(w->poller);
	free(w);
}

/* Put a watch on the ready list. With the poller's lock held. */
static void watch_queue(struct rs_watch *w)
{
	if (w->queued || w->gone || w->parked)
		return;
	w->queued = true;
	TAILQ_INSERT_TAIL(&w->poller->ready, w, of_poller);
	w->poller->ready_count++;
}

static void watch_unqueue(struct rs_watch *w)
{
	if (!w->queued)
		return;
	w->queued = false;
	TAILQ_REMOVE(&w->poller->ready, w, of_poller);
	w->poller->ready_count--;
}

/* Wake the threads that sleep, so that they poll the ready list. With the poller's lock held. */
static void poller_wake(struct rs_poller *p)
{
	if (p->waiters || p->outer)
		eventfd_write(p->wake, 1);
}

void rs_watch_notify(struct rs_socket *s)
{
	struct rs_watch *w;

	LIST_FOREACH(w, &s->watches, of_socket) {
		struct rs_poller *p = w->poller;

		pthread_mutex_lock(&p->lock);
		watch_queue(w);
		if (!w->parked)
			poller_wake(p);
		pthread_mutex_unlock(&p->lock);
	}
}

/* ---- making and unmaking ---- */

/* Make a poller of the kernel's epoll @fd. */
static int poller_new(int fd, struct rs_poller **ret_poller)
{
	struct rs_poller *p = calloc(1, sizeof(*p));
	struct epoll_event watch = { .events = EPOLLIN };
	int r;

	if (!p)
		return -ENOMEM;
	p->file = (struct rs_file){ .fd = fd, .kind = RS_POLLER };
	atomic_init(&p->file.refs, 2); /* one for the table, one for the caller */
	pthread_mutex_init(&p->lock, NULL);
	TAILQ_INIT(&p->ready);
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->inner = epoll_create1(EPOLL_CLOEXEC);
	watch.data.ptr = NULL;
	r = p->wake < 0 || p->inner < 0 || epoll_ctl(p->inner, EPOLL_CTL_ADD, p->wake, &watch) < 0
		    ? -errno
		    : 0;
	watch.data.ptr = p;
	if (r == 0 && epoll_ctl(fd, EPOLL_CTL_ADD, p->inner, &watch) < 0)
		r = -errno;
	if (r == 0)
		r = rs_table_add(&p->file);
	if (r == 0) {
		*ret_poller = p;
		return 0;
	}
	atomic_store(&p->file.refs, 1);
	rs_poller_put(p);
	return r;
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

/*
 * Remove the watch, with the poller's lock held. It also leaves the kernel's epoll, so that the
 * socket can be added again.
 */
static void watch_forget(struct rs_poller *p, struct rs_watch *w)
{
	p->watches[w->entry] = NULL;
	w->gone = true;
	watch_unqueue(w);
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
		watch_forget(p, w);
	pthread_mutex_unlock(&p->lock);
	return w;
}

static void watch_end(struct rs_watch *w)
{
	pthread_mutex_lock(&w->socket->lock);
	LIST_REMOVE(w, of_socket);
	pthread_mutex_unlock(&w->socket->lock);
	watch_put(w);
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
			watch_end(w);
		watch_put(w);
	}
}

void rs_watch_end_all(struct rs_socket *s)
{
	watches_end(s, -1);
}

RS_EXPORT int rs_poller_copy(int epfd, int copy)
{
	RS_CALL;
	struct rs_poller *p = rs_table_find_poller(epfd);
	int r;

	if (!p)
		return rs_ret(-EBADF);
	r = rs_table_copy(&p->file, copy);
	rs_poller_put(p);
	return rs_ret(r);
}

void rs_poller_close(struct rs_poller *p, int fd)
{
	int other = rs_table_other(&p->file, fd);

	if (other >= 0) {
		pthread_mutex_lock(&p->lock);
		if (p->file.fd == fd)
			p->file.fd = other;
		pthread_mutex_unlock(&p->lock);
		close(fd);
		rs_poller_put(p);
		return;
	}
	for (int i = 0; i < p->size; i++) {
		struct rs_watch *w = watch_take_out(p, i, NULL);

		if (w)
			watch_end(w);
	}
	close(fd);
	rs_poller_put(p);
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
	w->parked = false;
	w->fresh = true;
	watch_queue(w);
	poller_wake(w->poller);
}

/* Return whether a removed socket was still in the kernel's epoll and has been added again. */
static bool watch_unpark(struct rs_poller *p, const struct rs_socket *s, int entry,
			 const struct epoll_event *event)
{
	struct rs_watch *w;
	bool found;

	pthread_mutex_lock(&p->lock);
	w = entry < p->size ? p->watches[entry] : NULL;
	found = w && w->parked && w->socket == s;
	if (found)
		watch_set(w, event);
	pthread_mutex_unlock(&p->lock);
	return found;
}

static int watch_park(struct rs_poller *p, int fd)
{
	struct rs_watch *w;
	int r = -ENOENT;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (w && !w->parked) {
		watch_unqueue(w);
		w->parked = true;
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
		watch_queue(w);
		poller_wake(p);
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
	if (w && w->parked)
		w = NULL;
	if (w)
		watch_set(w, event);
	pthread_mutex_unlock(&p->lock);
	return w ? 0 : -ENOENT;
}

/* Add the socket. The function consumes the reference in any case. */
static int poller_add(struct rs_poller *p, struct rs_socket *s, int entry,
		      const struct epoll_event *event)
{
	int r = 0;

	if (!watch_unpark(p, s, entry, event)) {
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

static int poller_control(struct rs_poller *p, int op, struct rs_socket *s, int entry,
			  const struct epoll_event *event)
{
	int r;

	if (is_wrongly_exclusive(op, event)) {
		rs_socket_put(s);
		return -EINVAL;
	}
	if (op == EPOLL_CTL_ADD && event)
		return poller_add(p, s, entry, event);
	if (op != EPOLL_CTL_DEL && !event)
		r = -EFAULT;
	else if (op == EPOLL_CTL_MOD)
		r = watch_change(p, entry, event);
	else if (op == EPOLL_CTL_DEL)
		r = watch_park(p, entry);
	else
		r = -EINVAL;
	rs_socket_put(s);
	return r;
}

RS_EXPORT int repoll_create(int flags)
{
	RS_CALL;
	struct rs_poller *p;
	int fd = epoll_create1(flags), r;

	if (fd < 0)
		return -1;
	r = poller_new(fd, &p);
	if (r < 0) {
		close(fd);
		return rs_ret(r);
	}
	rs_poller_put(p);
	return fd;
}

RS_EXPORT int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return rs_entry_ctl(epfd, op, fd, fd, event);
}

RS_EXPORT int rs_entry_ctl(int epfd, int op, int fd, int entry, struct epoll_event *event)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	struct rs_poller *p;
	int r = 0;

	if (!s) {
		r = epoll_ctl(epfd, op, fd, event);
		if (r == 0 && op == EPOLL_CTL_ADD)
			rs_poller_is_polled(fd);
		return r;
	}
	p = rs_table_find_poller(epfd);
	if (!p)
		r = poller_new(epfd, &p);
	if (r < 0) {
		rs_socket_put(s);
	} else {
		r = poller_control(p, op, s, entry, event);
		rs_poller_put(p);
	}
	return rs_ret(r);
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
		if (!w->gone && !w->parked && count++ < max)
			entries[count - 1] =
				(struct rs_entry){ w->poller->file.fd, w->entry, w->event };
		pthread_mutex_unlock(&w->poller->lock);
	}
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return count;
}

/* ---- waiting ---- */

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
	ret_event->events = w->gone || w->parked ? 0 : events_of(s, events, w->seen, w->fresh);
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
		watch_unqueue(w);
		atomic_fetch_add(&w->refs, 1);
	}
	pthread_mutex_unlock(&p->lock);
	return w;
}

static unsigned int ready_count(struct rs_poller *p)
{
	unsigned int count;

	pthread_mutex_lock(&p->lock);
	count = p->ready_count;
	pthread_mutex_unlock(&p->lock);
	return count;
}

/* Poll each watch of the ready list once. Return: the number of events. */
static int ready_look(struct rs_poller *p, struct epoll_event *events, int max, bool arm)
{
	unsigned int count = ready_count(p);
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
			watch_queue(w);
		pthread_mutex_unlock(&p->lock);
		watch_put(w);
	}
	return n;
}

/*
 * Handle an event of the inner epoll. The socket goes to the ready list, or is forgotten if the
 * program removed it.
 */
static void socket_wake(struct rs_poller *p, int fd)
{
	struct rs_watch *w;
	bool parked = false;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (w) {
		watch_queue(w);
		atomic_fetch_add(&w->refs, 1);
		parked = w->parked;
		if (parked)
			watch_forget(p, w);
	}
	pthread_mutex_unlock(&p->lock);
	if (!w)
		return;
	if (parked) {
		watch_end(w);
	} else {
		pthread_mutex_lock(&w->socket->lock);
		rs_drain(w->socket);
		pthread_mutex_unlock(&w->socket->lock);
	}
	watch_put(w);
}

/* Move the sockets with events of the inner epoll to the ready list. */
static void inner_take(struct rs_poller *p)
{
	struct epoll_event events[BATCH];
	eventfd_t count;
	int n;

	do {
		n = epoll_wait(p->inner, events, BATCH, 0);
		for (int i = 0; i < n; i++) {
			if (events[i].data.u64)
				socket_wake(p, (int)events[i].data.u64 - 1);
			else
				eventfd_read(p->wake, &count);
		}
	} while (n == BATCH);
}

/* Take out the poller's own event. Return: the number of events of other descriptors, or -errno. */
static int events_take(struct rs_poller *p, struct epoll_event *events, int n)
{
	bool inner = false;
	int kept = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == p)
			inner = true;
		else
			events[kept++] = events[i];
	}
	if (inner)
		inner_take(p);
	return kept;
}

static void waiter_leave(struct rs_poller *p)
{
	pthread_mutex_lock(&p->lock);
	p->waiters--;
	pthread_mutex_unlock(&p->lock);
}

static void sleep_cancelled(void *arg)
{
	waiter_leave(arg);
	rs_poller_put(arg);
}

static void sleep_leave(void *arg)
{
	waiter_leave(arg);
}

static int poller_sleep(struct rs_poller *p, struct epoll_event *events, int max, int timeout,
			const sigset_t *mask)
{
	bool ready, left;
	int n;

	pthread_mutex_lock(&p->lock);
	p->waiters++;
	ready = !TAILQ_EMPTY(&p->ready);
	pthread_mutex_unlock(&p->lock);
	pthread_cleanup_push(sleep_cancelled, p);
	mask = rs_sleep_begin(sleep_leave, p, mask);
	n = rs_sleep_epoll(p->file.fd, events, max, ready ? 0 : timeout, mask);
	n = events_take(p, events, n);
	left = rs_sleep_end();
	pthread_cleanup_pop(0);
	if (!left)
		waiter_leave(p);
	return n;
}

/* Take the events of the kernel and of sockets that exist now. */
static int poller_look(struct rs_poller *p, struct epoll_event *events, int max)
{
	bool first = max == 1 && !atomic_fetch_xor(&p->turn, 1);
	int most = max > 1 && ready_count(p) ? max - 1 : max, n, ours;

	/*
	 * Neither sockets nor kernel may take all places. If there is only one place, they
	 * alternate.
	 */
	if (first && (n = ready_look(p, events, max, false)))
		return n;
	n = events_take(p, events, epoll_wait(p->file.fd, events, most, 0));
	if (n < 0 || n == max)
		return n;
	ours = ready_look(p, events + n, max - n, false);
	return n + ours;
}

/*
 * Return how long a waiter polls before it sleeps: as long as it takes to arm the CQs of all
 * sockets on the ready list and to take their events.
 */
static uint64_t poller_spin_ns(struct rs_poller *p)
{
	uint64_t least = rs_spin_ns();

	return least ? max_of(least, min_of(ready_count(p) * ARM_NS, SPIN_MAX_NS)) : 0;
}

static int poller_wait(struct rs_poller *p, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	uint64_t start = rs_now_ns(), spin = poller_spin_ns(p);
	int n = poller_look(p, events, max), left;

	while (n == 0 && (left = rs_timeout_left(timeout, start))) {
		bool spins = ready_count(p) && rs_now_ns() - start < spin;

		n = ready_look(p, events, max, !spins);
		if (!n && spins)
			sched_yield(); /* the peer may be waiting for this processor */
		if (n || spins)
			continue;
		n = poller_sleep(p, events, max, left, mask);
		if (n >= 0 && n < max)
			n += ready_look(p, events + n, max - n, false);
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
	due = !w->gone && !w->parked && events_of(s, w->event.events, w->seen, w->fresh);
	pthread_mutex_unlock(&p->lock);
	if (!due) {
		rs_drain(s);
		due = !rs_arm(s);
	}
	pthread_mutex_unlock(&s->lock);
	return due;
}

/*
 * Keep the descriptor readable as long as repoll_wait() would find events, because poll() or
 * another epoll waits for it.
 */
static void poller_settle(struct rs_poller *p)
{
	unsigned int count = ready_count(p);
	struct rs_watch *w;

	while (count-- && (w = ready_pop(p))) {
		if (watch_is_due(w)) {
			pthread_mutex_lock(&p->lock);
			watch_queue(w);
			pthread_mutex_unlock(&p->lock);
		}
		watch_put(w);
	}
	if (ready_count(p))
		eventfd_write(p->wake, 1);
}

void rs_poller_is_polled(int epfd)
{
	struct rs_poller *p = rs_table_find_poller(epfd);

	if (!p)
		return;
	if (!atomic_exchange(&p->outer, true))
		poller_settle(p);
	rs_poller_put(p);
}

/*
 * Wait for a descriptor that is no poller. The descriptor may become a poller during the wait, or
 * may be a poller of a parent process.
 */
static int plain_wait(int epfd, struct epoll_event *events, int max, int timeout,
		      const sigset_t *mask)
{
	const void *p;
	int n, kept = 0;

	mask = rs_sleep_begin(NULL, NULL, mask);
	n = rs_sleep_epoll(epfd, events, max, timeout, mask);
	rs_sleep_end();
	p = n > 0 ? rs_table_peek(epfd) : NULL;
	if (!p)
		return n;
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr != p)
			events[kept++] = events[i];
	return kept;
}

RS_EXPORT int repoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout,
			   const sigset_t *sigmask)
{
	RS_CALL_SLEEPY;
	struct rs_poller *p = rs_table_find_poller(epfd);
	int r;

	if (!p)
		return plain_wait(epfd, events, maxevents, timeout, sigmask);
	rs_call_hold_poller(p);
	r = maxevents <= 0 ? -EINVAL : poller_wait(p, events, maxevents, timeout, sigmask);
	if (p->outer)
		poller_settle(p);
	rs_poller_put(p);
	return rs_ret(r);
}

RS_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return repoll_pwait(epfd, events, maxevents, timeout, NULL);
}
