/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * End the sleep of the threads that wait for a socket: add a descriptor that is always readable to
 * the socket's epoll. All sockets share one descriptor. It is made before the first socket, so that
 * a wake-up cannot fail for lack of descriptors.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"

static struct {
	pthread_mutex_t lock;
	atomic_int fd;	      /* an eventfd that is never read */
	unsigned int process; /* rs_process() of the owner */
} readable = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

int rs_rouse_prepare(void)
{
	int fd, r = 0;

	pthread_mutex_lock(&readable.lock);
	fd = atomic_load(&readable.fd);
	/* A child may have closed the descriptor of its parent. */
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
