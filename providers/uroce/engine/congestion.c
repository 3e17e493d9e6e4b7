/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window of a reliable queue pair on a network: its growth, its reduction, and the congestion
 * notifications that the queue pair sends and obeys (IBTA vol. 1, annex A17.9).
 *
 * The window is in packets. It begins small and grows as packets are acknowledged, if it is in use.
 * A notification cuts it by up to a half: more, if notifications are frequent. The estimate of
 * their frequency is that of DCQCN. Its period is a round trip, so no timer is needed. A loss
 * halves the window. Paths without loss have a constant window.
 */
#include "providers/uroce/engine/engine.h"

enum {
	/* First window: packets that leave before the first acknowledgement. */
	WINDOW_FIRST = 8,
	/* Smallest window: the packet behind a lost one reveals the loss. */
	WINDOW_LEAST = 2,
	/* Assumed receive buffer of a peer: the default of net.core.rmem_default, in bytes of
	 * memory ... */
	BUFFER_DEFAULT = 212992,
	/* ... of which each packet takes its length and this overhead, rounded up to a power of two
	 * ... */
	PACKET_OVERHEAD = 420,
	/* ... and this fixed part. */
	PACKET_HEAD = 256,
	/* Packets by which the window then grows for each acknowledged window. A small window grows
	 * by fewer. */
	GROWTH_MOST = 4,
	/* The estimated share of round trips with congestion, in parts of this ... */
	CONGESTION_ONE = 1024,
	/* ... is updated with weight 1/2^4 each round trip (g of DCQCN is 1/16 to 1/256). */
	CONGESTION_SHIFT = 4,
	/* A queue whose delay is 1/QUEUE_PART of the QP's timeout is congestion, even without
	 * notifications. */
	QUEUE_PART = 4,
	/* ns: at most one notification for a queue pair in this time, as adapters do. */
	CNP_INTERVAL = 50000,
};

/* Return the packets of @mtu bytes that a default socket buffer holds. */
static uint32_t packets_held(uint32_t mtu)
{
	uint32_t room = 1;

	while (room < mtu + PACKET_OVERHEAD)
		room *= 2;
	return BUFFER_DEFAULT / (room + PACKET_HEAD);
}

static bool controlled(const struct uroce_qp *qp)
{
	return uroce_qp_reliable(qp) && qp->av.path && !qp->av.path->lossless;
}

void uroce_window_start(struct uroce_qp *qp)
{
	struct uroce_requester *req = &qp->req;

	req->window = req->window_max = UROCE_WINDOW_LOSSLESS;
	if (!controlled(qp))
		return;
	req->window = WINDOW_FIRST;
	req->window_max = UROCE_WINDOW;
	req->window_fast = min_of(packets_held(qp->mtu), (uint32_t)UROCE_WINDOW);
	req->round = req->psn;
}

/* Reduce the window. From now on it grows slowly. */
static void window_cut(struct uroce_requester *req, uint32_t window)
{
	req->window = req->window_fast = max_of(window, (uint32_t)WINDOW_LEAST);
	req->window_acked = 0;
}

void uroce_window_halve(struct uroce_qp *qp)
{
	if (controlled(qp))
		window_cut(&qp->req, qp->req.window / 2);
}

void uroce_window_restart(struct uroce_qp *qp)
{
	if (!controlled(qp))
		return;
	uroce_window_halve(qp);
	qp->req.window = WINDOW_LEAST;
}

/* React to congestion, once in a round trip. At the first time assume the worst case. */
static void congestion_heed(struct uroce_requester *req)
{
	uint32_t less;

	if (req->notified)
		return;
	req->notified = true;
	if (!req->congestion)
		req->congestion = CONGESTION_ONE;
	less = req->window * req->congestion / (2 * CONGESTION_ONE);
	window_cut(req, req->window - max_of(less, 1u));
}

/*
 * Return whether the queue in the network is long. Without this check the QP could time out because
 * of its own queued packets, if there are no marks and no losses.
 */
static bool queue_is_long(const struct uroce_requester *req)
{
	return req->timeout && req->rtt > req->rtt_least + (4096ull << req->timeout) / QUEUE_PART;
}

/* End a round trip: all packets that were sent before its beginning are acknowledged. */
static void round_end(struct uroce_requester *req)
{
	req->congestion -= req->congestion >> CONGESTION_SHIFT;
	if (req->notified)
		req->congestion = min_of(req->congestion + (CONGESTION_ONE >> CONGESTION_SHIFT),
					 CONGESTION_ONE);
	req->notified = false;
	req->round = req->max_psn;
	if (unlikely(queue_is_long(req)))
		congestion_heed(req);
}

/* Return the acknowledged packets that enlarge the window by one. */
static uint32_t growth_step(uint32_t window)
{
	uint32_t growth = min_of(window / 4, (uint32_t)GROWTH_MOST);

	return window / max_of(growth, 1u);
}

/*
 * Enlarge the window. It grows fast up to the smallest buffer of a peer, or up to its size at the
 * last cut. Above that it grows by a few packets for each acknowledged window.
 */
static void window_grow(struct uroce_requester *req, uint32_t acked)
{
	if (req->window < req->window_fast) {
		req->window = min_of(req->window + acked, req->window_fast);
	} else {
		req->window_acked += acked;
		for (; req->window_acked >= growth_step(req->window); req->window++)
			req->window_acked -= growth_step(req->window);
	}
	req->window = min_of(req->window, req->window_max);
}

void uroce_window_acked(struct uroce_qp *qp, uint32_t before)
{
	struct uroce_requester *req = &qp->req;

	if (qp->av.path->lossless)
		return;
	if (psn_diff(req->una, req->round) >= 0)
		round_end(req);
	/* A window that was not in use proves no capacity. */
	if (!req->recovering && 2 * psn_diff(req->max_psn, before) >= (int32_t)req->window)
		window_grow(req, psn_diff(req->una, before));
}

void uroce_congestion_notified(struct uroce_qp *qp)
{
	assert_held(&qp->lock);
	if (!controlled(qp) || (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	qp->counters.cnps_received++;
	congestion_heed(&qp->req);
}

static void cnp_send(struct uroce_qp *qp)
{
	const struct uroce_hdr hdr = {
		.opcode = UROCE_CNP,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qp->dest_qpn,
	};
	const struct uroce_tx tx = { .hdr = &hdr, .qp = qp };

	if (qp->av.path->ops->send(qp->av.path, &qp->av, &tx) < 0)
		return;
	qp->counters.tx_packets++;
	qp->counters.cnps_sent++;
}

void uroce_congestion_seen(struct uroce_qp *qp, const struct uroce_packet *pkt, uint64_t now)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);

	assert_held(&qp->lock);
	/* Ignore marks of packets without payload: acknowledgements do not fill a queue. */
	if (!controlled(qp) || !(flags & PKT_PAYLOAD) ||
	    (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	qp->counters.marked++;
	/* A marked read response: request reads more slowly. */
	if (flags & PKT_RESPONSE)
		congestion_heed(&qp->req);
	if (now - qp->resp.cnp_time < CNP_INTERVAL)
		return;
	qp->resp.cnp_time = now;
	cnp_send(qp);
}
