/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>

#include "rdma-ndd/hostname.h"
#include "util/util.h"

int hostname_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int hostname_read(int fd, char ret_name[HOSTNAME_SIZE])
{
	char name[HOSTNAME_SIZE];
	ssize_t n;

	do {
		n = pread(fd, name, sizeof(name) - 1, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	name[n] = '\0';
	name[strcspn(name, "\n")] = '\0';
	memcpy(ret_name, name, sizeof(name));
	return 0;
}
