/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check that a port is active. If no port is active, find the cause. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/port.h"
#include "util/enum.h"
#include "util/sysfs.h"

static const char *const state_names[] = {
	[IBV_PORT_NOP] = "NOP",	    [IBV_PORT_DOWN] = "DOWN",	  [IBV_PORT_INIT] = "INIT",
	[IBV_PORT_ARMED] = "ARMED", [IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "DEFER",
};

const char *port_state_name(const struct port *port)
{
	return enum_name(state_names, ARRAY_SIZE(state_names), port->state, "in an unknown state");
}

/* IBTA PortPhysicalState */
enum {
	PHYSICAL_POLLING = 2,
	PHYSICAL_DISABLED = 3,
};

int port_read_text(const struct doctor_device *dev, unsigned int number, const char *attribute,
		   char *buf, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "ports/%u/%s", number, attribute);
	return device_read(dev, path, buf, size);
}

/* "4: ACTIVE" */
static unsigned int port_read_number(const struct doctor_device *dev, unsigned int number,
				     const char *attribute)
{
	char text[64];
	unsigned long value;

	if (port_read_text(dev, number, attribute, text, sizeof(text)) < 0)
		return 0;
	value = strtoul(text, NULL, 10);
	return value <= INT_MAX ? value : 0;
}

static bool netdev_name_usable(const char *name)
{
	if (!*name || strlen(name) >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return false;
	return true;
}

/* Read the interface of the first GID, or else the parent attribute of a software device. */
static void port_read_netdev(const struct doctor_device *dev, struct port *port)
{
	char name[64];
	int r = port_read_text(dev, port->number, "gid_attrs/ndevs/0", name, sizeof(name));

	if (r <= 0)
		r = device_read(dev, "parent", name, sizeof(name));
	if (r > 0 && netdev_name_usable(name))
		strcpy(port->netdev, name);
}

bool port_read(const struct doctor_device *dev, unsigned int number, struct port *ret_port)
{
	struct port port = { .number = number };
	char text[64];

	if (port_read_text(dev, number, "state", text, sizeof(text)) < 0)
		return false;
	port.state = port_read_number(dev, number, "state");
	port.physical = port_read_number(dev, number, "phys_state");
	if (port_read_text(dev, number, "link_layer", text, sizeof(text)) > 0)
		port.ethernet = !strcmp(text, "Ethernet");
	port_read_netdev(dev, &port);
	*ret_port = port;
	return true;
}

int port_netdev_number(const struct port *port, const char *attribute, int base, uint64_t *ret)
{
	char path[PATH_MAX];

	if (!port->netdev[0])
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/class/net/%s/%s", sysfs_root(), port->netdev, attribute);
	return sysfs_read_u64(AT_FDCWD, path, base, ret);
}

/* Do not ask sysfs on a live machine: it shows the namespace of the process that mounted it, which
 * a unit with PrivateNetwork= keeps. */
bool port_netdev_here(const struct doctor *d, const struct port *port)
{
	char path[64];

	if (!port->netdev[0])
		return false;
	if (d->live)
		return system_netdev_exists(port->netdev);
	snprintf(path, sizeof(path), "class/net/%s", port->netdev);
	return sysfs_exists(path);
}

static void port_down_ethernet(const struct doctor *d, const struct port *port, struct finding *f)
{
	uint64_t flags, carrier;

	if (!port->netdev[0]) {
		finding_fix(f, "bring its network interface up: ip link set dev INTERFACE up");
	} else if (!port_netdev_here(d, port)) {
		finding_fail(f, ": its interface %s is not in this network namespace",
			     port->netdev);
		finding_fix(f, "ip link set dev %s up, in its own network namespace",
			    finding_word(port->netdev));
	} else if (!port_netdev_number(port, "flags", 16, &flags) && !(flags & IFF_UP)) {
		finding_fail(f, ": its interface %s is down", port->netdev);
		finding_fix(f, "ip link set dev %s up", finding_word(port->netdev));
	} else if (!port_netdev_number(port, "carrier", 10, &carrier) && !carrier) {
		finding_fail(f, ": its interface %s has no carrier", port->netdev);
		finding_fix(f, "check cable, transceiver and switch port of %s (ethtool %s)",
			    port->netdev, finding_word(port->netdev));
	} else {
		finding_fail(f, ": its interface is %s", port->netdev);
		finding_fix(f, "ip link show dev %s, and see the kernel log (dmesg)",
			    finding_word(port->netdev));
	}
}

static void port_down_infiniband(const struct doctor_device *dev, const struct port *port,
				 struct finding *f)
{
	if (port->state == IBV_PORT_INIT || port->state == IBV_PORT_ARMED) {
		finding_fail(f, ": no subnet manager has configured it");
		finding_fix(f, "run a subnet manager in the fabric (opensm), or look why it does "
			       "not reach this port");
	} else if (port->physical == PHYSICAL_DISABLED) {
		finding_fail(f, ": it is disabled");
		finding_fix(f, "ibportstate -D 0 %u enable, with -C %s", port->number, dev->name);
	} else if (port->physical == PHYSICAL_POLLING) {
		finding_fail(f, ": no other end answers");
		finding_fix(f, "check the cable and the switch or host at its other end");
	} else {
		finding_fix(f, "see the kernel log (dmesg) and ibstatus %s", dev->name);
	}
}

static void port_down(const struct doctor *d, const struct doctor_device *dev,
		      const struct port *port, struct finding *f)
{
	finding_fail(f, "port %u is %s", port->number, port_state_name(port));
	if (port->ethernet)
		port_down_ethernet(d, port, f);
	else
		port_down_infiniband(dev, port, f);
}

/* Check the carrier, because software devices are active without it. */
static void port_active(const struct port *port, struct finding *f)
{
	uint64_t carrier;

	finding_ok(f, "port %u is ACTIVE, %s%s%s", port->number,
		   port->ethernet ? "Ethernet" : "InfiniBand", port->netdev[0] ? " on " : "",
		   port->netdev);
	if (!port->ethernet || port_netdev_number(port, "carrier", 10, &carrier) || carrier)
		return;
	finding_note(f, ", which has no carrier: nobody else can be reached");
	finding_fix(f, "check cable, transceiver and switch port of %s (ethtool %s)", port->netdev,
		    finding_word(port->netdev));
}

void port_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct port port, down = {};
	unsigned int count = 0;

	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		if (!port_read(dev, i, &port))
			continue;
		count++;
		if (port.state == IBV_PORT_ACTIVE) {
			port_active(&port, f);
			return;
		}
		if (!down.state)
			down = port;
	}
	if (count)
		port_down(d, dev, &down, f);
	else
		finding_unseen(f, "%s/class/infiniband/%s/ports has no port that can be read",
			       sysfs_root(), dev->name);
}
