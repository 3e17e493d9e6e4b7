/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's host name, read from the file that can be polled for changes. */
#ifndef RDMA_NDD_HOSTNAME_H
#define RDMA_NDD_HOSTNAME_H

#include <stddef.h>

#define HOSTNAME_SIZE 65 /* bytes of the kernel's limit: 64 and a zero byte */

/*
 * Open the file. Return: a descriptor that polls with POLLPRI after each change, and that the
 * caller closes; -errno.
 */
int hostname_open(const char *path);

/* Read the name. Return: 0; -errno. The name may be empty. */
int hostname_read(int fd, char ret_name[HOSTNAME_SIZE]);

#endif
