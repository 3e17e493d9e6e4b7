/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: numbers, memory, life, and what becomes of the work when one fails. */

#include <time.h>

#include "providers/uroce/cq.h"
#include "providers/uroce/fault.h"
#include "providers/uroce/path_udp.h"
#include "providers/uroce/shm.h"

enum {
	SQ_ALIGN = 64,
	SETTLE_PAUSE = 100000, /* ns: the peer is to take from a full ring */
	SETTLE_PAUSES = 200,   /* a process may be off the processor that long */
	QP_INDEX_MASK = (1 << UROCE_QP_INDEX_BITS) - 1,
};

/* --- numbers --- */

static int qpn_alloc(struct uroce_qp *qp)
{
	struct uroce_host *host = qp->host;
	int r = -ENOMEM;

	pthread_mutex_lock(&host->lock);
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		uint32_t index = host->next_qpn++ & QP_INDEX_MASK;

		if (atomic_load_explicit(&host->qps[index], memory_order_relaxed))
			continue;
		qp->vqp.qp.qp_num = (uint32_t)host->slot << UROCE_QP_INDEX_BITS | index;
		/* Pairs with uroce_qp_find(): the QP is complete when its number can be found. */
		atomic_store_explicit(&host->qps[index], qp, memory_order_release);
		atomic_fetch_add(&host->qp_count, 1);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&host->lock);
	return r;
}

/* Under progress_lock: destroy takes that lock after it emptied the slot, so what is found here
 * stays. */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn)
{
	struct uroce_qp *qp;

	assert_held(&host->progress_lock);
	qp = atomic_load_explicit(&host->qps[qpn & QP_INDEX_MASK], memory_order_acquire);
	return qp && qp->vqp.qp.qp_num == qpn ? qp : NULL;
}

/* Once the number is free nobody finds the QP by it who holds host->lock. */
static void qpn_free(struct uroce_qp *qp)
{
	pthread_mutex_lock(&qp->host->lock);
	uroce_counters_keep(qp);
	atomic_store_explicit(&qp->host->qps[qp->vqp.qp.qp_num & QP_INDEX_MASK], NULL,
			      memory_order_release);
	atomic_fetch_sub(&qp->host->qp_count, 1);
	pthread_mutex_unlock(&qp->host->lock);
}

/* --- memory --- */

static uint32_t ring_size(uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries)
		size <<= 1;
	return size;
}

static int sq_alloc(struct uroce_sq *sq, struct ibv_qp_cap *cap, bool sig_all)
{
	uint32_t room =
		max_of(cap->max_send_sge * (uint32_t)sizeof(struct ibv_sge), cap->max_inline_data);

	room = max_of(room, (uint32_t)sizeof(struct ibv_sge));
	*sq = (struct uroce_sq){
		.stride = ROUND_UP(sizeof(struct uroce_swqe) + room, SQ_ALIGN),
		.size = ring_size(max_of(cap->max_send_wr, 1u)),
		.max_inline = room,
		.max_sge = room / sizeof(struct ibv_sge) < UROCE_MAX_SGE
				   ? room / sizeof(struct ibv_sge)
				   : UROCE_MAX_SGE,
		.sig_all = sig_all,
	};
	sq->mask = sq->size - 1;
	sq->ring = aligned_alloc(SQ_ALIGN,
				 (size_t)(sq->size + 1) * sq->stride); /* and the spare one */
	if (!sq->ring)
		return -ENOMEM;
	*sq_wqe_spare(sq) = (struct uroce_swqe){}; /* setters look at its opcode */
	cap->max_send_wr = sq->size;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	return 0;
}

int uroce_rq_alloc(struct uroce_rq *rq, uint32_t max_wr, uint32_t max_sge)
{
	*rq = (struct uroce_rq){
		.max_sge = max_of(max_sge, 1u),
		.size = ring_size(max_of(max_wr, 1u)),
	};
	rq->stride = ROUND_UP(sizeof(struct uroce_rwqe) + rq->max_sge * sizeof(struct ibv_sge),
			      SQ_ALIGN);
	rq->mask = rq->size - 1;
	rq->ring = aligned_alloc(SQ_ALIGN, (size_t)rq->size * rq->stride);
	return rq->ring ? 0 : -ENOMEM;
}

static int qp_queues_alloc(struct uroce_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	uint32_t max_sge = attr->cap.max_recv_sge;
	int r = sq_alloc(&qp->sq, &attr->cap, attr->sq_sig_all);

	if (r < 0)
		return r;
	if (qp->srq) {
		max_sge = qp->srq->rq.max_sge;
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	} else {
		r = uroce_rq_alloc(&qp->rq, attr->cap.max_recv_wr, max_sge);
		if (r < 0)
			return r;
		attr->cap.max_recv_wr = qp->rq.size;
		attr->cap.max_recv_sge = qp->rq.max_sge;
		max_sge = qp->rq.max_sge;
	}
	qp->resp.rwqe = calloc(1, sizeof(*qp->resp.rwqe) + max_sge * sizeof(struct ibv_sge));
	return qp->resp.rwqe ? 0 : -ENOMEM;
}

static void qp_queues_free(struct uroce_qp *qp)
{
	uroce_fault_qp_free(qp);
	free(qp->sq.ring);
	free(qp->rq.ring);
	free(qp->resp.rwqe);
	free(qp->resp.res);
}

/* --- create and destroy --- */

/* Its receive buffers show the IP headers of what comes. */
static void headers_wanted(struct uroce_dev *dev)
{
	if (atomic_load_explicit(&dev->shows_headers, memory_order_relaxed))
		return;
	uroce_lock(&dev->host->progress_lock);
	uroce_udp_headers_show(dev);
	uroce_unlock(&dev->host->progress_lock);
}

static int qp_check(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	bool receives = !attr->srq; /* what it asks for a queue it does not get is ignored */

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD) {
		verbs_err(ctx, "create_qp: type %d is not supported; RC, UC and UD are",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) {
		verbs_err(ctx, "create_qp: create_flags 0x%x are not supported",
			  attr->create_flags);
		return -EOPNOTSUPP;
	}
	if (cap->max_send_wr > UROCE_MAX_WR || cap->max_send_sge > UROCE_MAX_SGE ||
	    (receives && (cap->max_recv_wr > UROCE_MAX_WR || cap->max_recv_sge > UROCE_MAX_SGE)) ||
	    cap->max_inline_data > UROCE_MAX_INLINE) {
		verbs_err(
			ctx,
			"create_qp: send_wr %u, recv_wr %u (at most %u), send_sge %u, recv_sge %u (at most %u), "
			"inline %u (at most %u)",
			cap->max_send_wr, cap->max_recv_wr, UROCE_MAX_WR, cap->max_send_sge,
			cap->max_recv_sge, UROCE_MAX_SGE, cap->max_inline_data, UROCE_MAX_INLINE);
		return -EINVAL;
	}
	return 0;
}

/* CQs and SRQ cannot go while the QP uses them. */
static void qp_users_add(struct uroce_qp *qp, int n)
{
	atomic_fetch_add(&qp->send_cq->qps, n);
	atomic_fetch_add(&qp->recv_cq->qps, n);
	atomic_fetch_add(&((struct uroce_pd *)qp->vqp.qp.pd)->users, n);
	if (qp->srq)
		atomic_fetch_add(&qp->srq->qps, n);
}

int uroce_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);
	int r = qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	r = uroce_host_check(ctx->dev->host);
	if (r < 0)
		return r;
	qp->dev = ctx->dev;
	qp->host = ctx->dev->host;
	qp->type = in->attr->qp_type;
	qp->state = IBV_QPS_RESET;
	if (!in->attr->send_cq || !in->attr->recv_cq) {
		verbs_err(vqp->qp.context, "create_qp: send_cq and recv_cq are both needed");
		return -EINVAL;
	}
	qp->send_cq = to_ucq(in->attr->send_cq);
	qp->recv_cq = to_ucq(in->attr->recv_cq);
	qp->srq = in->attr->srq ? to_usrq(in->attr->srq) : NULL;
	r = qp_queues_alloc(qp, in->attr);
	if (r < 0)
		goto fail;
	if (in->extended) {
		r = uroce_wr_init(qp, in->attr);
		if (r < 0)
			goto fail;
	}
	if (unlikely(qp->host->faults)) {
		r = uroce_fault_qp_init(qp);
		if (r < 0)
			goto fail;
	}
	r = qpn_alloc(qp);
	if (r < 0)
		goto fail;
	vqp->qp.handle = vqp->qp.qp_num;
	qp_users_add(qp, 1);
	if (qp->type == IBV_QPT_UD) {
		atomic_fetch_add_explicit(&qp->host->udp_interest, 1, memory_order_relaxed);
		headers_wanted(qp->dev);
	}
	return 0;
fail:
	qp_queues_free(qp);
	return r;
}

/*
 * Acknowledgements wait for company. Those of messages the application has seen leave before the QP
 * stops, or its peer would send them again to nobody.
 */
bool uroce_qp_owed_flush(struct uroce_qp *qp)
{
	struct uroce_path *path = qp->av.path;
	bool done;

	if (!path || qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return true;
	done = uroce_resp_run(qp);
	if (path->pending)
		path->ops->flush(path);
	return done;
}

/* Off every list the progress pass walks, and out of its hands. */
static void qp_unlist(struct uroce_qp *qp)
{
	struct uroce_host *host = qp->host;

	uroce_lock(&host->progress_lock);
	/* Only now: a pass that found it due may have armed it again. */
	uroce_timer_cancel(&host->wheel, &qp->timer);
	if (qp->on_acks)
		TAILQ_REMOVE(&host->acks, qp, ack_entry);
	qp->on_acks = false;
	uroce_lock(&host->blocked_lock);
	if (qp->on_blocked)
		TAILQ_REMOVE(&host->blocked, qp, blocked_entry);
	qp->on_blocked = false;
	uroce_unlock(&host->blocked_lock);
	uroce_unlock(&host->progress_lock);
}

static void udp_interest_drop(struct uroce_qp *qp)
{
	if (qp->type == IBV_QPT_UD || qp->udp_counted)
		atomic_fetch_sub_explicit(&qp->host->udp_interest, 1, memory_order_relaxed);
	qp->udp_counted = false;
}

/* From here on no packet, timer or peer finds it. */
static void qp_withdraw(struct uroce_qp *qp)
{
	uroce_lock(&qp->lock);
	uroce_qp_owed_flush(qp);
	uroce_board_qp_remove(qp);
	qp->state = IBV_QPS_RESET; /* packets on their way to it are dropped */
	uroce_unlock(&qp->lock);
	qpn_free(qp);
	qp_unlist(qp);
	udp_interest_drop(qp);
}

int uroce_destroy_qp(struct verbs_qp *vqp)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);
	int r = uroce_host_check(qp->host);

	if (r < 0)
		return r;
	if (qp->mcast_groups) {
		verbs_err(vqp->qp.context, "qp 0x%x: still attached to %u multicast groups",
			  vqp->qp.qp_num, qp->mcast_groups);
		return -EBUSY;
	}
	uroce_qps_settle(qp->host, ctx, qp);
	qp_withdraw(qp);
	uroce_cq_sq_forget(qp->send_cq, &qp->sq);
	qp_users_add(qp, -1);
	uroce_event_purge(ctx, &vqp->qp, &qp->events_raised);
	verbs_qp_wait_events(vqp, qp->events_raised);
	qp_queues_free(qp);
	return 0;
}

static bool qp_is_of(const struct uroce_qp *qp, const struct uroce_context *ctx)
{
	return !ctx || to_vctx(qp->vqp.qp.context) == &ctx->vctx;
}

static bool qp_settled(struct uroce_qp *qp)
{
	bool done;

	uroce_lock(&qp->lock);
	done = uroce_qp_owed_flush(qp);
	uroce_unlock(&qp->lock);
	return done;
}

static bool qps_settled(struct uroce_host *host, const struct uroce_context *ctx)
{
	bool done = true;
	unsigned int left;

	uroce_lock(&host->progress_lock);
	left = atomic_load(&host->qp_count);
	for (uint32_t i = 0; left && i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (!qp)
			continue;
		left--;
		if (qp_is_of(qp, ctx))
			done = qp_settled(qp) && done;
	}
	uroce_unlock(&host->progress_lock);
	return done;
}

void uroce_qps_settle(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only)
{
	static const struct timespec pause = { .tv_nsec = SETTLE_PAUSE };

	/* A process that has none left ends at once. */
	if (!atomic_load(&host->qp_count))
		return;
	for (unsigned int i = 0; i < SETTLE_PAUSES; i++) {
		uroce_progress_drain(host);
		if (only ? qp_settled(only) : qps_settled(host, ctx))
			return;
		nanosleep(&pause, NULL);
	}
}

/* The QP at @index if it is one of @ctx: then nobody destroys it meanwhile. */
static struct uroce_qp *qp_of(struct uroce_host *host, const struct uroce_context *ctx,
			      uint32_t index)
{
	struct uroce_qp *qp;

	if (!atomic_load_explicit(&host->qps[index], memory_order_relaxed))
		return NULL;
	uroce_lock(&host->progress_lock);
	qp = atomic_load_explicit(&host->qps[index], memory_order_acquire);
	if (qp && !qp_is_of(qp, ctx))
		qp = NULL;
	uroce_unlock(&host->progress_lock);
	return qp;
}

void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx)
{
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = qp_of(host, ctx, i);

		if (qp)
			qp_withdraw(qp);
	}
}

/* --- errors --- */

void uroce_qp_first_error(struct uroce_qp *qp, const struct uroce_first_error *error)
{
	if (qp->first_error.valid || error->status == IBV_WC_WR_FLUSH_ERR)
		return;
	qp->first_error = *error;
	qp->first_error.time = uroce_now();
	uroce_qp_explain(qp);
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
		uroce_cq_push(qp->recv_cq, &wc, NULL, true);
	}
	if (qp->srq) {
		if (!qp->last_wqe_raised)
			uroce_event_qp(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
		qp->last_wqe_raised = true;
		return;
	}
	while (qp->rq.tail != qp->rq.head) {
		wc.wr_id = rq_wqe(&qp->rq, qp->rq.tail++)->wr_id;
		uroce_cq_push(qp->recv_cq, &wc, NULL, true);
	}
}

static void flush_send(struct uroce_qp *qp)
{
	struct uroce_sq *sq = &qp->sq;

	while (sq->tail != sq->head) {
		struct uroce_swqe *wqe = sq_wqe(sq, sq->tail);

		if (wqe->state != WQE_DONE)
			wqe->status = IBV_WC_WR_FLUSH_ERR;
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
	uroce_timer_cancel(&qp->host->wheel, &qp->timer);
}

void uroce_qp_flush(struct uroce_qp *qp)
{
	assert_held(&qp->lock);
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
	uroce_board_qp(qp);
	qp->sq_draining = false;
	qp->resp.ack_due = false;
	qp->resp.res_pending = 0;
	qp->resp.res_count = 0;
	uroce_qp_flush(qp);
}

void uroce_qp_send_error(struct uroce_qp *qp)
{
	if (qp->type == IBV_QPT_RC) {
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

void uroce_qp_peer_dead(struct uroce_host *host, const struct uroce_path *path, const void *peer)
{
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (!qp)
			continue;
		uroce_lock(&qp->lock);
		if (qp->type == IBV_QPT_RC && qp->av.path == path && qp->av.peer == peer) {
			qp->peer_lost = true;
			uroce_req_peer_lost(qp, uroce_now());
		}
		uroce_unlock(&qp->lock);
	}
}
