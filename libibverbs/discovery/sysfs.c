/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "libibverbs/discovery/discovery.h"
#include "util/sysfs.h"

static char *class_path(const char *class)
{
	char *path;

	return asprintf(&path, "%s/class/%s", sysfs_root(), class) < 0 ? NULL : path;
}

static int class_open(const char *class)
{
	_cleanup_free_ char *path = class_path(class);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int cdev_read(int uverbs, dev_t *ret_cdev)
{
	unsigned int maj, min;
	char text[32];
	int r = sysfs_read(uverbs, "dev", text, sizeof(text));

	if (r < 0)
		return r;
	if (sscanf(text, "%u:%u", &maj, &min) != 2)
		return -EINVAL;
	*ret_cdev = makedev(maj, min);
	return 0;
}

/* Read the files of uverbsN: character device, ABI version and name of the RDMA device. */
static int uverbs_read(int uverbs, struct verbs_device *device)
{
	char name[sizeof(device->device.name)];
	uint64_t abi;
	int r;

	r = sysfs_read(uverbs, "ibdev", name, sizeof(name));
	if (r >= 0)
		r = disc_device_name(device, name);
	if (r >= 0)
		r = sysfs_read_u64(uverbs, "abi_version", 10, &abi);
	if (r >= 0)
		r = cdev_read(uverbs, &device->cdev);
	if (r < 0)
		return r;
	device->abi_version = abi;
	return 0;
}

static void ibdev_read(int uverbs, struct verbs_device *device)
{
	char path[320], text[32];
	uint64_t type = 0;
	__be64 guid;

	snprintf(path, sizeof(path), "%s/node_type", device->device.ibdev_path);
	sysfs_read_u64(AT_FDCWD, path, 10, &type);
	disc_device_type(device, type);
	snprintf(path, sizeof(path), "%s/node_guid", device->device.ibdev_path);
	if (sysfs_read(AT_FDCWD, path, text, sizeof(text)) > 0 && !sysfs_parse_guid(text, &guid))
		device->node_guid = guid;
}

static int device_read(struct verbs_device_list *list, int class, const char *name)
{
	_cleanup_close_ int uverbs = openat(class, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct verbs_device *device;
	int r;

	if (uverbs < 0)
		return -errno;
	device = disc_device_new(list, sizeof(*device));
	if (!device)
		return -ENOMEM;
	r = disc_device_cdev_name(device, name);
	if (r >= 0)
		r = uverbs_read(uverbs, device);
	if (r < 0) {
		disc_device_drop(list, device);
		return r;
	}
	ibdev_read(uverbs, device);
	return 0;
}

static int uverbs_number(const char *name)
{
	unsigned int number;
	char rest;

	return sscanf(name, "uverbs%u%c", &number, &rest) == 1 ? (int)number : -1;
}

static int is_uverbs(const struct dirent *entry)
{
	return uverbs_number(entry->d_name) >= 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return uverbs_number((*a)->d_name) - uverbs_number((*b)->d_name);
}

int disc_sysfs_list(struct verbs_device_list *list)
{
	_cleanup_close_ int class = class_open("infiniband_verbs");
	_cleanup_free_ char *path = class_path("infiniband_verbs");
	struct dirent **entries;
	int n, r = 0;

	if (class < 0)
		return class;
	if (!path)
		return -ENOMEM;
	n = scandir(path, &entries, is_uverbs, by_number);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		int one = device_read(list, class, entries[i]->d_name);

		/* A device that is removed meanwhile is not an error. */
		if (one == -ENOMEM)
			r = one;
		else if (one < 0)
			log_warn("%s in sysfs cannot be read: %s: not listed", entries[i]->d_name,
				 strerror(-one));
		free(entries[i]);
	}
	free(entries);
	return r;
}
