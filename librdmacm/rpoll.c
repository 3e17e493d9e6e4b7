/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rpoll() and rselect(): for descriptors that are not sockets over RDMA they are poll(2) and
 * select(2), and this library has no others. Programs that never open such a socket import them.
 */
#include <poll.h>
#include <sys/select.h>

#include "librdmacm/cm.h"

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout);
int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout);

CM_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return poll(fds, nfds, timeout);
}

CM_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      struct timeval *timeout)
{
	return select(nfds, readfds, writefds, exceptfds, timeout);
}
