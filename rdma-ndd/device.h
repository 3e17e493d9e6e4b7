/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA devices of the host, and whether their descriptions are what they should be.
 *
 * Nothing here depends on what an event said: each update looks at all devices. So an event that
 * was lost, came twice, or told of a device that has another name by now makes no difference. A
 * device is known by the inode of its folder in sysfs, which stays the same when it is renamed.
 */
#ifndef RDMA_NDD_DEVICE_H
#define RDMA_NDD_DEVICE_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "rdma-ndd/node_desc.h"

#define DEVICE_NAME_SIZE 64 /* the kernel's limit, its zero byte included */

struct device {
	TAILQ_ENTRY(device) entry;
	ino_t inode;
	char name[DEVICE_NAME_SIZE];
	int error;  /* -errno of the last attempt; 0 */
	bool fresh; /* nothing was written yet */
	bool present;
};

struct devices {
	TAILQ_HEAD(, device) list;
	bool dry_run; /* say on stdout what would be written */
};

struct devices_state {
	int count;
	int failed;
	bool retry;	   /* a failure that may pass by itself */
	char failure[160]; /* the last one, in words */
};

void devices_init(struct devices *devices);
void devices_free(struct devices *devices);

/*
 * Look at every device below @class_path (/sys/class/infiniband) and write the descriptions that
 * are not yet right. A new device's is written in any case: its subnet manager may know another one
 * than the kernel does.
 * Return: 0, -errno when the folder cannot be read. No folder: no devices.
 */
int devices_update(struct devices *devices, const char *class_path, const char *format,
		   const char *host, struct devices_state *ret_state);

#endif
