/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses: the GID table of an active port has an entry that a program can use. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/port.h"

/* RoCE ports fill their table from the front. */
#define GIDS_LOOKED_AT 256

/* Numbers of entries by their properties. */
struct gid_count {
	unsigned int filled, global, here, version_2;
	bool types_known;
	bool forbidden;		     /* an entry may not be read */
	char best[INET6_ADDRSTRLEN]; /* first entry with all properties */
	char foreign[IFNAMSIZ];	     /* interface of the first entry of another namespace */
};

static bool gid_is_global(const struct in6_addr *gid)
{
	return !(gid->s6_addr[0] == 0xfe && (gid->s6_addr[1] & 0xc0) == 0x80);
}

static bool gid_read(const struct doctor_device *dev, unsigned int port, unsigned int index,
		     struct in6_addr *ret_gid, bool *ret_there, struct gid_count *count)
{
	char path[64], text[64];
	int r;

	snprintf(path, sizeof(path), "gids/%u", index);
	r = port_read_text(dev, port, path, text, sizeof(text));
	count->forbidden |= r == -EACCES || r == -EPERM;
	*ret_there = r >= 0;
	return *ret_there && inet_pton(AF_INET6, text, ret_gid) == 1 &&
	       !IN6_IS_ADDR_UNSPECIFIED(ret_gid);
}

static bool gid_is_version_2(const struct doctor_device *dev, const struct port *port,
			     unsigned int index, struct gid_count *count)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "gid_attrs/types/%u", index);
	if (port_read_text(dev, port->number, path, text, sizeof(text)) <= 0)
		return false;
	count->types_known = true;
	return !strcmp(text, "RoCE v2");
}

/* Return whether the interface of the entry is in this namespace; true if it is unknown. */
static bool gid_is_here(const struct doctor *d, const struct doctor_device *dev,
			const struct port *port, unsigned int index, struct gid_count *count)
{
	struct port owner = {};
	char path[64], text[64];

	snprintf(path, sizeof(path), "gid_attrs/ndevs/%u", index);
	if (port_read_text(dev, port->number, path, text, sizeof(text)) <= 0 ||
	    strlen(text) >= sizeof(owner.netdev) || strchr(text, '/'))
		return true;
	strcpy(owner.netdev, text);
	if (port_netdev_here(d, &owner))
		return true;
	if (!count->foreign[0])
		strcpy(count->foreign, text);
	return false;
}

static void gid_count_one(const struct doctor *d, const struct doctor_device *dev,
			  const struct port *port, unsigned int index, const struct in6_addr *gid,
			  struct gid_count *count)
{
	bool here = gid_is_here(d, dev, port, index, count);
	bool global = here && gid_is_global(gid);

	count->filled++;
	count->here += here;
	count->global += global;
	if (!global || !gid_is_version_2(dev, port, index, count))
		return;
	if (!count->version_2++)
		inet_ntop(AF_INET6, gid, count->best, sizeof(count->best));
}

static void gid_count_table(const struct doctor *d, const struct doctor_device *dev,
			    const struct port *port, struct gid_count *count)
{
	struct in6_addr gid;
	bool there = true;

	for (unsigned int i = 0; there && i < GIDS_LOOKED_AT; i++)
		if (gid_read(dev, port->number, i, &gid, &there, count))
			gid_count_one(d, dev, port, i, &gid, count);
}

static void gid_judge_ethernet(const struct port *port, const struct gid_count *count,
			       struct finding *f)
{
	const char *netdev = port->netdev[0] ? port->netdev : "its interface";

	if (!count->here) {
		finding_fail(f,
			     "port %u: its GIDs belong to interface %s of another network "
			     "namespace",
			     port->number, count->foreign);
		finding_fix(f,
			    "move the interface here: ip link set dev %s netns NAME-OR-PID, or run "
			    "the program there",
			    finding_word(count->foreign));
	} else if (!count->global) {
		finding_fail(f, "port %u has only link-local GIDs: %s has no address of its own",
			     port->number, netdev);
		finding_fix(f, "ip address add ADDRESS/LENGTH dev %s",
			    port->netdev[0] ? finding_word(port->netdev) : "INTERFACE");
	} else if (count->types_known && !count->version_2) {
		finding_note(f,
			     "port %u has RoCE v1 GIDs only: they cross no router, and peers of "
			     "RoCE v2 cannot be reached",
			     port->number);
		finding_fix(f, "switch the device to RoCE v2 (firmware or driver setting), or use "
			       "v1 on both sides");
	} else if (count->version_2) {
		finding_ok(f, "port %u: %s (RoCE v2), %u in all", port->number, count->best,
			   count->filled);
	} else {
		finding_ok(f, "port %u: %u GIDs", port->number, count->filled);
	}
}

static void gid_judge(const struct port *port, const struct gid_count *count, struct finding *f)
{
	if (!count->filled && count->forbidden) {
		finding_unseen(f, "the GID table of port %u: %s", port->number, strerror(EACCES));
	} else if (!count->filled) {
		finding_fail(f, "the GID table of port %u is empty%s%s", port->number,
			     port->netdev[0] ? ": no address on " : "", port->netdev);
		if (port->ethernet)
			finding_fix(
				f,
				"ip link set dev %s up, and: ip address add ADDRESS/LENGTH dev %s",
				port->netdev[0] ? finding_word(port->netdev) : "INTERFACE",
				port->netdev[0] ? finding_word(port->netdev) : "INTERFACE");
		else
			finding_fix(f, "the subnet manager sets it: see its log");
	} else if (port->ethernet) {
		gid_judge_ethernet(port, count, f);
	} else {
		finding_ok(f, "port %u: %u GIDs", port->number, count->filled);
	}
}

void gid_check(struct doctor *d, struct doctor_device *dev, struct finding *f)
{
	struct finding first = {};
	bool seen = false;

	for (unsigned int i = 0; i <= PORTS_MAX; i++) {
		struct gid_count count = {};
		struct finding one = {};
		struct port port;

		if (!port_read(dev, i, &port) || port.state != IBV_PORT_ACTIVE)
			continue;
		gid_count_table(d, dev, &port, &count);
		gid_judge(&port, &count, &one);
		if (!seen || one.state < first.state)
			first = one;
		seen = true;
	}
	if (seen)
		*f = first;
	else
		finding_unseen(f, "no active port that can be read");
}
