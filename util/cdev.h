/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Character devices of the RDMA subsystem, below /dev/infiniband. */
#ifndef UTIL_CDEV_H
#define UTIL_CDEV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CDEV_DIR "/dev/infiniband"

/* Whether the node is there at all; its permissions are not tried. */
bool cdev_exists(const char *name);

/* The number of a character device as RDMA netlink has it, as this C library has it. */
dev_t cdev_decode(uint64_t number);

/*
 * Open the character device @number for reading and writing, by its usual name, else through
 * /dev/char. The device behind the name is checked, so that a node of another device that came or
 * went meanwhile is never used.
 * Return: the descriptor, close-on-exec; -ENXIO: the node belongs to another device; another -errno
 * of open(2).
 */
int cdev_open(const char *name, dev_t number);

#endif
