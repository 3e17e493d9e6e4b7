/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls by syscall(). libuv closes its descriptors this way. The kernel would close the
 * number of an RDMA socket and leave the socket open, and the next socket would get that number.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

/* Close like close(), but without a cancellation point, because the system call has none. */
static long number_close(int fd)
{
	int state, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	r = close(fd);
	pthread_setcancelstate(state, NULL);
	return r;
}

EXPORT long syscall(long number, ...)
{
	long a[7]; /* 32-bit processors pass some arguments as two */
	va_list args;

	va_start(args, number);
	for (unsigned int i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	/* A number that the program closed before may belong to its duplicates. */
	if (number == SYS_close && !preload_inside &&
	    (fd_socket(a[0]) != FD_NONE || !fd_is_nobodys(a[0])))
		return number_close(a[0]);
	return real()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
}
