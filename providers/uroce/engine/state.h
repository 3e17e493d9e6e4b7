/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State that the queue pairs of a process share, upcalls to the owner of the engine, and functions
 * that the owner calls. */
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

/* Upcalls of the engine to its owner. */
struct engine_events {
	/* Raise an asynchronous event of the object at @element; *@raised counts its unread
	 * events. */
	void (*async)(struct ibv_context *ctx, uint64_t element, enum ibv_event_type type,
		      uint32_t *raised);
	/* Wake the thread, because a timer was armed earlier than wakes_at or a packet is
	 * blocked. */
	void (*wake)(struct uroce_engine *engine);
	/*
	 * Send posted WQEs: by uroce_req_run(), or by a shorter method with the same result.
	 * qp->lock held.
	 */
	void (*run)(struct uroce_qp *qp, uint64_t now);
	/* Note that the QP stopped. qp->lock held. */
	void (*stopped)(struct uroce_qp *qp);
};

/* State that the queue pairs of a strand share. It has separate cache lines. */
struct uroce_strand {
	alignas(2 * PATH_LINE) struct uroce_qp_list acks; /* QPs that owe an acknowledgement */
	bool acks_urgent;	  /* some of them must not wait for a pass without packets */
	unsigned int idle_passes; /* passes without a packet, in a row */
	/* passes with packets, in a row, while acknowledgements were owed */
	unsigned int busy_passes;
	struct uroce_lock blocked_lock;
	struct uroce_qp_list blocked; /* QPs of which a path refused a packet; under blocked_lock */
	atomic_bool any_blocked;      /* written under blocked_lock */
};

/* State that the queue pairs of a process share. */
struct uroce_engine {
	const struct engine_events *events;
	struct uroce_keys *keys;
	/* XRC SRQs by the index of their number; NULL before there is one. Written by the owner,
	 * read under progress_lock. */
	_Atomic(_Atomic(struct uroce_srq *) *) srqs;
	struct uroce_wheel wheel;
	struct uroce_strand strands[PATH_STRANDS];
	struct uroce_lock pending_lock;
	/* CQs with events that a full pipe refused; under pending_lock */
	LIST_HEAD(, uroce_cq) pending_cqs;
	atomic_bool cqs_pending;
	atomic_bool qkey_wrong;	   /* a datagram with another Q_Key was dropped */
	_Atomic uint64_t wakes_at; /* ns: time at which the owner's thread wakes; 0: it is awake */
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

/* due.c: work between packets. The strand is held, or all strands for a whole pass. */

/* Return whether some QPs wait for room. */
static inline bool uroce_any_blocked(struct uroce_strand *strand)
{
	return atomic_load_explicit(&strand->any_blocked, memory_order_relaxed);
}

/* Return whether the strand has work of which no descriptor informs. */
static inline bool uroce_strand_must_run(struct uroce_engine *engine, unsigned int strand)
{
	struct uroce_strand *self = &engine->strands[strand];

	return !TAILQ_EMPTY(&self->acks) || uroce_any_blocked(self) ||
	       atomic_load_explicit(&engine->cqs_pending, memory_order_relaxed);
}

/* Return whether a long answer continues in the next pass. Under all strands. */
static inline bool uroce_answers_wait(struct uroce_engine *engine)
{
	bool wait = false;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		wait |= !TAILQ_EMPTY(&engine->strands[i].acks) && engine->strands[i].acks_urgent;
	return wait;
}

/* Wake a sleeping thread for work of which no descriptor informs. The thread sets wakes_at first,
 * then checks for such work. */
static inline void uroce_engine_rouse(struct uroce_engine *engine)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}

/* The parts of uroce_strand_run() that do work. @busy: the pass brought packets. */
void uroce_acks_run(struct uroce_strand *strand, bool busy, bool poller);
void uroce_strand_work(struct uroce_engine *engine, unsigned int strand, bool timed, uint64_t now);

/*
 * End a pass of a strand that brought @packets. Send acknowledgements that are due. Try QPs that
 * waited for room and events that waited for a pipe again. If @timed, fire timers that are due at
 * @now. Most passes of a poller find no work and end here. @poller: the caller polls again at once.
 */
static inline void uroce_strand_run(struct uroce_engine *engine, unsigned int strand,
				    unsigned int packets, bool poller, bool timed, uint64_t now)
{
	struct uroce_strand *self = &engine->strands[strand];
	bool busy = packets > 0, acks = !TAILQ_EMPTY(&self->acks);

	self->idle_passes = busy ? 0 : self->idle_passes + 1;
	if (acks && busy && poller) {
		/* Some QPs may keep the poller busy for a long time, while peers of other QPs
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
