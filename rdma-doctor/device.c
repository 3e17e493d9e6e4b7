/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel has a device, or the one that was asked for. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/doctor.h"
#include "util/sysfs.h"

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Names of @folder in sysfs, for a sentence. Return: how many there are. */
static int names_join(const char *folder, struct text *names)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int n;

	snprintf(path, sizeof(path), "%s/%s", sysfs_root(), folder);
	n = scandir(path, &entries, is_visible, versionsort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		text_join(names, ", ", "%.64s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return n;
}

static void device_not_found(const struct doctor *d, struct finding *f)
{
	struct text names = {};
	char interface[PATH_MAX];

	if (names_join("class/infiniband", &names))
		finding_fail(f, "%s is not one of the kernel's devices: %s", d->wanted,
			     names.chars);
	else
		finding_fail(f, "%s is not there: the kernel has no RDMA device", d->wanted);
	snprintf(interface, sizeof(interface), "class/net/%s", d->wanted);
	if (sysfs_exists(interface)) {
		finding_fail(f, "; it is a network interface without an RDMA device");
		finding_fix(f,
			    "name a device that is there, or make a software device: rdma link add "
			    "rxe_%s type rxe netdev %s",
			    d->wanted, d->wanted);
		return;
	}
	finding_fix(f, "name a device that is there, or load the driver of %s", d->wanted);
}

static void device_none(const struct doctor *d, struct finding *f)
{
	struct text drivers = {};

	finding_fail(f, "the kernel has no RDMA device");
	if (names_join("module/ib_uverbs/holders", &drivers))
		finding_fail(f, " although drivers are loaded (%s)", drivers.chars);
	if (uroce_serves(d))
		finding_unneeded(f, "; uroce, the device in user space, serves without one");
	if (host_in_container(d))
		finding_fix(f, "on the host: load the device's driver, or make a software device");
	else
		finding_fix(f, "load the device's driver, or make a software device: rdma link add "
			       "rxe0 type rxe netdev INTERFACE");
}

void device_check(struct doctor *d, struct finding *f)
{
	if (d->userspace_wanted) {
		finding_unneeded(f, "%s is a device in user space", d->wanted);
		return;
	}
	if (!d->count && d->wanted) {
		device_not_found(d, f);
		return;
	}
	if (!d->count) {
		device_none(d, f);
		return;
	}
	for (unsigned int i = 0; i < d->count; i++)
		finding_ok(f, "%s%s", i ? ", " : "", d->devices[i].name);
}
