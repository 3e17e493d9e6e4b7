/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives, and taking them. */
#include <string.h>

#include "providers/uroce/dev.h"
#include "providers/uroce/ops.h"

/* Positive errno, as applications see it. */
static int rwqe_write(struct uroce_rq *rq, const struct ibv_recv_wr *wr)
{
	struct uroce_rwqe *wqe = rq_wqe(rq, rq->head);
	uint64_t length = 0;

	if (unlikely(rq->head - rq->tail >= rq->size))
		return ENOMEM;
	if (unlikely((uint32_t)wr->num_sge > rq->max_sge))
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	wqe->length = min_of(length, (uint64_t)UINT32_MAX);
	rq->head++;
	return 0;
}

static __attribute__((noinline, cold)) void recv_refused(struct ibv_context *ctx, const char *what,
							 uint32_t number, const struct uroce_rq *rq,
							 const struct ibv_recv_wr *wr, int error)
{
	if (error == ENOMEM)
		verbs_err(ctx, "%s 0x%x: post_recv: all %u receives are posted and not completed",
			  what, number, rq->size);
	else
		verbs_err(ctx, "%s 0x%x: post_recv: %d SGEs: at most %u", what, number, wr->num_sge,
			  rq->max_sge);
}

int uroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_qp *qp = to_uqp(ibqp);
	int r = 0;

	uroce_lock(&qp->lock);
	if (unlikely(qp->srq || qp->state == IBV_QPS_RESET)) {
		*bad_wr = wr;
		uroce_unlock(&qp->lock);
		verbs_err(ibqp->context, "qp 0x%x: post_recv: %s", ibqp->qp_num,
			  qp->srq ? "it receives from an SRQ: post there"
				  : "in RESET: move it to INIT first");
		return EINVAL;
	}
	for (; wr; wr = wr->next) {
		r = rwqe_write(&qp->rq, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			if (!qp->recv_refused)
				recv_refused(ibqp->context, "qp", ibqp->qp_num, &qp->rq, wr, r);
			qp->recv_refused = true;
			break;
		}
	}
	if (unlikely(qp->state == IBV_QPS_ERR))
		uroce_qp_flush(qp);
	uroce_unlock(&qp->lock);
	return r;
}

int uroce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_srq *srq = to_usrq(ibsrq);
	int r = 0;

	uroce_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		r = rwqe_write(&srq->rq, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			if (!srq->refused)
				recv_refused(ibsrq->context, "srq", ibsrq->handle, &srq->rq, wr, r);
			srq->refused = true;
			break;
		}
	}
	uroce_unlock(&srq->lock);
	return r;
}

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

static bool srq_take(struct uroce_srq *srq, struct uroce_rwqe *to)
{
	bool taken, limit;

	uroce_lock(&srq->lock);
	taken = rq_take(&srq->rq, to);
	limit = srq->limit && srq->rq.head - srq->rq.tail < srq->limit;
	if (limit)
		srq->limit = 0; /* one event, until it is armed again */
	uroce_unlock(&srq->lock);
	if (unlikely(limit))
		uroce_event_srq(srq, IBV_EVENT_SRQ_LIMIT_REACHED);
	return taken;
}

bool uroce_rwqe_take(struct uroce_qp *qp)
{
	return qp->srq ? srq_take(qp->srq, qp->resp.rwqe) : rq_take(&qp->rq, qp->resp.rwqe);
}
