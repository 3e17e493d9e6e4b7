/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a completion goes: into the array of the thread that polls the CQ right now and found it
 * empty, as long as there is room; otherwise into the CQ's ring. The order of a QP's completions
 * is kept: what it pushed before is seen in the ring by who holds its lock.
 */
#ifndef UROCE_CQ_RING_H
#define UROCE_CQ_RING_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/wqe.h"

/* Set by a thread for the time of one progress pass of its own. */
struct uroce_sink {
	struct uroce_cq *cq; /* NULL: none */
	struct ibv_wc *wc;   /* next to be filled */
	int room;
};
extern __thread struct uroce_sink uroce_sink TLS_QUICK __attribute__((visibility("hidden")));

static inline bool uroce_cq_empty(const struct uroce_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_relaxed);
}

/* A completion on its way: to be filled whole between begin and end. */
struct uroce_cq_place {
	struct ibv_wc *wc;     /* NULL: there is no room, which is an error of CQ and QP */
	struct uroce_cqe *cqe; /* in the ring, whose lock is held; NULL: in the poller's array */
};

struct uroce_cq_place uroce_cq_ring_begin(struct uroce_cq *cq, struct uroce_qp *qp);
void uroce_cq_ring_end(struct uroce_cq *cq, struct uroce_cqe *cqe, struct uroce_sq *sq,
		       bool solicited);

/*
 * Room for a completion of @qp, its lock held. An armed CQ raises its event even if somebody
 * polls, so there it goes into the ring.
 */
static inline struct uroce_cq_place uroce_cq_begin(struct uroce_cq *cq, struct uroce_qp *qp)
{
	struct uroce_sink *sink = &uroce_sink;

	if (unlikely(sink->cq != cq || sink->room <= 0 || !uroce_cq_empty(cq) ||
		     atomic_load_explicit(&cq->armed_next, memory_order_relaxed) ||
		     atomic_load_explicit(&cq->armed_solicited, memory_order_relaxed)))
		return uroce_cq_ring_begin(cq, qp);
	sink->room--;
	return (struct uroce_cq_place){ .wc = sink->wc++ };
}

/* It is complete. @sq: whose room it takes until it is polled; NULL: of a receive. */
static inline void uroce_cq_end(struct uroce_cq *cq, struct uroce_cq_place place,
				struct uroce_sq *sq, bool solicited)
{
	if (place.cqe)
		uroce_cq_ring_end(cq, place.cqe, sq, solicited);
}

/* Both at once. */
static inline void uroce_cq_push(struct uroce_cq *cq, struct uroce_qp *qp, const struct ibv_wc *wc,
				 struct uroce_sq *sq, bool solicited)
{
	struct uroce_cq_place place = uroce_cq_begin(cq, qp);

	if (unlikely(!place.wc))
		return;
	*place.wc = *wc;
	uroce_cq_end(cq, place, sq, solicited);
}

#endif
