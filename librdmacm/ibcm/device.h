/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices in use: each has an open QP1. */
#ifndef IBCM_DEVICE_H
#define IBCM_DEVICE_H

#include <sys/queue.h>

#include "librdmacm/device.h"

struct ibcm_prober;

/* A device with an open QP1. It is never closed, like the devices of the core. */
struct ibcm_dev {
	LIST_ENTRY(ibcm_dev) entry;
	struct cm_device *cm;
	struct ibv_context *verbs;
	int fd;
	bool watched; /* the thread waits for @fd; under the lock of opening */
	LIST_HEAD(, ibcm_prober) probers;
};

/* Functions of loop.c that device.c calls. */
struct ibcm_loop {
	int (*start)(void);	    /* start the thread, if it does not run */
	bool (*arrived)(void *dev); /* handle a message in the device's thread */
	void (*fork_watch)(void);
};

extern const struct ibcm_loop ibcm_loop;

/* Set the functions of loop.c. Call this before the first device is opened. */
void ibcm_devices_serve(const struct ibcm_loop *loop);
/* Open QP1 of the device, and let the thread poll it. Without the lock. */
int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev);
/* Open QP1 of all devices in the same way. */
int ibcm_dev_get_all(struct ibcm_dev **ret_any);
/* Return the first open device of the list. Under the lock. */
struct ibcm_dev *ibcm_dev_first(void);
/* Return the upper byte of the communication ids of this process. */
uint16_t ibcm_prefix(void);
/* Take and release the lock of opening around fork(). */
void ibcm_devices_fork_begin(void);
void ibcm_devices_fork_end(void);

#endif
