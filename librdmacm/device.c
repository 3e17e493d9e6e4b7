/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devices of the connection manager. A device is opened when first needed, with one context and one
 * default PD for all identifiers. It stays open while the library is loaded, because programs keep
 * the contexts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/util.h"

/*
 * @lock is also held while devices are opened, because two identifiers must not open one device
 * twice.
 * @list is the last list of libibverbs. Its devices stay valid until it is freed.
 */
static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, cm_device) devices;
	struct ibv_device **list;
} cm_devices = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

/*
 * Return whether @dev is @device. A user-space device is recognized by its name. If its network
 * interface went away and came back, libibverbs lists a new struct ibv_device for it, but the
 * provider still has the device that this process opened.
 */
static bool device_is_same(const struct cm_device *dev, struct ibv_device *device)
{
	return dev->device == device ||
	       (dev->user && !to_vdev(device)->cdev && !strcmp(dev->device->name, device->name));
}

static struct cm_device *device_known(struct ibv_device *device)
{
	struct cm_device *dev;

	LIST_FOREACH(dev, &cm_devices.devices, entry)
		if (device_is_same(dev, device))
			return dev;
	return NULL;
}

static int device_add(struct ibv_device *device)
{
	struct cm_device *dev = device_known(device);

	if (!dev) {
		dev = calloc(1, sizeof(*dev));
		if (!dev)
			return -ENOMEM;
		dev->device = device;
		dev->guid = ibv_get_device_guid(device);
		dev->index = ibv_get_device_index(device);
		dev->user = !to_vdev(device)->cdev;
		LIST_INSERT_HEAD(&cm_devices.devices, dev, entry);
	}
	/*
	 * The old list may be the last holder of the former device and is freed soon. An open
	 * context keeps its device.
	 */
	if (!dev->verbs)
		dev->device = device;
	dev->gone = false;
	return 0;
}

/* Free the missing devices that were never opened, together with their list. */
static void devices_forget_gone(void)
{
	struct cm_device *dev = LIST_FIRST(&cm_devices.devices);

	while (dev) {
		struct cm_device *next = LIST_NEXT(dev, entry);

		if (dev->gone && !dev->verbs) {
			LIST_REMOVE(dev, entry);
			free(dev);
		}
		dev = next;
	}
}

static int refresh_locked(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct cm_device *dev;
	int r = 0;

	if (!list)
		return -errno;
	LIST_FOREACH(dev, &cm_devices.devices, entry)
		dev->gone = true;
	for (int i = 0; list[i] && !r; i++)
		r = device_add(list[i]);
	devices_forget_gone();
	if (cm_devices.list)
		ibv_free_device_list(cm_devices.list);
	cm_devices.list = list;
	return r;
}

int cm_devices_refresh(void)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	pthread_mutex_lock(&cm_devices.lock);
	r = refresh_locked();
	pthread_mutex_unlock(&cm_devices.lock);
	return r;
}

static int devices_need_locked(void)
{
	return cm_devices.list ? 0 : refresh_locked();
}

static int device_open_locked(struct cm_device *dev)
{
	struct ibv_device_attr attr;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	int r;

	if (dev->verbs)
		return 0;
	verbs = ibv_open_device(dev->device);
	if (!verbs)
		return -errno;
	r = ibv_query_device(verbs, &attr);
	if (r) {
		ibv_close_device(verbs);
		return -r;
	}
	pd = ibv_alloc_pd(verbs);
	if (!pd) {
		r = -errno;
		ibv_close_device(verbs);
		return r;
	}
	dev->max_initiator_depth = min_of(attr.max_qp_init_rd_atom, 255);
	dev->max_responder_resources = min_of(attr.max_qp_rd_atom, 255);
	dev->pd = pd;
	dev->verbs = verbs;
	return 0;
}

int cm_device_open(struct cm_device *dev)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	pthread_mutex_lock(&cm_devices.lock);
	r = device_open_locked(dev);
	pthread_mutex_unlock(&cm_devices.lock);
	if (r < 0)
		log_err("%s: cannot be opened for connections: %s", dev->device->name,
			strerror(-r));
	return r;
}

static int device_xrcd_locked(struct cm_device *dev)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	if (!dev->xrcd)
		dev->xrcd = ibv_open_xrcd(dev->verbs, &attr);
	return dev->xrcd ? 0 : -errno;
}

int cm_device_xrcd(struct cm_device *dev, struct ibv_xrcd **ret_xrcd)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	pthread_mutex_lock(&cm_devices.lock);
	r = device_xrcd_locked(dev);
	if (!r)
		*ret_xrcd = dev->xrcd;
	pthread_mutex_unlock(&cm_devices.lock);
	return r;
}

int cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg)
{
	_cleanup_cancel_ int cancel = cancel_off();
	_cleanup_free_ struct cm_device **all = NULL;
	struct cm_device *dev;
	int count = 0, r;

	pthread_mutex_lock(&cm_devices.lock);
	r = devices_need_locked();
	LIST_FOREACH(dev, &cm_devices.devices, entry)
		count += !dev->gone;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		r = -ENOMEM;
	count = 0;
	if (!r)
		LIST_FOREACH(dev, &cm_devices.devices, entry)
			if (!dev->gone)
				all[count++] = dev;
	pthread_mutex_unlock(&cm_devices.lock);
	for (int i = 0; i < count && !r; i++)
		r = fn(all[i], arg);
	return r;
}

/*
 * Return whether the kernel means this device. GUIDs can repeat (bonded and virtual functions),
 * therefore the index decides if both sides know it.
 */
static bool device_is(const struct cm_device *dev, __be64 guid, int index)
{
	if (dev->gone || dev->user)
		return false;
	return index >= 0 && dev->index >= 0 ? dev->index == index : dev->guid == guid;
}

static struct cm_device *device_find_locked(__be64 guid, int index)
{
	struct cm_device *dev;

	LIST_FOREACH(dev, &cm_devices.devices, entry)
		if (device_is(dev, guid, index))
			return dev;
	return NULL;
}

int cm_device_find(__be64 guid, int index, struct cm_device **ret_dev)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct cm_device *dev;
	int r;

	pthread_mutex_lock(&cm_devices.lock);
	r = devices_need_locked();
	dev = device_find_locked(guid, index);
	if (!dev && !r) {
		r = refresh_locked();
		dev = device_find_locked(guid, index);
	}
	pthread_mutex_unlock(&cm_devices.lock);
	if (!dev) {
		log_err("rdma_cm: the kernel uses the device with index %d and GUID 0x%016llx, "
			"which libibverbs does not offer: is its provider installed?",
			index, (unsigned long long)be64toh(guid));
		return r < 0 ? r : -ENODEV;
	}
	r = cm_device_open(dev);
	if (!r)
		*ret_dev = dev;
	return r;
}

struct cm_device *cm_device_of(struct ibv_context *verbs)
{
	struct cm_device *dev;

	pthread_mutex_lock(&cm_devices.lock);
	LIST_FOREACH(dev, &cm_devices.devices, entry)
		if (dev->verbs == verbs)
			break;
	pthread_mutex_unlock(&cm_devices.lock);
	return dev;
}

int cm_device_link_layer(struct cm_device *dev, uint8_t port_num)
{
	_Atomic(uint8_t) *known = NULL;
	struct ibv_port_attr attr;
	uint8_t layer = 0;

	if (!port_num)
		return IBV_LINK_LAYER_UNSPECIFIED;
	if (port_num <= ARRAY_SIZE(dev->link_layer)) {
		known = &dev->link_layer[port_num - 1];
		layer = atomic_load_explicit(known, memory_order_relaxed);
	}
	if (layer)
		return layer;
	if (ibv_query_port(dev->verbs, port_num, &attr))
		return IBV_LINK_LAYER_UNSPECIFIED;
	if (known)
		atomic_store_explicit(known, attr.link_layer, memory_order_relaxed);
	return attr.link_layer;
}

struct context_list {
	struct ibv_context **verbs;
	int count, room;
};

/*
 * Add the context of a device. A device that cannot be opened is left out, and cm_device_open()
 * logs it.
 */
static int context_add(struct cm_device *dev, void *arg)
{
	struct context_list *list = arg;

	if (cm_device_open(dev) < 0)
		return 0;
	if (list->count + 1 >= list->room) {
		int room = list->room ? 2 * list->room : 8;
		struct ibv_context **grown = realloc(list->verbs, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->verbs = grown;
		list->room = room;
	}
	list->verbs[list->count++] = dev->verbs;
	return 0;
}

CM_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct context_list list = { .verbs = calloc(8, sizeof(*list.verbs)), .room = 8 };
	int r = list.verbs ? cm_devices_refresh() : -ENOMEM;

	if (!r)
		r = cm_devices_each(context_add, &list);
	if (r < 0) {
		free(list.verbs);
		if (num_devices)
			*num_devices = 0;
		errno = -r;
		return NULL;
	}
	list.verbs[list.count] = NULL;
	if (num_devices)
		*num_devices = list.count;
	return list.verbs;
}

CM_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
