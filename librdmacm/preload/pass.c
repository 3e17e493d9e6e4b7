/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages with a descriptor, between a parent and its children. */
#include <string.h>

#include "librdmacm/preload/preload.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t pass_send(int fd, const void *bytes, size_t size, int sent_fd)
{
	struct iovec iov = { (void *)bytes, size };
	union control control = {};
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (sent_fd >= 0) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), &sent_fd, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return real()->sendmsg(fd, &msg, MSG_NOSIGNAL);
}

ssize_t pass_receive(int fd, void *bytes, size_t size, int *ret_fd)
{
	struct iovec iov = { bytes, size };
	union control control = {};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = real()->recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (n > 0 && msg.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(int));
	return n;
}
