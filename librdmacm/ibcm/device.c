/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices in use. The first use of a device opens it. The first device starts the thread. */
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/device.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/wake.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/util.h"

static struct {
	pthread_mutex_t open_lock; /* held while a device is opened; taken before ibcm_lock() */
	LIST_HEAD(, ibcm_dev) list;
	uint16_t prefix;
	_Atomic(const struct ibcm_loop *) loop; /* each caller sets the same */
} devices = { .open_lock = PTHREAD_MUTEX_INITIALIZER };

static const struct ibcm_loop *loop_get(void)
{
	return atomic_load_explicit(&devices.loop, memory_order_acquire);
}

void ibcm_devices_serve(const struct ibcm_loop *loop)
{
	atomic_store_explicit(&devices.loop, loop, memory_order_release);
}

uint16_t ibcm_prefix(void)
{
	return devices.prefix;
}

struct ibcm_dev *ibcm_dev_first(void)
{
	return LIST_FIRST(&devices.list);
}

void ibcm_devices_fork_begin(void)
{
	pthread_mutex_lock(&devices.open_lock);
}

void ibcm_devices_fork_end(void)
{
	pthread_mutex_unlock(&devices.open_lock);
}

/*
 * Open QP1 of the device. On success @dev belongs to the device, which may pass it to the taker at
 * any time. On failure free @dev.
 */
static int dev_listen(struct ibcm_dev *dev)
{
	const struct verbs_gsi_taker taker = { loop_get()->arrived, dev };
	int r = verbs_gsi_open(dev->verbs, &taker, &dev->fd, &devices.prefix);

	if (r < 0)
		free(dev);
	return r;
}

/* Let the thread wait for the device. After a failure the next use of the device tries again. */
static int dev_watch(struct ibcm_dev *dev)
{
	int r = dev->watched ? 0 : ibcm_wake_watch(dev->fd, dev);

	dev->watched = !r;
	return r;
}

static int dev_new(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibcm_dev *dev;
	int r = cm_device_open(cm);

	if (r < 0)
		return r;
	pthread_once(&once, loop_get()->fork_watch);
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->cm = cm;
	dev->verbs = cm->verbs;
	r = dev_listen(dev);
	if (r < 0)
		return r;
	ibcm_lock();
	LIST_INSERT_HEAD(&devices.list, dev, entry);
	ibcm_unlock();
	*ret_dev = dev;
	return 0;
}

static struct ibcm_dev *dev_find(struct cm_device *cm)
{
	struct ibcm_dev *dev;

	LIST_FOREACH(dev, &devices.list, entry)
		if (dev->cm == cm)
			return dev;
	return NULL;
}

static int dev_get_locked(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	struct ibcm_dev *dev;
	int r;

	if (ibcm_is_child())
		return ibcm_child_refuse();
	r = loop_get()->start();
	if (r < 0) {
		log_err("rdma_cm: %s", strerror(-r));
		return r;
	}
	dev = dev_find(cm);
	if (!dev)
		r = dev_new(cm, &dev);
	if (r < 0)
		return r;
	r = dev_watch(dev);
	if (r < 0)
		log_err("rdma_cm: a device cannot be watched: %s", strerror(-r));
	else
		*ret_dev = dev;
	return r;
}

int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	pthread_mutex_lock(&devices.open_lock);
	r = dev_get_locked(cm, ret_dev);
	pthread_mutex_unlock(&devices.open_lock);
	return r;
}

/* Open a device for ibcm_dev_get_all(). Skip the device if that fails. */
static int dev_get_one(struct cm_device *cm, void *arg)
{
	struct ibcm_dev **ret = arg;

	if (cm->user)
		ibcm_dev_get(cm, ret);
	return 0;
}

int ibcm_dev_get_all(struct ibcm_dev **ret_any)
{
	int r;

	*ret_any = NULL;
	r = cm_devices_each(dev_get_one, ret_any);
	return r < 0 ? r : *ret_any ? 0 : -ENODEV;
}
