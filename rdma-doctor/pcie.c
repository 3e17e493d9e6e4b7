/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The PCIe link of an adapter: its width and speed compared with those of the adapter, and settings
 * of transfers.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/slot.h"
#include "util/file.h"
#include "util/sysfs.h"

struct link {
	unsigned int width; /* lanes */
	unsigned int speed; /* 100 MT/s of a lane */
};

/* Parse "16.0 GT/s PCIe". Return: units of 100 MT/s; 0: not known */
static unsigned int speed_parse(const char *text)
{
	char *end;
	unsigned long whole = strtoul(text, &end, 10);

	if (end == text || whole > 1000)
		return 0;
	return whole * 10 + (*end == '.' && end[1] >= '0' && end[1] <= '9' ? end[1] - '0' : 0);
}

/* @folder: the function, or the physical function of a virtual one. @which: "current" or "max" */
static bool link_read(const struct doctor_device *dev, const char *folder, const char *which,
		      struct link *ret_link)
{
	char path[64], text[64];
	struct link link;

	snprintf(path, sizeof(path), "%s/%s_link_width", folder, which);
	if (device_read(dev, path, text, sizeof(text)) <= 0)
		return false;
	link.width = strtoul(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/%s_link_speed", folder, which);
	if (device_read(dev, path, text, sizeof(text)) <= 0)
		return false;
	link.speed = speed_parse(text);
	*ret_link = link;
	return link.width && link.width <= 32 && link.speed;
}

/* Return Gbit/s. Links up to 5 GT/s send 10 bits for a byte, faster ones 130 bits for 16 bytes. */
static unsigned int link_rate(const struct link *link)
{
	unsigned int raw = link->width * link->speed / 10;

	return link->speed <= 50 ? raw * 8 / 10 : raw * 128 / 130;
}

void pcie_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	const char *folder = "device";
	struct link now, most;
	char text[64];

	if (!slot_wanted(d, dev, f))
		return;
	if (device_read(dev, "device/physfn/vendor", text, sizeof(text)) > 0)
		folder = "device/physfn";
	if (!link_read(dev, folder, "current", &now) || !link_read(dev, folder, "max", &most)) {
		finding_unseen(f, "the kernel does not tell width and speed of its PCIe link");
		return;
	}
	finding_ok(f, "%u lanes of %u.%u GT/s, %u Gbit/s", now.width, now.speed / 10,
		   now.speed % 10, link_rate(&now));
	if (now.width >= most.width && now.speed >= most.speed)
		return;
	finding_note(f, "; the adapter can do %u lanes of %u.%u GT/s, %u Gbit/s", most.width,
		     most.speed / 10, most.speed % 10, link_rate(&most));
	finding_fix(f,
		    "put the adapter into a slot with %u lanes, seat it again, and see the speed "
		    "of the slot in the firmware setup",
		    most.width);
}

/* --- settings of transfers, in the configuration space --- */

enum {
	CONFIG_BYTES = 256,
	CONFIG_POINTER = 0x34, /* first capability */
	CONFIG_FIRST = 0x40,
	CAPABILITY_EXPRESS = 0x10,
	EXPRESS_CONTROL = 8, /* Device Control */
	CONTROL_RELAXED = 1 << 4,
	CONTROL_READ_SHIFT = 12, /* Max_Read_Request_Size */
	READ_LEAST = 512,
};

/* Find Device Control. Return: whether the space has the capability. */
static bool control_find(const uint8_t config[CONFIG_BYTES], unsigned int *ret_control)
{
	unsigned int at = config[CONFIG_POINTER] & ~3;

	for (unsigned int i = 0; i < 48 && at >= CONFIG_FIRST; i++) {
		if (config[at] == CAPABILITY_EXPRESS) {
			if (at + EXPRESS_CONTROL + 2 > CONFIG_BYTES)
				return false;
			*ret_control = config[at + EXPRESS_CONTROL] |
				       config[at + EXPRESS_CONTROL + 1] << 8;
			return true;
		}
		at = config[at + 1] & ~3;
	}
	return false;
}

/* Read the first bytes. Users without privilege get 64. Return: whether all were read. */
static bool config_read(const struct doctor_device *dev, uint8_t config[CONFIG_BYTES])
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/config", sysfs_root(),
		 dev->name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && read(fd, config, CONFIG_BYTES) == CONFIG_BYTES;
}

void ordering_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	uint8_t config[CONFIG_BYTES];
	unsigned int control, read_bytes;
	char address[64];

	if (!slot_wanted(d, dev, f))
		return;
	if (!config_read(dev, config)) {
		finding_unseen(f, "only root reads its configuration space");
		return;
	}
	if (!control_find(config, &control)) {
		finding_unseen(f, "it has no PCI Express capability");
		return;
	}
	slot_address(dev, address, sizeof(address));
	read_bytes = 128 << (control >> CONTROL_READ_SHIFT & 7);
	if (!(control & CONTROL_RELAXED)) {
		finding_note(f,
			     "relaxed ordering is off: its writes to memory wait for each other");
		finding_fix(f,
			    "setpci -s %s CAP_EXP+8.w=0010:0010, and allow relaxed ordering in "
			    "the firmware setup",
			    address);
	} else if (read_bytes < READ_LEAST) {
		finding_note(f, "it reads memory in pieces of %u bytes only", read_bytes);
		finding_fix(f, "setpci -s %s CAP_EXP+8.w=5000:7000 permits reads of 4096 bytes",
			    address);
	} else {
		finding_ok(f, "relaxed ordering is on, reads have up to %u bytes", read_bytes);
	}
}
