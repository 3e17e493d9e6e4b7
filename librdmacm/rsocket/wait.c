/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for completions: polling first, then sleep. */
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

#include "librdmacm/rsocket/rs.h"

/*
 * Return whether a signal ends a call without a timeout. It does not if all handlers of the process
 * have SA_RESTART. The library does not know which handler ran. It was no handler of a synchronous
 * fault.
 */
static bool signal_interrupts(void)
{
	sigset_t mistakes;

	if (rs_sleep_restarts() || rs_sleep_interrupts())
		return rs_sleep_interrupts();
	sigemptyset(&mistakes);
	sigaddset(&mistakes, SIGSEGV);
	sigaddset(&mistakes, SIGBUS);
	sigaddset(&mistakes, SIGFPE);
	sigaddset(&mistakes, SIGILL);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		if (sigismember(&mistakes, number) || sigaction(number, NULL, &action) < 0)
			continue;
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    !(action.sa_flags & SA_RESTART))
			return true;
	}
	return false;
}

/* Stop sleeping for the socket, so that another thread can. */
static void sleep_leave(void *arg)
{
	struct rs_socket *s = arg;

	pthread_mutex_lock(&s->lock);
	s->sleeper = false;
	rs_drain(s);
	rs_waiters_wake(s);
	pthread_mutex_unlock(&s->lock);
}

static void sleep_cancelled(void *arg)
{
	sleep_leave(arg);
	rs_call_abandon();
}

/*
 * Wait in the socket's epoll @fd, which costs less than poll() on its descriptor. *ret_left: set if
 * sleep_leave() was called.
 */
static int descriptor_wait(struct rs_socket *s, int fd, enum rs_wait wait, int timeout_ms,
			   bool *ret_left)
{
	bool ends = wait != RS_WAIT_ALWAYS;
	const sigset_t *mask = ends ? rs_sleep_begin(sleep_leave, s, NULL) : NULL;
	struct epoll_event event;
	int r = ends ? rs_sleep_epoll(fd, &event, 1, timeout_ms, mask)
		     : epoll_wait(fd, &event, 1, timeout_ms);

	r = r < 0 && errno == EINTR && (timeout_ms >= 0 || signal_interrupts()) ? -EINTR : 0;
	*ret_left = ends && rs_sleep_end();
	return r;
}

/* Sleep for the socket until its descriptor is readable. @lock is released meanwhile. */
static int socket_sleep(struct rs_socket *s, enum rs_wait wait, int timeout_ms)
{
	int r, fd = s->file.fd;
	bool left;

	s->sleeper = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cleanup_push(sleep_cancelled, s);
	r = descriptor_wait(s, fd, wait, timeout_ms, &left);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&s->lock);
	if (left) /* another thread may already sleep for the socket */
		return r;
	s->sleeper = false;
	rs_drain(s);
	rs_waiters_wake(s);
	return r;
}

/* Offer the processor to other threads. @lock is released meanwhile. */
static void processor_offer(struct rs_socket *s)
{
	uint16_t messages = s->in.messages;
	uint64_t begun = rs_now_ns(), ns;

	pthread_mutex_unlock(&s->lock);
	sched_yield();
	ns = rs_now_ns() - begun;
	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	rs_spin_offered(&s->spin, ns, (uint16_t)(s->in.messages - messages));
}

/* Let other threads have the lock, then poll again. */
static void look_again(struct rs_socket *s)
{
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->lock);
	rs_complete(s);
}

/*
 * Poll until @ready, or until sleep is cheaper. Offer the processor before the last poll. If
 * another thread takes it, that costs less than sleep.
 */
static bool spin(struct rs_socket *s, bool (*ready)(struct rs_socket *s), uint64_t start)
{
	bool last = false;

	for (;;) {
		bool found = ready(s), offer = rs_spin_looked(&s->spin, found);

		if (found || last)
			return found;
		last = !(s->cq || s->ds) || rs_now_ns() - start >= s->spin.ns;
		if (last && rs_spin_is_vain(&s->spin))
			return false;
		s->spin.yielded |= last;
		if (offer || last)
			processor_offer(s);
		else
			look_again(s);
	}
}

/* Wait once, with @lock held before and after. */
static int wait_once(struct rs_socket *s, enum rs_wait wait, int left)
{
	if (unlikely(s->moving)) {
		processor_offer(s);
		return 0;
	}
	if (s->sleeper)
		return rs_waiter_wait(s, wait, left);
	if (rs_arm(s))
		return socket_sleep(s, wait, left);
	return 0;
}

static int wait_long(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
		     int timeout_ms)
{
	uint64_t start = rs_now_ns();
	bool slept = false;
	int r = 0, left;

	if (rs_spin_begin(&s->spin) && spin(s, ready, start)) {
		rs_spin_learn(&s->spin, rs_now_ns() - start, false);
		return 0;
	}
	for (;; slept = true) {
		rs_complete(s);
		if (ready(s)) {
			if (slept)
				rs_spin_learn(&s->spin, rs_now_ns() - start, true);
			return 0;
		}
		left = rs_timeout_left(timeout_ms, start);
		if (left == 0)
			return -EAGAIN;
		if (r < 0 && wait != RS_WAIT_ALWAYS)
			return r;
		r = wait_once(s, wait, left);
	}
}

int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms)
{
	bool offer = false;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	if (ready(s)) {
		rs_spin_looked(&s->spin, true);
	} else {
		if (wait == RS_WAIT_NOT) {
			rs_glance(s);
			r = ready(s) ? 0 : -EAGAIN;
			offer = rs_spin_looked(&s->spin, !r);
		} else {
			r = wait_long(s, ready, wait, timeout_ms);
		}
	}
	if (s->waiters)
		rs_waiters_wake(s);
	if (offer) /* a thread that polls without a pause delays the thread that it waits for */
		processor_offer(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}
