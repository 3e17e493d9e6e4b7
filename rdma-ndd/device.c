/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rdma-ndd/device.h"
#include "rdma-ndd/report.h"
#include "util/util.h"

void devices_init(struct devices *devices)
{
	*devices = (struct devices){};
	TAILQ_INIT(&devices->list);
}

static void device_drop(struct devices *devices, struct device *device)
{
	TAILQ_REMOVE(&devices->list, device, entry);
	free(device);
}

void devices_free(struct devices *devices)
{
	while (!TAILQ_EMPTY(&devices->list))
		device_drop(devices, TAILQ_FIRST(&devices->list));
}

/* Return the device with this inode, and create it if it is new. NULL: no memory. */
static struct device *device_get(struct devices *devices, ino_t inode, const char *name)
{
	struct device *device;

	TAILQ_FOREACH(device, &devices->list, entry) {
		if (device->inode != inode)
			continue;
		if (strcmp(device->name, name)) {
			report(LOG_DEBUG, "%s: renamed to %s", device->name, name);
			device->error = 0;
		}
		snprintf(device->name, sizeof(device->name), "%s", name);
		return device;
	}
	device = malloc(sizeof(*device));
	if (!device)
		return NULL;
	*device = (struct device){ .inode = inode, .fresh = true };
	snprintf(device->name, sizeof(device->name), "%s", name);
	TAILQ_INSERT_TAIL(&devices->list, device, entry);
	report(LOG_DEBUG, "%s: found", name);
	return device;
}

static int device_set(struct devices *devices, struct device *device, int fd, const char *text)
{
	char now[NODE_DESC_SIZE + 1] = "";
	int r = node_desc_read(fd, now);

	if (r < 0)
		return r;
	if (devices->dry_run) {
		printf("%s: '%s'%s%s%s\n", device->name, now, strcmp(now, text) ? " -> '" : "",
		       strcmp(now, text) ? text : " stays", strcmp(now, text) ? "'" : "");
		return 0;
	}
	if (!device->fresh && !strcmp(now, text)) {
		report(LOG_DEBUG, "%s: no change ('%s')", device->name, text);
		return 0;
	}
	r = node_desc_write(fd, text);
	if (r < 0)
		return r;
	report(LOG_INFO, "%s: node description '%s', was '%s'", device->name, text, now);
	device->fresh = false;
	return 0;
}

/*
 * Return whether the error means that the device has been removed. It may be removed between any
 * two steps. An event reports this, and the next update sees it.
 */
static bool error_is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR;
}

/*
 * Return whether the error is final, because the driver or the mount of sysfs does not support
 * writing.
 */
static bool error_is_final(int r)
{
	return r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL || r == -EACCES || r == -EPERM ||
	       r == -EROFS;
}

static void device_judge(struct device *device, int r, struct devices_state *state)
{
	if (error_is_gone(r))
		r = 0;
	if (r < 0) {
		state->failed++;
		state->retry |= !error_is_final(r);
		snprintf(state->failure, sizeof(state->failure), "%s: %s", device->name,
			 strerror(-r));
	}
	if (r < 0 && r != device->error)
		report(LOG_WARNING, "%s: the node description cannot be set: %s", device->name,
		       strerror(-r));
	device->error = r;
}

static void device_update(struct devices *devices, int class_fd, const char *name,
			  const char *format, const char *host, struct devices_state *state)
{
	_cleanup_close_ int fd = openat(class_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[NODE_DESC_SIZE + 1];
	struct device *device;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return;
	device = device_get(devices, st.st_ino, name);
	if (!device) {
		state->retry = true;
		return;
	}
	device->present = true;
	state->count++;
	node_desc_format(format, host, name, text);
	device_judge(device, device_set(devices, device, fd, text), state);
}

static void devices_forget(struct devices *devices)
{
	struct device *device, *next;

	for (device = TAILQ_FIRST(&devices->list); device; device = next) {
		next = TAILQ_NEXT(device, entry);
		if (!device->present) {
			report(LOG_DEBUG, "%s: gone", device->name);
			device_drop(devices, device);
			continue;
		}
		device->present = false;
	}
}

int devices_update(struct devices *devices, const char *class_path, const char *format,
		   const char *host, struct devices_state *ret_state)
{
	struct devices_state state = {};
	DIR *dir = opendir(class_path);
	struct dirent *entry;
	int r = dir ? 0 : -errno;

	if (r < 0 && r != -ENOENT)
		return r;
	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || length >= DEVICE_NAME_SIZE)
			continue;
		device_update(devices, dirfd(dir), entry->d_name, format, host, &state);
	}
	if (dir)
		closedir(dir);
	devices_forget(devices);
	*ret_state = state;
	return 0;
}
