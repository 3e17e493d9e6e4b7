/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device in the JSON report: its drivers, and its addresses and names for programs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/json.h"
#include "rdma-doctor/port.h"
#include "rdma-doctor/verbs.h"

#define GIDS_DESCRIBED 256

struct gid_entry {
	unsigned int index;
	char gid[INET6_ADDRSTRLEN];
	char type[32];
	char netdev[IFNAMSIZ];
};

static void entry_read_text(const struct doctor_device *dev, unsigned int port, const char *folder,
			    unsigned int index, char *text, size_t size)
{
	char path[64], raw[64];

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/%u", folder, index);
	if (port_read_text(dev, port, path, raw, sizeof(raw)) <= 0)
		return;
	text_make_printable(raw);
	snprintf(text, size, "%.*s", (int)size - 1, raw);
}

/* Read an entry. Return: whether it holds a GID. @ret_there: whether the table has the entry */
static bool entry_read(const struct doctor_device *dev, unsigned int port, unsigned int index,
		       struct gid_entry *ret_entry, bool *ret_there)
{
	struct gid_entry entry = { .index = index };
	char path[64], text[64];
	struct in6_addr gid;

	snprintf(path, sizeof(path), "gids/%u", index);
	*ret_there = port_read_text(dev, port, path, text, sizeof(text)) >= 0;
	if (!*ret_there || inet_pton(AF_INET6, text, &gid) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid))
		return false;
	inet_ntop(AF_INET6, &gid, entry.gid, sizeof(entry.gid));
	entry_read_text(dev, port, "gid_attrs/types", index, entry.type, sizeof(entry.type));
	entry_read_text(dev, port, "gid_attrs/ndevs", index, entry.netdev, sizeof(entry.netdev));
	*ret_entry = entry;
	return true;
}

static void string_if_any(const char *key, const char *value)
{
	if (*value)
		json_string(key, value);
}

static void describe_gids(const struct doctor_device *dev, unsigned int port)
{
	struct gid_entry entry;
	bool there = true;

	json_open("gids", '[');
	for (unsigned int i = 0; there && i < GIDS_DESCRIBED; i++) {
		if (!entry_read(dev, port, i, &entry, &there))
			continue;
		json_open(NULL, '{');
		json_number("index", entry.index);
		json_string("gid", entry.gid);
		string_if_any("type", entry.type);
		string_if_any("netdev", entry.netdev);
		json_close('}');
	}
	json_close(']');
}

static void describe_ports(const struct doctor_device *dev)
{
	struct port port;

	json_open("ports", '[');
	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		if (!port_read(dev, i, &port))
			continue;
		json_open(NULL, '{');
		json_number("port", port.number);
		json_string("state", port_state_name(&port));
		json_string("link_layer", port.ethernet ? "Ethernet" : "InfiniBand");
		string_if_any("netdev", port.netdev);
		describe_gids(dev, i);
		json_close('}');
	}
	json_close(']');
}

/* Choose the GID with the widest reach: not link-local, and RoCE v2 before v1. */
static bool gid_choose(const struct doctor_device *dev, unsigned int port,
		       struct gid_entry *ret_entry)
{
	struct gid_entry entry;
	int best = 0, rank;
	bool there = true;

	for (unsigned int i = 0; there && i < GIDS_DESCRIBED; i++) {
		if (!entry_read(dev, port, i, &entry, &there))
			continue;
		rank = 1 + 2 * !!strncmp(entry.gid, "fe80:", 5) + !strcmp(entry.type, "RoCE v2");
		if (rank <= best)
			continue;
		best = rank;
		*ret_entry = entry;
	}
	return best;
}

/* Describe the parameters for programs, of the first active port or else of the first port. */
static void describe_use(const struct doctor_device *dev)
{
	struct port port, chosen = {};
	struct gid_entry entry;
	bool found = false;

	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		if (!port_read(dev, i, &port) || (found && port.state != IBV_PORT_ACTIVE))
			continue;
		chosen = port;
		found = true;
		if (port.state == IBV_PORT_ACTIVE)
			break;
	}
	if (!found)
		return;
	string_if_any("netdev", chosen.netdev);
	json_number("port", chosen.number);
	if (!gid_choose(dev, chosen.number, &entry))
		return;
	json_number("gid_index", entry.index);
	json_string("gid", entry.gid);
}

void describe_device(const struct doctor_device *dev)
{
	char path[128], driver[64];

	json_open(NULL, '{');
	json_string("device", dev->name);
	json_string("kind", "kernel");
	json_bool("works", !dev->fell);
	if (dev->fell) {
		json_string("fell", dev->fell->name);
		json_string("cause", dev->finding.what.chars);
		string_if_any("fix", dev->finding.fix.chars);
	}
	if (dev->verbs)
		json_string("uverbs", dev->verbs->device.dev_name);
	/* Software devices have no parent device. Their provider has the name of the driver. */
	snprintf(path, sizeof(path), "class/infiniband/%s/device/driver", dev->name);
	sysfs_link(path, driver, sizeof(driver));
	if (driver[0] || dev->provider)
		json_string("driver", driver[0] ? driver : dev->provider->name);
	if (dev->provider)
		json_string("provider", dev->provider->name);
	describe_use(dev);
	describe_ports(dev);
	json_close('}');
}

void describe_userspace(const struct doctor_userspace *dev)
{
	const struct trial *trial = &dev->trial;

	json_open(NULL, '{');
	json_string("device", dev->name);
	json_string("kind", "userspace");
	json_bool("works", !trial->error);
	json_string("driver", "uroce");
	string_if_any("netdev", trial->netdev);
	if (trial->gid[0]) {
		json_number("port", trial->port);
		json_number("gid_index", trial->gid_index);
		json_string("gid", trial->gid);
	}
	json_close('}');
}
