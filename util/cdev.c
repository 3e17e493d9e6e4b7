/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/cdev.h"
#include "util/util.h"

static int cdev_path(char *path, size_t size, const char *name)
{
	int length = snprintf(path, size, CDEV_DIR "/%s", name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static int cdev_open_path(const char *path, dev_t number)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != number)
		return -ENXIO;
	return take_fd(&fd);
}

/*
 * Decode the kernel's 64-bit device number: the minor number is in bits 0-7 and 20-43, the major
 * number in between and above.
 */
dev_t cdev_decode(uint64_t number)
{
	return makedev((number & 0xfff00) >> 8, (number & 0xff) | ((number >> 12) & 0xffffff00));
}

bool cdev_exists(const char *name)
{
	char path[128];

	return !cdev_path(path, sizeof(path), name) && !access(path, F_OK);
}

int cdev_open(const char *name, dev_t number)
{
	char path[128];
	int r, by_number;

	r = cdev_path(path, sizeof(path), name);
	if (r < 0)
		return r;
	r = cdev_open_path(path, number);
	if (r != -ENOENT && r != -ENXIO)
		return r;
	snprintf(path, sizeof(path), "/dev/char/%u:%u", major(number), minor(number));
	by_number = cdev_open_path(path, number);
	return by_number >= 0 ? by_number : r;
}
