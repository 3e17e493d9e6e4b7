/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The GID table holds the interface's addresses in the order of the kernel's devices: the
 * link-local address in slot 0, the first IPv4 address in slot 1. Other addresses take free slots
 * in the order of their age, which is the same for all processes. An address keeps its slot as long
 * as it exists.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "providers/uroce/host/address_list.h"
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/interface.h"

enum {
	SLOT_DEFAULT = 0,
	SLOT_IPV4 = 1, /* reserved for the first IPv4 address, in any order of addresses */
	SLOT_OTHERS = 2,
};

static int slot_of(const struct uroce_dev *dev, const union ibv_gid *gid)
{
	for (int i = 0; i < UROCE_GID_MAX; i++)
		if (dev->gids[i].valid && !memcmp(&dev->gids[i].gid, gid, sizeof(*gid)))
			return i;
	return -1;
}

static int slot_free(const struct uroce_dev *dev, const union ibv_gid *gid)
{
	for (int i = uroce_gid_is_ipv4(gid) ? SLOT_IPV4 : SLOT_OTHERS; i < UROCE_GID_MAX; i++)
		if (!dev->gids[i].valid)
			return i;
	return -1;
}

/* Set a slot under progress_lock, because passes read it. @gid: NULL clears the slot. */
static void slot_set(struct uroce_dev *dev, int slot, const union ibv_gid *gid)
{
	uroce_lock(&dev->host->paths.progress_lock);
	if (gid)
		dev->gids[slot].gid = *gid;
	dev->gids[slot].valid = gid;
	uroce_unlock(&dev->host->paths.progress_lock);
}

static void slot_clear(struct uroce_dev *dev, int slot)
{
	uroce_udp_unbind(dev->udp, slot);
	slot_set(dev, slot, NULL);
}

/* Without a socket the GID still serves the processes of this host. */
static void slot_take(struct uroce_dev *dev, int slot, const union ibv_gid *gid)
{
	slot_set(dev, slot, gid);
	uroce_udp_bind(dev->udp, slot, gid);
}

static bool slots_remove_gone(struct uroce_dev *dev, const struct uroce_addresses *now)
{
	bool changed = false;

	for (unsigned int i = SLOT_IPV4; i < UROCE_GID_MAX; i++) {
		if (!dev->gids[i].valid || uroce_addresses_have(now, &dev->gids[i].gid))
			continue;
		slot_clear(dev, i);
		changed = true;
	}
	return changed;
}

/* Log once for each device, because addresses come and go. */
static void left_out_log(struct uroce_dev *dev, unsigned int left_out)
{
	if (!left_out || dev->left_out_logged)
		return;
	dev->left_out_logged = true;
	log_warn("%s: %u addresses of interface %s are no GIDs, because the table has %u entries: "
		 "spread the addresses over several interfaces",
		 dev->name, left_out, dev->netdev, UROCE_GID_MAX);
}

static bool slots_add_new(struct uroce_dev *dev, const struct uroce_addresses *now)
{
	unsigned int left_out = now->left_out;
	bool changed = false;

	for (unsigned int i = 0; i < now->count; i++) {
		int slot = slot_of(dev, &now->gid[i]);

		if (slot >= 0) {
			/* not bound before: the address was not ready or its port was taken */
			if (!uroce_udp_is_bound(dev->udp, slot))
				uroce_udp_bind(dev->udp, slot, &now->gid[i]);
			continue;
		}
		slot = slot_free(dev, &now->gid[i]);
		if (slot < 0) {
			left_out++;
			continue;
		}
		slot_take(dev, slot, &now->gid[i]);
		changed = true;
	}
	left_out_log(dev, left_out);
	return changed;
}

/* --- slot 0 --- */

/* Make a link-local address from a MAC address as IPv6 does. */
static void gid_of_mac(const uint8_t *mac, union ibv_gid *ret)
{
	*ret = (union ibv_gid){ .raw = { 0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
					 mac[3], mac[4], mac[5] } };
}

static bool default_stays(const struct uroce_dev *dev, const struct uroce_addresses *now)
{
	const struct uroce_gid *gid = &dev->gids[SLOT_DEFAULT];

	if (!gid->valid || dev->stand_in)
		return false;
	for (unsigned int i = 0; i < now->link_local; i++)
		if (!memcmp(&now->gid[i], &gid->gid, sizeof(gid->gid)))
			return true;
	return false;
}

/*
 * Update GID 0: the oldest link-local address, or, if the interface has none, the link-local
 * address that its MAC address would give. Such an address stands in for the interface's other
 * addresses among the processes of this host.
 */
static bool default_update(struct uroce_dev *dev, const struct uroce_addresses *now)
{
	bool stand_in = !now->link_local;
	union ibv_gid gid;
	int slot;

	if (default_stays(dev, now))
		return false;
	if (stand_in)
		gid_of_mac(dev->mac, &gid);
	else
		gid = now->gid[0];
	slot = slot_of(dev, &gid);
	if (slot == SLOT_DEFAULT && dev->stand_in == stand_in)
		return false;
	if (slot > SLOT_DEFAULT)
		slot_clear(dev, slot);
	if (dev->gids[SLOT_DEFAULT].valid)
		uroce_udp_unbind(dev->udp, SLOT_DEFAULT);
	dev->stand_in = stand_in;
	if (stand_in)
		slot_set(dev, SLOT_DEFAULT, &gid);
	else
		slot_take(dev, SLOT_DEFAULT, &gid);
	return slot != SLOT_DEFAULT;
}

static bool gids_update(struct uroce_dev *dev, const struct uroce_addresses *now)
{
	bool changed;

	pthread_mutex_lock(&dev->lock);
	changed = slots_remove_gone(dev, now);
	changed |= default_update(dev, now);
	changed |= slots_add_new(dev, now);
	pthread_mutex_unlock(&dev->lock);
	return changed;
}

/*
 * Read the interface again. A new interface of the same name belongs to the device from then on.
 * Return: true once when the former interface has gone.
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
		memcpy(dev->mac, interface.mac, sizeof(dev->mac));
		uroce_udp_reindex(dev->udp, interface.index);
		pthread_mutex_unlock(&dev->lock);
	}
	return gone && !said;
}

int uroce_gids_refresh(struct uroce_dev *dev)
{
	bool was_up = dev->link_up, first = !dev->gids[0].valid;
	struct uroce_addresses now;
	bool removed = link_update(dev);
	int r = uroce_addresses_read(dev->ifindex, dev->is_loopback, &now);

	if (r < 0)
		return r;
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
		return uroce_call_failed("socket");
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return uroce_call_failed("bind");
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Discard the messages, because all addresses are read again after a change. */
void uroce_gids_drain(int fd)
{
	char start; /* first byte of a message; recv() discards the rest */

	while (recv(fd, &start, sizeof(start), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}
