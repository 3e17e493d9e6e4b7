/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA adapters on the PCI bus, and their kernel devices. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/hardware.h"
#include "util/sysfs.h"

/* PCI base class and subclass of adapters whose only purpose is RDMA. */
static const unsigned int rdma_classes[] = {
	0x0207, /* network controller, InfiniBand */
	0x0208, /* network controller, fabric: Omni-Path */
	0x0c06, /* serial bus, InfiniBand */
};

/* Adapters with another class whose only purpose is RDMA. */
static const struct {
	unsigned int vendor, first, last;
} rdma_ids[] = {
	{ 0x1d0f, 0xefa0, 0xefa3 }, /* Amazon EFA */
	{ 0x15ad, 0x0820, 0x0820 }, /* VMware PVRDMA */
	{ 0x1ded, 0x107f, 0x107f }, /* Alibaba ERDMA */
};

/* Drivers of the PCI function that leave RDMA to another module. */
static const char *const rdma_modules[][2] = {
	{ "mlx4_core", "mlx4_ib" },
	{ "mlx5_core", "mlx5_ib" },
	{ "mana", "mana_ib" },
};

/* Drivers that pass an adapter to a virtual machine or to a program. */
static const char *const lending_drivers[] = {
	"vfio-pci", "pci-stub", "pciback", "xen-pciback", "uio_pci_generic", "igb_uio",
};

static unsigned int adapter_read(const char *address, const char *attribute)
{
	char path[PATH_MAX];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", sysfs_root(), address, attribute);
	return sysfs_read_u64(AT_FDCWD, path, 16, &value) < 0 ? 0 : value;
}

static bool adapter_does_rdma(const struct adapter *adapter, unsigned int class)
{
	for (int i = 0; i < ARRAY_SIZE(rdma_classes); i++)
		if (class >> 8 == rdma_classes[i])
			return true;
	for (int i = 0; i < ARRAY_SIZE(rdma_ids); i++)
		if (adapter->vendor == rdma_ids[i].vendor && adapter->device >= rdma_ids[i].first &&
		    adapter->device <= rdma_ids[i].last)
			return true;
	return false;
}

/*
 * Return whether the adapter is one of Mellanox in Ethernet mode, because all of them support RDMA.
 * If the kernel has the auxiliary bus, a device there shows whether RDMA is enabled
 * (hardware_find_unbound()).
 */
static bool adapter_does_both(const struct adapter *adapter, unsigned int class)
{
	return adapter->vendor == 0x15b3 && class >> 8 == 0x0200 &&
	       (!adapter->driver[0] || !sysfs_exists("bus/auxiliary/devices"));
}

static bool adapter_is_lent(const struct adapter *adapter)
{
	for (int i = 0; i < ARRAY_SIZE(lending_drivers); i++)
		if (!strcmp(adapter->driver, lending_drivers[i]))
			return true;
	return false;
}

/* Return whether any function of the card has an RDMA device. Functions may share one for link
 * aggregation. */
static bool card_has_device(const char *address)
{
	char path[PATH_MAX];
	int card = strcspn(address, ".");

	for (int function = 0; function < 8; function++) {
		snprintf(path, sizeof(path), "bus/pci/devices/%.*s.%d/infiniband", card, address,
			 function);
		if (sysfs_exists(path))
			return true;
	}
	return false;
}

/* Return whether @address is an adapter that should have an RDMA device here but has none. */
static bool adapter_lacks_device(const char *address, struct adapter *ret_adapter)
{
	struct adapter adapter = {
		.vendor = adapter_read(address, "vendor"),
		.device = adapter_read(address, "device"),
	};
	unsigned int class = adapter_read(address, "class");
	char path[PATH_MAX];

	if (strlen(address) >= sizeof(adapter.address))
		return false;
	strcpy(adapter.address, address);
	snprintf(path, sizeof(path), "bus/pci/devices/%s/driver", address);
	sysfs_link(path, adapter.driver, sizeof(adapter.driver));
	if (!adapter_does_rdma(&adapter, class) && !adapter_does_both(&adapter, class))
		return false;
	if (adapter_is_lent(&adapter) || card_has_device(address))
		return false;
	*ret_adapter = adapter;
	return true;
}

unsigned int hardware_find_lost(struct adapter *ret_first)
{
	struct dirent **entries;
	struct adapter adapter;
	char path[PATH_MAX];
	unsigned int count = 0;
	int n;

	snprintf(path, sizeof(path), "%s/bus/pci/devices", sysfs_root());
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.' &&
		    adapter_lacks_device(entries[i]->d_name, &adapter) && !count++)
			*ret_first = adapter;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return count;
}

/* Select RDMA functions of network cards, which are devices of the auxiliary bus:
 * "mlx5_core.rdma.0". */
static int is_rdma_function(const struct dirent *entry)
{
	static const char *const kinds[] = { ".rdma.", ".roce.", ".iwarp." };

	for (int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strstr(entry->d_name, kinds[i]))
			return 1;
	return 0;
}

bool hardware_find_unbound(char *name, size_t size)
{
	char path[PATH_MAX];
	struct dirent **entries;
	bool found = false;
	int n;

	snprintf(path, sizeof(path), "%s/bus/auxiliary/devices", sysfs_root());
	n = scandir(path, &entries, is_rdma_function, versionsort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "bus/auxiliary/devices/%s/driver", entries[i]->d_name);
		if (!found && !sysfs_exists(path)) {
			snprintf(name, size, "%s", entries[i]->d_name);
			found = true;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return found;
}

static const char *rdma_module_of(const char *driver)
{
	for (int i = 0; i < ARRAY_SIZE(rdma_modules); i++)
		if (!strcmp(driver, rdma_modules[i][0]))
			return rdma_modules[i][1];
	return NULL;
}

void hardware_name_module(const char *function, char *ret_name, size_t size)
{
	int driver = strcspn(function, "."), kind = strrchr(function, '.') - function;
	const char *module;

	snprintf(ret_name, size, "%.*s", driver, function);
	module = rdma_module_of(ret_name);
	if (module)
		snprintf(ret_name, size, "%s", module);
	else
		snprintf(ret_name, size, "auxiliary:%.*s", kind, function);
}

void hardware_describe(const struct adapter *adapter, unsigned int count, struct finding *f,
		       enum finding_state state)
{
	finding_set(f, state, "the RDMA adapter %s (%04x:%04x)", adapter->address, adapter->vendor,
		    adapter->device);
	if (adapter->driver[0])
		finding_set(f, state, ", driver %s,", adapter->driver);
	finding_set(f, state, " has no RDMA device");
	if (count > 1)
		finding_set(f, state, " (nor have %u more)", count - 1);
}

void hardware_fix(const struct doctor *d, const struct adapter *adapter, struct finding *f)
{
	const char *where = host_in_container(d) ? "on the host: " : "";
	const char *module = rdma_module_of(adapter->driver);

	if (module) {
		finding_fix(f, "%smodprobe %s, and see the kernel log (dmesg)", where, module);
		return;
	}
	finding_fix(
		f,
		"%sload the adapter's driver: modprobe $(cat /sys/bus/pci/devices/%s/modalias), "
		"and see the kernel log (dmesg)",
		where, adapter->address);
}
