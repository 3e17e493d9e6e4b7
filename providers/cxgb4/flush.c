/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs that have failed. The kernel sets a byte of the queue pair and of its completion
 * queues. From then on the device completes nothing, and this library completes what is posted. The
 * entries that are in the completion ring at that time come first.
 */
#include "providers/cxgb4/wqe.h"

void cx_todo_add(struct cx_cq *cq, struct cx_todo *todo, uint32_t at)
{
	if (todo->queued)
		return;
	todo->queued = true;
	todo->at = at;
	TAILQ_INSERT_TAIL(&cq->todos, todo, entry);
}

void cx_todo_drop(struct cx_cq *cq, struct cx_todo *todo)
{
	if (todo->queued)
		TAILQ_REMOVE(&cq->todos, todo, entry);
	todo->queued = false;
}

/* Return the value of cx_cq.consumed after a poll of all entries that are in the ring now. */
static uint32_t consumed_then(struct cx_cq *cq)
{
	uint32_t count = 0;
	char *cqe = cq->next;
	uint8_t phase = cq->phase;

	for (; count < cq->entries && cqe_is_valid(cq, cqe, phase); count++)
		cqe_step(cq, &cqe, &phase);
	return cq->consumed + count;
}

static void todo_flush(struct cx_cq *cq, struct cx_todo *todo)
{
	todo->flush = true;
	todo->flush_at = consumed_then(cq);
	cq->last_head = CX_HEAD_NONE;
	cx_todo_add(cq, todo, todo->flush_at);
}

/* Read from the status page which shared receive the device has taken and will not complete. */
static void srq_index_take(struct cx_qp *qp)
{
	const uint32_t *word =
		(const uint32_t *)(const void *)(qp->sq.ring.status + STATUS_SRQ_INDEX);

	if (qp->srq)
		qp->srq_index = *(const volatile uint32_t *)word;
}

static void flush_locked(struct cx_qp *qp)
{
	if (qp->flushed || !qp_has_failed(qp))
		return;
	qp->flushed = true;
	if (!*qp->error)
		*qp->error = 1;
	srq_index_take(qp);
	todo_flush(qp->send_cq, &qp->sends);
	todo_flush(qp->recv_cq, &qp->receives);
}

void cx_flush(struct cx_qp *qp)
{
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
	flush_locked(qp);
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

void cx_flush_all(struct cx_cq *cq)
{
	struct cx_context *ctx = to_cctx(cq->vcq.cq.context);
	struct cx_qp *qp;

	/* Clear the byte first: the kernel may set it for another queue pair meanwhile. */
	*cq->flag = 0;
	atomic_thread_fence(memory_order_seq_cst);
	pthread_mutex_lock(&ctx->qp_lock);
	LIST_FOREACH(qp, &ctx->list, entry)
		cx_flush(qp);
	pthread_mutex_unlock(&ctx->qp_lock);
}

void cx_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		cx_flush(to_cqp(event->element.qp));
		break;
	default:
		break;
	}
}
