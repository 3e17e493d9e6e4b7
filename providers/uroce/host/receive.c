/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Upcalls of the paths: delivery of packets. */
#include <string.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/short_way.h"
#include "providers/uroce/host/former.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/mcast.h"
#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/receive.h"
#include "providers/uroce/host/watch.h"

static void qp_packet(struct uroce_qp *qp, struct uroce_packet *pkt, uint64_t now)
{
	if (pkt->has_ack)
		uroce_comp_ack(qp, pkt->ack_psn, pkt->ack_syndrome, now);
	if (unlikely(pkt->marked))
		uroce_congestion_seen(qp, pkt, now ? now : uroce_now());
	if (unlikely(pkt->hdr.opcode == UROCE_CNP)) {
		uroce_congestion_notified(qp);
		return;
	}
	if (hdr_flags(&pkt->hdr) & PKT_REQUEST)
		uroce_resp_packet(qp, pkt);
	else
		uroce_comp_packet(qp, pkt, now);
}

static bool special_packet(struct uroce_host *host, struct uroce_packet *pkt,
			   const union ibv_gid *sgid)
{
	if (pkt->hdr.dest_qpn == GSI_QPN)
		uroce_gsi_packet(host, pkt, sgid);
	else if (pkt->hdr.dest_qpn == MULTICAST_QPN)
		uroce_mcast_packet(host, pkt);
	else
		return false;
	return true;
}

/*
 * Return whether the QP accepts a datagram from @sgid. A connected QP accepts only datagrams from
 * its peer's address. A QP whose peer is connected by shared memory accepts no datagrams, because
 * every user of this host has that address.
 */
static bool datagram_admitted(const struct uroce_host *host, const struct uroce_qp *qp,
			      const union ibv_gid *sgid)
{
	if (qp->type == IBV_QPT_UD)
		return true;
	if (qp->av.path == &host->shm->path)
		return false;
	return !sgid || !memcmp(sgid, &qp->av.route.dgid, sizeof(*sgid));
}

static void packet_arrived(struct path_host *paths, struct uroce_packet *pkt,
			   const union ibv_gid *sgid, uint64_t now)
{
	struct uroce_host *host = path_host_host(paths);
	struct uroce_qp *qp;

	if (special_packet(host, pkt, sgid))
		return;
	qp = uroce_qp_find(host, pkt->hdr.dest_qpn);
	if (!qp)
		return;
	/* Only answers to requests need the time, because they may let the next request leave. */
	if (!now && !(hdr_flags(&pkt->hdr) & PKT_REQUEST))
		now = uroce_now();
	if (unlikely(host->faults) && !pkt->fault_seen) {
		uroce_fault_receive(host->faults, qp, pkt, sgid, now);
		return;
	}
	path_strand_enter(paths, qp->strand);
	uroce_lock(&qp->lock);
	if (datagram_admitted(host, qp, sgid))
		qp_packet(qp, pkt, now);
	uroce_unlock(&qp->lock);
	path_strand_leave(paths, qp->strand);
}

static bool packet_expected(struct path_host *paths, uint32_t qpn, const union ibv_gid *sgid)
{
	struct uroce_host *host = path_host_host(paths);
	struct uroce_qp *qp = uroce_qp_find(host, qpn);
	bool expected;

	if (!qp || qp->type != IBV_QPT_RC)
		return false;
	uroce_lock(&qp->lock);
	expected = datagram_admitted(host, qp, sgid);
	uroce_unlock(&qp->lock);
	return expected;
}

static void peer_packet_arrived(struct path_host *paths, struct uroce_packet *pkt, const void *peer,
				unsigned int strand, uint64_t now)
{
	struct uroce_qp *qp = uroce_qp_find(path_host_host(paths), pkt->hdr.dest_qpn);

	/* A uroce peer sends only by the strand of the QP's number. */
	if (unlikely(!qp || qp->strand != strand))
		return;
	/* Time matters here only to a receiver-not-ready wait. */
	if ((pkt->hdr.opcode & UROCE_OPERATION_MASK) == UROCE_ACK &&
	    (pkt->hdr.syndrome & AETH_KIND_MASK) != AETH_ACK)
		now = uroce_now();
	uroce_lock(&qp->lock);
	if (unlikely(paths->capture) && qp->av.peer == peer)
		uroce_capture_peer(paths->capture, qp->dev->name, qp, pkt);
	if (qp->av.peer == peer)
		qp_packet(qp, pkt, now);
	uroce_unlock(&qp->lock);
}

/* --- other processes of this host --- */

static void foreign_arrived(struct path_host *paths, uint16_t slot, const struct path_origin *from,
			    const void *packet, uint32_t length, uint64_t now)
{
	uroce_forward(path_host_host(paths), slot, from, packet, length, now);
}

static void was_passed_on(struct path_host *paths, const struct path_origin *from)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &path_host_host(paths)->devices, entry)
		if (uroce_udp_passed_on(dev->udp, from))
			return;
}

static void peer_gone(struct path_host *paths, struct uroce_path *path, const void *peer,
		      uint16_t slot)
{
	struct uroce_host *host = path_host_host(paths);

	if (slot)
		uroce_gsi_peer_gone(host, slot);
	uroce_qps_peer_gone(host, path, peer);
}

/* --- the rest --- */

static void packet_seen(struct path_host *paths, const struct path_sight *sight)
{
	const struct uroce_dev *dev = LIST_FIRST(&path_host_host(paths)->devices);

	uroce_capture_sight(paths->capture, sight, dev ? dev->name : NULL);
}

static int watch(struct path_host *paths, int fd, enum path_watch what, void *pointer)
{
	return uroce_watch_begin(path_host_host(paths), fd, what, pointer);
}

static void unwatch(struct path_host *paths, int fd)
{
	uroce_watch_end(path_host_host(paths), fd);
}

const struct path_events uroce_path_events = {
	.packet = packet_arrived,
	.peer_packet = peer_packet_arrived,
	.bytes = uroce_short_way_datagram,
	.peer_bytes = uroce_short_way_receive,
	.expected = packet_expected,
	.foreign = foreign_arrived,
	.passed_on = was_passed_on,
	.peer_gone = peer_gone,
	.seen = packet_seen,
	.watch = watch,
	.unwatch = unwatch,
};
