/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The explanation of a failed address: its route, all devices and their addresses. Called only
 * after a failure, and only if the log is on.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"
#include "util/log.h"
#include "util/text.h"

enum {
	GIDS_MAX = 64
};

static void gid_text(const union ibv_gid *gid, char *text, size_t size)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->raw;

	if (IN6_IS_ADDR_V4MAPPED(addr))
		inet_ntop(AF_INET, gid->raw + 12, text, size);
	else
		inet_ntop(AF_INET6, gid->raw, text, size);
}

/* Return whether an earlier entry has the same address: RoCE v1 and v2 have one entry each. */
static bool gid_repeats(const struct ibv_gid_entry *entries, ssize_t at)
{
	for (ssize_t i = 0; i < at; i++)
		if (!memcmp(&entries[i].gid, &entries[at].gid, sizeof(entries[at].gid)))
			return true;
	return false;
}

static int device_describe(struct cm_device *dev, void *arg)
{
	struct ibv_gid_entry entries[GIDS_MAX];
	struct text *text = arg;
	char gid[INET6_ADDRSTRLEN];
	const char *separator = "";
	ssize_t count;

	text_join(text, "; ", "%s", dev->device->name);
	if (cm_device_open(dev) < 0) {
		text_add(text, " cannot be opened");
		return 0;
	}
	count = ibv_query_gid_table(dev->verbs, entries, GIDS_MAX, 0);
	text_add(text, count > 0 ? " has " : " has no address");
	for (ssize_t i = 0; i < count; i++) {
		if (gid_repeats(entries, i))
			continue;
		gid_text(&entries[i].gid, gid, sizeof(gid));
		text_add(text, "%s%s", separator, gid);
		separator = ", ";
	}
	return 0;
}

static void route_describe(const struct sockaddr *addr, struct text *text)
{
	struct sockaddr_storage src;
	char from[CM_ADDR_TEXT];
	int r = cm_addr_source_for(addr, &src);

	if (r < 0)
		text_add(text, "no route: %s", strerror(-r));
	else
		text_add(text, "the route's local address is %s",
			 cm_addr_text((struct sockaddr *)&src, from));
}

/* Explain that user-space devices are RoCE, and therefore need no AF_IB. */
static void family_describe(struct cm_id *id, const struct sockaddr *addr)
{
	const struct sockaddr_ib *ib = (const struct sockaddr_ib *)addr;
	char to[CM_ADDR_TEXT], gid[INET6_ADDRSTRLEN];
	union ibv_gid raw;

	memcpy(raw.raw, &ib->sib_addr, sizeof(raw.raw));
	gid_text(&raw, gid, sizeof(gid));
	cm_err(id,
	       "%s: addresses of family AF_IB are for InfiniBand; user-space devices are RoCE, where "
	       "a GID is an IP address: use %s as AF_INET or AF_INET6",
	       cm_addr_text(addr, to), cm_addr_is_any(addr) ? "0.0.0.0 or ::" : gid);
}

void cm_explain_addr(struct cm_id *id, const struct sockaddr *addr, int r)
{
	struct text route = {}, devices = {};
	char to[CM_ADDR_TEXT];

	r = r < 0 ? -r : r;
	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	if (!addr || !cm_addr_size(addr) || r == EADDRINUSE || r == EACCES) {
		cm_err(id, "address: %s", strerror(r));
		return;
	}
	if (addr->sa_family == AF_IB && r == EAFNOSUPPORT) {
		family_describe(id, addr);
		return;
	}
	route_describe(addr, &route);
	cm_devices_refresh();
	cm_devices_each(device_describe, &devices);
	cm_err(id, "%s cannot be used: %s; %s; RDMA devices: %s", cm_addr_text(addr, to),
	       strerror(r), route.chars, devices.length ? devices.chars : "none");
}
