/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's RDMA devices: devices in sysfs, and devices that the discovery of the library finds.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/watch.h"
#include "util/sysfs.h"

int device_read(const struct doctor_device *dev, const char *path, char *buf, size_t size)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s/class/infiniband/%s/%s", sysfs_root(), dev->name,
		     path) >= sizeof(full))
		return -ENAMETOOLONG;
	return sysfs_read(AT_FDCWD, full, buf, size);
}

bool device_name_usable(const char *name)
{
	if (!*name || *name == '.' || strlen(name) >= IBV_SYSFS_NAME_MAX)
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return false;
	return true;
}

bool device_is_called(const char *name, const char *uverbs, const char *wanted)
{
	struct doctor_device dev = {};
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	if (!strcmp(name, wanted) || !strcmp(uverbs, wanted))
		return true;
	snprintf(dev.name, sizeof(dev.name), "%s", name);
	if (device_read(&dev, "parent", target, sizeof(target)) > 0 && !strcmp(target, wanted))
		return true;
	snprintf(path, sizeof(path), "class/infiniband/%s/device/net/%s", name, wanted);
	if (sysfs_exists(path))
		return true;
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device", sysfs_root(), name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return strrchr(target, '/') && !strcmp(strrchr(target, '/') + 1, wanted);
}

/* Return the device of that name. Add it if it is new. NULL: the user did not ask for it, or it is
 * one too many. */
static struct doctor_device *device_add(struct doctor *d, const struct verbs_device *verbs,
					const char *name)
{
	struct doctor_device *dev;

	for (unsigned int i = 0; i < d->count; i++)
		if (!strcmp(d->devices[i].name, name))
			return &d->devices[i];
	if (!device_name_usable(name))
		return NULL;
	if (d->wanted && !device_is_called(name, verbs ? verbs->device.dev_name : "", d->wanted))
		return NULL;
	if (d->count == DOCTOR_DEVICES_MAX) {
		d->too_many = true;
		return NULL;
	}
	dev = &d->devices[d->count++];
	*dev = (struct doctor_device){};
	strcpy(dev->name, name);
	return dev;
}

static void devices_find_sysfs(struct doctor *d)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs_root());
	n = scandir(path, &entries, NULL, versionsort);
	for (int i = 0; i < n; i++) {
		if (!sysfs_is_played(entries[i]->d_name))
			device_add(d, NULL, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* Find devices as the library does. Do not ask without the sysfs class, because asking could load a
 * module. */
static void devices_find_verbs(struct doctor *d)
{
	struct doctor_device *dev;
	struct verbs_device *verbs;
	int r = -EOPNOTSUPP;

	if (d->live && !d->system.error)
		r = disc_nldev_list(&d->list);
	if (r < 0) {
		disc_list_clear(&d->list);
		disc_sysfs_list(&d->list);
	}
	LIST_FOREACH(verbs, &d->list.devices, entry) {
		dev = device_add(d, verbs, verbs->device.name);
		if (dev)
			dev->verbs = verbs;
	}
	log_take();
}

void devices_find(struct doctor *d)
{
	if (!sysfs_has_class("class/infiniband") && sysfs_exists("class"))
		return;
	devices_find_sysfs(d);
	devices_find_verbs(d);
	if (d->too_many)
		fprintf(stderr,
			"rdma-doctor: this host has more than %u devices, and the others are not "
			"checked: name the device to check\n",
			DOCTOR_DEVICES_MAX);
}

bool device_name_is_userspace(const char *name)
{
	return !strncmp(name, "uroce", strlen("uroce"));
}

bool devices_wanted_is_userspace(const struct doctor *d)
{
	return d->wanted && !d->count && device_name_is_userspace(d->wanted);
}

struct doctor_device *devices_find_named(struct doctor *d, const char *name)
{
	for (unsigned int i = 0; i < d->count; i++) {
		const struct verbs_device *verbs = d->devices[i].verbs;

		if (device_is_called(d->devices[i].name, verbs ? verbs->device.dev_name : "", name))
			return &d->devices[i];
	}
	return NULL;
}

void devices_drop(struct doctor *d)
{
	disc_list_clear(&d->list);
	d->count = 0;
	free(d->userspace);
	d->userspace = NULL;
	free(d->transfer);
	d->transfer = NULL;
	watch_drop(d);
	free(d->peer);
	d->peer = NULL;
}
