/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closed sockets whose end may take long. A thread for each socket ends it. There are two reasons:
 *
 * - The peer has not taken all data yet. The kernel delivers the data of closed TCP sockets. The
 *   data of this socket are delivered by the thread, for a limited time. A process that exits
 *   waits for the thread.
 * - The peer is in the middle of a copy to or from the socket's memory. The memory can be freed
 *   only after the copy, and a stopped peer does not finish the copy. A process that exits waits
 *   only for a moment, because the kernel keeps the memory until the copy has ended.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"
#include "util/thread.h"

#define LOW_END 64  /* descriptors below this number are left to the program */
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

void rs_linger_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&lingering.lock);
	else
		pthread_mutex_unlock(&lingering.lock);
}

/* Add to the number of sockets that deliver data, and to the number of all sockets of this file. */
static void counts_add(int delivering, int count)
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

static void *run(void *arg)
{
	rs_socket_deliver(arg);
	counts_add(-1, 0);
	rs_socket_end(arg);
	counts_add(0, -1);
	return NULL;
}

/* Return the number to the program, and give the socket another number. */
static int number_release(struct rs_socket *s)
{
	int number = fcntl(s->file.fd, F_DUPFD_CLOEXEC, LOW_END), old;

	if (number < 0)
		return -errno;
	pthread_mutex_lock(&s->lock);
	old = s->file.fd;
	s->file.fd = number;
	pthread_mutex_unlock(&s->lock);
	if (!s->file.keeps_number)
		close(old);
	s->file.keeps_number = false;
	return 0;
}

static int thread_start(struct rs_socket *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int r;

	pthread_once(&once, ended_init);
	counts_add(1, 1);
	r = thread_run(run, s, NULL);
	if (r < 0)
		counts_add(-1, -1);
	return r;
}

void rs_linger(struct rs_socket *s)
{
	int r = number_release(s);

	if (r == 0)
		r = thread_start(s);
	if (r == 0)
		return;
	rs_debug(s, "no thread could start to end the socket, the caller ends it: %s",
		 strerror(-r));
	rs_socket_deliver(s);
	rs_socket_end(s);
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
