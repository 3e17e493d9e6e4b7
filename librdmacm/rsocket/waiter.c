/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiting while another thread sleeps for the socket. A POSIX condition variable hides signals. A
 * wait on a futex returns at a signal, or resumes, as a read from a socket of the kernel does.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"

void rs_waiters_wake(struct rs_socket *s)
{
	if (!s->waiters)
		return;
	atomic_fetch_add_explicit(&s->changed, 1, memory_order_relaxed);
	syscall(SYS_futex, &s->changed, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * End the wait before a signal handler runs. The new value of @changed also ends a wait that has
 * not begun yet. This matters because from now on the thread could miss wake-ups.
 */
static void wait_leave(void *arg)
{
	struct rs_socket *s = arg;

	pthread_mutex_lock(&s->lock);
	rs_waiters_wake(s);
	s->waiters--;
	pthread_mutex_unlock(&s->lock);
}

static void wait_cancelled(void *arg)
{
	wait_leave(arg);
	rs_call_abandon();
}

/* Set the thread's signal mask, because a futex takes none. */
static void mask_set(const sigset_t *mask, sigset_t *ret_old)
{
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, ret_old);
}

/*
 * Wait for a change. syscall() is no cancellation point, therefore cancellation is asynchronous
 * here.
 */
static int changed_await(struct rs_socket *s, unsigned int seen, int timeout_ms)
{
	struct {
		long seconds, nanoseconds;
	} time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000l };
	int type, r;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = syscall(SYS_futex, &s->changed, FUTEX_WAIT_PRIVATE, seen, timeout_ms < 0 ? NULL : &time,
		    NULL, 0);
	r = r < 0 && errno == EINTR ? -EINTR : 0;
	pthread_setcanceltype(type, NULL);
	return r;
}

/* *ret_left: set if wait_leave() was called. */
static int change_sleep(struct rs_socket *s, enum rs_wait wait, unsigned int seen, int timeout_ms,
			bool *ret_left)
{
	bool ends = wait != RS_WAIT_ALWAYS;
	const sigset_t *mask = ends ? rs_sleep_begin(wait_leave, s, NULL) : NULL;
	sigset_t old;
	int r;

	mask_set(mask, &old);
	r = changed_await(s, seen, timeout_ms);
	mask_set(mask ? &old : NULL, NULL);
	*ret_left = ends && rs_sleep_end();
	return *ret_left && rs_sleep_interrupts() ? -EINTR : r;
}

int rs_waiter_wait(struct rs_socket *s, enum rs_wait wait, int timeout_ms)
{
	unsigned int seen = atomic_load_explicit(&s->changed, memory_order_relaxed);
	bool left;
	int r;

	s->waiters++;
	pthread_mutex_unlock(&s->lock);
	pthread_cleanup_push(wait_cancelled, s);
	r = change_sleep(s, wait, seen, timeout_ms, &left);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&s->lock);
	if (!left)
		s->waiters--;
	return r;
}
