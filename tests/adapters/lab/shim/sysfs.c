/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree that announces the device, in a folder of its own, in the form of /sys. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/adapters/lab/model/model.h"

#define PCI_NAME "0000:00:06.0"
#define PCI	 "devices/pci0000:00/" PCI_NAME

static void make_folders(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

/* put(name, value): write a file of one line, below SYSFS_PATH. A child has its parent's tree,
 * and may write it while the parent reads. Therefore a file appears as a whole. */
static void put(const char *name, const char *value)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), name);
	make_folders(path);
	snprintf(fresh, sizeof(fresh), "%s/.%d", getenv("SYSFS_PATH"), getpid());
	file = fopen(fresh, "we");
	if (file) {
		fprintf(file, "%s\n", value);
		fclose(file);
	}
	if (!file || rename(fresh, path)) {
		fprintf(stderr, "devices: cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

__attribute__((format(printf, 2, 3))) static void put_number(const char *name, const char *format,
							     ...)
{
	char value[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(value, sizeof(value), format, ap);
	va_end(ap);
	put(name, value);
}

/* in("node_type"): its path below /sys/class/infiniband. */
static const char *in(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "class/infiniband/%s/%s", device->ibdev, name);
	return path;
}

/* put_link(name, target): the target is relative to the folder of the name. */
static void put_link(const char *name, const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), name);
	make_folders(path);
	if (symlink(target, path) && errno != EEXIST) {
		fprintf(stderr, "devices: cannot make %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

/* The function of the bus, where programs look for its name and its driver's. */
static void put_pci(void)
{
	put(PCI "/modalias", device->modalias);
	put_number(PCI "/vendor", "0x%04x", device->vendor_id);
	put_number(PCI "/device", "0x%04x", device->part_id);
	put_number(PCI "/subsystem_vendor", "0x%04x", device->vendor_id);
	put_number(PCI "/subsystem_device", "0x%04x", device->part_id);
	put(PCI "/class", "0x020000");
	put(PCI "/revision", "0x00");
	put(PCI "/uevent", "PCI_SLOT_NAME=" PCI_NAME);
	put(PCI "/numa_node", "-1");
	put("module/driver/version", "1.0");
	put_link("bus/pci/drivers/fake/module", "../../../../module/driver");
	put_link(PCI "/driver", "../../../bus/pci/drivers/fake");
	put_link(in("device"), "../../../" PCI_NAME);
}

/* The class has a link to where the device is on the bus. */
static void put_class(void)
{
	char path[PATH_MAX], target[128];

	snprintf(path, sizeof(path), "%s/" PCI "/infiniband/%s/", getenv("SYSFS_PATH"),
		 device->ibdev);
	make_folders(path);
	snprintf(path, sizeof(path), "class/infiniband/%s", device->ibdev);
	snprintf(target, sizeof(target), "../../" PCI "/infiniband/%s", device->ibdev);
	put_link(path, target);
}

static void put_gid(uint32_t index)
{
	struct ib_uverbs_gid_entry entry;
	char name[64], text[64] = "", interface[IF_NAMESIZE];

	if (context_gid(index, &entry))
		return;
	for (int i = 0; i < 8; i++) {
		const uint8_t *pair = (const uint8_t *)entry.gid + 2 * i;

		sprintf(text + strlen(text), "%s%02x%02x", i ? ":" : "", pair[0], pair[1]);
	}
	snprintf(name, sizeof(name), "ports/1/gids/%u", index);
	put(in(name), text);
	snprintf(name, sizeof(name), "ports/1/gid_attrs/types/%u", index);
	put(in(name), "RoCE v2");
	snprintf(name, sizeof(name), "ports/1/gid_attrs/ndevs/%u", index);
	if (entry.netdev_ifindex && if_indextoname(entry.netdev_ifindex, interface))
		put(in(name), interface);
}

static void write_tree(void)
{
	static const char *const link_layers[] = { "Unspecified", "InfiniBand", "Ethernet" };
	static const char *const node_types[] = { [1] = "CA", [7] = "unspecified" };
	struct ib_uverbs_query_port_resp port;

	if (model_on())
		model_open();
	put_class();
	put("class/infiniband_verbs/abi_version", "6");
	put("class/infiniband_verbs/uverbs0/ibdev", device->ibdev);
	put("class/infiniband_verbs/uverbs0/dev", "1:3"); /* that of /dev/null */
	put_number("class/infiniband_verbs/uverbs0/abi_version", "%d", device->abi_version);
	put_number(in("node_type"), "%d: %s", device->node_type, node_types[device->node_type]);
	put(in("node_guid"), "0200:00ff:fe00:0001");
	put(in("sys_image_guid"), "0200:00ff:fe00:0001");
	put(in("fw_ver"), "16.35.1012");
	put(in("node_desc"), device->ibdev);
	put_pci();
	put(in("ports/1/pkeys/0"), "0xffff");
	put(in("ports/1/link_layer"), link_layers[device->link_layer]);
	put(in("ports/1/state"), "4: ACTIVE");
	put(in("ports/1/rate"), "100 Gb/sec (4X EDR)");
	context_port(&port);
	for (uint32_t i = 0; i < port.gid_tbl_len; i++)
		put_gid(i);
}

void sysfs_announce(void)
{
	static bool done;

	model_command_begin();
	if (!done) {
		done = true;
		write_tree();
	}
	model_command_end();
}
