/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. The inline functions to push are in cq_ring.h. */
#ifndef UROCE_ENGINE_CQ_H
#define UROCE_ENGINE_CQ_H

#include "providers/uroce/engine/object.h"
#include "providers/uroce/engine/state.h"

struct uroce_qp;
struct uroce_sq;

/* One completion: a cache line, whose first three quarters are copied to the application. */
struct uroce_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, CLOCK_MONOTONIC; set if want_timestamp */
	/*
	 * The send queue in which the request takes room until this completion is polled; NULL: a
	 * receive.
	 */
	struct uroce_sq *sq __attribute__((aligned(8)));
};
static_assert(sizeof(struct uroce_cqe) == 64, "one cache line");

struct uroce_cq {
	struct verbs_cq vcq;
	struct uroce_lock lock;
	struct uroce_engine *engine;
	struct uroce_cqe *ring; /* mask + 1 entries, a power of two */
	uint32_t mask;
	uint32_t limit; /* granted: completions that may wait */
	/* free running, written under the lock; pollers read them without it to find an empty CQ */
	atomic_uint head; /* position of the next completion to push */
	atomic_uint tail; /* position of the next completion to poll */
	bool want_timestamp;
	/* Strands of its queue pairs, a bit each. A poller of the CQ polls these strands. Bits are
	 * only added. */
	atomic_uint strands;
	uint8_t strand; /* strand of its next connected QP, if strand_given; under host->lock */
	bool strand_given;
	/* Hints for a poller about other strands: strands that apparently no thread polls, the
	 * epochs that show this, and the number of polls that found nothing. */
	atomic_uint deserted;
	atomic_uint seen_epoch[PATH_STRANDS];
	atomic_uint idle_looks;
	atomic_bool armed_next; /* written under the lock */
	atomic_bool armed_solicited;
	bool event_pending; /* the pipe of the channel was full: progress tries again; under
			       pending_lock */
	bool overflowed;
	bool single_threaded; /* the application polls from one thread only */
	struct uroce_lock
		/* held from ibv_start_poll() to ibv_end_poll(); taken before all others */
		poll_lock;
	struct uroce_cqe current; /* the completion that ibv_next_poll() has reached */
	atomic_uint qps;	  /* number of QPs that send or receive by this CQ */
	/* records written and not purged; destroying the CQ waits for them */
	uint32_t comp_events_raised;
	uint32_t async_events_raised;
	LIST_ENTRY(uroce_cq)
	pending; /* in engine->pending_cqs while event_pending; under pending_lock */
	struct uroce_memory memory; /* memory of the ring */
};

static inline struct uroce_cq *to_ucq(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

/* Try again to write events that a full pipe refused. No lock held. */
void uroce_cq_events_retry(struct uroce_engine *engine);
/* Drop an event of the CQ that waits for room in the pipe. */
void uroce_cq_events_forget(struct uroce_cq *cq);
/* Remove unpolled completions of @qp from its CQs, and release the room of their requests. The lock
 * of @qp is held. */
void uroce_cq_qp_purge(struct uroce_qp *qp);

/* Raise an asynchronous event of the CQ. */
static inline void uroce_event_cq(struct uroce_cq *cq, enum ibv_event_type type)
{
	cq->engine->events->async(cq->vcq.cq.context, (uintptr_t)&cq->vcq.cq, type,
				  &cq->async_events_raised);
}

#endif
