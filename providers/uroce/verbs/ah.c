/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address vectors: which path leads to a destination. Decided once, never again per packet. */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "providers/uroce/base/bytes.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/verbs/ops.h"
#include "providers/uroce/path/udp/path_udp.h"
#include "providers/uroce/path/shm/shm_memory.h"

enum {
	HOP_LIMIT =
		64, /* of unicast, as the system's sockets send it; the kernel's device as well */
	GRH_LEN = 40,
	IPV4_HEADER_LEN = 20,
	UDP_HEADER_LEN = 8,
};

static struct uroce_dev *ctx_dev(struct ibv_context *ctx)
{
	return ((struct uroce_context *)to_vctx(ctx))->dev;
}

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

/* May be missing because the address was not ready when it appeared: IPv6 probes for duplicates. */
static int sgid_socket(struct uroce_dev *dev, uint8_t index)
{
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->gids[index].socket < 0)
		r = uroce_udp_bind(dev, index);
	pthread_mutex_unlock(&dev->lock);
	return r;
}

/* --- the destination --- */

/* The library says which verb failed between which GIDs; the interface is known only here. */
static void explain_route(const struct uroce_dev *dev, const struct uroce_av *av, int r)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

	log_info("%s: no way from %s (interface %s) to %s: %s", dev->name,
		 inet_ntop(AF_INET6, &av->sgid, from, sizeof(from)), dev->netdev,
		 inet_ntop(AF_INET6, &av->dgid, to, sizeof(to)), strerror(-r));
}

static int attr_check(const struct ibv_ah_attr *attr)
{
	static const union ibv_gid none;

	return attr->is_global && memcmp(&attr->grh.dgid, &none, sizeof(none)) ? 0 : -EINVAL;
}

static int family_check(const struct uroce_dev *dev, const struct uroce_av *av)
{
	bool from_ipv4 = uroce_gid_is_ipv4(&av->sgid), to_ipv4 = uroce_gid_is_ipv4(&av->dgid);

	if (from_ipv4 == to_ipv4)
		return 0;
	log_err("%s: sgid_index %u is an %s address, the destination an %s one", dev->name,
		av->sgid_index, from_ipv4 ? "IPv4" : "IPv6", to_ipv4 ? "IPv4" : "IPv6");
	return -EINVAL;
}

/* The process of this host that owns the QP number, if it is a uroce of this user. */
static int av_shared_memory(struct uroce_dev *dev, uint32_t qpn, struct uroce_av *av)
{
	struct uroce_shm *shm = dev->host->shm;
	struct shm_peer *peer;
	int r = uroce_shm_peer(shm, qpn >> UROCE_QP_INDEX_BITS, &peer);

	if (!r && peer->udp_only)
		r = -EOPNOTSUPP;
	if (r < 0) {
		log_debug("%s: no shared memory with the owner of qp 0x%x on this host: %s",
			  dev->name, qpn, strerror(-r));
		return r;
	}
	av->path = &shm->path;
	av->peer = peer;
	av->mtu = SHM_SEGMENT;
	av->ref_min = peer->readable && !shm_memory_slow() ? SHM_REF_MIN : 0;
	return 0;
}

static int av_udp(struct uroce_dev *dev, struct uroce_av *av)
{
	union uroce_address from;
	int r = 0;

	av->path = dev->wire;
	av->mtu = uroce_dev_mtu(dev);
	/* An own address may be a process's that shared memory leads to, without any network. */
	if (av->local && !dev->host->udp_only)
		return 0;
	r = sgid_socket(dev, av->sgid_index);
	if (r < 0)
		return r;
	uroce_address_from_gid(&av->sgid, 0, dev->ifindex, &from);
	return uroce_address_route(&from, &av->addr);
}

int uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr, uint32_t dest_qpn,
		     struct uroce_av *ret_av)
{
	bool multicast = uroce_gid_is_multicast(&attr->grh.dgid);
	struct uroce_av av = {
		.dgid = uroce_gid_canonical(&attr->grh.dgid),
		.flow_label = attr->grh.flow_label & 0xfffff,
		.sgid_index = attr->grh.sgid_index,
		.port_num = attr->port_num,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = multicast ? max_of(attr->grh.hop_limit, (uint8_t)1) : HOP_LIMIT,
		.sl = attr->sl,
	};
	int r = attr_check(attr);

	if (!r)
		r = sgid_get(dev, attr->grh.sgid_index, &av.sgid);
	if (!r)
		r = family_check(dev, &av);
	if (r < 0)
		return r;
	uroce_address_from_gid(&av.dgid, UROCE_UDP_PORT, dev->ifindex, &av.addr);
	av.local = !multicast && uroce_address_is_own(&av.addr) > 0;
	if (!av.local || !dest_qpn || av_shared_memory(dev, dest_qpn, &av) < 0) {
		r = av_udp(dev, &av);
		if (r < 0) {
			explain_route(dev, &av, r);
			return r;
		}
	}
	*ret_av = av;
	return 0;
}

/* --- address handles --- */

int uroce_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	return uroce_av_resolve(ctx_dev(ah->context), in->attr, 0, &((struct uroce_ah *)ah)->av);
}

int uroce_destroy_ah(struct ibv_ah *ah)
{
	return 0;
}

void uroce_av_for_qpn(struct uroce_av *av, uint32_t qpn)
{
	struct uroce_shm *shm;
	struct shm_peer *peer;

	if (!av->local || qpn <= 1)
		return;
	shm = av->path->dev->host->shm;
	peer = atomic_load_explicit(&shm->by_slot[qpn >> UROCE_QP_INDEX_BITS],
				    memory_order_acquire);
	if (!peer || peer->dead) {
		/* This one goes through the network stack, later ones will not. */
		uroce_forward_want(shm->host, qpn >> UROCE_QP_INDEX_BITS);
		return;
	}
	if (peer->udp_only)
		return;
	av->path = &shm->path;
	av->peer = peer;
}

/* --- the GRH area --- */

static uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4_HEADER_LEN; i += 2)
		sum += header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

static void ipv4_fill(const struct uroce_av *av, uint32_t length, uint8_t *ip)
{
	const uint8_t fixed[] = { 0x45, av->traffic_class, length >> 8, length, 0, 0, 0x40,
				  0,	av->hop_limit,	   IPPROTO_UDP };

	memcpy(ip, fixed, sizeof(fixed));
	put16(ip + 10, 0);
	memcpy(ip + 12, av->sgid.raw + 12, 4);
	memcpy(ip + 16, av->dgid.raw + 12, 4);
	put16(ip + 10, ipv4_checksum(ip));
}

static void ipv6_fill(const struct uroce_av *av, uint32_t length, struct ibv_grh *grh)
{
	*grh = (struct ibv_grh){
		.version_tclass_flow =
			htobe32(6u << 28 | (uint32_t)av->traffic_class << 20 | av->flow_label),
		.paylen = htobe16(length),
		.next_hdr = IPPROTO_UDP,
		.hop_limit = av->hop_limit,
		.sgid = av->sgid,
		.dgid = av->dgid,
	};
}

void uroce_grh_fill(const struct uroce_av *av, uint32_t length, uint8_t ret_grh[40])
{
	struct ibv_grh grh;

	length += UDP_HEADER_LEN + ICRC_LEN;
	if (uroce_gid_is_ipv4(&av->dgid)) {
		memset(ret_grh, 0, GRH_LEN - IPV4_HEADER_LEN);
		ipv4_fill(av, IPV4_HEADER_LEN + length, ret_grh + GRH_LEN - IPV4_HEADER_LEN);
	} else {
		ipv6_fill(av, length, &grh);
		memcpy(ret_grh, &grh, sizeof(grh));
	}
}
