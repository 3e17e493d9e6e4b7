/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a completion goes: into the array of the thread that polls the CQ right now and found it
 * empty, as long as there is room; otherwise into the CQ's ring. The order of a QP's completions
 * is kept: what it pushed before is seen in the ring by who holds its lock.
 */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include "providers/uroce/uroce.h"

/* Set by a thread for the time of one progress pass of its own. */
struct uroce_sink {
	struct uroce_cq *cq; /* NULL: none */
	struct ibv_wc *wc;   /* next to be filled */
	int room;
};
/* Initial-exec: one instruction to look, also in a plug-in. */
extern __thread struct uroce_sink uroce_sink
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline bool uroce_cq_empty(const struct uroce_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_relaxed);
}

/*
 * The place in the poller's array, to be filled at once; NULL: the completion goes into the ring.
 * An armed CQ raises its event even if somebody polls, so there it goes into the ring too.
 */
static inline struct ibv_wc *uroce_cq_sink(const struct uroce_cq *cq)
{
	struct uroce_sink *sink = &uroce_sink;

	if (sink->cq != cq || sink->room <= 0 || !uroce_cq_empty(cq) ||
	    atomic_load_explicit(&cq->armed_next, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->armed_solicited, memory_order_relaxed))
		return NULL;
	sink->room--;
	return sink->wc++;
}

#endif
