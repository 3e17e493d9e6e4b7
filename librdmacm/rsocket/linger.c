/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closed sockets with data that the peer has not taken yet. The kernel delivers the data of closed
 * TCP sockets. Here each socket has a thread that ends it, and a process that exits waits for these
 * threads. No thread takes long, because the wait for a peer has a limit.
 */
#include <string.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"
#include "util/thread.h"

#define LOW_END 64 /* descriptors below this number are left to the program */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int count;
	unsigned int process; /* rs_process() of the owner; a forked child has another number */
} lingering = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

void rs_linger_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&lingering.lock);
	else
		pthread_mutex_unlock(&lingering.lock);
}

static void count_add(int number)
{
	pthread_mutex_lock(&lingering.lock);
	if (lingering.process != rs_process()) {
		lingering.process = rs_process();
		lingering.count = 0; /* the sockets of a parent do not count */
	}
	lingering.count += number;
	if (!lingering.count)
		pthread_cond_broadcast(&lingering.ended);
	pthread_mutex_unlock(&lingering.lock);
}

static void *run(void *arg)
{
	rs_socket_end(arg);
	count_add(-1);
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
	int r;

	count_add(1);
	r = thread_run(run, s, NULL);
	if (r < 0)
		count_add(-1);
	return r;
}

int rs_linger(struct rs_socket *s)
{
	int r = number_release(s);

	if (r == 0)
		r = thread_start(s);
	if (r < 0)
		rs_debug(s, "what was sent is waited for by who closes: %s", strerror(-r));
	return r;
}

static void __attribute__((destructor)) all_await(void)
{
	if (lingering.process != rs_process())
		return;
	pthread_mutex_lock(&lingering.lock);
	while (lingering.count)
		pthread_cond_wait(&lingering.ended, &lingering.lock);
	pthread_mutex_unlock(&lingering.lock);
}
