/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <sys/resource.h>

#include "util/file.h"
#include "util/util.h"

enum {
	PROGRAMS = 1024, /* lower numbers are for the program */
};

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

int file_copy_high(int fd)
{
	struct rlimit limit;
	rlim_t first = getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur / 2;

	return fcntl(fd, F_DUPFD_CLOEXEC, (int)min_of(first, (rlim_t)PROGRAMS));
}

int file_move_high(int fd)
{
	int number = file_copy_high(fd);

	if (number < 0)
		return fd;
	close(fd);
	return number;
}
