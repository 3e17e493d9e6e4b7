/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wake the thread: for messages of devices, errors at the sockets of probe.c, changes of
 * interfaces, and earlier deadlines.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/ibcm/wake.h"

static struct {
	int epoll, fd;
	uint64_t wakes_at; /* ns: when the thread wakes without a signal; 0: it is awake */
} wake = { .epoll = -1, .fd = -1 };

void ibcm_wake(void)
{
	uint64_t one = 1;

	(void)!write(wake.fd, &one, sizeof(one));
}

void ibcm_wake_by(uint64_t deadline)
{
	if (deadline && deadline < wake.wakes_at)
		ibcm_wake();
}

void ibcm_wake_set(uint64_t at)
{
	wake.wakes_at = at;
}

int ibcm_wake_watch(int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(wake.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int ibcm_wake_watch_errors(int fd, void *what)
{
	struct epoll_event event = { .data.ptr = what };

	return epoll_ctl(wake.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void ibcm_wake_unwatch(int fd)
{
	(void)epoll_ctl(wake.epoll, EPOLL_CTL_DEL, fd, NULL);
}

int ibcm_wake_wait(void *ready[IBCM_WAKE_MAX], int timeout_ms)
{
	struct epoll_event events[IBCM_WAKE_MAX];
	int n = epoll_wait(wake.epoll, events, IBCM_WAKE_MAX, timeout_ms), count = 0;
	uint64_t rung;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &wake)
			(void)!read(wake.fd, &rung, sizeof(rung));
		else
			ready[count++] = events[i].data.ptr;
	}
	return count;
}

int ibcm_wake_open(void)
{
	wake.epoll = epoll_create1(EPOLL_CLOEXEC);
	wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake.epoll < 0 || wake.fd < 0)
		return -errno;
	return ibcm_wake_watch(wake.fd, &wake);
}

void ibcm_wake_close(void)
{
	if (wake.epoll >= 0)
		close(wake.epoll);
	if (wake.fd >= 0)
		close(wake.fd);
	wake.epoll = wake.fd = -1;
}
