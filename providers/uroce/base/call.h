/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls of the data path. Unlike those of the C library they are no cancellation points,
 * because a thread that was cancelled here would leave its locks held. uroce_call_failed() logs a
 * call that failed. Threads: any.
 */
#ifndef UROCE_CALL_H
#define UROCE_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As write(). */
static inline ssize_t uroce_call_write(int fd, const void *data, size_t length)
{
	return syscall(SYS_write, fd, data, length);
}

/* Sleep for @ns, less than a second. A signal ends the sleep. In clock.c. */
void uroce_call_sleep(long ns);

/* Whether the errno value of a system call says that this process may not make it. */
static inline bool uroce_call_is_denied(int error)
{
	return error == ENOSYS || error == EPERM || error == EACCES;
}

/*
 * Log the name of the system call that has just failed, if this process may not make it. Mostly a
 * filter of system calls (seccomp) denies it, and the errno value does not tell which call.
 * Return: -errno.
 */
int uroce_call_failed(const char *name);

#endif
