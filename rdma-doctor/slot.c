/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/cpulist.h"
#include "rdma-doctor/slot.h"
#include "util/sysfs.h"

bool slot_wanted(const struct doctor *d, const struct doctor_device *dev, struct finding *f)
{
	char text[64];

	if (!d->speed_wanted)
		finding_unneeded(f, "--speed asks for it");
	else if (device_read(dev, "device/vendor", text, sizeof(text)) <= 0)
		finding_unneeded(f, "it is no adapter of the PCI bus");
	return !f->what.length;
}

void slot_address(const struct doctor_device *dev, char *ret_address, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "class/infiniband/%s/device", dev->name);
	sysfs_link(path, ret_address, size);
}

int slot_node(const struct doctor_device *dev, cpu_set_t *ret_cpus)
{
	char path[PATH_MAX], text[4096];
	int node;

	if (device_read(dev, "device/numa_node", text, sizeof(text)) <= 0)
		return -1;
	node = atoi(text);
	if (node < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/devices/system/node/node%d/cpulist", sysfs_root(), node);
	if (sysfs_read(AT_FDCWD, path, text, sizeof(text)) <= 0 || !cpulist_parse(text, ret_cpus))
		return -1;
	return node;
}
