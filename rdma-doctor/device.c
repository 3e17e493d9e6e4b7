/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rung: the kernel has a device, or the wanted device. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/hardware.h"
#include "util/sysfs.h"

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int is_kernel_device(const struct dirent *entry)
{
	return is_visible(entry) && !sysfs_is_played(entry->d_name);
}

/* All modules that use ib_uverbs are drivers, except the CM's and the library of two drivers. */
static int is_driver(const struct dirent *entry)
{
	return is_visible(entry) && strcmp(entry->d_name, "rdma_ucm") &&
	       strcmp(entry->d_name, "rdmavt");
}

/* Join the names in a sysfs folder for a sentence. Return: their number. */
static int names_join(const char *folder, int (*select)(const struct dirent *), struct text *names)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int n;

	snprintf(path, sizeof(path), "%s/%s", sysfs_root(), folder);
	n = scandir(path, &entries, select, versionsort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		text_join(names, ", ", "%.64s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return n;
}

static bool is_interface(const struct doctor *d, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "class/net/%s", name);
	return d->live ? system_netdev_exists(name) : sysfs_exists(path);
}

static void device_not_found(const struct doctor *d, struct finding *f)
{
	struct text names = {}, rxe = {};

	if (names_join("class/infiniband", is_kernel_device, &names))
		finding_fail(f, "%s is not one of the kernel's devices: %s", d->wanted,
			     names.chars);
	else
		finding_fail(f, "%s is not there: the kernel has no RDMA device", d->wanted);
	if (is_interface(d, d->wanted)) {
		text_add(&rxe, "rxe_%s", d->wanted);
		finding_fail(f, "; it is a network interface without an RDMA device");
		finding_fix(f,
			    "name a device that is there, as uroce_%s of user space, or make a "
			    "software device: rdma link add %s type rxe netdev %s",
			    d->wanted, finding_word(rxe.chars), finding_word(d->wanted));
		return;
	}
	finding_fix(f, "name a device that is there, or load the driver of %s", d->wanted);
}

/* Suggest how to get a device. Hardware drivers find their devices, and users create software
 * devices. */
static void fix_none(const struct doctor *d, bool drivers, struct finding *f)
{
	const char *where = host_in_container(d) ? "on the host: " : "";

	if (drivers)
		finding_fix(f,
			    "%slook why the driver has no device (dmesg); or make a software "
			    "device: rdma link add rxe0 type rxe netdev INTERFACE",
			    where);
	else
		finding_fix(f,
			    "%sload the device's driver, or make a software device: rdma link "
			    "add rxe0 type rxe netdev INTERFACE",
			    where);
}

static void fix_unbound(const struct doctor *d, const char *function, struct finding *f)
{
	char driver[NAME_MAX + 16];

	hardware_name_module(function, driver, sizeof(driver));
	finding_fix(f, "%smodprobe %s, and see the kernel log (dmesg)",
		    host_in_container(d) ? "on the host: " : "", driver);
}

/* Report that there is no device. With uroce this is no failure, unless a device was lost. */
static void device_none(const struct doctor *d, struct finding *f)
{
	char function[NAME_MAX + 1];
	bool unbound = hardware_find_unbound(function, sizeof(function));
	struct text drivers = {};
	struct adapter adapter;
	unsigned int lost = hardware_find_lost(&adapter);
	int loaded = names_join("module/ib_uverbs/holders", is_driver, &drivers);

	finding_fail(f, "the kernel has no RDMA device");
	if (unbound)
		finding_fail(f, "; the RDMA function %s has no driver", function);
	if (loaded)
		finding_fail(f, " although drivers are loaded (%s)", drivers.chars);
	if (lost) {
		finding_fail(f, "; ");
		hardware_describe(&adapter, lost, f, FINDING_FAILED);
		hardware_fix(d, &adapter, f);
		return;
	}
	if (unbound) {
		fix_unbound(d, function, f);
		return;
	}
	if (!loaded)
		uroce_instead(d, f);
	fix_none(d, loaded, f);
}

static void device_list(struct doctor *d, struct finding *f)
{
	struct adapter adapter;
	unsigned int lost;

	for (unsigned int i = 0; i < d->count; i++)
		finding_ok(f, "%s%s", i ? ", " : "", d->devices[i].name);
	lost = d->wanted ? 0 : hardware_find_lost(&adapter);
	if (!lost)
		return;
	d->lost = true;
	finding_note(f, "; ");
	hardware_describe(&adapter, lost, f, FINDING_NOTE);
	hardware_fix(d, &adapter, f);
}

void device_check(struct doctor *d, struct finding *f)
{
	if (d->userspace_wanted)
		finding_unneeded(f, "%s is a device in user space", d->wanted);
	else if (d->count)
		device_list(d, f);
	else if (d->wanted)
		device_not_found(d, f);
	else
		device_none(d, f);
}
