/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The work of a queue pair that fails or stops. */
#include "providers/uroce/engine/resp.h"

enum {
	FLUSH_PAUSE = 200000, /* ns: longer than a copy of 1 MiB takes */
};

void uroce_qp_first_error(struct uroce_qp *qp, const struct uroce_first_error *error)
{
	if (qp->first_error.valid || error->status == IBV_WC_WR_FLUSH_ERR)
		return;
	qp->first_error = *error;
	qp->first_error.time = uroce_now();
	uroce_qp_explain(qp);
	qp->first_error.refused = NULL;
}

static void flush_recv(struct uroce_qp *qp)
{
	struct ibv_wc wc = {
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = IBV_WC_RECV,
		.qp_num = qp->vqp.qp.qp_num,
	};

	if (qp->resp.have_rwqe) {
		qp->resp.have_rwqe = false;
		wc.wr_id = qp->resp.rwqe->wr_id;
		uroce_cq_push(resp_cq(qp), qp, &wc, NULL, true);
	}
	if (qp->srq) {
		if (!qp->last_wqe_raised)
			uroce_event_qp(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
		qp->last_wqe_raised = true;
		return;
	}
	while (qp->rq.tail != qp->rq.head) {
		wc.wr_id = rq_wqe(&qp->rq, qp->rq.tail++)->wr_id;
		uroce_cq_push(qp->recv_cq, qp, &wc, NULL, true);
	}
}

/*
 * Complete all requests. A request that is done keeps its status only if all requests before it
 * succeeded. A request behind a failed request may be done early, for example because its key was
 * wrong.
 */
static void flush_send(struct uroce_qp *qp)
{
	struct uroce_sq *sq = &qp->sq;
	bool failed = false;

	while (sq->tail != sq->head) {
		struct uroce_swqe *wqe = sq_wqe(sq, sq->tail);

		if (failed || wqe->state != WQE_DONE)
			wqe->status = IBV_WC_WR_FLUSH_ERR;
		failed |= wqe->status != IBV_WC_SUCCESS;
		wqe->state = WQE_DONE;
		sq->tail++;
		uroce_comp_push(qp, wqe);
	}
	sq->next = sq->head;
	qp->req.offset = 0;
	qp->req.rd_atomic = 0;
	qp->req.rnr_wait = false;
	qp->req.path_full = false;
	qp->req.una = qp->req.psn = qp->req.max_psn;
	uroce_timer_cancel(&qp->engine->wheel, &qp->timer);
}

bool uroce_qp_peer_at_work(const struct uroce_qp *qp)
{
	const struct uroce_path *path = qp->av.path;

	return path && path->ops->at_work &&
	       path->ops->at_work(qp->av.path, &qp->av, qp->vqp.qp.qp_num);
}

/*
 * A completion returns the memory of its request to the application. After a QP has failed by
 * itself, its peer may still be copying: delay the completions until the copy has ended.
 */
void uroce_qp_flush(struct uroce_qp *qp)
{
	assert_held(&qp->lock);
	if (qp->state == IBV_QPS_ERR && unlikely(uroce_qp_peer_at_work(qp))) {
		uroce_qp_timer(qp, uroce_now() + FLUSH_PAUSE);
		return;
	}
	flush_send(qp);
	if (qp->state == IBV_QPS_ERR)
		flush_recv(qp);
}

void uroce_qp_error(struct uroce_qp *qp)
{
	assert_held(&qp->lock);
	if (qp->state == IBV_QPS_RESET)
		return;
	qp->state = IBV_QPS_ERR;
	qp->engine->events->stopped(qp);
	qp->sq_draining = false;
	qp->resp.ack_due = false;
	qp->resp.res_pending = 0;
	qp->resp.res_count = 0;
	uroce_qp_flush(qp);
}

void uroce_qp_send_error(struct uroce_qp *qp)
{
	if (uroce_qp_reliable(qp)) {
		uroce_qp_error(qp);
		return;
	}
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	qp->state = IBV_QPS_SQE;
	uroce_qp_flush(qp);
}

void uroce_qp_drained(struct uroce_qp *qp)
{
	qp->sq_draining = false;
	if (qp->attr.en_sqd_async_notify)
		uroce_event_qp(qp, IBV_EVENT_SQ_DRAINED);
}

/*
 * Send waiting acknowledgements before the QP stops. They are for messages that the application has
 * seen. Without them the peer would repeat these messages to a QP that does not answer any more.
 * Send no more than a turn of a long answer to a read, because this holds the lock of the QP.
 */
bool uroce_qp_owed_flush(struct uroce_qp *qp)
{
	struct uroce_path *path = qp->av.path;
	bool done;

	if (!path || qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return true;
	done = !uroce_resp_turn(qp);
	if (path->pending)
		path->ops->flush(path);
	return done;
}
