/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "rdma-conform/agent.h"

/* No frame is longer. A longer one comes from another program. */
#define FRAME_MAX (256u << 20)

int wire_write(int fd, const void *data, size_t length)
{
	const char *from = data;

	while (length) {
		ssize_t n = send(fd, from, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		length -= n;
	}
	return 0;
}

int wire_read(int fd, void *data, size_t length, int64_t limit)
{
	int64_t end = now() + limit;
	char *to = data;

	while (length) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = (end - now()) / 1000000;
		ssize_t n;

		if (left < 0 || !poll(&p, 1, left + 1))
			return -ETIMEDOUT;
		n = recv(fd, to, length, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		to += n;
		length -= n;
	}
	return 0;
}

int wire_frame_write(int fd, const void *data, uint32_t length)
{
	int r = wire_write(fd, &length, sizeof(length));

	return r < 0 ? r : wire_write(fd, data, length);
}

int wire_frame_read(int fd, void **ret_data, uint32_t *ret_length, int64_t limit)
{
	uint32_t length;
	char *data;
	int r = wire_read(fd, &length, sizeof(length), limit);

	if (r < 0)
		return r;
	if (length > FRAME_MAX)
		return -EPROTO;
	data = calloc(1, (size_t)length + 1);
	if (!data)
		return -ENOMEM;
	r = wire_read(fd, data, length, limit);
	if (r < 0) {
		free(data);
		return r;
	}
	*ret_data = data;
	*ret_length = length;
	return 0;
}
