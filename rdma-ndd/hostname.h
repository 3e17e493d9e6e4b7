/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's host name, by the file that can be polled for changes. */
#ifndef RDMA_NDD_HOSTNAME_H
#define RDMA_NDD_HOSTNAME_H

#include <stddef.h>

#define HOSTNAME_SIZE 65 /* of the kernel: 64 and a zero byte */

/* Return: a descriptor that polls with POLLPRI after each change, to be closed; -errno. */
int hostname_open(const char *path);

/* Return: 0, -errno. An empty name is one. */
int hostname_read(int fd, char ret_name[HOSTNAME_SIZE]);

#endif
