/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * To end the sleep of whoever waits for a socket: its epoll gets a descriptor that is always
 * readable. There is one for all sockets, made before the first of them, so that nobody sleeps on
 * for want of one.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"

static struct {
	pthread_mutex_t lock;
	atomic_int fd;	      /* an eventfd that nobody reads */
	unsigned int process; /* whose it is */
} readable = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

int rs_rouse_prepare(void)
{
	int fd, r = 0;

	pthread_mutex_lock(&readable.lock);
	fd = atomic_load(&readable.fd);
	/* A child may have closed what its parent had. */
	if (fd < 0 || readable.process != rs_process()) {
		fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
		r = fd < 0 ? -errno : 0;
		atomic_store(&readable.fd, fd);
		readable.process = rs_process();
	}
	pthread_mutex_unlock(&readable.lock);
	return r;
}

void rs_rouse_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&readable.lock);
	else
		pthread_mutex_unlock(&readable.lock);
}

void rs_rouse(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };

	rs_waiters_wake(s);
	if (s->roused)
		return;
	s->roused = true;
	epoll_ctl(s->file.fd, EPOLL_CTL_ADD, atomic_load(&readable.fd), &watch);
}

void rs_rouse_end(struct rs_socket *s)
{
	if (s->roused)
		epoll_ctl(s->file.fd, EPOLL_CTL_DEL, atomic_load(&readable.fd), NULL);
	s->roused = false;
}
