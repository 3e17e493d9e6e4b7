/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One pass over what arrived, what is owed and what is due; and where a packet goes. */
#include <string.h>
#include <time.h>

#include "providers/uroce/fault/capture.h"
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/path/udp/path_udp.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/host/thread.h"

enum {
	BUDGET = 32,		/* packets of one peer, datagrams of one device in one pass */
	ACK_COALESCE_LOSSY = 4, /* messages that one acknowledgement may cover across a network */
	DRAIN_PASSES = 8, /* in which all that is there arrives, unless others go on sending */
	ACK_PASSES = 128, /* that a withheld one waits for the next message */
	REFUSALS_BEFORE_YIELD = 64, /* of a poller, one after the other: some microseconds */
	LAZY_PASSES = 32,	    /* without a packet: nothing will come to ride on */
	CLOCK_PASSES = 64,
	CLOCK_PASSES_SOCKETS =
		8, /* where packets get lost, timers are for more than the worst case */
	GSI_QPN = 1,
	MULTICAST_QPN = 0xffffff,
};

uint64_t uroce_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* --- where a packet goes --- */

static void qp_packet(struct uroce_qp *qp, struct uroce_packet *pkt, uint64_t now)
{
	if (pkt->has_ack)
		uroce_comp_ack(qp, pkt->ack_psn, pkt->ack_syndrome, now);
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

void uroce_rx(struct uroce_host *host, struct uroce_packet *pkt, const union ibv_gid *sgid,
	      uint64_t now)
{
	struct uroce_qp *qp;

	if (special_packet(host, pkt, sgid))
		return;
	qp = uroce_qp_find(host, pkt->hdr.dest_qpn);
	if (!qp)
		return;
	/* Only what answers a request, and may let the next one leave, has to do with time. */
	if (!now && !(hdr_flags(&pkt->hdr) & PKT_REQUEST))
		now = uroce_now();
	if (unlikely(host->faults) && !pkt->fault_seen) {
		uroce_fault_receive(host, qp, pkt, sgid, now);
		return;
	}
	uroce_lock(&qp->lock);
	/* A connected QP accepts only what its peer's address sent. */
	if (qp->type == IBV_QPT_UD || !sgid || !memcmp(sgid, &qp->av.dgid, sizeof(*sgid)))
		qp_packet(qp, pkt, now);
	uroce_unlock(&qp->lock);
}

bool uroce_rx_expected(struct uroce_host *host, uint32_t qpn, const union ibv_gid *sgid)
{
	struct uroce_qp *qp = uroce_qp_find(host, qpn);
	bool expected;

	if (!qp || qp->type != IBV_QPT_RC)
		return false;
	uroce_lock(&qp->lock);
	expected = !memcmp(sgid, &qp->av.dgid, sizeof(*sgid));
	uroce_unlock(&qp->lock);
	return expected;
}

void uroce_rx_peer(struct uroce_host *host, struct uroce_packet *pkt, const void *peer,
		   uint64_t now)
{
	struct uroce_qp *qp = uroce_qp_find(host, pkt->hdr.dest_qpn);

	if (unlikely(!qp))
		return;
	/* Time matters here only to a receiver-not-ready wait. */
	if (pkt->hdr.opcode == (UROCE_RC | UROCE_ACK) &&
	    (pkt->hdr.syndrome & AETH_KIND_MASK) != AETH_ACK)
		now = uroce_now();
	uroce_lock(&qp->lock);
	if (unlikely(host->capture) && qp->av.peer == peer)
		uroce_capture_peer(qp, pkt);
	if (qp->av.peer == peer)
		qp_packet(qp, pkt, now);
	uroce_unlock(&qp->lock);
}

/* --- what is owed and due --- */

/* Its poller is at work, and the peer has not been silent for long. */
static bool ack_can_be_withheld(struct uroce_qp *qp, bool poller)
{
	if (poller && ++qp->resp.ack_passes < ACK_PASSES)
		return true;
	uroce_resp_waited(qp);
	return false;
}

/*
 * Acknowledgements wait for a packet to ride on while a lossless peer keeps this process busy
 * anyway, and those the peer did not ask for a little longer; on a network, until the poller that
 * was just handed something comes back, with an answer or without.
 */
static bool ack_can_wait(struct uroce_qp *qp, bool busy, bool poller)
{
	const struct uroce_responder *resp = &qp->resp;

	if (!qp->av.path || resp->res_pending || (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK)
		return false;
	if (resp->ack_withheld && !resp->ack_hurry && resp->ack_messages <= UROCE_ACK_WITHHELD)
		return ack_can_be_withheld(qp, poller);
	if (!qp->av.path->lossless)
		return busy && poller && !resp->ack_inside &&
		       resp->ack_messages < ACK_COALESCE_LOSSY;
	if (resp->ack_messages >= UROCE_ACK_COALESCE)
		return false;
	return busy || (poller && !resp->ack_asked && qp->host->idle_passes < LAZY_PASSES);
}

static void acks_run(struct uroce_host *host, bool busy, bool poller)
{
	struct uroce_qp *qp, *next;

	host->acks_urgent = false;
	for (qp = TAILQ_FIRST(&host->acks); qp; qp = next) {
		bool done;

		next = TAILQ_NEXT(qp, ack_entry);
		uroce_lock(&qp->lock);
		done = !ack_can_wait(qp, busy, poller) && uroce_resp_run(qp);
		uroce_unlock(&qp->lock);
		if (!done)
			continue;
		TAILQ_REMOVE(&host->acks, qp, ack_entry);
		qp->on_acks = false;
	}
}

static void blocked_run(struct uroce_host *host, uint64_t now)
{
	struct uroce_qp_list list = TAILQ_HEAD_INITIALIZER(list);
	struct uroce_qp *qp;

	uroce_lock(&host->blocked_lock);
	TAILQ_CONCAT(&list, &host->blocked, blocked_entry);
	atomic_store_explicit(&host->any_blocked, false, memory_order_relaxed);
	while ((qp = TAILQ_FIRST(&list))) {
		TAILQ_REMOVE(&list, qp, blocked_entry);
		qp->on_blocked = false;
		uroce_unlock(&host->blocked_lock);
		uroce_lock(&qp->lock);
		qp->req.path_full = false;
		uroce_req_run(qp, now); /* puts it back when the path is still full */
		uroce_unlock(&qp->lock);
		uroce_lock(&host->blocked_lock);
	}
	uroce_unlock(&host->blocked_lock);
}

static void timers_run(struct uroce_host *host, uint64_t now)
{
	struct uroce_timer *timer;

	while ((timer = uroce_wheel_expire(&host->wheel, now))) {
		struct uroce_qp *qp = container_of(timer, struct uroce_qp, timer);

		uroce_lock(&qp->lock);
		uroce_req_timeout(qp, now);
		uroce_unlock(&qp->lock);
	}
}

static unsigned int sockets_run(struct uroce_host *host)
{
	struct uroce_dev *dev;
	unsigned int n = 0;

	LIST_FOREACH(dev, &host->devices, entry)
		n += uroce_udp_poll(dev, BUDGET) + uroce_mcast_poll(dev, BUDGET);
	return n;
}

static void sockets_flush(struct uroce_host *host)
{
	struct uroce_dev *dev;

	LIST_FOREACH(dev, &host->devices, entry)
		if (dev->udp && dev->udp->pending)
			dev->udp->ops->flush(dev->udp);
}

/* The clock is read only now and then when nothing but a timer wants it. */
static bool timers_due_soon(struct uroce_host *host, bool sockets)
{
	unsigned int passes = sockets ? CLOCK_PASSES_SOCKETS : CLOCK_PASSES;

	return !(atomic_load_explicit(&host->poll_epoch, memory_order_relaxed) % passes) &&
	       atomic_load_explicit(&host->wheel.armed, memory_order_relaxed);
}

unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller)
{
	bool timed = !poller || timers_due_soon(host, sockets);
	uint64_t now = timed ? uroce_now() : 0;
	unsigned int n;

	assert_held(&host->progress_lock);
	n = uroce_shm_poll(host->shm, BUDGET, now);
	if (sockets)
		n += sockets_run(host);
	host->idle_passes = n ? 0 : host->idle_passes + 1;
	if (!TAILQ_EMPTY(&host->acks) && (!n || !poller || host->acks_urgent))
		acks_run(host, n > 0, poller);
	if (unlikely(uroce_any_blocked(host)))
		blocked_run(host, now);
	if (timed)
		timers_run(host, now);
	if (unlikely(atomic_load_explicit(&host->cqs_pending, memory_order_relaxed)))
		uroce_cq_events_retry(host);
	if (unlikely(uroce_forward_waiting(host)))
		uroce_forward_run(host, uroce_now());
	if (unlikely(host->faults))
		uroce_fault_run(host, uroce_now());
	if (sockets)
		sockets_flush(host);
	return n;
}

/*
 * Somebody else makes the pass. Somebody who has the lock but not the processor, perhaps, for this
 * thread is spinning on it: for the rest of its time slice, unless it steps aside.
 */
static __thread unsigned int refusals TLS_QUICK;

static void progress_refused(void)
{
	if (++refusals < REFUSALS_BEFORE_YIELD)
		return;
	refusals = 0;
	sched_yield();
}

unsigned int uroce_progress(struct uroce_host *host)
{
	unsigned int n;

	if (unlikely(!uroce_trylock(&host->progress_lock))) {
		progress_refused();
		return 0;
	}
	refusals = 0;
	n = uroce_progress_pass(
		host, atomic_load_explicit(&host->udp_interest, memory_order_relaxed), true);
	uroce_unlock(&host->progress_lock);
	uroce_thread_poller_seen(host);
	return n;
}

void uroce_progress_drain(struct uroce_host *host)
{
	struct uroce_dev *dev;

	uroce_lock(&host->progress_lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_udp_ready(dev);
	for (unsigned int i = 0; i < DRAIN_PASSES; i++)
		if (!uroce_progress_pass(host, true, false))
			break;
	uroce_unlock(&host->progress_lock);
}

void uroce_progress_posted(struct uroce_host *host)
{
	if (uroce_thread_watches(host)) {
		uroce_progress(host);
	} else if (uroce_trylock(&host->progress_lock)) {
		uroce_progress_pass(host, true, false);
		uroce_unlock(&host->progress_lock);
	}
}
