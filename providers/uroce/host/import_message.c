/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages through import sockets and visits, with or without a descriptor. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/uroce/host/import.h"

int uroce_import_send(int socket, const void *message, size_t size, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { (void *)message, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	n = sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EPIPE || errno == ECONNRESET ? -ENODEV : -errno;
	return n == (ssize_t)size ? 0 : -EPROTO;
}

/* The control buffer has room for one descriptor. The kernel closes any others. */
static int descriptor_of(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int uroce_import_receive(int socket, void *ret_message, size_t size, int *ret_fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { ret_message, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == ECONNRESET ? -ENODEV : -errno;
	*ret_fd = descriptor_of(&msg);
	if (n == (ssize_t)size && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return n ? -EPROTO : -ENODEV;
}
