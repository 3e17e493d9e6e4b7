/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Taking receive WQEs. */
#include "providers/uroce/engine/engine.h"

static bool rq_take(struct uroce_rq *rq, struct uroce_rwqe *to)
{
	const struct uroce_rwqe *wqe;

	if (rq->tail == rq->head)
		return false;
	wqe = rq_wqe(rq, rq->tail);
	to->wr_id = wqe->wr_id;
	to->length = wqe->length;
	to->num_sge = wqe->num_sge;
	for (unsigned int i = 0; i < wqe->num_sge; i++)
		to->sge[i] = wqe->sge[i];
	rq->tail++;
	return true;
}

static bool srq_take(struct uroce_qp *qp, struct uroce_srq *srq, struct uroce_rwqe *to)
{
	bool taken, limit;

	uroce_lock(&srq->lock);
	taken = rq_take(&srq->rq, to);
	limit = srq->limit && srq->rq.head - srq->rq.tail < srq->limit;
	if (limit)
		srq->limit = 0; /* raise one event, then wait until the limit is set again */
	uroce_unlock(&srq->lock);
	if (unlikely(limit))
		qp->engine->events->async(srq->vsrq.srq.context, (uintptr_t)&srq->vsrq.srq,
					  IBV_EVENT_SRQ_LIMIT_REACHED, &srq->events_raised);
	return taken;
}

bool uroce_rwqe_take(struct uroce_qp *qp)
{
	if (unlikely(qp->type == IBV_QPT_XRC_RECV))
		return srq_take(qp, qp->resp.srq, qp->resp.rwqe);
	return qp->srq ? srq_take(qp, qp->srq, qp->resp.rwqe) : rq_take(&qp->rq, qp->resp.rwqe);
}
