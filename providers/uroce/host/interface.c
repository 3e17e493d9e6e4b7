/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <endian.h>

#include "providers/uroce/host/host.h"
#include "providers/uroce/host/interface.h"
#include "util/env.h"

enum {
	INTERFACES_MAX = 64,
};

static void speed_query(struct uroce_interface *interface)
{
	/* Codes of ibv_port_attr.active_speed for one lane, by Gbit/s; width 1 is 1x, 2 is 4x. */
	static const struct {
		int mbps;
		uint8_t speed, width;
	} rates[] = {
		{ 2500, 1, 1 },	   { 5000, 2, 1 },    { 10000, 4, 1 },
		{ 25000, 32, 1 },  { 40000, 4, 2 },   { 50000, 64, 1 },
		{ 100000, 32, 2 }, { 200000, 64, 2 }, { 400000, 128, 2 },
	};
	char path[64];
	int mbps = 10000;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", interface->name);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%d", &mbps) != 1 || mbps <= 0)
			mbps = 10000;
		fclose(f);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(rates); i++) {
		interface->speed = rates[i].speed;
		interface->width = rates[i].width;
		if (rates[i].mbps >= mbps)
			break;
	}
}

int uroce_interface_query(const char *name, struct uroce_interface *ret)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct uroce_interface found = {};
	struct ifreq req = {};

	if (fd < 0)
		return -errno;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	memcpy(found.name, req.ifr_name, sizeof(found.name));
	if (ioctl(fd, SIOCGIFINDEX, &req))
		return -errno;
	found.index = req.ifr_ifindex;
	if (ioctl(fd, SIOCGIFFLAGS, &req))
		return -errno;
	found.loopback = req.ifr_flags & IFF_LOOPBACK;
	found.up = (req.ifr_flags & IFF_UP) && (req.ifr_flags & IFF_RUNNING);
	if (ioctl(fd, SIOCGIFMTU, &req))
		return -errno;
	found.mtu = req.ifr_mtu;
	if (!ioctl(fd, SIOCGIFHWADDR, &req))
		memcpy(found.mac, req.ifr_hwaddr.sa_data, sizeof(found.mac));
	speed_query(&found);
	*ret = found;
	return 0;
}

/* --- names --- */

#define NAME_PREFIX "uroce_"

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("._-", c);
}

/*
 * Interface names may contain nearly every byte. A device name has other bytes in hexadecimal after
 * '='.
 */
void uroce_device_name(const char *interface, char ret[IBV_SYSFS_NAME_MAX])
{
	size_t n = snprintf(ret, IBV_SYSFS_NAME_MAX, NAME_PREFIX);

	for (const char *c = interface; *c && n + 4 <= IBV_SYSFS_NAME_MAX; c++)
		n += snprintf(ret + n, IBV_SYSFS_NAME_MAX - n, is_plain(*c) ? "%c" : "=%02x",
			      (unsigned char)*c);
}

/* --- choice of interfaces --- */

struct choice {
	char names[INTERFACES_MAX][IF_NAMESIZE];
	unsigned int count;
};

static bool choice_has(const struct choice *choice, const char *name)
{
	for (unsigned int i = 0; i < choice->count; i++)
		if (!strcmp(choice->names[i], name))
			return true;
	return false;
}

static void choice_add(struct choice *choice, const char *name)
{
	if (choice->count < INTERFACES_MAX && !choice_has(choice, name))
		snprintf(choice->names[choice->count++], IF_NAMESIZE, "%s", name);
}

/* Choose the interface with this name, or the interface whose device has this name. */
static void choice_by_name(struct choice *choice, const char *name)
{
	struct if_nameindex *all = NULL;
	char device[IBV_SYSFS_NAME_MAX];

	if (!if_nametoindex(name))
		all = if_nameindex();
	for (const struct if_nameindex *i = all; i && i->if_index; i++) {
		uroce_device_name(i->if_name, device);
		if (strcmp(device, name))
			continue;
		choice_add(choice, i->if_name);
		if_freenameindex(all);
		return;
	}
	if (all)
		if_freenameindex(all);
	if (strlen(name) < IF_NAMESIZE)
		choice_add(choice, name);
}

/* Choose the interfaces named after the colon of "policy:eth0,eth1". */
static void choice_from_text(struct choice *choice, const char *text)
{
	char copy[1024], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((name = strsep(&rest, ", ")))
		if (*name)
			choice_by_name(choice, name);
}

static bool has_address(const struct ifaddrs *a)
{
	return a->ifa_addr &&
	       (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6);
}

static void choice_usable(struct choice *choice)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next)
		if (has_address(a) && (a->ifa_flags & IFF_UP) && !(a->ifa_flags & IFF_LOOPBACK))
			choice_add(choice, a->ifa_name);
	freeifaddrs(all);
	choice_add(choice,
		   "lo"); /* always usable, even if down: processes of one host need no network */
}

static struct choice interfaces_chosen(void)
{
	const char *text = env_get(ENV_UROCE);
	const char *names = text ? strchr(text, ':') : NULL;
	struct choice choice = {};

	if (names)
		choice_from_text(&choice, names + 1);
	else
		choice_usable(&choice);
	return choice;
}

/*
 * Return the EUI-64 of the MAC address. lo has no MAC address and gets a locally administered
 * EUI-64.
 */
static uint64_t interface_guid(const struct uroce_interface *i)
{
	uint8_t guid[8] = { i->mac[0] ^ 2, i->mac[1], i->mac[2], 0xff,
			    0xfe,	   i->mac[3], i->mac[4], i->mac[5] };
	uint64_t r;

	if (i->loopback)
		guid[7] = 1;
	memcpy(&r, guid, sizeof(r));
	return r;
}

static int device_add(struct verbs_device_list *list, const char *name)
{
	struct uroce_interface i;
	struct verbs_device *device;
	int r = uroce_interface_query(name, &i);

	if (r < 0) {
		log_err("uroce: no interface '%s' in this network namespace (named in UROCE): %s",
			name, strerror(-r));
		return 0;
	}
	device = calloc(1, sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->index = -1;
	device->node_guid = interface_guid(&i);
	device->private_data = i.index;
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	uroce_device_name(i.name, device->device.name);
	memcpy(device->device.dev_name, device->device.name, sizeof(device->device.dev_name));
	verbs_device_add(list, device);
	return 0;
}

int uroce_list_devices(struct verbs_device_list *list)
{
	struct choice choice = interfaces_chosen();

	uroce_host_follow();

	for (unsigned int i = 0; i < choice.count; i++) {
		int r = device_add(list, choice.names[i]);

		if (r < 0)
			return r;
	}
	return 0;
}
