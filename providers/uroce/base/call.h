/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls of the data path without the cancellation point that the C library makes of them: a
 * thread that were cancelled here would leave its locks taken. Threads: any.
 */
#ifndef UROCE_CALL_H
#define UROCE_CALL_H

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As write(). */
static inline ssize_t uroce_call_write(int fd, const void *data, size_t length)
{
	return syscall(SYS_write, fd, data, length);
}

/* Sleep for @ns, less than a second; a signal ends it. In clock.c. */
void uroce_call_sleep(long ns);

#endif
