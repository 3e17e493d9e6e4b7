/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The destination of a completion. If a thread is polling the CQ and has found it empty, the
 * completion goes into the thread's array as long as the array has room. All other completions go
 * into the ring of the CQ. The completions of a QP stay in order, because the holder of the QP's
 * lock sees earlier completions in the ring.
 */
#ifndef UROCE_CQ_RING_H
#define UROCE_CQ_RING_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/wqe.h"

/* The array of a polling thread, set during its progress pass. */
struct uroce_sink {
	struct uroce_cq *cq; /* NULL: none */
	struct ibv_wc *wc;   /* next entry to fill */
	int room;
};
extern __thread struct uroce_sink uroce_sink TLS_QUICK __attribute__((visibility("hidden")));

static inline bool uroce_cq_empty(const struct uroce_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_relaxed);
}

/* Room for a completion. Fill it completely between begin and end. */
struct uroce_cq_place {
	struct ibv_wc *wc; /* NULL: no room, which is an error of CQ and QP */
	/* in the ring, whose lock is held; NULL: in the array of the poller */
	struct uroce_cqe *cqe;
};

struct uroce_cq_place uroce_cq_ring_begin(struct uroce_cq *cq, struct uroce_qp *qp);
void uroce_cq_ring_end(struct uroce_cq *cq, struct uroce_cqe *cqe, struct uroce_sq *sq,
		       bool solicited);

/*
 * Return room for a completion of @qp, whose lock is held. An armed CQ raises its event even while
 * a thread polls, so its completions go into the ring.
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

/* End a completion. @sq: the send queue in which the request takes room until this is polled; NULL:
 * a receive. */
static inline void uroce_cq_end(struct uroce_cq *cq, struct uroce_cq_place place,
				struct uroce_sq *sq, bool solicited)
{
	if (place.cqe)
		uroce_cq_ring_end(cq, place.cqe, sq, solicited);
}

/* Begin, fill and end a completion. */
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
