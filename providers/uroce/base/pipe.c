/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/uroce/base/call.h"
#include "providers/uroce/base/pipe.h"

enum {
	RECORD_MAX = 64, /* bytes */
};

int uroce_pipe_open(struct uroce_pipe *ret)
{
	int fds[2], flags;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	flags = fcntl(fds[1], F_GETFL);
	fcntl(fds[1], F_SETFL, flags | O_NONBLOCK); /* the two ends have separate flags */
	*ret = (struct uroce_pipe){ .read_fd = fds[0], .write_fd = fds[1] };
	return 0;
}

void uroce_pipe_close_write(struct uroce_pipe *pipe)
{
	close(pipe->write_fd);
	pipe->write_fd = -1;
}

int uroce_pipe_put(const struct uroce_pipe *pipe, const void *record, size_t size)
{
	/* The kernel writes up to PIPE_BUF bytes completely or not at all. */
	return uroce_call_write(pipe->write_fd, record, size) == (ssize_t)size ? 0 : -errno;
}

/*
 * Move all unread records to @aside. Never block, even if the application has changed the flags of
 * its end.
 */
static size_t pipe_drain(const struct uroce_pipe *pipe, const struct uroce_pipe *aside)
{
	size_t total = 0;

	for (;;) {
		ssize_t n = splice(pipe->read_fd, NULL, aside->write_fd, NULL, INT_MAX,
				   SPLICE_F_NONBLOCK);

		if (n <= 0)
			return total;
		total += n;
	}
}

/*
 * Sort a record: one of @element is dropped, any other goes to the end of the pipe. Return: whether
 * the record belonged to @element.
 */
static bool record_sort(const struct uroce_pipe *pipe, const uint8_t *record, size_t size,
			uint64_t element)
{
	uint64_t found;

	memcpy(&found, record, sizeof(found));
	if (found == element)
		return true;
	uroce_pipe_put(pipe, record, size);
	return false;
}

/* Without a descriptor for a second pipe, move each record to the end of the pipe once. */
static unsigned int purge_in_place(const struct uroce_pipe *pipe, uint64_t element, size_t size)
{
	uint8_t record[RECORD_MAX];
	struct iovec iov = { record, size };
	unsigned int purged = 0;
	int left = 0;

	ioctl(pipe->read_fd, FIONREAD, &left);
	for (; left >= (int)size; left -= size) {
		if (vmsplice(pipe->read_fd, &iov, 1, SPLICE_F_NONBLOCK) != (ssize_t)size)
			break;
		purged += record_sort(pipe, record, size, element);
	}
	return purged;
}

unsigned int uroce_pipe_purge(const struct uroce_pipe *pipe, uint64_t element, size_t size)
{
	struct uroce_pipe aside = { -1, -1 };
	unsigned int purged = 0;
	uint8_t record[RECORD_MAX];

	if (size > sizeof(record))
		return 0;
	if (uroce_pipe_open(&aside) < 0)
		return purge_in_place(pipe, element, size);
	for (size_t left = pipe_drain(pipe, &aside); left >= size; left -= size) {
		if (read(aside.read_fd, record, size) != (ssize_t)size)
			break;
		purged += record_sort(pipe, record, size, element);
	}
	close(aside.read_fd);
	close(aside.write_fd);
	return purged;
}
