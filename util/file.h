/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stddef.h>

/*
 * Read a small text file. The function never waits, even if the file is a pipe.
 * @dirfd: of the folder @path is relative to, or AT_FDCWD
 * @size: of @buf in bytes; the text always ends with a zero byte, a longer file is cut at @size - 1
 * Return: length of the text; -errno.
 */
int file_read_text(int dirfd, const char *path, char *buf, size_t size);

/*
 * Low numbers are for descriptors of the program, which may index tables by them. Copy @fd to a
 * number of at least 1024, or of at least half of the limit. Return: the number; -1 with errno.
 */
int file_copy_high(int fd);

/* Move @fd to such a number. Return: the number, or @fd itself if there is none. */
int file_move_high(int fd);

#endif
