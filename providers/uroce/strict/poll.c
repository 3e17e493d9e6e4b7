/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Polls: a completion that the program gets ends requests. Events that it gets are counted. */
#include <sys/syscall.h>

#include "providers/uroce/strict/record.h"

/* --- completions --- */

/* A receive of an XRC SRQ: the queue pair of the completion is not known by its number. */
struct xrc_search {
	const struct uroce_cq *cq;
	uint64_t wr_id;
	struct strict_srq *found;
};

static bool srq_is_of(struct strict_record *record, void *arg)
{
	struct strict_srq *srq = (struct strict_srq *)record;
	struct xrc_search *search = arg;

	if (srq->srq->cq != search->cq || !strict_queue_has(&srq->rq, search->wr_id))
		return false;
	if (search->found) {
		strict_queue_repeats(&search->found->rq);
		strict_queue_repeats(&srq->rq);
	}
	search->found = srq;
	return false;
}

static void recv_completed(const struct uroce_cq *cq, struct strict_qp *qp, const struct ibv_wc *wc,
			   struct strict_requests *ret_done)
{
	struct xrc_search search = { .cq = cq, .wr_id = wc->wr_id };

	if (qp && !qp->qp->srq) {
		strict_queue_complete(&qp->rq, wc, ret_done);
		return;
	}
	if (qp)
		search.found = strict_record_find_locked(
			STRICT_SRQ, strict_key(STRICT_SRQ, &qp->qp->srq->vsrq.srq));
	else
		strict_records_visit(STRICT_SRQ, srq_is_of, &search);
	if (search.found)
		strict_queue_complete_one(&search.found->rq, wc, ret_done);
}

/* An error stops the queue pair; one of a send without a connection stops only the sends. */
static bool stops(const struct strict_qp *qp, const struct ibv_wc *wc)
{
	return wc->status && (uroce_qp_reliable(qp->qp) || (wc->opcode & IBV_WC_RECV));
}

/* Check the memory of completed requests. */
static void content_check(const struct uroce_cq *cq, const struct ibv_wc *wc,
			  const struct strict_requests *done)
{
	const struct ibv_context *ctx = cq->vcq.cq.context;
	struct uroce_keys *keys = cq->engine->keys;
	const struct strict_request *last = TAILQ_LAST(done, strict_requests);

	if (wc->status == IBV_WC_SUCCESS && last && (wc->opcode & IBV_WC_RECV))
		strict_content_received(ctx, keys, last, wc);
	else if (wc->status == IBV_WC_SUCCESS)
		strict_content_check(ctx, keys, wc->qp_num, done);
}

static void completed(struct strict_cq *scq, const struct ibv_wc *wc)
{
	const struct uroce_cq *cq = scq->cq;
	struct strict_requests done = TAILQ_HEAD_INITIALIZER(done);
	struct strict_qp *qp;

	strict_count(STRICT_COUNT_COMPLETIONS);
	strict_lock();
	scq->completions++;
	qp = strict_record_find_locked(STRICT_QP, wc->qp_num);
	if (wc->opcode & IBV_WC_RECV)
		recv_completed(cq, qp, wc, &done);
	else if (qp)
		strict_queue_complete(&qp->sq, wc, &done);
	if (qp && !(wc->opcode & IBV_WC_RECV))
		qp->polled = true;
	if (qp)
		strict_error_note(qp, wc);
	strict_written_note(&done);
	if (qp && stops(qp, wc))
		qp->state = IBV_QPS_ERR;
	strict_unlock();
	content_check(cq, wc, &done);
	strict_requests_free(&done);
}

static struct strict_cq *cq_find(struct ibv_cq *cq, const char *verb)
{
	if (!uroce_host_here(ctx_host(cq->context))) {
		strict_inherited(cq->context, verb, "cq", cq->handle);
		return NULL;
	}
	return strict_record_find(STRICT_CQ, cq);
}

static void polled(struct strict_cq *scq)
{
	strict_error_poll();
	strict_lock();
	scq->polls++;
	scq->poller = syscall(SYS_gettid);
	scq->event_handled = true;
	strict_unlock();
}

void strict_overflow_check(struct strict_cq *scq, const char *verb)
{
	struct uroce_cq *cq = scq->cq;
	bool overflowed;

	uroce_lock(&cq->lock);
	overflowed = cq->overflowed;
	uroce_unlock(&cq->lock);
	if (!overflowed || scq->overflowed)
		return;
	scq->overflowed = true;
	strict_fault(STRICT_RULE_OVERFLOW, scq->record.ctx,
		     "cq 0x%x: %s: completions are lost because more than %u waited",
		     scq->record.number, verb, cq->limit);
}

/* The lock keeps the completions of two threads in order. */
static int strict_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct strict_cq *scq = cq_find(cq, "ibv_poll_cq");
	int n;

	if (!scq)
		return strict_below(cq->context)->poll_cq(cq, num_entries, wc);
	polled(scq);
	pthread_mutex_lock(&scq->poll);
	strict_overflow_check(scq, "ibv_poll_cq");
	n = strict_below(cq->context)->poll_cq(cq, num_entries, wc);
	for (int i = 0; i < n; i++)
		completed(scq, &wc[i]);
	pthread_mutex_unlock(&scq->poll);
	return n;
}

/* --- the ibv_start_poll() family, whose lock the operations below hold --- */

static int walk_start(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct strict_cq *scq = strict_record_find(STRICT_CQ, ex);
	bool here = cq_find(ibv_cq_ex_to_cq(ex), "ibv_start_poll");
	int r;

	if (here)
		strict_overflow_check(scq, "ibv_start_poll");
	r = scq->start_poll(ex, attr);

	polled(scq);
	if (!r)
		completed(scq, &scq->cq->current.wc);
	return r;
}

static int walk_next(struct ibv_cq_ex *ex)
{
	struct strict_cq *scq = strict_record_find(STRICT_CQ, ex);
	int r = scq->next_poll(ex);

	if (!r)
		completed(scq, &scq->cq->current.wc);
	return r;
}

void strict_walk_wrap(struct strict_cq *scq, struct ibv_cq_ex *ex)
{
	scq->start_poll = ex->start_poll;
	scq->next_poll = ex->next_poll;
	ex->start_poll = walk_start;
	ex->next_poll = walk_next;
}

/* --- events --- */

static int strict_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct strict_cq *scq = cq_find(cq, "ibv_req_notify_cq");

	if (scq && !cq->channel)
		strict_fault(STRICT_RULE_CHANNEL, cq->context,
			     "cq 0x%x: ibv_req_notify_cq: the queue has no completion channel",
			     scq->record.number);
	strict_lock();
	if (scq)
		scq->armed_head = atomic_load(&scq->cq->head);
	strict_unlock();
	return strict_below(cq->context)->req_notify_cq(cq, solicited_only);
}

static void strict_cq_event(struct verbs_cq *cq)
{
	struct strict_cq *scq;

	strict_lock();
	scq = strict_record_find_locked(STRICT_CQ, strict_key(STRICT_CQ, &cq->cq));
	if (scq)
		scq->comp_events++;
	if (scq)
		scq->event_handled = false;
	strict_unlock();
}

/* Return the kind of the object of an event; STRICT_CONTEXT: the device itself. */
static enum strict_kind event_kind(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return STRICT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return STRICT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return STRICT_SRQ;
	default:
		return STRICT_CONTEXT;
	}
}

/* Return whether the event tells that a queue pair is in ERR. */
static bool is_end(enum ibv_event_type type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

static void strict_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	enum strict_kind kind = event_kind(event->event_type);
	struct strict_record *record;

	if (kind == STRICT_CONTEXT)
		return;
	strict_lock();
	record = strict_record_find_locked(kind, strict_key(kind, event->element.qp));
	if (record)
		record->async_events++;
	if (record && is_end(event->event_type))
		((struct strict_qp *)record)->state = IBV_QPS_ERR;
	strict_unlock();
}

void strict_poll_ops(struct verbs_ops *ops)
{
	ops->poll_cq = strict_poll_cq;
	ops->req_notify_cq = strict_req_notify_cq;
	ops->cq_event = strict_cq_event;
	ops->async_event = strict_async_event;
}
