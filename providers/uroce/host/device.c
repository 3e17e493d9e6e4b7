/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices of this process, each shared by its contexts. */
#include <stdio.h>
#include <string.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/counters.h"
#include "providers/uroce/host/device.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/interface.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/progress.h"

/* --- life --- */

static int dev_interface(struct uroce_dev *dev)
{
	struct uroce_interface i;
	int r = uroce_interface_query(dev->netdev, &i);

	if (r < 0)
		return r;
	dev->ifindex = i.index;
	dev->link_mtu = i.mtu;
	dev->link_up = i.up || i.loopback;
	dev->is_loopback = i.loopback;
	memcpy(dev->mac, i.mac, sizeof(dev->mac));
	dev->speed = i.speed;
	dev->width = i.width;
	return 0;
}

static void dev_free(struct uroce_dev *dev)
{
	uroce_counters_log(dev);
	if (dev->wire && dev->wire != dev->udp)
		uroce_fault_path_free(dev->wire);
	if (dev->udp)
		uroce_udp_close(dev->udp);
	uroce_gsi_free(dev->gsi);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

static int dev_udp(struct uroce_dev *dev)
{
	struct udp_link link = { .ifindex = dev->ifindex };

	snprintf(link.name, sizeof(link.name), "%s", dev->name);
	snprintf(link.netdev, sizeof(link.netdev), "%s", dev->netdev);
	return uroce_udp_open(&dev->host->paths, &link, &dev->udp);
}

static int dev_new(struct uroce_host *host, const struct verbs_device *device,
		   struct uroce_dev **ret_dev)
{
	struct uroce_dev *dev = calloc(1, sizeof(*dev));
	int r;

	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->lock, NULL);
	dev->host = host;
	snprintf(dev->name, sizeof(dev->name), "%s", device->device.name);
	r = if_indextoname(device->private_data, dev->netdev) ? dev_interface(dev) : -ENODEV;
	if (!r)
		r = dev_udp(dev);
	if (!r) {
		dev->wire = dev->udp;
		if (host->faults && host->faults->packets)
			r = uroce_fault_path_new(host->faults, dev->udp, &dev->wire);
	}
	if (!r)
		r = uroce_gids_refresh(dev);
	if (r < 0) {
		log_err("%s: interface %s cannot be used: %s", dev->name, dev->netdev,
			strerror(-r));
		dev_free(dev);
		return r;
	}
	*ret_dev = dev;
	return 0;
}

static int dev_find(struct uroce_host *host, const struct verbs_device *device,
		    struct uroce_dev **ret_dev)
{
	struct uroce_dev *dev;
	int r;

	LIST_FOREACH(dev, &host->devices, entry) {
		if (strcmp(dev->name, device->device.name))
			continue;
		*ret_dev = dev;
		return 0;
	}
	r = dev_new(host, device, &dev);
	if (r < 0)
		return r;
	uroce_lock(&host->paths.progress_lock);
	LIST_INSERT_HEAD(&host->devices, dev, entry);
	uroce_unlock(&host->paths.progress_lock);
	*ret_dev = dev;
	return 0;
}

int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev)
{
	_cleanup_close_ int turn = uroce_shm_turn_take();
	struct uroce_host *host;
	struct uroce_dev *dev;
	int r = uroce_host_get(&host);

	if (r < 0)
		return r;
	pthread_mutex_lock(&host->lock);
	r = dev_find(host, device, &dev);
	if (!r) {
		dev->refs++;
		*ret_dev = dev;
	}
	pthread_mutex_unlock(&host->lock);
	if (r < 0)
		uroce_host_put(host);
	return r;
}

void uroce_dev_put(struct uroce_dev *dev)
{
	struct uroce_host *host = dev->host;

	pthread_mutex_lock(&host->lock);
	if (--dev->refs == 0 && uroce_host_here(host)) {
		/* The sockets of the device may hold datagrams for other processes. */
		uroce_progress_drain(host);
		uroce_lock(&host->paths.progress_lock);
		LIST_REMOVE(dev, entry);
		uroce_unlock(&host->paths.progress_lock);
		dev_free(dev);
	}
	pthread_mutex_unlock(&host->lock);
	uroce_host_put(host);
}

/* --- properties of the interface --- */

void uroce_dev_headers_show(struct uroce_dev *dev)
{
	if (!dev->udp || uroce_udp_headers_shown(dev->udp))
		return;
	uroce_lock(&dev->host->paths.progress_lock);
	uroce_udp_headers_show(dev->udp);
	uroce_unlock(&dev->host->paths.progress_lock);
}
