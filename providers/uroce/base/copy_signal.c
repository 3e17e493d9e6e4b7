/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handler of the process for SIGSEGV and SIGBUS, and the handlers that it passes faults on to.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"
#include "providers/uroce/base/copy_signal.h"
#include "providers/uroce/base/lock.h"

enum {
	HANDLED_SIGNALS = 2,
};
static const int handled[HANDLED_SIGNALS] = { SIGSEGV, SIGBUS };

/*
 * The former handlers, one for each installation of this handler, the latest first. Entries are
 * never freed, because a handler may be reading the list.
 */
struct chain {
	struct sigaction action;
	struct chain *next;
};
static _Atomic(struct chain *) chains[HANDLED_SIGNALS];

/*
 * The fault that a thread is passing on. A handler that was installed over this one may call this
 * handler again, with the same context and further down the stack. Then it is the turn of the next
 * former handler.
 */
struct passing {
	const void *context;
	const char *frame;
	struct chain *at;
};
static __thread struct passing passing TLS_QUICK;

/*
 * Perform the default action of the signal: the process ends. After a fault it ends at the faulting
 * instruction.
 */
static void default_action(int sig, bool sent)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigaction(sig, &action, NULL);
	if (sent)
		/* delivered when the handler returns, because the signal is blocked until then */
		raise(sig);
}

static struct chain *chain_next(int sig, const void *context)
{
	const char *frame = __builtin_frame_address(0);

	/*
	 * If a handler was left by a jump, its frame no longer exists, so the present frame is not
	 * below it.
	 */
	if (passing.context == context && frame < passing.frame && passing.at) {
		passing.at = passing.at->next;
	} else {
		/* Pairs with handler_install(). */
		passing.at = atomic_load_explicit(&chains[sig == handled[1]], memory_order_acquire);
		passing.context = context;
		passing.frame = frame;
	}
	return passing.at;
}

/* Handle a fault that no leaf caused, as if this handler did not exist. */
static void fault_chain(int sig, siginfo_t *info, void *context)
{
	const struct passing before = passing;
	struct chain *at = chain_next(sig, context);
	struct sigaction action = at ? at->action : (struct sigaction){ .sa_handler = SIG_DFL };
	/* sent by kill() or a similar call, not caused by an instruction */
	bool sent = info->si_code <= 0;

	if (action.sa_handler == SIG_IGN && sent)
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		default_action(sig, sent);
		return;
	}
	if (action.sa_flags & SA_RESETHAND)
		at->action.sa_handler = SIG_DFL;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else
		action.sa_handler(sig);
	/* also prevents a tail call, so that this frame stays until the handler returns */
	passing = before;
}

static void fault_handler(int sig, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || !copy_leaf_recover(context))
		fault_chain(sig, info, context);
}

static struct chain *chain_new(const struct sigaction *action, struct chain *next)
{
	struct chain *chain = malloc(sizeof(*chain));

	if (chain)
		*chain = (struct chain){ *action, next };
	return chain;
}

/*
 * Return a list with @before first, then the other handlers. A handler that was installed twice is
 * not called twice. The old list stays unchanged.
 */
static struct chain *chain_with(const struct sigaction *before, struct chain *old)
{
	struct chain *chain, **end;

	if (old && old->action.sa_sigaction == before->sa_sigaction &&
	    old->action.sa_flags == before->sa_flags)
		return old;
	chain = chain_new(before, old);
	while (old && old->action.sa_sigaction != before->sa_sigaction)
		old = old->next;
	if (!chain || !old)
		return chain;
	/* The handler is further back in the list: copy the entries in front of it. */
	for (end = &chain->next; *end != old; end = &(*end)->next) {
		*end = chain_new(&(*end)->action, (*end)->next);
		if (!*end)
			return NULL;
	}
	*end = old->next;
	return chain;
}

/*
 * Install the handler. The application's handler, which this handler calls, gets the signal mask
 * that it asked for, because flags and mask are copied from it. A thread's alternate stack is
 * always used, because the run-time of some languages demands this of every handler.
 */
static bool handler_install(int i)
{
	struct sigaction action = { .sa_sigaction = fault_handler };
	struct sigaction before;
	struct chain *chain;

	if (sigaction(handled[i], NULL, &before))
		return false;
	if (before.sa_sigaction == fault_handler)
		return true;
	chain = chain_with(&before, atomic_load_explicit(&chains[i], memory_order_relaxed));
	if (!chain)
		return false;
	/* Pairs with chain_next(). */
	atomic_store_explicit(&chains[i], chain, memory_order_release);
	action.sa_mask = before.sa_mask;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | (before.sa_flags & (SA_NODEFER | SA_RESTART));
	return !sigaction(handled[i], &action, NULL);
}

static bool handlers_present(void)
{
	for (int i = 0; i < HANDLED_SIGNALS; i++) {
		struct sigaction action;

		if (sigaction(handled[i], NULL, &action) || action.sa_sigaction != fault_handler)
			return false;
	}
	return true;
}

int copy_handlers_install(void)
{
	bool done = true;

	if (handlers_present())
		return 0;
	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_HANDLERS]);
	for (int i = 0; i < HANDLED_SIGNALS; i++) {
		if (handler_install(i))
			continue;
		log_warn("uroce: cannot handle signal %d: %s; the kernel will do the copies",
			 handled[i], strerror(errno));
		done = false;
	}
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_HANDLERS]);
	return done && handlers_present() ? 0 : -EPERM;
}
