/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>

#include "util/file.h"
#include "util/util.h"

int file_read_text(int dirfd, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, buf, size - 1);
	if (length < 0)
		return -errno;
	buf[length] = '\0';
	return length;
}
