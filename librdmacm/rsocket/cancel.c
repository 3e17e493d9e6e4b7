/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are cancelled, or interrupted by a signal handler. A call holds locks and a
 * reference to its socket, and the functions it calls may be cancelled nearly anywhere. Therefore a
 * thread is cancelled only where it sleeps, and first gives back what its call holds.
 *
 * A handler that interrupts the sleep may call the library, on the same socket too. During the
 * handler, a stack keeps the state of the call that sleeps. A handler may leave by siglongjmp():
 * the next call of the thread then finds a call on the stack whose frame is gone, and gives back
 * what it held.
 */
#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define OUTER_MAX 8 /* handlers within handlers */

struct call {
	bool may; /* the call may be cancelled while it sleeps */
	struct rs_socket *socket;
	struct rs_poller *poller;
	pthread_mutex_t *lock;
	/* While it sleeps. */
	void (*leave)(void *arg);
	void *arg;
	const char *frame;
	bool left;     /* a handler ran, and leave() was called before the handler */
	bool restarts; /* each handler that ran has SA_RESTART */
};

/* the outermost call of the thread, or of its handler */
static __thread struct call call;
static __thread struct call outer[OUTER_MAX]; /* calls that handlers interrupted */
static __thread unsigned int outer_count;
/* functions of librspreload; NULL: the library is not loaded */
static const struct rs_sleep_calls *_Atomic watcher;

RS_EXPORT void rs_sleep_watch(const struct rs_sleep_calls *calls)
{
	watcher = calls;
}

static void call_abandon(const struct call *c)
{
	if (c->poller)
		rs_file_put((struct rs_file *)c->poller);
	if (!c->socket)
		return;
	if (c->lock)
		pthread_mutex_unlock(c->lock);
	rs_socket_put(c->socket);
}

/*
 * Return whether a handler runs on a separate stack, where addresses do not show the order of
 * calls.
 */
static bool is_on_signal_stack(void)
{
	stack_t stack;

	return sigaltstack(NULL, &stack) < 0 || stack.ss_flags & SS_ONSTACK;
}

/*
 * Release the locks and references of interrupted calls whose frame is gone. Stacks grow towards
 * lower addresses.
 */
static void outer_prune(const char *frame)
{
	while (outer_count && frame > outer[outer_count - 1].frame && !is_on_signal_stack()) {
		struct call gone = outer[--outer_count];

		call_abandon(&gone);
	}
}

int rs_call_begin(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (unlikely(outer_count))
		outer_prune(__builtin_frame_address(0));
	return state;
}

int rs_call_begin_sleepy(void)
{
	int state = rs_call_begin();

	rs_call_hold(NULL, NULL);
	if (state == PTHREAD_CANCEL_ENABLE)
		call.may = true;
	return state;
}

void rs_call_end(const int *state)
{
	if (*state != PTHREAD_CANCEL_ENABLE)
		return;
	call.may = false;
	call.socket = NULL;
	call.poller = NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

void rs_call_hold(struct rs_socket *s, pthread_mutex_t *lock)
{
	call.socket = s;
	call.lock = lock;
	call.poller = NULL;
}

void rs_call_hold_poller(struct rs_poller *p)
{
	rs_call_hold(NULL, NULL);
	call.poller = p;
}

void rs_call_abandon(void)
{
	call_abandon(&call);
}

bool rs_call_holds(const pthread_mutex_t *lock)
{
	return call.lock == lock;
}

bool rs_call_is_lent(const pthread_mutex_t *lock)
{
	for (unsigned int i = 0; i < outer_count; i++)
		if (outer[i].lock == lock)
			return true;
	return false;
}

/* ---- sleep ---- */

const sigset_t *rs_sleep_begin(void (*leave)(void *arg), void *arg, const sigset_t *mask)
{
	call.leave = leave;
	call.arg = arg;
	call.frame = __builtin_frame_address(0);
	call.left = false;
	if (call.may)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	return watcher ? watcher->begin(mask) : mask;
}

bool rs_sleep_end(void)
{
	if (watcher)
		watcher->end();
	if (call.may)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return call.left;
}

bool rs_sleep_restarts(void)
{
	return call.left && call.restarts;
}

bool rs_sleep_interrupts(void)
{
	return call.left && !call.restarts;
}

int rs_sleep_epoll(int epfd, struct epoll_event *events, int max, int timeout_ms,
		   const sigset_t *mask)
{
	uint64_t start = rs_now_ns();
	int left = timeout_ms, r;

	for (;;) {
		r = epoll_pwait(epfd, events, max, left, mask);
		if (r >= 0 || errno != EINTR || !watcher || call.left)
			return r;
		left = rs_timeout_left(timeout_ms, start);
	}
}

RS_EXPORT bool rs_sleep_leave(bool restarts)
{
	if (outer_count == OUTER_MAX)
		return false;
	if (!call.left && call.leave)
		call.leave(call.arg);
	call.restarts = restarts && (!call.left || call.restarts);
	call.left = true;
	outer[outer_count++] = call;
	call = (struct call){};
	return true;
}

RS_EXPORT void rs_sleep_return(void)
{
	call = outer[--outer_count];
}
