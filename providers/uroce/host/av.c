/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address vectors: the path to a destination. It is chosen once, never per packet. */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "providers/uroce/host/av.h"
#include "providers/uroce/host/device.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/process.h"

enum {
	HOP_LIMIT = 64, /* for unicast; sockets of the system and the kernel's device send it too */
	/* longest wait for duplicate address detection; the kernel takes 1 to 2 s */
	DUPLICATES_MS = 10000,
	DUPLICATES_LOOK_MS = 20,
};

/* --- the source --- */

static int sgid_get(struct uroce_dev *dev, uint8_t index, union ibv_gid *ret_gid)
{
	int r = -EINVAL;

	pthread_mutex_lock(&dev->lock);
	if (index < UROCE_GID_MAX && dev->gids[index].valid) {
		*ret_gid = dev->gids[index].gid;
		r = 0;
	}
	pthread_mutex_unlock(&dev->lock);
	return r;
}

static int sgid_bind(struct uroce_dev *dev, uint8_t index)
{
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	if (!uroce_udp_is_bound(dev->udp, index))
		r = uroce_udp_bind(dev->udp, index, &dev->gids[index].gid);
	pthread_mutex_unlock(&dev->lock);
	return r;
}

/*
 * Bind the socket of a GID if that failed when the address appeared: an IPv6 address cannot be
 * bound while duplicate address detection runs. Wait for the end of the detection, because
 * datagrams sent earlier would be lost and are not repeated.
 */
static int sgid_socket(struct uroce_dev *dev, const struct uroce_av *av)
{
	union uroce_address address;
	int r = sgid_bind(dev, av->sgid_index);

	uroce_address_from_gid(&av->route.sgid, 0, dev->ifindex, &address);
	for (int ms = 0; r == -EADDRNOTAVAIL && ms < DUPLICATES_MS; ms += DUPLICATES_LOOK_MS) {
		if (uroce_address_is_own(&address) <= 0)
			break;
		usleep(DUPLICATES_LOOK_MS * 1000);
		r = sgid_bind(dev, av->sgid_index);
	}
	return r;
}

/*
 * Return the GID that replaces GID 0 if GID 0 is not an address of the interface. Such a GID 0
 * leads to no other host. On this host it stands for any address of the interface, so use an
 * address of the same family as @other, or any address if @other is GID 0 as well.
 */
static const struct uroce_gid *stand_in_for(const struct uroce_dev *dev, const union ibv_gid *other)
{
	bool any = !memcmp(other, &dev->gids[0].gid, sizeof(*other));

	for (unsigned int i = 1; i < UROCE_GID_MAX; i++)
		if (dev->gids[i].valid &&
		    (any || uroce_gid_is_ipv4(&dev->gids[i].gid) == uroce_gid_is_ipv4(other)))
			return &dev->gids[i];
	return NULL;
}

static void stand_in_replace(struct uroce_dev *dev, struct uroce_av *av)
{
	const union ibv_gid sgid = av->route.sgid, dgid = av->route.dgid;
	const struct uroce_gid *from = NULL, *to = NULL;

	pthread_mutex_lock(&dev->lock);
	if (dev->stand_in) {
		if (av->sgid_index == 0)
			from = stand_in_for(dev, &dgid);
		if (!memcmp(&dgid, &dev->gids[0].gid, sizeof(dgid)))
			to = stand_in_for(dev, &sgid);
	}
	if (from) {
		av->route.sgid = from->gid;
		av->sgid_index = from - dev->gids;
	}
	if (to)
		av->route.dgid = to->gid;
	pthread_mutex_unlock(&dev->lock);
}

/* --- the destination --- */

/*
 * Log the interface. The library's message names the verb and the GIDs but cannot name the
 * interface.
 */
static void explain_route(const struct uroce_dev *dev, const struct uroce_av *av, int r)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

	log_info("%s: no way from %s (interface %s) to %s: %s", dev->name,
		 inet_ntop(AF_INET6, &av->route.sgid, from, sizeof(from)), dev->netdev,
		 inet_ntop(AF_INET6, &av->route.dgid, to, sizeof(to)), strerror(-r));
}

static int attr_check(const struct ibv_ah_attr *attr)
{
	static const union ibv_gid none;

	return attr->is_global && memcmp(&attr->grh.dgid, &none, sizeof(none)) ? 0 : -EINVAL;
}

/*
 * Choose the source address for a multicast group: the interface's first address of the group's
 * family. Programs use one GID for all destinations, and IPv6 names for groups, so the family of
 * the AH's GID may differ.
 */
static void group_source(struct uroce_dev *dev, struct uroce_av *av)
{
	bool ipv4 = uroce_gid_is_ipv4(&av->route.dgid);

	if (uroce_gid_is_ipv4(&av->route.sgid) == ipv4)
		return;
	pthread_mutex_lock(&dev->lock);
	for (unsigned int i = dev->stand_in; i < UROCE_GID_MAX; i++) {
		if (!dev->gids[i].valid || uroce_gid_is_ipv4(&dev->gids[i].gid) != ipv4)
			continue;
		av->route.sgid = dev->gids[i].gid;
		av->sgid_index = i;
		break;
	}
	pthread_mutex_unlock(&dev->lock);
}

/* Refuse GIDs of different IP versions. The library's message names both. */
static int family_check(const struct uroce_av *av)
{
	return uroce_gid_is_ipv4(&av->route.sgid) == uroce_gid_is_ipv4(&av->route.dgid) ? 0
											: -EINVAL;
}

static void explain_peer(const struct uroce_dev *dev, uint32_t qpn, int r)
{
	if (uroce_shm_agreed(r))
		log_debug("%s: no shared memory with the owner of qp 0x%x on this host: %s",
			  dev->name, qpn, strerror(-r));
	else
		log_err("%s: the process of this host that owns qp 0x%x cannot be connected to: %s%s. Both "
			"ends of a QP must take the same path, so it takes none; UROCE_PATH=udp for either "
			"process avoids shared memory",
			dev->name, qpn,
			r == -ETIMEDOUT ? "it does not answer, and may be stopped" : strerror(-r),
			r == -EMFILE ? ": the limit is RLIMIT_NOFILE (ulimit -n)" : "");
}

/* Return whether a socket of this process, of any device, is bound to the address. */
static bool address_is_bound(struct uroce_host *host, const union ibv_gid *gid)
{
	struct uroce_dev *dev;
	bool bound = false;

	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(dev, &host->devices, entry) {
		pthread_mutex_lock(&dev->lock);
		for (unsigned int i = 0; i < UROCE_GID_MAX && !bound; i++)
			bound = dev->gids[i].valid && uroce_udp_is_bound(dev->udp, i) &&
				!memcmp(&dev->gids[i].gid, gid, sizeof(*gid));
		pthread_mutex_unlock(&dev->lock);
	}
	pthread_mutex_unlock(&host->lock);
	return bound;
}

/*
 * Refuse a QP of another user's process if this user's processes own the UDP port of the
 * destination address. Packets to that address never reach a process of another user, so a QP
 * connected to it would repeat them until it fails.
 */
static int foreign_check(struct uroce_dev *dev, const struct uroce_av *av, uint32_t qpn)
{
	char text[INET6_ADDRSTRLEN];

	if (!uroce_shm_foreign(dev->host->shm, uroce_qpn_slot(qpn)) ||
	    !address_is_bound(dev->host, &av->route.dgid))
		return 0;
	log_err("%s: qp 0x%x belongs to a process of another user, and this user's processes have UDP port 4791 of "
		"%s: nothing sent there arrives at that QP. Run both as one user, or give each an address or a "
		"network namespace of its own",
		dev->name, qpn, inet_ntop(AF_INET6, &av->route.dgid, text, sizeof(text)));
	return -EADDRINUSE;
}

/*
 * Resolve to shared memory with the process of this host that owns the QP number, if it is a uroce
 * process of this user.
 */
static int av_shared_memory(struct uroce_dev *dev, uint32_t qpn, struct uroce_av *av)
{
	struct uroce_shm *shm = dev->host->shm;
	uint16_t slot = uroce_qpn_slot(qpn);
	struct shm_peer *peer;
	int r;

	/*
	 * This process uses UDP only. Its peers learn this when they connect, and they forward
	 * datagrams for it.
	 */
	if (dev->host->paths.udp_only && !path_host_has_slot(&dev->host->paths, slot)) {
		uroce_shm_invite(shm, slot);
		return -EOPNOTSUPP;
	}
	r = uroce_shm_peer(shm, slot, &peer);
	if (!r && peer->udp_only)
		r = -EOPNOTSUPP;
	if (r < 0) {
		explain_peer(dev, qpn, r);
		return r;
	}
	av->path = &shm->path;
	av->peer = peer;
	av->mtu = SHM_SEGMENT;
	av->ref_min = uroce_shm_readable(peer) && !shm_memory_slow() ? SHM_REF_MIN : 0;
	return 0;
}

/* Resolve to the network. @qpn: the peer of a connected QP, or 0 in an AH. */
static int av_udp(struct uroce_dev *dev, struct uroce_av *av, uint32_t qpn)
{
	union uroce_address from;
	int r = 0;

	av->path = dev->wire;
	av->mtu = uroce_dev_mtu(dev);
	/*
	 * The destination is this host, so shared memory may lead to its process. Only the first
	 * datagram to that process needs the network. A process of another user is reached by the
	 * network only.
	 */
	if (av->local && !dev->host->paths.udp_only) {
		if (!qpn)
			sgid_socket(dev, av);
		if (!qpn || !uroce_shm_foreign(dev->host->shm, uroce_qpn_slot(qpn)))
			return 0;
	}
	if (av->local && qpn)
		r = foreign_check(dev, av, qpn);
	if (r < 0)
		return r;
	if (dev->stand_in && av->sgid_index == 0) {
		log_err("%s: sgid_index 0 leads to no other host, for interface %s has no link-local address; "
			"the first of IPv4 is sgid_index 1",
			dev->name, dev->netdev);
		return -EADDRNOTAVAIL;
	}
	r = sgid_socket(dev, av);
	if (r < 0)
		return r;
	uroce_address_from_gid(&av->route.sgid, 0, dev->ifindex, &from);
	return uroce_address_route(&from, &av->addr);
}

/*
 * The sockets and slots of the process are in one network namespace. Another thread of the process
 * may have left it, and would reach other hosts and processes with new sockets.
 */
static int namespace_check(const struct uroce_dev *dev)
{
	ino_t net = dev->host->net ? uroce_net_namespace() : 0;

	if (!net || net == dev->host->net)
		return 0;
	log_err("%s: this thread is in another network namespace than the thread that opened the first device: "
		"open devices after unshare() or setns()",
		dev->name);
	return -ENETUNREACH;
}

int uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr, uint32_t dest_qpn,
		     struct uroce_av *ret_av)
{
	bool multicast = uroce_gid_is_multicast(&attr->grh.dgid);
	struct uroce_av av = {
		.route = { .dgid = uroce_gid_canonical(&attr->grh.dgid),
			   .flow_label = attr->grh.flow_label & 0xfffff,
			   .traffic_class = attr->grh.traffic_class,
			   .hop_limit = multicast ? max_of(attr->grh.hop_limit, (uint8_t)1)
						  : HOP_LIMIT },
		.sgid_index = attr->grh.sgid_index,
		.port_num = attr->port_num,
		.sl = attr->sl,
	};
	int r = attr_check(attr);

	if (!r)
		r = sgid_get(dev, attr->grh.sgid_index, &av.route.sgid);
	if (!r && multicast)
		group_source(dev, &av);
	if (!r)
		r = family_check(&av);
	if (r < 0)
		return r;
	stand_in_replace(dev, &av);
	uroce_address_from_gid(&av.route.dgid, UROCE_UDP_PORT, dev->ifindex, &av.addr);
	av.local = !multicast && uroce_address_is_own(&av.addr) > 0;
	r = av.local && dest_qpn ? av_shared_memory(dev, dest_qpn, &av) : -ENOENT;
	if (uroce_shm_agreed(r)) {
		r = namespace_check(dev);
		if (r < 0)
			return r;
		r = av_udp(dev, &av, dest_qpn);
		if (r < 0)
			explain_route(dev, &av, r);
	}
	if (!r)
		*ret_av = av;
	return r;
}

void uroce_av_for_qpn(struct uroce_av *av, uint32_t qpn)
{
	struct uroce_host *host;
	struct shm_peer *peer;

	if (!av->local || qpn <= 1)
		return;
	host = path_host_host(av->path->host);
	peer = atomic_load_explicit(&host->shm->by_slot[uroce_qpn_slot(qpn)], memory_order_acquire);
	if (!peer || peer->dead || !uroce_shm_lives(peer->first_page)) {
		/*
		 * The first datagrams go through the network stack, later ones through shared
		 * memory.
		 */
		uroce_forward_want(host, uroce_qpn_slot(qpn));
		return;
	}
	if (peer->udp_only)
		return;
	av->path = &host->shm->path;
	av->peer = peer;
}

bool uroce_av_may_have(const struct uroce_av *av, uint32_t qpn)
{
	uint16_t slot = uroce_qpn_slot(qpn);
	struct uroce_host *host;

	if (!av->local || qpn <= 1 || qpn == MULTICAST_QPN)
		return true;
	host = path_host_host(av->path->host);
	/* The table of this process's own queue pairs belongs to the threads that make progress. */
	if (path_host_has_slot(av->path->host, slot))
		return true;
	return slot && (uroce_shm_slot_used(host->shm, slot) || uroce_shm_foreign(host->shm, slot));
}
