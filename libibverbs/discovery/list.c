/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "util/env.h"
#include "util/sysfs.h"
#include "util/text.h"

static void list_append(struct verbs_device_list *list, struct verbs_device *device)
{
	if (list->last)
		LIST_INSERT_AFTER(list->last, device, entry);
	else
		LIST_INSERT_HEAD(&list->devices, device, entry);
	list->last = device;
	list->count++;
}

struct verbs_device *disc_device_new(struct verbs_device_list *list, size_t size)
{
	struct verbs_device *device = calloc(1, size);

	if (!device)
		return NULL;
	device->index = -1;
	list_append(list, device);
	return device;
}

void disc_list_remove(struct verbs_device_list *list, struct verbs_device *device)
{
	struct verbs_device *before = NULL, *d;

	LIST_FOREACH(d, &list->devices, entry) {
		if (LIST_NEXT(d, entry) == device)
			before = d;
	}
	if (list->last == device)
		list->last = before;
	LIST_REMOVE(device, entry);
	list->count--;
}

void disc_device_drop(struct verbs_device_list *list, struct verbs_device *device)
{
	disc_list_remove(list, device);
	free(device->modalias);
	free(device);
}

void disc_list_clear(struct verbs_device_list *list)
{
	while (!LIST_EMPTY(&list->devices))
		disc_device_drop(list, LIST_FIRST(&list->devices));
}

static int name_copy(char *dst, size_t size, const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= size || name[0] == '.' || strchr(name, '/'))
		return -EINVAL;
	memcpy(dst, name, length + 1);
	return 0;
}

int disc_device_name(struct verbs_device *device, const char *name)
{
	struct ibv_device *d = &device->device;

	if (name_copy(d->name, sizeof(d->name), name))
		return -EINVAL;
	snprintf(d->ibdev_path, sizeof(d->ibdev_path), "%.127s/class/infiniband/%s", sysfs_root(),
		 d->name);
	return 0;
}

int disc_device_cdev_name(struct verbs_device *device, const char *name)
{
	struct ibv_device *d = &device->device;

	if (name_copy(d->dev_name, sizeof(d->dev_name), name))
		return -EINVAL;
	snprintf(d->dev_path, sizeof(d->dev_path), "%.127s/class/infiniband_verbs/%s", sysfs_root(),
		 d->dev_name);
	return 0;
}

void disc_device_type(struct verbs_device *device, unsigned int type)
{
	static const enum ibv_transport_type transport[] = {
		[IBV_NODE_CA] = IBV_TRANSPORT_IB,
		[IBV_NODE_SWITCH] = IBV_TRANSPORT_IB,
		[IBV_NODE_ROUTER] = IBV_TRANSPORT_IB,
		[IBV_NODE_RNIC] = IBV_TRANSPORT_IWARP,
		[IBV_NODE_USNIC] = IBV_TRANSPORT_USNIC,
		[IBV_NODE_USNIC_UDP] = IBV_TRANSPORT_USNIC_UDP,
		[IBV_NODE_UNSPECIFIED] = IBV_TRANSPORT_UNSPECIFIED,
	};
	bool known = type >= IBV_NODE_CA && type <= IBV_NODE_UNSPECIFIED;

	device->device.node_type = known ? (enum ibv_node_type)type : IBV_NODE_UNKNOWN;
	device->device.transport_type = known ? transport[type] : IBV_TRANSPORT_UNKNOWN;
}

void verbs_device_add(struct verbs_device_list *list, struct verbs_device *device)
{
	list_append(list, device);
}

static int kernel_list(struct verbs_device_list *list)
{
	int r = disc_nldev_list(list);

	if (r >= 0)
		return 0;
	disc_list_clear(list);
	r = disc_sysfs_list(list);
	return r == -ENOENT ? -ENOSYS : r;
}

static bool class_exists(const char *class)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/class/%s", sysfs_root(), class) < 0)
		path = NULL;
	return path && !access(path, F_OK);
}

/* Return whether the kernel has any device, even without ib_uverbs. */
static bool class_has_entries(const char *class)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (asprintf(&path, "%s/class/%s", sysfs_root(), class) < 0)
		path = NULL;
	dir = path ? opendir(path) : NULL;
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.';
	closedir(dir);
	return found;
}

/* UROCE may ask for a device whose package is missing. */
static void explain_userspace(struct text *why)
{
	if (!disc_userspace_exists() && env_get_filled(ENV_UROCE) && disc_userspace_enabled(false))
		text_add(why,
			 "; UROCE asks for the RoCE device in user space, but no driver file in %s "
			 "has 'match userspace': install its provider, uroce",
			 disc_paths()->config);
	if (disc_userspace_exists() && !disc_userspace_enabled(false))
		text_add(why,
			 "; or use the RoCE device in user space: UROCE=on in the environment, or "
			 "'policy auto' in %s/uroce.conf",
			 disc_paths()->config);
}

/*
 * Explain an empty list. If the kernel has a device without a node, the installation is broken.
 * Therefore warn at any log level. A host without devices is normal and is only logged at level 1
 * and above.
 */
static void explain_nothing(bool no_uverbs)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	bool broken =
		no_uverbs && class_has_entries("infiniband") && !atomic_flag_test_and_set(&said);
	struct text why = {};

	if (!broken && !log_enabled(LOG_LEVEL_ERR))
		return;
	if (no_uverbs)
		text_add(
			&why,
			"libibverbs: Fatal: couldn't read uverbs abi version from "
			"'%s/class/infiniband_verbs/abi_version': no RDMA device: the kernel module "
			"ib_uverbs is not loaded: 'modprobe ib_uverbs' and the device's driver; in a "
			"container, do it on the host",
			sysfs_root());
	else
		text_add(&why,
			 "no RDMA device: the kernel has none in this network namespace: load "
			 "the device's driver, or move the device here ('rdma dev set DEVICE "
			 "netns NAME')");
	explain_userspace(&why);
	if (broken)
		log_notice("%s\n", why.chars);
	else
		log_err("%s", why.chars);
}

int disc_list(struct verbs_device_list *list)
{
	int r = kernel_list(list);

	if (r < 0 && r != -ENOSYS)
		return r;
	if (disc_userspace_enabled(list->count))
		disc_userspace_list(list);
	if (list->count)
		return 0;
	explain_nothing(r == -ENOSYS ||
			(!class_exists("infiniband_verbs") && class_has_entries("infiniband")));
	return r;
}
