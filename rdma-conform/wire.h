/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes and frames on the sockets between controller and agents. */
#ifndef RDMA_CONFORM_WIRE_H
#define RDMA_CONFORM_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* The functions return 0 or a negative errno. @limit: ns; the wait ends with -ETIMEDOUT. */
int wire_write(int fd, const void *data, size_t length);
int wire_read(int fd, void *data, size_t length, int64_t limit);
int wire_frame_write(int fd, const void *data, uint32_t length);
/* Allocate @ret_data, with a zero byte at the end. */
int wire_frame_read(int fd, void **ret_data, uint32_t *ret_length, int64_t limit);

#endif
