/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A provider of a device that is gone: its objects cannot be destroyed. */
#include <stdio.h>

#include "libibverbs/provider.h"

static int open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	return 0;
}

static int alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	return 0;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	return -EIO;
}

static int list_devices(struct verbs_device_list *list)
{
	struct verbs_device *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	snprintf(device->device.name, sizeof(device->device.name), "gone0");
	device->device.node_type = IBV_NODE_CA;
	device->index = -1;
	verbs_device_add(list, device);
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = open_context,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
};

static const struct verbs_provider gone_provider = {
	.size = sizeof(gone_provider),
	.name = "gone",
	.ops = &ops,
	.list_devices = list_devices,
};
VERBS_PROVIDER(gone_provider);
