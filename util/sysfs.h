/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes in sysfs. Their text is read once, bounded, and ends without its newline. */
#ifndef UTIL_SYSFS_H
#define UTIL_SYSFS_H

#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

/*
 * Return the folder where sysfs is mounted: SYSFS_PATH or /sys, without a slash at the end, shorter
 * than 128 bytes. It never changes.
 */
const char *sysfs_root(void);

/*
 * Read a text file.
 * @dirfd: of the folder @path is relative to, or AT_FDCWD
 * @size: of @buf in bytes; the text always ends with a zero byte
 * Return: length of the text; -errno. A longer file is cut.
 */
int sysfs_read(int dirfd, const char *path, char *buf, size_t size);

/* Read a number. @base: as for strtoull(3). -EINVAL: the file does not begin with a number. */
int sysfs_read_u64(int dirfd, const char *path, int base, uint64_t *ret_value);

/* Parse a GUID ("0011:2233:4455:6677"), or half of a GID. The result has network byte order. */
int sysfs_parse_guid(const char *text, __be64 *ret_guid);

#endif
