/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work between packets: owed acknowledgements, QPs that wait for room, timers. */
#include "providers/uroce/engine/engine.h"

enum {
	ACK_COALESCE_LOSSY = 4, /* messages that one acknowledgement may cover on a network */
	/* passes for which a withheld acknowledgement waits for the next message */
	ACK_PASSES = 128,
	/* idle passes after which the acknowledgement gets a packet of its own */
	LAZY_PASSES = 32,
	ACK_WAITERS = 64, /* limit of QPs with waiting acknowledgements at the same time */
	FULL_TRIES = 64,  /* limit of QPs without room that a pass tries */
};

/* Return whether to keep withholding: a poller is at work, and the peer has not been silent for
 * long. */
static bool ack_can_be_withheld(struct uroce_qp *qp, bool poller)
{
	if (poller && ++qp->resp.ack_passes < ACK_PASSES)
		return true;
	uroce_resp_waited(qp);
	return false;
}

/*
 * Return whether an acknowledgement can wait for a packet that carries it. On a lossless path it
 * waits while the peer keeps this process busy, and a little longer if the peer did not ask for it.
 * On a network it waits until the poller that has just got a message comes back, with or without an
 * answer.
 */
static bool ack_can_wait(struct uroce_qp *qp, bool busy, bool poller)
{
	struct uroce_responder *resp = &qp->resp;

	if (!qp->av.path || resp->res_pending || (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK)
		return false;
	/* it sends no packets that could carry an acknowledgement */
	if (qp->type == IBV_QPT_XRC_RECV)
		return false;
	if (resp->ack_withheld && !resp->ack_hurry && resp->ack_messages <= UROCE_ACK_WITHHELD)
		return ack_can_be_withheld(qp, poller);
	if (!qp->av.path->lossless)
		return busy && poller && !resp->ack_inside &&
		       resp->ack_messages < ACK_COALESCE_LOSSY;
	if (resp->ack_messages >= UROCE_ACK_COALESCE)
		return false;
	if (busy)
		return true;
	return poller && !resp->ack_asked && uroce_qp_strand(qp)->idle_passes < LAZY_PASSES &&
	       ++resp->ack_passes < ACK_PASSES;
}

/*
 * Send owed acknowledgements. A QP without room goes to the end of the list, because others may
 * have room. If many QPs wait, each pass tries only some of them again.
 */
void uroce_acks_run(struct uroce_strand *strand, bool busy, bool poller)
{
	struct uroce_qp *qp, *next, *last = TAILQ_LAST(&strand->acks, uroce_qp_list);
	unsigned int full = 0, waiters = 0;

	strand->acks_urgent = false;
	for (qp = TAILQ_FIRST(&strand->acks); qp && full < FULL_TRIES; qp = next) {
		bool waits;
		int r = -EAGAIN;

		next = qp == last ? NULL : TAILQ_NEXT(qp, ack_entry);
		uroce_lock(&qp->lock);
		waits = waiters < ACK_WAITERS && ack_can_wait(qp, busy, poller);
		waiters += waits;
		if (!waits)
			r = uroce_resp_turn(qp);
		uroce_unlock(&qp->lock);
		if (waits)
			continue;
		TAILQ_REMOVE(&strand->acks, qp, ack_entry);
		qp->on_acks = r < 0;
		if (!r)
			continue;
		TAILQ_INSERT_TAIL(&strand->acks, qp, ack_entry);
		strand->acks_urgent |= r == -EBUSY; /* it continues in the next pass */
		full++;
	}
}

static void blocked_run(struct uroce_engine *engine, struct uroce_strand *strand, uint64_t now)
{
	struct uroce_qp *qp, *last;
	unsigned int full = 0;

	uroce_lock(&strand->blocked_lock);
	last = TAILQ_LAST(&strand->blocked, uroce_qp_list);
	while (last && full < FULL_TRIES && (qp = TAILQ_FIRST(&strand->blocked))) {
		last = qp == last ? NULL : last;
		TAILQ_REMOVE(&strand->blocked, qp, blocked_entry);
		qp->on_blocked = false;
		uroce_unlock(&strand->blocked_lock);
		uroce_lock(&qp->lock);
		qp->req.path_full = false;
		/* the QP enters the list again if the path is still full */
		engine->events->run(qp, now);
		uroce_unlock(&qp->lock);
		uroce_lock(&strand->blocked_lock);
		full += qp->on_blocked;
	}
	atomic_store_explicit(&strand->any_blocked, !TAILQ_EMPTY(&strand->blocked),
			      memory_order_relaxed);
	uroce_unlock(&strand->blocked_lock);
}

static void timers_run(struct uroce_engine *engine, uint64_t now)
{
	struct uroce_timer *timer;

	while ((timer = uroce_wheel_expire(&engine->wheel, now))) {
		struct uroce_qp *qp = container_of(timer, struct uroce_qp, timer);

		uroce_lock(&qp->lock);
		uroce_req_timeout(qp, now);
		uroce_unlock(&qp->lock);
	}
}

void uroce_strand_work(struct uroce_engine *engine, unsigned int strand, bool timed, uint64_t now)
{
	struct uroce_strand *self = &engine->strands[strand];

	if (unlikely(uroce_any_blocked(self)))
		blocked_run(engine, self, now);
	if (timed)
		timers_run(engine, now);
	if (unlikely(atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed)))
		uroce_cq_events_retry(engine);
}

void uroce_qp_timer(struct uroce_qp *qp, uint64_t deadline)
{
	struct uroce_engine *engine = qp->engine;

	uroce_timer_arm(&engine->wheel, &qp->timer, deadline);
	atomic_thread_fence(memory_order_seq_cst);
	if (deadline < atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}
