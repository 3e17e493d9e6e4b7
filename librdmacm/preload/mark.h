/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of the library of RDMA sockets. Signals that arrive during such a call, or while the thread
 * holds a lock of librspreload, are deferred: signal.c.
 */
#ifndef LIBRDMACM_PRELOAD_MARK_H
#define LIBRDMACM_PRELOAD_MARK_H

#include <pthread.h>
#include <stdbool.h>

#include "librdmacm/preload/real.h"
#include "util/util.h"

/* A signal that arrives while the thread is marked is deferred until the mark ends. */
extern __thread volatile bool preload_deferred __attribute__((tls_model("initial-exec")));
/* Number of locks of librspreload that the thread holds. They defer signals, too. */
extern __thread int preload_busy __attribute__((tls_model("initial-exec")));
void signals_block(void); /* all signals that can be deferred */
void signals_deliver(void);
/* Call before the first RDMA socket is made. */
void signals_watch(void);

/* End the mark of a thread, which RS() set. */
static inline void preload_exit(void)
{
	if (!--preload_inside && !preload_busy && unlikely(preload_deferred))
		signals_deliver();
}

static inline void preload_lock(pthread_mutex_t *lock)
{
	preload_busy++;
	pthread_mutex_lock(lock);
}

static inline void preload_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	if (!--preload_busy && !preload_inside && unlikely(preload_deferred))
		signals_deliver();
}

/* Call the library of RDMA sockets. */
#define RS(call)                          \
	({                                \
		__typeof__(call) result_; \
		preload_inside++;         \
		result_ = (call);         \
		preload_exit();           \
		result_;                  \
	})

/*
 * The same for a call that may be cancelled. The mark ends before cleanup handlers of the program
 * run.
 */
void preload_leave(void *unused);
#define RS_SLEEPY(call)                                    \
	({                                                 \
		__typeof__(call) result_;                  \
		preload_inside++;                          \
		pthread_cleanup_push(preload_leave, NULL); \
		result_ = (call);                          \
		pthread_cleanup_pop(1);                    \
		result_;                                   \
	})

#endif
