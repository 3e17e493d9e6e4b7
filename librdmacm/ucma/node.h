/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's side of this folder: a descriptor, and commands that are written to it. Tests
 * replace it by a fake.
 */
#ifndef LIBRDMACM_UCMA_NODE_H
#define LIBRDMACM_UCMA_NODE_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Open /dev/infiniband/rdma_cm. -ENODEV: no such device, or an unknown version of its ABI. */
int ucma_node_open(void);

/* As writev(2), with -errno: the kernel executes commands until one fails. */
ssize_t ucma_node_write(int fd, const struct iovec *commands, int count);

#endif
