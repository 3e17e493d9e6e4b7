/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pthread_once() without its system call: glibc wakes waiters after the first run even if there are
 * none, and in a short program this costs as much as reading a file.
 */
#ifndef UTIL_ONCE_H
#define UTIL_ONCE_H

#include <stdatomic.h>

#include "util/util.h"

#define ONCE_DONE -1

struct once {
	/*
	 * 0: the function was not run; ONCE_DONE; otherwise the number of the process that runs the
	 * function. A child that was forked meanwhile finds the number of its parent and runs the
	 * function again. Therefore the function must not call once_run() with the same struct, and
	 * must accept that an earlier run did not end.
	 */
	atomic_int state;
};

#define ONCE_INIT \
	{         \
	}

/* Run @init in the first call. Simultaneous calls return when @init has returned. */
void once_run_first(struct once *once, void (*init)(void));

static inline void once_run(struct once *once, void (*init)(void))
{
	/* acquire: pairs with the release of the thread that ran @init */
	if (unlikely(atomic_load_explicit(&once->state, memory_order_acquire) != ONCE_DONE))
		once_run_first(once, init);
}

/* Record that the function was run. */
static inline void once_done(struct once *once)
{
	atomic_store_explicit(&once->state, ONCE_DONE, memory_order_release);
}

#endif
