/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that polls for a completion that cannot come: its queue pairs have executed requests
 * that are not signalled, and have neither receives nor requests that are signalled. A queue pair
 * whose program once polled a completion of a send is not suspected: the program may poll for
 * messages that come later.
 */
#include "providers/uroce/strict/record.h"

enum {
	LOOKS = 2,
};

/* What a completion queue can expect. */
struct silence {
	const struct uroce_cq *cq;
	bool hope;	 /* a completion may come */
	uint32_t posted; /* position of the posts of all queue pairs */
	const struct strict_qp *qp;
};

/* A queue that is polled in vain. */
struct finding {
	const struct ibv_context *ctx;
	uint32_t cq, qp, requests;
};

/* Return whether the device has executed all sends without an error. */
static bool is_executed(struct uroce_qp *qp)
{
	bool executed;

	if (!uroce_trylock(&qp->lock))
		return false;
	executed = qp->state == IBV_QPS_RTS && qp->sq.head == qp->sq.tail;
	uroce_unlock(&qp->lock);
	return executed;
}

static bool qp_look(struct strict_record *record, void *arg)
{
	struct strict_qp *sqp = (struct strict_qp *)record;
	struct silence *silence = arg;

	/* A program may also wait for messages in another completion queue, and poll both. */
	if ((sqp->qp->recv_cq == silence->cq || sqp->qp->send_cq == silence->cq) &&
	    (sqp->rq.count || sqp->qp->srq))
		silence->hope = true;
	if (sqp->qp->send_cq != silence->cq)
		return silence->hope;
	silence->posted += sqp->sq.next;
	if (sqp->sq.signaled || sqp->polled || (sqp->sq.count && !is_executed(sqp->qp)))
		silence->hope = true;
	else if (sqp->sq.count)
		silence->qp = sqp;
	return silence->hope;
}

static bool srq_look(struct strict_record *record, void *arg)
{
	const struct strict_srq *ssrq = (const struct strict_srq *)record;
	struct silence *silence = arg;

	silence->hope |= ssrq->srq->cq == silence->cq;
	return silence->hope;
}

/* Return whether the program has polled since the last look, posted nothing and got nothing. */
static bool is_polled(struct strict_cq *scq, uint32_t posted)
{
	bool polled = scq->polls != scq->silent_polls && scq->silent_posted == posted &&
		      scq->silent_completions == scq->completions;

	scq->silent_polls = scq->polls;
	scq->silent_posted = posted;
	scq->silent_completions = scq->completions;
	return polled;
}

static bool cq_look(struct strict_record *record, void *arg)
{
	struct strict_cq *scq = (struct strict_cq *)record;
	struct silence silence = { .cq = scq->cq };
	struct finding *found = arg;

	if (scq->silent)
		return false;
	strict_records_visit(STRICT_QP, qp_look, &silence);
	strict_records_visit(STRICT_SRQ, srq_look, &silence);
	if (!is_polled(scq, silence.posted) || silence.hope || !silence.qp)
		scq->silent_looks = 0;
	else
		scq->silent_looks++;
	if (scq->silent_looks < LOOKS)
		return false;
	scq->silent = true;
	*found = (struct finding){
		.ctx = record->ctx,
		.cq = record->number,
		.qp = silence.qp->record.number,
		.requests = silence.qp->sq.count,
	};
	return true;
}

void strict_silence_look(void)
{
	struct finding found = {};

	strict_lock();
	strict_records_visit(STRICT_CQ, cq_look, &found);
	strict_unlock();
	if (found.ctx)
		strict_fault(STRICT_RULE_SILENT, found.ctx,
			     "cq 0x%x: polled in vain, because %s qp 0x%x %s signalled", found.cq,
			     found.requests == 1 ? "the request of" : "no request of", found.qp,
			     found.requests == 1 ? "is not" : "is");
}
