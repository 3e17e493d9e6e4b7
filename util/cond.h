/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UTIL_COND_H
#define UTIL_COND_H

#include <pthread.h>
#include <time.h>

/*
 * Initialise a condition whose pthread_cond_timedwait() uses CLOCK_MONOTONIC, a clock that cannot
 * be set.
 */
static inline void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

#endif
