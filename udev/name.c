/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "udev/name.h"
#include "util/sysfs.h"
#include "util/util.h"

#define ONBOARD_MAX 16383 /* larger ones are mistakes of the firmware */
#define VF_MAX	    65535 /* PCI Express: a 16-bit number */

/* PCI: the header type is at 0x0e of the configuration space, its top bit says "more functions". */
#define PCI_HEADER_TYPE	   0x0e
#define PCI_MULTI_FUNCTION 0x80

static const char *const policy_names[NAME_POLICIES] = {
	[NAME_KERNEL] = "kernel", [NAME_ONBOARD] = "onboard", [NAME_PCI] = "pci",
	[NAME_GUID] = "guid",	  [NAME_FIXED] = "fixed",     [NAME_FALLBACK] = "fallback",
};

int name_policy_parse(const char *text)
{
	if (!strncasecmp(text, "NAME_", 5))
		text += 5;
	for (int policy = 0; policy < NAME_POLICIES; policy++)
		if (!strcasecmp(text, policy_names[policy]))
			return policy;
	return -EINVAL;
}

static int _printf_(2, 3) name_print(char ret_name[NAME_SIZE], const char *format, ...)
{
	char name[NAME_SIZE];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(name))
		return -ENAMETOOLONG;
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

/* The last part of where a link of sysfs points to. */
static int link_target(int dirfd, const char *path, char *ret_name, size_t size)
{
	char target[PATH_MAX], *name;
	ssize_t n = readlinkat(dirfd, path, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) >= size)
		return -ENAMETOOLONG;
	strcpy(ret_name, name);
	return 0;
}

struct pci_place {
	unsigned int domain, bus, device, function;
	bool many_functions;
	int vf;		      /* -1: not a virtual function */
	int64_t sub_function; /* the number its creator gave it; -1: none */
};

static int pci_parse(const char *text, struct pci_place *place)
{
	char end;

	if (sscanf(text, "%x:%x:%x.%u%c", &place->domain, &place->bus, &place->device,
		   &place->function, &end) != 4)
		return -EINVAL;
	return 0;
}

static bool pci_has_many_functions(int folder)
{
	_cleanup_close_ int fd = openat(folder, "config", O_RDONLY | O_CLOEXEC);
	unsigned char type;

	return fd >= 0 && pread(fd, &type, 1, PCI_HEADER_TYPE) == 1 && type & PCI_MULTI_FUNCTION;
}

/* Return the number of @address among the virtual functions of @physfn, or -ENOENT. */
static int vf_number(int physfn, const char *address)
{
	for (int vf = 0; vf <= VF_MAX; vf++) {
		char path[32], target[64];

		snprintf(path, sizeof(path), "virtfn%d", vf);
		if (link_target(physfn, path, target, sizeof(target)) < 0)
			break;
		if (!strcmp(target, address))
			return vf;
	}
	return -ENOENT;
}

/* What can be read of the function @address in its @folder. */
static int pci_read(int folder, const char *address, struct pci_place *place)
{
	uint64_t ari = 0;
	int r = pci_parse(address, place);

	if (r < 0)
		return r;
	place->many_functions = pci_has_many_functions(folder);
	/* Alternative routing-ID: there is one device on the bus, with up to 256 functions. */
	sysfs_read_u64(folder, "ari_enabled", 10, &ari);
	if (ari == 1)
		place->function += place->device * 8;
	return 0;
}

/* A virtual function is named after its physical one. */
static int vf_read(int folder, int physfn, const char *address, struct pci_place *place)
{
	char physical[64];
	int vf = vf_number(physfn, address);
	int r;

	if (vf < 0)
		return vf;
	r = link_target(folder, "physfn", physical, sizeof(physical));
	if (r == 0)
		r = pci_read(physfn, physical, place);
	if (r == 0)
		place->vf = vf;
	return r;
}

static bool in_subsystem(int folder, const char *wanted)
{
	char subsystem[64];

	return link_target(folder, "subsystem", subsystem, sizeof(subsystem)) == 0 &&
	       !strcmp(subsystem, wanted);
}

/*
 * The PCI function that the RDMA device in @device_folder belongs to. A sub-function is a device of
 * the auxiliary bus, right below the function it is part of. Return: an open folder; -errno.
 */
static int pci_open(int device_folder, int64_t *ret_sub_function)
{
	_cleanup_close_ int folder = openat(device_folder, "device", O_PATH | O_CLOEXEC);
	_cleanup_close_ int parent = -1;
	uint64_t number;

	*ret_sub_function = -1;
	if (folder >= 0 && in_subsystem(folder, "pci"))
		return take_fd(&folder);
	if (folder < 0 || !in_subsystem(folder, "auxiliary") ||
	    sysfs_read_u64(folder, "sfnum", 10, &number) < 0 || number > UINT32_MAX)
		return -EOPNOTSUPP;
	parent = openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || !in_subsystem(parent, "pci"))
		return -EOPNOTSUPP;
	*ret_sub_function = number;
	return take_fd(&parent);
}

/* Its address is the name of its folder. The names of links to the folder do not matter. */
static int pci_address(int folder, char *ret_address, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	return link_target(AT_FDCWD, path, ret_address, size);
}

static int pci_find(int device_folder, struct pci_place *ret_place)
{
	struct pci_place place = { .vf = -1 };
	_cleanup_close_ int folder = pci_open(device_folder, &place.sub_function);
	_cleanup_close_ int physfn = -1;
	char address[64];
	int r;

	if (folder < 0)
		return folder;
	r = pci_address(folder, address, sizeof(address));
	if (r < 0)
		return r;
	physfn = openat(folder, "physfn", O_PATH | O_CLOEXEC);
	r = physfn >= 0 ? vf_read(folder, physfn, address, &place)
			: pci_read(folder, address, &place);
	if (r == 0)
		*ret_place = place;
	return r;
}

static const char *prefix(const struct name_device *device)
{
	return device->prefix[0] ? device->prefix : "rdma";
}

static int make_pci(const struct name_device *device, char ret_name[NAME_SIZE])
{
	char domain[16] = "", function[16] = "", vf[16] = "", sub_function[24] = "";
	struct pci_place place = {};
	int r = pci_find(device->folder, &place);

	if (r < 0)
		return r;
	if (place.domain)
		snprintf(domain, sizeof(domain), "P%u", place.domain);
	if (place.function || place.many_functions)
		snprintf(function, sizeof(function), "f%u", place.function);
	if (place.vf >= 0)
		snprintf(vf, sizeof(vf), "v%d", place.vf);
	if (place.sub_function >= 0)
		snprintf(sub_function, sizeof(sub_function), "S%" PRId64, place.sub_function);
	return name_print(ret_name, "%s%sp%us%u%s%s%s", prefix(device), domain, place.bus,
			  place.device, function, vf, sub_function);
}

/* The index the firmware gives (ACPI _DSM, else SMBIOS type 41). */
static int make_onboard(const struct name_device *device, char ret_name[NAME_SIZE])
{
	uint64_t index;

	if (sysfs_read_u64(device->folder, "device/acpi_index", 10, &index) < 0 &&
	    sysfs_read_u64(device->folder, "device/index", 10, &index) < 0)
		return -EOPNOTSUPP;
	if (index > ONBOARD_MAX)
		return -EOPNOTSUPP;
	return name_print(ret_name, "%so%" PRIu64, prefix(device), index);
}

static int make_guid(const struct name_device *device, char ret_name[NAME_SIZE])
{
	if (!device->node_guid)
		return -EOPNOTSUPP;
	return name_print(ret_name, "%sx%016" PRIx64, prefix(device), device->node_guid);
}

static int make_fixed(const struct name_device *device, char ret_name[NAME_SIZE])
{
	const char *name = device->fixed;

	if (!name || !*name || *name == '.' || strchr(name, '/'))
		return -EINVAL;
	return name_print(ret_name, "%s", name);
}

static int make_kernel(const struct name_device *device, char ret_name[NAME_SIZE])
{
	return name_print(ret_name, "%s", device->name);
}

static int make_fallback(const struct name_device *device, char ret_name[NAME_SIZE])
{
	if (make_onboard(device, ret_name) == 0 || make_pci(device, ret_name) == 0)
		return 0;
	return make_kernel(device, ret_name);
}

int name_make(enum name_policy policy, const struct name_device *device, char ret_name[NAME_SIZE])
{
	static int (*const make[NAME_POLICIES])(const struct name_device *, char *) = {
		[NAME_KERNEL] = make_kernel, [NAME_ONBOARD] = make_onboard,
		[NAME_PCI] = make_pci,	     [NAME_GUID] = make_guid,
		[NAME_FIXED] = make_fixed,   [NAME_FALLBACK] = make_fallback,
	};

	if (device->user_named && policy != NAME_FIXED)
		policy = NAME_KERNEL;
	return make[policy](device, ret_name);
}
