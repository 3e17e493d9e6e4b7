/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs are the interface's addresses. An address keeps its slot as long as it is there. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "providers/uroce/host/host.h"
#include "providers/uroce/host/interface.h"

struct addresses {
	union ibv_gid gid[UROCE_GID_MAX];
	unsigned int count;
};

static void gid_of_ipv4(uint32_t address, union ibv_gid *ret)
{
	*ret = (union ibv_gid){};
	ret->raw[10] = ret->raw[11] = 0xff;
	memcpy(ret->raw + 12, &address, sizeof(address));
}

static void addresses_add(struct addresses *list, const union ibv_gid *gid)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (!memcmp(&list->gid[i], gid, sizeof(*gid)))
			return;
	if (list->count < UROCE_GID_MAX)
		list->gid[list->count++] = *gid;
}

static bool is_link_local(const struct sockaddr_in6 *a)
{
	return IN6_IS_ADDR_LINKLOCAL(&a->sin6_addr);
}

enum order {
	ORDER_IPV4,
	ORDER_IPV6,
	ORDER_LINK_LOCAL,
	ORDER_COUNT,
};

static void addresses_of_order(struct addresses *list, const struct ifaddrs *all, const char *name,
			       enum order order)
{
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		union ibv_gid gid;

		if (!a->ifa_addr || strcmp(a->ifa_name, name))
			continue;
		if (a->ifa_addr->sa_family == AF_INET && order == ORDER_IPV4) {
			gid_of_ipv4(((struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr, &gid);
			addresses_add(list, &gid);
		} else if (a->ifa_addr->sa_family == AF_INET6 && order != ORDER_IPV4) {
			const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)a->ifa_addr;

			if (is_link_local(in6) != (order == ORDER_LINK_LOCAL))
				continue;
			memcpy(gid.raw, &in6->sin6_addr, sizeof(gid.raw));
			addresses_add(list, &gid);
		}
	}
}

/* Most useful first: IPv4, global IPv6, link-local. lo has its two whether it is up or not. */
static int addresses_read(const struct uroce_dev *dev, struct addresses *list)
{
	struct ifaddrs *all;

	*list = (struct addresses){};
	if (getifaddrs(&all))
		return -errno;
	for (enum order order = 0; order < ORDER_COUNT; order++)
		addresses_of_order(list, all, dev->netdev, order);
	freeifaddrs(all);
	if (dev->is_loopback) {
		union ibv_gid gid;

		gid_of_ipv4(htonl(INADDR_LOOPBACK), &gid);
		addresses_add(list, &gid);
		memcpy(gid.raw, &in6addr_loopback, sizeof(gid.raw));
		addresses_add(list, &gid);
	}
	return 0;
}

static bool addresses_have(const struct addresses *list, const union ibv_gid *gid)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (!memcmp(&list->gid[i], gid, sizeof(*gid)))
			return true;
	return false;
}

static int slot_of(const struct uroce_dev *dev, const union ibv_gid *gid)
{
	for (int i = 0; i < UROCE_GID_MAX; i++)
		if (dev->gids[i].valid && !memcmp(&dev->gids[i].gid, gid, sizeof(*gid)))
			return i;
	return -1;
}

static int slot_free(const struct uroce_dev *dev)
{
	for (int i = 0; i < UROCE_GID_MAX; i++)
		if (!dev->gids[i].valid)
			return i;
	return -1;
}

/* What passes look at changes under progress_lock, too. @gid: NULL, none any more. */
static void slot_set(struct uroce_dev *dev, int slot, const union ibv_gid *gid)
{
	uroce_lock(&dev->host->paths.progress_lock);
	if (gid)
		dev->gids[slot].gid = *gid;
	dev->gids[slot].valid = gid;
	uroce_unlock(&dev->host->paths.progress_lock);
}

static bool slots_remove_gone(struct uroce_dev *dev, const struct addresses *now)
{
	bool changed = false;

	for (unsigned int i = 0; i < UROCE_GID_MAX; i++) {
		if (!dev->gids[i].valid || addresses_have(now, &dev->gids[i].gid))
			continue;
		uroce_udp_unbind(dev->udp, i);
		slot_set(dev, i, NULL);
		changed = true;
	}
	return changed;
}

/* A GID without a socket still serves the processes of this host. */
static bool slots_add_new(struct uroce_dev *dev, const struct addresses *now)
{
	bool changed = false;

	for (unsigned int i = 0; i < now->count; i++) {
		int slot;

		slot = slot_of(dev, &now->gid[i]);
		if (slot >= 0) {
			/* was not ready, or taken: that may be over */
			if (!uroce_udp_is_bound(dev->udp, slot))
				uroce_udp_bind(dev->udp, slot, &now->gid[i]);
			continue;
		}
		slot = slot_free(dev);
		if (slot < 0)
			break;
		slot_set(dev, slot, &now->gid[i]);
		uroce_udp_bind(dev->udp, slot, &now->gid[i]);
		changed = true;
	}
	return changed;
}

static bool gids_update(struct uroce_dev *dev, const struct addresses *now)
{
	bool changed;

	pthread_mutex_lock(&dev->lock);
	changed = slots_remove_gone(dev, now);
	changed |= slots_add_new(dev, now);
	pthread_mutex_unlock(&dev->lock);
	return changed;
}

/*
 * A new interface of the same name is the device's from then on.
 * Return: whether the one it had is gone, once.
 */
static bool link_update(struct uroce_dev *dev)
{
	char name[IF_NAMESIZE];
	bool gone = !if_indextoname(dev->ifindex, name), said = dev->removed;
	struct uroce_interface interface;

	if (uroce_interface_query(dev->netdev, &interface)) {
		dev->link_up = false;
		dev->removed = gone;
	} else {
		dev->link_up = interface.up || interface.loopback;
		dev->link_mtu = interface.mtu;
		dev->speed = interface.speed;
		dev->width = interface.width;
		dev->removed = false;
		pthread_mutex_lock(&dev->lock);
		dev->ifindex = interface.index;
		uroce_udp_reindex(dev->udp, interface.index);
		pthread_mutex_unlock(&dev->lock);
	}
	return gone && !said;
}

int uroce_gids_refresh(struct uroce_dev *dev)
{
	bool was_up = dev->link_up, first = !dev->gids[0].valid;
	struct addresses now;
	bool removed;
	int r = addresses_read(dev, &now);

	if (r < 0)
		return r;
	removed = link_update(dev);
	if (gids_update(dev, &now) && !first)
		uroce_event_port(dev, IBV_EVENT_GID_CHANGE);
	if (was_up != dev->link_up)
		uroce_event_port(dev, dev->link_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	if (removed)
		uroce_gsi_removed(dev);
	return 0;
}

/* --- following changes --- */

int uroce_gids_watch(int *ret_fd)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK,
				       .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
						    RTMGRP_IPV6_IFADDR };
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* What changed is read afresh: the messages only say that something did. */
void uroce_gids_drain(int fd)
{
	char buf[8192];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}
