/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pushing completions into a CQ, and its events. */
#include <rdma/ib_user_verbs.h>

#include "providers/uroce/engine/engine.h"

/* --- events --- */

static bool channel_put(struct uroce_cq *cq)
{
	struct uroce_comp_channel *channel = (struct uroce_comp_channel *)cq->vcq.cq.channel;
	struct ib_uverbs_comp_event_desc desc = { .cq_handle = (uintptr_t)&cq->vcq.cq };
	int r;

	uroce_lock(&channel->lock);
	r = uroce_pipe_put(&channel->pipe, &desc, sizeof(desc));
	if (!r)
		cq->comp_events_raised++;
	uroce_unlock(&channel->lock);
	return r != -EAGAIN;
}

static void pending_add(struct uroce_cq *cq)
{
	struct uroce_engine *engine = cq->engine;

	uroce_lock(&engine->pending_lock);
	if (!cq->event_pending)
		LIST_INSERT_HEAD(&engine->pending_cqs, cq, pending);
	cq->event_pending = true;
	atomic_store_explicit(&engine->cqs_pending, true, memory_order_relaxed);
	uroce_unlock(&engine->pending_lock);
	uroce_engine_rouse(engine);
}

void uroce_cq_events_forget(struct uroce_cq *cq)
{
	struct uroce_engine *engine = cq->engine;

	uroce_lock(&engine->pending_lock);
	if (cq->event_pending)
		LIST_REMOVE(cq, pending);
	cq->event_pending = false;
	uroce_unlock(&engine->pending_lock);
}

void uroce_cq_events_retry(struct uroce_engine *engine)
{
	struct uroce_cq *cq, *next;

	uroce_lock(&engine->pending_lock);
	for (cq = LIST_FIRST(&engine->pending_cqs); cq; cq = next) {
		next = LIST_NEXT(cq, pending);
		if (!channel_put(cq))
			continue;
		LIST_REMOVE(cq, pending);
		cq->event_pending = false;
	}
	if (LIST_EMPTY(&engine->pending_cqs))
		atomic_store_explicit(&engine->cqs_pending, false, memory_order_relaxed);
	uroce_unlock(&engine->pending_lock);
}

/* --- pushing --- */

static void cq_notify(struct uroce_cq *cq)
{
	atomic_store_explicit(&cq->armed_next, false, memory_order_relaxed);
	atomic_store_explicit(&cq->armed_solicited, false, memory_order_relaxed);
	if (cq->vcq.cq.channel && !channel_put(cq))
		pending_add(cq);
}

/*
 * Fail a QP that has lost a completion (IBTA vol. 1, chapter 10: a CQ error is an error of the QPs
 * that use it). The next pass or post flushes it.
 */
static void qp_fatal(struct uroce_qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	qp->state = IBV_QPS_ERR;
	uroce_event_qp(qp, IBV_EVENT_QP_FATAL);
	uroce_blocked(qp);
}

static __attribute__((noinline, cold)) void cq_overflow(struct uroce_cq *cq, struct uroce_qp *qp)
{
	if (cq->overflowed) {
		qp_fatal(qp);
		return;
	}
	cq->overflowed = true;
	verbs_err(
		cq->vcq.cq.context,
		"cq %u: overflow: %u completions wait to be polled and there is no room for more: create it larger or "
		"poll more often; the queue pairs that lose completions end in the error state",
		cq->vcq.cq.handle, cq->limit);
	uroce_event_cq(cq, IBV_EVENT_CQ_ERR);
	qp_fatal(qp);
}

__thread struct uroce_sink uroce_sink;

static bool cq_armed_for(const struct uroce_cq *cq, bool solicited)
{
	return atomic_load_explicit(&cq->armed_next, memory_order_relaxed) ||
	       (solicited && atomic_load_explicit(&cq->armed_solicited, memory_order_relaxed));
}

struct uroce_cq_place uroce_cq_ring_begin(struct uroce_cq *cq, struct uroce_qp *qp)
{
	struct uroce_cqe *cqe;
	uint32_t head;

	uroce_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	if (unlikely(head - atomic_load_explicit(&cq->tail, memory_order_relaxed) >= cq->limit)) {
		cq_overflow(cq, qp);
		uroce_unlock(&cq->lock);
		return (struct uroce_cq_place){};
	}
	cqe = &cq->ring[head & cq->mask];
	return (struct uroce_cq_place){ .wc = &cqe->wc, .cqe = cqe };
}

void uroce_cq_ring_end(struct uroce_cq *cq, struct uroce_cqe *cqe, struct uroce_sq *sq,
		       bool solicited)
{
	cqe->sq = sq;
	if (unlikely(cq->want_timestamp))
		cqe->timestamp = uroce_now();
	if (sq)
		sq->completions++;
	atomic_store_explicit(&cq->head, atomic_load_explicit(&cq->head, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (unlikely(cq_armed_for(cq, solicited)))
		cq_notify(cq);
	uroce_unlock(&cq->lock);
}

/* Remove the completions of a QP. Those of other QPs move up and keep their order. */
static void cq_purge(struct uroce_cq *cq, const struct uroce_qp *qp)
{
	uint32_t head, kept;

	uroce_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	kept = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	for (uint32_t i = kept; i != head; i++) {
		const struct uroce_cqe *cqe = &cq->ring[i & cq->mask];

		if (cqe->wc.qp_num == qp->vqp.qp.qp_num) {
			sq_polled(cqe->sq);
			continue;
		}
		if (kept != i)
			cq->ring[kept & cq->mask] = *cqe;
		kept++;
	}
	atomic_store_explicit(&cq->head, kept, memory_order_relaxed);
	uroce_unlock(&cq->lock);
}

void uroce_cq_qp_purge(struct uroce_qp *qp)
{
	if (qp->send_cq)
		cq_purge(qp->send_cq, qp);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		cq_purge(qp->recv_cq, qp);
}
