// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A library for LD_PRELOAD that gives one wrong answer, as DIFFER_LIE says: differ has to find it.
 * It changes answers of the kernel's sockets, because otherwise the answers do not differ.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool lies(const char *how)
{
	const char *wanted = getenv("DIFFER_LIE");

	return wanted && !strcmp(wanted, how);
}

/* short: one byte less than was received. errno: EINVAL. byte: a wrong byte. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	ssize_t (*real)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");
	ssize_t got = real(fd, buffer, size, flags);

	if (got > 1 && lies("short"))
		return got - 1;
	if (got > 0 && lies("byte"))
		((char *)buffer)[got - 1] ^= 1;
	if (got < 0 && errno == EBADF && lies("errno"))
		errno = EINVAL;
	return got;
}

/* hup: no POLLHUP */
__attribute__((visibility("default"))) int poll(struct pollfd *polls, nfds_t count, int time)
{
	int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
	int ready = real(polls, count, time);

	for (nfds_t i = 0; ready > 0 && i < count && lies("hup"); i++)
		polls[i].revents &= ~POLLHUP;
	return ready;
}
