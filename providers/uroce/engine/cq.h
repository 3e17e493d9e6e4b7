/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues; pushing, which is inline, is in cq_ring.h. */
#ifndef UROCE_ENGINE_CQ_H
#define UROCE_ENGINE_CQ_H

#include "providers/uroce/engine/object.h"
#include "providers/uroce/engine/state.h"

struct uroce_qp;
struct uroce_sq;

/* One completion: a cache line, of which the application gets the first three quarters as they are.
 */
struct uroce_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, CLOCK_MONOTONIC; set when the CQ wants it */
	/* Whose room it takes until it is polled; NULL: of a receive. */
	struct uroce_sq *sq __attribute__((aligned(8)));
};
static_assert(sizeof(struct uroce_cqe) == 64, "one cache line");

struct uroce_cq {
	struct verbs_cq vcq;
	struct uroce_lock lock;
	struct uroce_engine *engine;
	struct uroce_cqe *ring; /* size entries, a power of two */
	uint32_t mask;
	/* free running, written under the lock; pollers look without it whether there is anything
	 */
	atomic_uint head; /* next to push */
	atomic_uint tail; /* next to poll */
	bool want_timestamp;
	/* Strands that its queue pairs are of, a bit each: what its poller looks at. They become
	 * more. */
	atomic_uint strands;
	uint8_t strand; /* of its next connected QP, once given; under host->lock */
	bool strand_given;
	/* What its poller knows of other strands: those that nobody else seems to poll, what says
	 * so, and how often it has looked in vain. Hints. */
	atomic_uint deserted;
	atomic_uint seen_epoch[PATH_STRANDS];
	atomic_uint idle_looks;
	atomic_bool armed_next; /* written under the lock */
	atomic_bool armed_solicited;
	bool event_pending; /* the channel's pipe was full: progress tries again; under pending_lock
			     */
	bool overflowed;
	bool single_threaded; /* the application polls from one thread only */
	struct uroce_lock
		poll_lock; /* from ibv_start_poll() to ibv_end_poll(); taken before all others */
	struct uroce_cqe current;    /* what that walk stands on */
	atomic_uint qps;	     /* that use it, either way */
	uint32_t comp_events_raised; /* for the wait of destroy: records written and not purged */
	uint32_t async_events_raised;
	LIST_ENTRY(uroce_cq)
	pending; /* engine->pending_cqs while event_pending; under pending_lock */
	struct uroce_memory memory; /* the ring's */
};

static inline struct uroce_cq *to_ucq(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

/* Events a full pipe refused: try again. No lock held. */
void uroce_cq_events_retry(struct uroce_engine *engine);
/* None of its events waits for room in the pipe any more. */
void uroce_cq_events_forget(struct uroce_cq *cq);
/* Completions of @qp, its lock held, that nobody has polled are gone from its queues, and their
 * requests' room is free. */
void uroce_cq_qp_purge(struct uroce_qp *qp);

/* An asynchronous event of it. */
static inline void uroce_event_cq(struct uroce_cq *cq, enum ibv_event_type type)
{
	cq->engine->events->async(cq->vcq.cq.context, (uintptr_t)&cq->vcq.cq, type,
				  &cq->async_events_raised);
}

#endif
