/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA devices of the host, and the check of their descriptions.
 *
 * The contents of events have no effect, because each update checks all devices. Therefore an event
 * may get lost, arrive twice, or name a device that has been renamed. A device is known by the
 * inode of its folder in sysfs, which stays the same when it is renamed.
 */
#ifndef RDMA_NDD_DEVICE_H
#define RDMA_NDD_DEVICE_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "rdma-ndd/node_desc.h"

#define DEVICE_NAME_SIZE 64 /* bytes: the kernel's limit, with the zero byte */

struct device {
	TAILQ_ENTRY(device) entry;
	ino_t inode;
	char name[DEVICE_NAME_SIZE];
	int error;  /* -errno of the last attempt; 0 */
	bool fresh; /* no description has been written yet */
	bool present;
};

struct devices {
	TAILQ_HEAD(, device) list;
	bool dry_run; /* print to stdout instead of writing */
};

struct devices_state {
	int count;
	int failed;
	bool retry;	   /* a failure that may disappear without help */
	char failure[160]; /* text of the last failure */
};

void devices_init(struct devices *devices);
void devices_free(struct devices *devices);

/*
 * Look at every device below @class_path (/sys/class/infiniband) and write the descriptions that
 * are not yet right. Always write the description of a new device, because its subnet manager may
 * have a description that differs from the kernel's. Return: 0; -errno: the folder cannot be read.
 * A missing folder means that there are no devices.
 */
int devices_update(struct devices *devices, const char *class_path, const char *format,
		   const char *host, struct devices_state *ret_state);

#endif
