/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pthread_once() without its system call: glibc's wakes waiters after the first run whether or not
 * there are any, and a short program pays for that as for reading a file.
 */
#ifndef UTIL_ONCE_H
#define UTIL_ONCE_H

#include <pthread.h>
#include <stdatomic.h>

#include "util/util.h"

struct once {
	atomic_bool done;
	pthread_mutex_t lock; /* held while the function runs: it must not come here again */
};

#define ONCE_INIT                                 \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* The first call, and those at the same time: they return when @init has been run. */
void once_run_first(struct once *once, void (*init)(void));

static inline void once_run(struct once *once, void (*init)(void))
{
	/* acquire: pairs with once_run_first() of the thread that ran @init */
	if (unlikely(!atomic_load_explicit(&once->done, memory_order_acquire)))
		once_run_first(once, init);
}

#endif
