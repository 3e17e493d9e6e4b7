/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of this host. RoCE GIDs are IP addresses, and each belongs to a device. */
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/device.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "util/util.h"

enum {
	GIDS_MAX = 64
};

void ibcm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *ret_gid)
{
	union ibv_gid gid = {};

	if (addr->sa_family == AF_INET) {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	} else {
		memcpy(gid.raw, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	}
	*ret_gid = gid;
}

bool ibcm_gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

struct search {
	int (*fn)(const struct ibcm_local *local, void *arg);
	void *arg;
	uint32_t ifindex; /* 0: any */
	union ibv_gid gid;
	struct ibcm_local found;
};

/*
 * List the GIDs of a device. Return: the number of GIDs; 0 also if the query fails; -EIO: a forked
 * child queried a device of its parent.
 */
static int device_gids(struct cm_device *dev, struct ibv_gid_entry entries[GIDS_MAX])
{
	ssize_t n;

	if (!dev->user || cm_device_open(dev) < 0)
		return 0;
	n = ibv_query_gid_table(dev->verbs, entries, GIDS_MAX, 0);
	return n == -EIO ? ibcm_child_refuse() : max_of(n, (ssize_t)0);
}

static int search_device(struct cm_device *dev, void *arg)
{
	struct ibv_gid_entry entries[GIDS_MAX];
	struct search *search = arg;
	int n = device_gids(dev, entries);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (memcmp(&entries[i].gid, &search->gid, sizeof(search->gid)) ||
		    (search->ifindex && entries[i].ndev_ifindex != search->ifindex))
			continue;
		search->found = (struct ibcm_local){ .cm = dev,
						     .index = entries[i].gid_index,
						     .gid = entries[i].gid };
		return 1;
	}
	return 0;
}

int ibcm_local_find(const struct sockaddr *addr, struct ibcm_local *ret_local)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	struct search search = {};
	int r;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	ibcm_addr_to_gid(addr, &search.gid);
	if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		search.ifindex = in6->sin6_scope_id;
	r = cm_devices_each(search_device, &search);
	if (r <= 0)
		return r < 0 ? r : -EADDRNOTAVAIL;
	*ret_local = search.found;
	return 0;
}

static int each_of_device(struct cm_device *dev, void *arg)
{
	struct ibv_gid_entry entries[GIDS_MAX];
	const struct search *search = arg;
	int n = device_gids(dev, entries), r = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !r; i++) {
		struct ibcm_local local = { .cm = dev,
					    .index = entries[i].gid_index,
					    .gid = entries[i].gid };

		r = search->fn(&local, search->arg);
	}
	return r;
}

int ibcm_local_each(int (*fn)(const struct ibcm_local *local, void *arg), void *arg)
{
	struct search search = { .fn = fn, .arg = arg };

	return cm_devices_each(each_of_device, &search);
}
