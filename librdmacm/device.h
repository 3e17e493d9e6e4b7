/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices, and the objects that all identifiers of a device share. */
#ifndef LIBRDMACM_DEVICE_H
#define LIBRDMACM_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

/*
 * A device of the list of libibverbs. An open device is never freed, because programs may keep
 * contexts without a limit.
 * @user: a user-space device, served by ibcm; otherwise a kernel device, served by ucma
 */
struct cm_device {
	LIST_ENTRY(cm_device) entry;
	struct ibv_device *device;
	struct ibv_context *verbs; /* NULL until it is needed; see cm_device_open() */
	__be64 guid;
	int index; /* RDMA device index; -1 unknown */
	bool user;
	bool gone; /* missing in the last list of devices */
	/* default PD of all identifiers; opened together with @verbs */
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;	     /* default XRC domain; NULL until first needed */
	uint8_t max_initiator_depth; /* outstanding reads and atomics per QP, at most 255 */
	uint8_t max_responder_resources;
	_Atomic(uint8_t) link_layer[8]; /* indexed by port_num - 1; 0: not queried yet */
};

/*
 * Read the list of devices again. Add new devices, and mark missing devices as gone. Return: 0 even
 * if some devices cannot be used, which is logged.
 */
int cm_devices_refresh(void);

/*
 * Call @fn for each present device until it returns non-zero. The caller may have refreshed the
 * list before. @fn may open devices. Return: the last result of @fn, or 0 without a device.
 */
int cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg);

/* Open the device unless it is open. Afterwards dev->verbs, dev->pd and the limits are set. */
int cm_device_open(struct cm_device *dev);

/* Return the default XRC domain of an open device, which the first call opens. */
int cm_device_xrcd(struct cm_device *dev, struct ibv_xrcd **ret_xrcd);

/* Find and open the device that the kernel names: by @index unless it is -1, otherwise by @guid. */
int cm_device_find(__be64 guid, int index, struct cm_device **ret_dev);

/* Return the device of a context, or NULL if this library did not open the context. */
struct cm_device *cm_device_of(struct ibv_context *verbs);

/* Return IBV_LINK_LAYER_* of a port, queried once; UNSPECIFIED if the query fails. */
int cm_device_link_layer(struct cm_device *dev, uint8_t port_num);

#endif
