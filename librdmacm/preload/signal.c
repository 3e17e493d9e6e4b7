/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Signal handlers of the program. A handler may make a call for which the library of RDMA sockets
 * holds locks, therefore it must not run in the middle of a call of that library. The kernel gets
 * signal_run() in place of each handler:
 *
 *   outside of such a call   run the handler.
 *   where the call sleeps    run the handler outside of the call; it need not return.
 *   elsewhere in the call    send the signal to this thread again, and block all signals. The
 *                            system call that sleeps unblocks them, and so does the call's end.
 *
 * Signals are also blocked between the decision to sleep and the system call. A handler that runs
 * in between would not end the sleep.
 *
 * Handlers of faults (SIGSEGV and others) are installed directly, because a fault cannot wait.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

typedef void handler_function(int number, siginfo_t *info, void *context);

static struct {
	/* of the program; NULL: the kernel's action applies */
	_Atomic(handler_function *) function;
	atomic_int flags; /* SA_* of the program */
} handlers[NSIG];

static atomic_bool any_handler;

__thread volatile bool preload_deferred;
__thread int preload_busy;
static __thread volatile bool sleeps __attribute__((tls_model("initial-exec")));
static __thread sigset_t deferred_mask; /* mask of the thread, while @preload_deferred */

/* Return whether a signal cannot wait. A deferred SIGABRT would let abort() continue. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
	       number == SIGTRAP || number == SIGSYS || number == SIGABRT;
}

static const sigset_t *deferrable(void)
{
	static sigset_t set;
	static atomic_bool ready;

	if (atomic_load_explicit(&ready, memory_order_acquire))
		return &set;
	sigfillset(&set);
	for (int number = 1; number < NSIG; number++)
		if (is_fault(number))
			sigdelset(&set, number);
	/* Two threads may come here: they write the same. */
	atomic_store_explicit(&ready, true, memory_order_release);
	return &set;
}

/*
 * Copy the kernel's part of a set, because the frame of a handler has no room for the C library's
 * set.
 */
static void mask_copy(sigset_t *to, const sigset_t *from)
{
	memcpy(to, from, NSIG / 8);
}

/* Defer a signal. Return: whether it will be delivered again. */
static bool put_off(int number, siginfo_t *info, ucontext_t *context)
{
	sigset_t all, old;

	pthread_sigmask(SIG_BLOCK, deferrable(), &old);
	if (real()->syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info) < 0) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		return false;
	}
	if (!preload_deferred) {
		sigemptyset(&deferred_mask);
		mask_copy(&deferred_mask, &context->uc_sigmask);
		preload_deferred = true;
	}
	sigemptyset(&all);
	mask_copy(&all, &context->uc_sigmask);
	sigorset(&all, &all, deferrable());
	mask_copy(&context->uc_sigmask, &all);
	return true;
}

void signals_block(void)
{
	pthread_sigmask(SIG_BLOCK, deferrable(), NULL);
}

void signals_deliver(void)
{
	sigset_t mask = deferred_mask;

	preload_deferred = false;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Run the handler as if the thread were outside of the call that sleeps. */
static void run_outside(handler_function *function, int flags, int number, siginfo_t *info,
			void *context)
{
	int inside = preload_inside;
	bool deferred = preload_deferred;
	sigset_t mask = deferred_mask, old;

	pthread_sigmask(SIG_BLOCK, deferrable(), &old);
	sleeps = false;
	if (!rs_sleep_leave(flags & SA_RESTART)) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		function(number, info, context);
		sleeps = true;
		return;
	}
	preload_inside = 0;
	preload_deferred = false;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	function(number, info, context);
	/* The return of the signal handler restores the mask. */
	signals_block();
	preload_inside = inside;
	preload_deferred = deferred;
	deferred_mask = mask;
	rs_sleep_return();
	sleeps = true;
}

static void signal_run(int number, siginfo_t *info, void *context)
{
	handler_function *function = atomic_load(&handlers[number].function);
	int flags = atomic_load(&handlers[number].flags), error = errno;

	if ((preload_inside || preload_busy) && !sleeps && put_off(number, info, context)) {
		errno = error;
		return;
	}
	if (flags & SA_RESETHAND) {
		const struct sigaction none = { .sa_handler = SIG_DFL };

		real()->sigaction(number, &none, NULL);
	}
	if (!function) /* of an action that the program replaced */
		return;
	if (preload_inside && sleeps) {
		run_outside(function, flags, number, info, context);
		errno = error;
	} else {
		function(number, info, context);
	}
}

/* ---- sleep ---- */

static const sigset_t *sleep_begin(const sigset_t *mask)
{
	if (!preload_deferred && atomic_load_explicit(&any_handler, memory_order_relaxed)) {
		pthread_sigmask(SIG_BLOCK, deferrable(), &deferred_mask);
		preload_deferred = true;
	}
	sleeps = true;
	return mask ? mask : preload_deferred ? &deferred_mask : NULL;
}

static void sleep_end(void)
{
	sleeps = false;
}

void signals_watch(void)
{
	static const struct rs_sleep_calls calls = { sleep_begin, sleep_end };

	rs_sleep_watch(&calls);
}

/* ---- handlers of the program ---- */

static bool is_handler(void (*function)(int))
{
	return function != SIG_DFL && function != SIG_IGN && function != SIG_ERR;
}

/* Show the program its own handler in place of signal_run(). */
static void action_show(struct sigaction *action, handler_function *function, int flags)
{
	if (action->sa_sigaction != signal_run)
		return;
	action->sa_sigaction = function;
	action->sa_flags = flags;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	handler_function *function = NULL;
	struct sigaction ours, before;
	int flags = 0, r;

	if (number <= 0 || number >= NSIG || is_fault(number))
		return real()->sigaction(number, action, old);
	function = atomic_load(&handlers[number].function);
	flags = atomic_load(&handlers[number].flags);
	if (action && is_handler(action->sa_handler)) {
		ours = *action;
		ours.sa_sigaction = signal_run;
		ours.sa_flags = (action->sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
		/* Fill in the entry before the kernel can call the handler. */
		atomic_store(&any_handler, true);
		atomic_store(&handlers[number].flags, action->sa_flags);
		atomic_store(&handlers[number].function, action->sa_sigaction);
		action = &ours;
	}
	r = real()->sigaction(number, action, &before);
	if (r < 0)
		return r;
	action_show(&before, function, flags);
	if (old)
		*old = before;
	return 0;
}

static void (*handler_set(int number, void (*function)(int), int flags))(int)
{
	struct sigaction action = { .sa_handler = function, .sa_flags = flags }, old;

	sigemptyset(&action.sa_mask);
	return sigaction(number, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}

static atomic_bool ends_calls[NSIG]; /* siginterrupt() was called */

EXPORT void (*signal(int number, void (*function)(int)))(int)
{
	bool ends = number > 0 && number < NSIG && atomic_load(&ends_calls[number]);

	return handler_set(number, function, ends ? 0 : SA_RESTART);
}

EXPORT void (*ssignal(int number, void (*function)(int)))(int)
{
	return signal(number, function);
}

void (*bsd_signal(int number, void (*function)(int)))(int);
EXPORT void (*bsd_signal(int number, void (*function)(int)))(int)
{
	return signal(number, function);
}

EXPORT void (*sysv_signal(int number, void (*function)(int)))(int)
{
	return handler_set(number, function, SA_RESETHAND | SA_NODEFER);
}

EXPORT void (*__sysv_signal(int number, void (*function)(int)))(int)
{
	return sysv_signal(number, function);
}

EXPORT int siginterrupt(int number, int ends)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) < 0)
		return -1;
	atomic_store(&ends_calls[number], ends);
	action.sa_flags = ends ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return sigaction(number, &action, NULL);
}

#define HOLD ((void (*)(int))2) /* SIG_HOLD */

EXPORT void (*sigset(int number, void (*function)(int)))(int)
{
	void (*before)(int) = SIG_DFL;
	struct sigaction action;
	sigset_t set, old;

	sigemptyset(&set);
	if (sigaddset(&set, number) < 0)
		return SIG_ERR;
	if (function != HOLD)
		before = handler_set(number, function, 0);
	else if (sigaction(number, NULL, &action) == 0)
		before = action.sa_handler;
	pthread_sigmask(function == HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &old);
	return before != SIG_ERR && sigismember(&old, number) ? HOLD : before;
}
