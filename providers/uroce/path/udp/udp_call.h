/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls on sockets that are no cancellation points, unlike those of the C library. Verbs are
 * no cancellation points, and a thread that was cancelled here would leave its locks held. A poller
 * also makes about ten of these calls for each message, so they must be cheap.
 */
#ifndef UROCE_UDP_CALL_H
#define UROCE_UDP_CALL_H

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/uroce/base/base.h"

/* All functions return the same as sendto() and so on, with errno. */

static inline ssize_t call_sendto(int fd, const void *data, size_t length,
				  const union uroce_address *to)
{
	return syscall(SYS_sendto, fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL, to,
		       to ? uroce_address_length(to) : 0);
}

static inline ssize_t call_sendmsg(int fd, const struct msghdr *msg)
{
	return syscall(SYS_sendmsg, fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static inline int call_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int count)
{
	return syscall(SYS_sendmmsg, fd, msgs, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* @from, @from_length: NULL if the sender is known */
static inline ssize_t call_recvfrom(int fd, void *data, size_t length, union uroce_address *from,
				    socklen_t *from_length)
{
	return syscall(SYS_recvfrom, fd, data, length, MSG_DONTWAIT, from, from_length);
}

static inline ssize_t call_recvmsg(int fd, struct msghdr *msg)
{
	return syscall(SYS_recvmsg, fd, msg, MSG_DONTWAIT);
}

static inline int call_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int count)
{
	return syscall(SYS_recvmmsg, fd, msgs, count, MSG_DONTWAIT, NULL);
}

#endif
