/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends that wait for a receive of the peer. With an rnr_retry of 7 they wait without an end, and
 * the program sees nothing.
 */
#include "providers/uroce/strict/record.h"

enum {
	LOOKS = 3, /* a slow peer may be late for a second or two */
};

/* A queue pair whose peer is not ready. */
struct unready {
	const struct ibv_context *ctx;
	uint32_t number, peer;
};

/* Return whether the peer has refused the same send again since the last look. */
static bool is_refused(struct strict_qp *sqp)
{
	const struct uroce_qp *qp = sqp->qp;
	bool refused = qp->counters.rnr_naks_received != sqp->unready_naks &&
		       qp->sq.tail == sqp->unready_tail && qp->sq.head != qp->sq.tail;

	sqp->unready_naks = qp->counters.rnr_naks_received;
	sqp->unready_tail = qp->sq.tail;
	return refused;
}

/* Find one queue pair to report. Others are found by later checks. */
static bool qp_look(struct strict_record *record, void *arg)
{
	struct strict_qp *sqp = (struct strict_qp *)record;
	struct unready *found = arg;

	if (sqp->unready || !uroce_trylock(&sqp->qp->lock))
		return false;
	sqp->unready_looks = is_refused(sqp) ? sqp->unready_looks + 1 : 0;
	if (sqp->unready_looks >= LOOKS && !found->ctx) {
		sqp->unready = true;
		*found = (struct unready){ record->ctx, record->number, sqp->qp->dest_qpn };
	}
	uroce_unlock(&sqp->qp->lock);
	return false;
}

void strict_unready_look(void)
{
	struct unready found = {};

	strict_lock();
	strict_records_visit(STRICT_QP, qp_look, &found);
	strict_unlock();
	if (found.ctx)
		strict_fault(STRICT_RULE_EARLY, found.ctx,
			     "qp 0x%x: a send has waited for seconds, because peer qp 0x%x has no "
			     "receive posted",
			     found.number, found.peer);
}
