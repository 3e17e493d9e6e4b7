/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the queue pairs of a process share, what the engine tells its owner, and what he calls. */
#ifndef UROCE_ENGINE_STATE_H
#define UROCE_ENGINE_STATE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "libibverbs/provider.h"
#include "providers/uroce/engine/limits.h"
#include "providers/uroce/path/path.h"

struct uroce_cq;
struct uroce_keys;
struct uroce_qp;
struct uroce_srq;

TAILQ_HEAD(uroce_qp_list, uroce_qp);

struct uroce_engine;

/* What the engine tells its owner. */
struct engine_events {
	/* An asynchronous event of the object at @element; *@raised counts those of it that are not
	 * read yet. */
	void (*async)(struct ibv_context *ctx, uint64_t element, enum ibv_event_type type,
		      uint32_t *raised);
	/* A timer was armed earlier than wakes_at, or a packet is blocked: look at the engine
	 * again. */
	void (*wake)(struct uroce_engine *engine);
	/* Send what is posted: uroce_req_run(), or a shorter way that does the same. qp->lock
	 * held. */
	void (*run)(struct uroce_qp *qp, uint64_t now);
	/* The QP stopped, qp->lock held. */
	void (*stopped)(struct uroce_qp *qp);
};

/* What the queue pairs of a strand share, in cache lines of its own. */
struct uroce_strand {
	alignas(2 * PATH_LINE) struct uroce_qp_list acks; /* QPs that owe an acknowledgement */
	bool acks_urgent;	  /* one of them does not wait for a pass without a packet */
	unsigned int idle_passes; /* of these, in a row */
	unsigned int busy_passes; /* with one, in a row, while something was owed */
	struct uroce_lock blocked_lock;
	struct uroce_qp_list blocked; /* QPs a path refused a packet of; under blocked_lock */
	atomic_bool any_blocked;      /* written under it */
};

/* What the queue pairs of a process share. */
struct uroce_engine {
	const struct engine_events *events;
	struct uroce_keys *keys;
	/* XRC SRQs by the index of their number; NULL before there is one. Written by the owner,
	 * read under progress_lock. */
	_Atomic(_Atomic(struct uroce_srq *) *) srqs;
	struct uroce_wheel wheel;
	struct uroce_strand strands[PATH_STRANDS];
	struct uroce_lock pending_lock;
	LIST_HEAD(, uroce_cq) pending_cqs; /* events a full pipe refused; under pending_lock */
	atomic_bool cqs_pending;
	_Atomic uint64_t wakes_at; /* when the owner's thread wakes, ns; 0: it is awake */
};

static inline void uroce_engine_init(struct uroce_engine *engine,
				     const struct engine_events *events, uint64_t now)
{
	engine->events = events;
	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		TAILQ_INIT(&engine->strands[i].acks);
		TAILQ_INIT(&engine->strands[i].blocked);
	}
	LIST_INIT(&engine->pending_cqs);
	uroce_wheel_init(&engine->wheel, now);
}

/* due.c: between packets. The strand is held, or of a whole pass all of them. */

/* Some QPs wait for room. */
static inline bool uroce_any_blocked(struct uroce_strand *strand)
{
	return atomic_load_explicit(&strand->any_blocked, memory_order_relaxed);
}

/* Whether something waits for that which no descriptor tells of. */
static inline bool uroce_strand_must_run(struct uroce_engine *engine, unsigned int strand)
{
	struct uroce_strand *self = &engine->strands[strand];

	return !TAILQ_EMPTY(&self->acks) || uroce_any_blocked(self) ||
	       atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed);
}

/* Whether a long answer goes on in the next pass. Under all strands. */
static inline bool uroce_answers_wait(struct uroce_engine *engine)
{
	bool wait = false;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		wait |= !TAILQ_EMPTY(&engine->strands[i].acks) && engine->strands[i].acks_urgent;
	return wait;
}

/* Something waits for that which no descriptor tells of: a thread that sleeps must come back for
 * it. It says that it sleeps, then looks for such things. */
static inline void uroce_engine_rouse(struct uroce_engine *engine)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}

/* The parts of uroce_strand_run(), when there is something to do. @busy: the pass brought packets.
 */
void uroce_acks_run(struct uroce_strand *strand, bool busy, bool poller);
void uroce_strand_work(struct uroce_engine *engine, unsigned int strand, bool timed, uint64_t now);

/*
 * At the end of a pass of a strand that brought @packets: acknowledgements that are due leave, QPs
 * that waited for room and events that waited for a pipe try again, and if @timed, timers that are
 * due at @now fire. Most passes of a poller find nothing: they end here.
 * @poller: who made the pass comes back at once.
 */
static inline void uroce_strand_run(struct uroce_engine *engine, unsigned int strand,
				    unsigned int packets, bool poller, bool timed, uint64_t now)
{
	struct uroce_strand *self = &engine->strands[strand];
	bool busy = packets > 0, acks = !TAILQ_EMPTY(&self->acks);

	self->idle_passes = busy ? 0 : self->idle_passes + 1;
	if (acks && busy && poller) {
		/* Some QPs may keep the poller busy for as long as they like, and others' peers
		 * wait. */
		busy = ++self->busy_passes < UROCE_BUSY_PASSES;
		acks = !busy || self->acks_urgent;
	}
	if (acks)
		uroce_acks_run(self, busy, poller);
	if (!busy)
		self->busy_passes = 0;
	if (timed || uroce_any_blocked(self) ||
	    atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed))
		uroce_strand_work(engine, strand, timed, now);
}

#endif
