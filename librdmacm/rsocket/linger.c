/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets that were closed and have something to deliver, to a peer that does not take it just now.
 * TCP's are the kernel's from then on; here each has a thread that ends them, and a process that
 * exits waits for these. None takes long: how long a peer is waited for has an end.
 */
#include <string.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"
#include "util/thread.h"

#define LOW_END 64 /* low numbers are the program's */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int count;
	unsigned int process; /* whose they are; a forked child has another number */
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
		lingering.count = 0; /* a parent's are not ours */
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

/* The program has its number back, and the socket another one. */
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
