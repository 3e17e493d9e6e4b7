/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* repoll: an epoll of sockets over RDMA and of other descriptors. */
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/poller.h"

#define BATCH	    64
#define ARM_NS	    4000ull /* time to arm a CQ, to wake up, and to take its event */
#define SPIN_MAX_NS 200000ull

static void poller_destroy(struct rs_file *file)
{
	struct rs_poller *p = (struct rs_poller *)file;

	if (p->wake >= 0)
		close(p->wake);
	if (p->inner >= 0)
		close(p->inner);
	pthread_mutex_destroy(&p->lock);
	free(p->watches);
	free(p);
}

/*
 * Numbers of threads that wait for an epoll that is no poller, by its descriptor. Descriptors may
 * share a number. A handler that leaves the call by siglongjmp() leaves the number too large. A
 * number that is too large costs only time.
 */
static atomic_uint early_waiters[64];

static atomic_uint *early_waiters_of(int epfd)
{
	return &early_waiters[(unsigned int)epfd % ARRAY_SIZE(early_waiters)];
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
	p->file = (struct rs_file){ .fd = fd, .kind = RS_POLLER, .destroy = poller_destroy };
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
	rs_fork_watch();
	if (r == 0)
		r = rs_table_add(&p->file);
	if (r == 0) {
		/* A thread that is not counted yet finds the poller before it sleeps. */
		atomic_store(&p->early, atomic_load(early_waiters_of(fd)) > 0);
		*ret_poller = p;
		return 0;
	}
	atomic_store(&p->file.refs, 1);
	rs_poller_put(p);
	return r;
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
	rs_watches_clear(p);
	close(fd);
	rs_poller_put(p);
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
		r = rs_watch_control(p, op, s, entry, event);
		rs_poller_put(p);
	}
	return rs_ret(r);
}

/* ---- waiting ---- */

/*
 * Handle an event of the inner epoll. The socket goes to the ready list, or is forgotten if the
 * program removed it.
 */
static void socket_wake(struct rs_poller *p, int fd)
{
	struct rs_watch *w;
	bool removed = false;

	pthread_mutex_lock(&p->lock);
	w = fd < p->size ? p->watches[fd] : NULL;
	if (w) {
		rs_watch_queue(w);
		atomic_fetch_add(&w->refs, 1);
		removed = w->removed;
		if (removed)
			rs_watch_forget(p, w);
	}
	pthread_mutex_unlock(&p->lock);
	if (!w)
		return;
	if (removed) {
		rs_watch_end(w);
	} else {
		pthread_mutex_lock(&w->socket->lock);
		rs_drain(w->socket);
		pthread_mutex_unlock(&w->socket->lock);
	}
	rs_watch_put(w);
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
	int most = max > 1 && rs_ready_count(p) ? max - 1 : max, n, ours;

	/*
	 * Neither sockets nor kernel may take all places. If there is only one place, they
	 * alternate.
	 */
	if (first && (n = rs_ready_look(p, events, max, false)))
		return n;
	n = events_take(p, events, epoll_wait(p->file.fd, events, most, 0));
	if (n < 0 || n == max)
		return n;
	ours = rs_ready_look(p, events + n, max - n, false);
	return n + ours;
}

/*
 * Return how long a waiter polls before it sleeps: as long as it takes to arm the CQs of all
 * sockets on the ready list and to take their events.
 */
static uint64_t poller_spin_ns(struct rs_poller *p)
{
	uint64_t least = rs_spin_ns();

	return least ? max_of(least, min_of(rs_ready_count(p) * ARM_NS, SPIN_MAX_NS)) : 0;
}

static int poller_wait(struct rs_poller *p, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	uint64_t start = rs_now_ns(), spin = poller_spin_ns(p);
	int n = poller_look(p, events, max), left;

	while (n == 0 && (left = rs_timeout_left(timeout, start))) {
		bool spins = rs_ready_count(p) && rs_now_ns() - start < spin;

		n = rs_ready_look(p, events, max, !spins);
		if (!n && spins)
			sched_yield(); /* the peer may be waiting for this processor */
		if (n || spins)
			continue;
		n = poller_sleep(p, events, max, left, mask);
		if (n >= 0 && n < max)
			n += rs_ready_look(p, events + n, max - n, false);
	}
	return n;
}

void rs_poller_is_polled(int epfd)
{
	struct rs_poller *p = rs_table_find_poller(epfd);

	if (!p)
		return;
	if (!atomic_exchange(&p->outer, true))
		rs_ready_announce(p);
	rs_poller_put(p);
}

static bool is_poller(int epfd)
{
	struct rs_poller *p = rs_table_find_poller(epfd);

	if (p)
		rs_poller_put(p);
	return p;
}

/* Sleep for a descriptor that is no poller, and that may become one meanwhile. */
static int plain_sleep(int epfd, struct epoll_event *events, int max, int timeout,
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

/*
 * Wait for a descriptor that is no poller. It may be a poller of a parent process. Return 0 also if
 * the descriptor has become a poller.
 */
static int plain_wait(int epfd, struct epoll_event *events, int max, int timeout,
		      const sigset_t *mask)
{
	atomic_uint *waiters = early_waiters_of(epfd);
	int n = 0;

	atomic_fetch_add(waiters, 1);
	if (!is_poller(epfd))
		n = plain_sleep(epfd, events, max, timeout, mask);
	atomic_fetch_sub(waiters, 1);
	return n;
}

/* Return the poller that the descriptor has become, or NULL. */
static struct rs_poller *poller_find_late(int epfd)
{
	struct rs_poller *p = rs_table_find_poller(epfd);

	if (p && !atomic_load(early_waiters_of(epfd)))
		atomic_store(&p->early, false);
	return p;
}

RS_EXPORT int repoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout,
			   const sigset_t *sigmask)
{
	RS_CALL_SLEEPY;
	struct rs_poller *p = rs_table_find_poller(epfd);
	uint64_t start = p ? 0 : rs_now_ns();
	int r;

	if (!p) {
		r = plain_wait(epfd, events, maxevents, timeout, sigmask);
		p = r ? NULL : poller_find_late(epfd);
		if (!p)
			return r;
		timeout = rs_timeout_left(timeout, start);
	}
	rs_call_hold_poller(p);
	r = maxevents <= 0 ? -EINVAL : poller_wait(p, events, maxevents, timeout, sigmask);
	if (p->outer)
		rs_ready_announce(p);
	rs_poller_put(p);
	return rs_ret(r);
}

RS_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return repoll_pwait(epfd, events, maxevents, timeout, NULL);
}
