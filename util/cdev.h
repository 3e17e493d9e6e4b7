/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Character devices of the RDMA subsystem, below /dev/infiniband. */
#ifndef UTIL_CDEV_H
#define UTIL_CDEV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CDEV_DIR "/dev/infiniband"

/* Return whether the node exists. Its permissions are not checked. */
bool cdev_exists(const char *name);

/* Convert the number of a character device in RDMA netlink to that of this C library. */
dev_t cdev_decode(uint64_t number);

/*
 * Open the character device @number for reading and writing, by its usual name, else through
 * /dev/char. The device behind the name is checked, so that a node that belongs to another device
 * by now is never used. Return: the descriptor, close-on-exec; -ENXIO: the node belongs to another
 * device; another -errno of open(2).
 */
int cdev_open(const char *name, dev_t number);

#endif
