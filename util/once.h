/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pthread_once() without its system call: glibc wakes waiters after the first run even if there are
 * none, and in a short program this costs as much as reading a file.
 */
#ifndef UTIL_ONCE_H
#define UTIL_ONCE_H

#include <pthread.h>
#include <stdatomic.h>

#include "util/util.h"

struct once {
	atomic_bool done;
	/*
	 * held while the function runs, so the function must not call once_run() with the same
	 * @once
	 */
	pthread_mutex_t lock;
};

#define ONCE_INIT                                 \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Run @init in the first call. Simultaneous calls return when @init has returned. */
void once_run_first(struct once *once, void (*init)(void));

static inline void once_run(struct once *once, void (*init)(void))
{
	/* acquire: pairs with once_run_first() of the thread that ran @init */
	if (unlikely(!atomic_load_explicit(&once->done, memory_order_acquire)))
		once_run_first(once, init);
}

#endif
