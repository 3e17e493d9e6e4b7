/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is owed and due: acknowledgements, QPs that wait for room, timers. */
#include "providers/uroce/engine/engine.h"

enum {
	ACK_COALESCE_LOSSY = 4, /* messages that one acknowledgement may cover across a network */
	ACK_PASSES = 128,	/* that a withheld one waits for the next message */
	LAZY_PASSES = 32,	/* without a packet: nothing will come to ride on */
};

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
	return busy || (poller && !resp->ack_asked && qp->engine->idle_passes < LAZY_PASSES);
}

static void acks_run(struct uroce_engine *engine, bool busy, bool poller)
{
	struct uroce_qp *qp, *next;

	engine->acks_urgent = false;
	for (qp = TAILQ_FIRST(&engine->acks); qp; qp = next) {
		bool done;

		next = TAILQ_NEXT(qp, ack_entry);
		uroce_lock(&qp->lock);
		done = !ack_can_wait(qp, busy, poller) && uroce_resp_run(qp);
		uroce_unlock(&qp->lock);
		if (!done)
			continue;
		TAILQ_REMOVE(&engine->acks, qp, ack_entry);
		qp->on_acks = false;
	}
}

static void blocked_run(struct uroce_engine *engine, uint64_t now)
{
	struct uroce_qp_list list = TAILQ_HEAD_INITIALIZER(list);
	struct uroce_qp *qp;

	uroce_lock(&engine->blocked_lock);
	TAILQ_CONCAT(&list, &engine->blocked, blocked_entry);
	atomic_store_explicit(&engine->any_blocked, false, memory_order_relaxed);
	while ((qp = TAILQ_FIRST(&list))) {
		TAILQ_REMOVE(&list, qp, blocked_entry);
		qp->on_blocked = false;
		uroce_unlock(&engine->blocked_lock);
		uroce_lock(&qp->lock);
		qp->req.path_full = false;
		engine->events->run(qp, now); /* puts it back when the path is still full */
		uroce_unlock(&qp->lock);
		uroce_lock(&engine->blocked_lock);
	}
	uroce_unlock(&engine->blocked_lock);
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

void uroce_engine_run(struct uroce_engine *engine, unsigned int packets, bool poller, bool timed,
		      uint64_t now)
{
	engine->idle_passes = packets ? 0 : engine->idle_passes + 1;
	if (!TAILQ_EMPTY(&engine->acks) && (!packets || !poller || engine->acks_urgent))
		acks_run(engine, packets > 0, poller);
	if (unlikely(uroce_any_blocked(engine)))
		blocked_run(engine, now);
	if (timed)
		timers_run(engine, now);
	if (unlikely(atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed)))
		uroce_cq_events_retry(engine);
}

bool uroce_engine_must_run(struct uroce_engine *engine)
{
	return uroce_any_blocked(engine) || !TAILQ_EMPTY(&engine->acks) ||
	       atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed);
}

void uroce_qp_timer(struct uroce_qp *qp, uint64_t deadline)
{
	struct uroce_engine *engine = qp->engine;

	uroce_timer_arm(&engine->wheel, &qp->timer, deadline);
	atomic_thread_fence(memory_order_seq_cst);
	if (deadline < atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}
