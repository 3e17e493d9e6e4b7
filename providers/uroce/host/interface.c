/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "providers/uroce/host/interface.h"

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
	if (ioctl(fd, SIOCGIFINDEX, &req))
		return -errno;
	found.index = req.ifr_ifindex;
	/* @name may be a label of an IPv4 address, or another name of the interface. */
	if (!if_indextoname(found.index, found.name))
		return -errno;
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
