/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The number of closed sockets that threads end, and the wait for them at the exit of the process.
 */
#include <time.h>

#include "librdmacm/rsocket/rs.h"

#define EXIT_MS 500 /* limit of the wait for copies when the process exits */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int delivering; /* number of sockets that may still have data to deliver */
	unsigned int count;
	unsigned int process; /* rs_process() of the owner; a forked child has another number */
} lingering = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ended_init(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&lingering.ended, &attr);
	pthread_condattr_destroy(&attr);
}

void rs_lingering_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, ended_init);
}

void rs_linger_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&lingering.lock);
	else
		pthread_mutex_unlock(&lingering.lock);
}

/* Add to the number of sockets that deliver data, and to the number of all sockets of this file. */
void rs_lingering_add(int delivering, int count)
{
	pthread_mutex_lock(&lingering.lock);
	if (lingering.process != rs_process()) {
		lingering.process = rs_process();
		/* the sockets of a parent do not count */
		lingering.delivering = lingering.count = 0;
	}
	lingering.delivering += delivering;
	lingering.count += count;
	pthread_cond_broadcast(&lingering.ended);
	pthread_mutex_unlock(&lingering.lock);
}

static struct timespec time_limit(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += EXIT_MS * 1000000l;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void __attribute__((destructor)) all_await(void)
{
	struct timespec limit;
	int r = 0;

	if (lingering.process != rs_process())
		return;
	pthread_mutex_lock(&lingering.lock);
	while (lingering.delivering)
		pthread_cond_wait(&lingering.ended, &lingering.lock);
	limit = time_limit();
	while (lingering.count && !r)
		r = pthread_cond_timedwait(&lingering.ended, &lingering.lock, &limit);
	pthread_mutex_unlock(&lingering.lock);
}
