/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations that make objects, end them, or change the state of a queue pair. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "providers/uroce/strict/record.h"
#include "util/cancel.h"

/* --- make --- */

/* Enter the record of an object if its operation returned @r = 0, else free it. Return: @r. */
static int made(struct strict_record *record, const void *object, int r)
{
	if (r < 0)
		free(record);
	else
		strict_record_add(record, object);
	return r;
}

/* Define the operation of a verb that makes an object without a queue. */
#define MAKE(verb, kind, ctx, object, declarations, arguments)                      \
	static int strict_##verb declarations                                       \
	{                                                                           \
		struct strict_record *record =                                      \
			strict_record_new(kind, ctx, sizeof(struct strict_record)); \
                                                                                    \
		if (!record)                                                        \
			return -ENOMEM;                                             \
		return made(record, object, strict_below(ctx)->verb arguments);     \
	}

MAKE(alloc_pd, STRICT_PD, pd->context, pd, (struct ibv_pd * pd, struct verbs_udata *udata),
     (pd, udata))
MAKE(reg_mr, STRICT_MR, in->pd->context, &mr->ibv_mr,
     (struct verbs_mr * mr, const struct verbs_reg_mr *in), (mr, in))
MAKE(reg_dm_mr, STRICT_MR, in->pd->context, &mr->ibv_mr,
     (struct verbs_mr * mr, const struct verbs_reg_dm_mr *in), (mr, in))
MAKE(alloc_null_mr, STRICT_MR, mr->ibv_mr.context, &mr->ibv_mr, (struct verbs_mr * mr), (mr))
MAKE(alloc_dm, STRICT_DM, dm->dm.context, &dm->dm,
     (struct verbs_dm * dm, const struct verbs_alloc_dm *in), (dm, in))
MAKE(alloc_mw, STRICT_MW, mw->context, mw, (struct ibv_mw * mw, struct verbs_udata *udata),
     (mw, udata))
MAKE(create_comp_channel, STRICT_CHANNEL, channel->context, channel,
     (struct ibv_comp_channel * channel), (channel))
MAKE(create_ah, STRICT_AH, ah->context, ah, (struct ibv_ah * ah, const struct verbs_create_ah *in),
     (ah, in))
MAKE(open_xrcd, STRICT_XRCD, xrcd->xrcd.context, &xrcd->xrcd,
     (struct verbs_xrcd * xrcd, const struct verbs_open_xrcd *in), (xrcd, in))

static int strict_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in)
{
	struct strict_cq *scq = strict_record_new(STRICT_CQ, cq->cq.context, sizeof(*scq));
	int r;

	if (!scq)
		return -ENOMEM;
	pthread_mutex_init(&scq->poll, NULL);
	scq->cq = (struct uroce_cq *)cq;
	scq->event_handled = true;
	r = strict_below(cq->cq.context)->create_cq(cq, in);
	if (!r)
		strict_watch_start();
	if (!r && in->extended)
		strict_walk_wrap(scq, &cq->cq_ex);
	return made(&scq->record, &cq->cq, r);
}

static int strict_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	struct strict_srq *ssrq = strict_record_new(STRICT_SRQ, srq->srq.context, sizeof(*ssrq));

	if (!ssrq)
		return -ENOMEM;
	ssrq->srq = (struct uroce_srq *)srq;
	pthread_mutex_init(&ssrq->recv, NULL);
	strict_queue_init(&ssrq->rq);
	return made(&ssrq->record, &srq->srq, strict_below(srq->srq.context)->create_srq(srq, in));
}

static struct strict_qp *qp_record_new(struct verbs_qp *qp)
{
	struct strict_qp *sqp = strict_record_new(STRICT_QP, qp->qp.context, sizeof(*sqp));

	if (!sqp)
		return NULL;
	sqp->qp = (struct uroce_qp *)qp;
	pthread_mutex_init(&sqp->send, NULL);
	pthread_mutex_init(&sqp->recv, NULL);
	strict_queue_init(&sqp->sq);
	strict_queue_init(&sqp->rq);
	return sqp;
}

static int strict_create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in)
{
	struct strict_qp *sqp = qp_record_new(qp);
	int r;

	if (!sqp)
		return -ENOMEM;
	r = strict_below(qp->qp.context)->create_qp(qp, in);
	if (!r && (qp->comp_mask & VERBS_QP_EX))
		strict_builders_wrap(sqp);
	return made(&sqp->record, &qp->qp, r);
}

static int strict_open_qp(struct verbs_qp *qp, const struct verbs_open_qp *in)
{
	struct strict_qp *sqp = qp_record_new(qp);

	if (!sqp)
		return -ENOMEM;
	return made(&sqp->record, &qp->qp, strict_below(qp->qp.context)->open_qp(qp, in));
}

/* --- end --- */

/* Remove the record of an object if its operation returned @r = 0. Return: @r. */
static int ended(enum strict_kind kind, const void *object, int r)
{
	struct strict_record *record = r < 0 ? NULL : strict_record_find(kind, object);

	if (record)
		strict_record_end(record);
	return r;
}

/* Define the operation of a verb that ends an object without a queue. */
#define END(verb, kind, ctx, object, type)                              \
	static int strict_##verb(type)                                  \
	{                                                               \
		return ended(kind, object, strict_below(ctx)->verb(o)); \
	}

END(dealloc_pd, STRICT_PD, o->context, o, struct ibv_pd *o)
END(free_dm, STRICT_DM, o->dm.context, &o->dm, struct verbs_dm *o)
END(dealloc_mw, STRICT_MW, o->context, o, struct ibv_mw *o)
END(destroy_ah, STRICT_AH, o->context, o, struct ibv_ah *o)
END(close_xrcd, STRICT_XRCD, o->xrcd.context, &o->xrcd, struct verbs_xrcd *o)

static void strict_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct strict_record *record = strict_record_find(STRICT_CHANNEL, channel);

	strict_below(channel->context)->destroy_comp_channel(channel);
	if (record)
		strict_record_end(record);
}

/* --- regions that requests name --- */

struct name_search {
	uint32_t lkey;
	const char *queue;
	uint32_t number;
	uint64_t wr_id;
};

static bool queue_names(const struct strict_queue *queue, const struct strict_record *record,
			const char *name, struct name_search *search)
{
	const struct strict_request *request = strict_queue_names(queue, search->lkey);

	if (!request)
		return false;
	search->queue = name;
	search->number = record->number;
	search->wr_id = request->wr_id;
	return true;
}

/* A queue pair in RESET or ERR does not access the memory of its requests. */
static bool qp_names(struct strict_record *record, void *arg)
{
	struct strict_qp *qp = (struct strict_qp *)record;

	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_ERR)
		return false;
	return queue_names(&qp->sq, record, "send request", arg) ||
	       queue_names(&qp->rq, record, "receive request", arg);
}

static bool srq_names(struct strict_record *record, void *arg)
{
	const struct strict_queue *rq = &((struct strict_srq *)record)->rq;

	return !rq->repeats && queue_names(rq, record, "srq receive request", arg);
}

static void dereg_check(const struct ibv_mr *mr)
{
	struct name_search search = { .lkey = mr->lkey };

	strict_lock();
	if (strict_key_named(mr->lkey))
		strict_records_visit(STRICT_QP, qp_names, &search);
	if (!search.queue && strict_key_named(mr->lkey))
		strict_records_visit(STRICT_SRQ, srq_names, &search);
	strict_unlock();
	if (search.queue)
		strict_fault(STRICT_RULE_DEREG, mr->context,
			     "mr 0x%x: ibv_dereg_mr: %s 0x%" PRIx64 " of queue 0x%x still names it",
			     mr->lkey, search.queue, search.wr_id, search.number);
}

static int strict_dereg_mr(struct verbs_mr *mr)
{
	struct ibv_context *ctx = mr->ibv_mr.context;
	uint32_t lkey = mr->ibv_mr.lkey;
	int r;

	if (uroce_host_here(ctx_host(ctx)))
		dereg_check(&mr->ibv_mr);
	r = ended(STRICT_MR, &mr->ibv_mr, strict_below(ctx)->dereg_mr(mr));
	if (!r)
		strict_old_key_add(lkey);
	return r;
}

/* --- acknowledgements --- */

/* The acknowledgements of one kind of event of an object. */
struct acknowledged {
	const struct strict_record *record;
	const char *object, *verb;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	const uint32_t *count;
};

/* Another thread may be about to acknowledge: wait for a second. */
static void events_check(const struct acknowledged *acks, const uint32_t *got)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct timespec late;
	uint32_t missing, events;

	strict_lock();
	events = *got;
	strict_unlock();
	clock_gettime(CLOCK_REALTIME, &late);
	late.tv_sec++;
	pthread_mutex_lock(acks->mutex);
	while (*acks->count != events)
		if (pthread_cond_timedwait(acks->cond, acks->mutex, &late))
			break;
	missing = events - *acks->count;
	pthread_mutex_unlock(acks->mutex);
	if ((int32_t)missing < 0)
		strict_fault(STRICT_RULE_EVENTS, acks->record->ctx,
			     "%s 0x%x: destroyed after %s() of %u event%s that did not come",
			     acks->object, acks->record->number, acks->verb, -missing,
			     missing == UINT32_MAX ? "" : "s");
	else if (missing)
		strict_fault(STRICT_RULE_EVENTS, acks->record->ctx,
			     "%s 0x%x: destroyed without %s() of %u event%s, and waits for that",
			     acks->object, acks->record->number, acks->verb, missing,
			     missing == 1 ? "" : "s");
}

static int strict_destroy_cq(struct verbs_cq *vcq)
{
	struct ibv_cq *cq = &vcq->cq;
	const struct verbs_ops *below = strict_below(cq->context);
	struct strict_cq *scq = strict_record_find(STRICT_CQ, cq);
	struct acknowledged comp = { &scq->record, "cq",      "ibv_ack_cq_events",
				     &cq->mutex,   &cq->cond, &cq->comp_events_completed };
	struct acknowledged async = { &scq->record, "cq",      "ibv_ack_async_event",
				      &cq->mutex,   &cq->cond, &cq->async_events_completed };

	if (scq && uroce_host_here(ctx_host(cq->context))) {
		strict_overflow_check(scq, "ibv_destroy_cq");
		events_check(&comp, &scq->comp_events);
		events_check(&async, &scq->record.async_events);
	}
	return ended(STRICT_CQ, cq, below->destroy_cq(vcq));
}

static int strict_destroy_srq(struct verbs_srq *vsrq)
{
	struct ibv_srq *srq = &vsrq->srq;
	struct strict_srq *ssrq = strict_record_find(STRICT_SRQ, srq);
	struct acknowledged async = { &ssrq->record, "srq",	 "ibv_ack_async_event",
				      &srq->mutex,   &srq->cond, &srq->events_completed };

	if (ssrq && uroce_host_here(ctx_host(srq->context)))
		events_check(&async, &ssrq->record.async_events);
	return ended(STRICT_SRQ, srq, strict_below(srq->context)->destroy_srq(vsrq));
}

/* --- queue pairs --- */

/* Return the number of sends that the device has not completed; -1: the queue pair is in ERR. */
static int64_t sends_outstanding(struct uroce_qp *qp)
{
	int64_t count;

	uroce_lock(&qp->lock);
	count = qp->state == IBV_QPS_ERR ? -1 : (int64_t)(qp->sq.head - qp->sq.tail);
	uroce_unlock(&qp->lock);
	return count;
}

/* Return whether the program asked for completions of sends and never polled one. */
static bool sends_unpolled(const struct strict_qp *sqp)
{
	const struct strict_request *request;
	bool unpolled = false;

	strict_lock();
	if (!sqp->polled && sqp->state != IBV_QPS_ERR)
		TAILQ_FOREACH(request, &sqp->sq.requests, entry)
			unpolled |= request->signaled;
	strict_unlock();
	return unpolled;
}

/* Sends of a queue pair that is destroyed may be lost. */
static void sends_check(const struct strict_qp *sqp)
{
	int64_t outstanding = sends_outstanding(sqp->qp);

	if (outstanding < 0)
		return;
	if (outstanding)
		strict_fault(STRICT_RULE_DESTROY, sqp->record.ctx,
			     "qp 0x%x: ibv_destroy_qp: %d send%s not completed", sqp->record.number,
			     (int)outstanding, outstanding == 1 ? " has" : "s have");
	else if (sends_unpolled(sqp))
		strict_fault(STRICT_RULE_DESTROY, sqp->record.ctx,
			     "qp 0x%x: ibv_destroy_qp: no completion of a send was ever polled",
			     sqp->record.number);
}

/*
 * Forget the receives of a shared receive queue when one of its queue pairs ends. Their unpolled
 * completions were discarded with the queue pair, and nothing shows which ones.
 */
static void srq_forget(const struct ibv_srq *srq)
{
	struct strict_requests done = TAILQ_HEAD_INITIALIZER(done);
	struct strict_srq *ssrq;

	if (!srq)
		return;
	strict_lock();
	ssrq = strict_record_find_locked(STRICT_SRQ, strict_key(STRICT_SRQ, srq));
	if (ssrq)
		strict_queue_clear(&ssrq->rq, &done);
	strict_unlock();
	strict_requests_free(&done);
}

static int strict_destroy_qp(struct verbs_qp *vqp)
{
	struct ibv_qp *qp = &vqp->qp;
	const struct ibv_srq *srq = qp->srq;
	struct strict_qp *sqp = strict_record_find(STRICT_QP, qp);
	int r;
	struct acknowledged async = { &sqp->record, "qp",      "ibv_ack_async_event",
				      &qp->mutex,   &qp->cond, &qp->events_completed };

	if (sqp && uroce_host_here(ctx_host(qp->context))) {
		sends_check(sqp);
		strict_error_destroy(sqp);
		strict_datagrams_check(sqp);
		events_check(&async, &sqp->record.async_events);
	}
	/* The number may be given out again before the call below has returned. */
	r = strict_below(qp->context)->destroy_qp(vqp);
	if (!r && sqp) {
		strict_record_end(&sqp->record);
		srq_forget(srq);
	}
	return r;
}

/* A reset queue pair has no requests. */
static void state_follow(struct strict_qp *sqp, enum ibv_qp_state state)
{
	struct strict_requests done = TAILQ_HEAD_INITIALIZER(done);

	strict_lock();
	sqp->state = state;
	strict_error_state(sqp, state);
	if (state == IBV_QPS_RESET) {
		strict_queue_clear(&sqp->sq, &done);
		strict_queue_clear(&sqp->rq, &done);
		strict_written_note(&done);
	}
	strict_unlock();
	strict_requests_free(&done);
}

static int strict_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct strict_qp *sqp = strict_record_find(STRICT_QP, &vqp->qp);
	int r = strict_below(vqp->qp.context)->modify_qp(vqp, in);

	if (!uroce_host_here(ctx_host(vqp->qp.context)))
		strict_inherited(vqp->qp.context, "ibv_modify_qp", "qp", vqp->qp.qp_num);
	if (!r && sqp)
		strict_attributes_check(sqp, in);
	if (!r && sqp && (in->mask & IBV_QP_STATE)) {
		state_follow(sqp, in->attr->qp_state);
		if (in->attr->qp_state == IBV_QPS_RESET)
			srq_forget(vqp->qp.srq);
	}
	return r;
}

void strict_object_ops(struct verbs_ops *ops)
{
	ops->alloc_pd = strict_alloc_pd;
	ops->dealloc_pd = strict_dealloc_pd;
	ops->reg_mr = strict_reg_mr;
	ops->reg_dm_mr = strict_reg_dm_mr;
	ops->alloc_null_mr = strict_alloc_null_mr;
	ops->dereg_mr = strict_dereg_mr;
	ops->alloc_dm = strict_alloc_dm;
	ops->free_dm = strict_free_dm;
	ops->alloc_mw = strict_alloc_mw;
	ops->dealloc_mw = strict_dealloc_mw;
	ops->create_comp_channel = strict_create_comp_channel;
	ops->destroy_comp_channel = strict_destroy_comp_channel;
	ops->create_cq = strict_create_cq;
	ops->destroy_cq = strict_destroy_cq;
	ops->create_srq = strict_create_srq;
	ops->destroy_srq = strict_destroy_srq;
	ops->create_qp = strict_create_qp;
	ops->open_qp = strict_open_qp;
	ops->modify_qp = strict_modify_qp;
	ops->destroy_qp = strict_destroy_qp;
	ops->create_ah = strict_create_ah;
	ops->destroy_ah = strict_destroy_ah;
	ops->open_xrcd = strict_open_xrcd;
	ops->close_xrcd = strict_close_xrcd;
}
