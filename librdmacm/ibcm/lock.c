/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lock of the connection manager, and the clock. In a forked child the locks are free, and the
 * connections of the parent cannot be used.
 */
#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include "librdmacm/ibcm/lock.h"
#include "util/cancel.h"
#include "util/log.h"

static struct {
	pthread_mutex_t mutex;
	/*
	 * former cancel state of the lock's holder; cancellation is disabled under the lock,
	 * because the holder makes system calls
	 */
	int cancel;
	/* this process is a forked child: connections and their events belong to the parent */
	bool child;
} lock = { .mutex = PTHREAD_MUTEX_INITIALIZER };

void ibcm_lock(void)
{
	int cancel = cancel_off();

	pthread_mutex_lock(&lock.mutex);
	lock.cancel = cancel;
}

bool ibcm_lock_try(void)
{
	int cancel = cancel_off();

	if (pthread_mutex_trylock(&lock.mutex)) {
		cancel_restore(&cancel);
		return false;
	}
	lock.cancel = cancel;
	return true;
}

void ibcm_unlock(void)
{
	int cancel = lock.cancel;

	pthread_mutex_unlock(&lock.mutex);
	cancel_restore(&cancel);
}

uint64_t ibcm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint32_t ibcm_random(void)
{
	uint32_t value;

	while (getrandom(&value, sizeof(value), 0) != sizeof(value))
		;
	return value;
}

bool ibcm_is_child(void)
{
	return lock.child;
}

int ibcm_child_refuse(void)
{
	log_err("rdma_cm: used before fork(), and now in the child: connections of user-space "
		"devices are the parent's");
	return -EIO;
}

void ibcm_lock_fork_begin(void)
{
	pthread_mutex_lock(&lock.mutex);
}

void ibcm_lock_fork_end(bool child)
{
	if (child)
		lock.child = true;
	pthread_mutex_unlock(&lock.mutex);
}
