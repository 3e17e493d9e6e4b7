/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection over RDMA takes several descriptors, but programs expect one: they have tables of a
 * fixed size, and select() takes no number above 1023. Therefore a descriptor that a marked thread
 * opens is moved above the program's numbers, as long as there is room.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

#define PROGRAMS 1024 /* numbers, or half of the process's limit */

static int first_number(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return min_of(limit.rlim_cur / 2, (rlim_t)PROGRAMS);
}

int number_raise(int fd)
{
	int error = errno, flags, number;

	if (fd < 0)
		return fd;
	flags = real()->fcntl(fd, F_GETFD, NULL);
	number = real()->fcntl(fd, flags & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD,
			       (void *)(intptr_t)first_number());
	if (number >= 0)
		real()->close(fd);
	errno = error;
	return number < 0 ? fd : number;
}

EXPORT int eventfd(unsigned int count, int flags)
{
	int fd = real()->eventfd(count, flags);

	return preload_inside ? number_raise(fd) : fd;
}

EXPORT int memfd_create(const char *name, unsigned int flags)
{
	int fd = real()->memfd_create(name, flags);

	return preload_inside ? number_raise(fd) : fd;
}

EXPORT int pipe2(int ends[2], int flags)
{
	int r = real()->pipe2(ends, flags);

	if (r == 0 && preload_inside) {
		ends[0] = number_raise(ends[0]);
		ends[1] = number_raise(ends[1]);
	}
	return r;
}
