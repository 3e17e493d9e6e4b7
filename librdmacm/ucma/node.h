/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's side of ucma.c: a descriptor and one write() per command. Tests put a fake in its
 * place. */
#ifndef LIBRDMACM_UCMA_NODE_H
#define LIBRDMACM_UCMA_NODE_H

#include <stddef.h>
#include <sys/types.h>

/* Open /dev/infiniband/rdma_cm. -ENODEV: no such device here, or a kernel we do not speak with. */
int ucma_node_open(void);

/* As write(2), with -errno. */
ssize_t ucma_node_write(int fd, const void *command, size_t size);

#endif
