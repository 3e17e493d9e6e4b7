/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: numbers, memory, and the state machine of IBTA vol. 1, chapter 10. The library has
 * checked the attribute mask and the transition before; here the attributes become engine state.
 */
#include <string.h>
#include <sys/random.h>

#include "providers/uroce/fault.h"
#include "providers/uroce/shm.h"

enum {
	SQ_ALIGN = 64,
	QP_INDEX_MASK = (1 << UROCE_QP_INDEX_BITS) - 1,
	RES_MIN = 16, /* replay window, whatever max_dest_rd_atomic says: flush and atomic write
			 need it too */
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

static int qp_check(const struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

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
	if (cap->max_send_wr > UROCE_MAX_WR || cap->max_recv_wr > UROCE_MAX_WR ||
	    cap->max_send_sge > UROCE_MAX_SGE || cap->max_recv_sge > UROCE_MAX_SGE ||
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
	if (qp->type == IBV_QPT_UD)
		atomic_fetch_add_explicit(&qp->host->udp_interest, 1, memory_order_relaxed);
	return 0;
fail:
	qp_queues_free(qp);
	return r;
}

/*
 * Acknowledgements wait for company. Those of messages the application has seen leave before the QP
 * stops, or its peer would send them again to nobody.
 */
static void owed_flush(struct uroce_qp *qp)
{
	struct uroce_path *path = qp->av.path;

	if (!path || qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	uroce_resp_run(qp, 0);
	if (path->pending)
		path->ops->flush(path);
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

int uroce_destroy_qp(struct verbs_qp *vqp)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vqp->qp.context);

	if (qp->mcast_groups) {
		verbs_err(vqp->qp.context, "qp 0x%x: still attached to %u multicast groups",
			  vqp->qp.qp_num, qp->mcast_groups);
		return -EBUSY;
	}
	uroce_lock(&qp->lock);
	owed_flush(qp);
	uroce_board_qp_remove(qp);
	qp->state = IBV_QPS_RESET; /* packets on their way to it are dropped */
	uroce_unlock(&qp->lock);
	qpn_free(qp);
	qp_unlist(qp);
	udp_interest_drop(qp);
	uroce_cq_sq_forget(qp->send_cq, &qp->sq);
	qp_users_add(qp, -1);
	qp->events_raised -= uroce_event_purge(ctx, &vqp->qp);
	verbs_qp_wait_events(vqp, qp->events_raised);
	qp_queues_free(qp);
	return 0;
}

static bool qp_is_of(const struct uroce_qp *qp, const struct uroce_context *ctx)
{
	return !ctx || to_vctx(qp->vqp.qp.context) == &ctx->vctx;
}

void uroce_qps_owed_flush(struct uroce_host *host, const struct uroce_context *ctx)
{
	assert_held(&host->progress_lock);
	for (uint32_t i = 0; i <= QP_INDEX_MASK; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (!qp || !qp_is_of(qp, ctx))
			continue;
		uroce_lock(&qp->lock);
		owed_flush(qp);
		uroce_unlock(&qp->lock);
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
	struct uroce_cqe cqe = {
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = IBV_WC_RECV,
		.qp_num = qp->vqp.qp.qp_num,
		.solicited = true,
	};

	if (qp->resp.have_rwqe) {
		qp->resp.have_rwqe = false;
		cqe.wr_id = qp->resp.rwqe->wr_id;
		uroce_cq_push(qp->recv_cq, &cqe);
	}
	if (qp->srq) {
		if (!qp->last_wqe_raised)
			uroce_event_qp(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
		qp->last_wqe_raised = true;
		return;
	}
	while (qp->rq.tail != qp->rq.head) {
		cqe.wr_id = rq_wqe(&qp->rq, qp->rq.tail++)->wr_id;
		uroce_cq_push(qp->recv_cq, &cqe);
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

/* --- state machine --- */

static void qp_reset(struct uroce_qp *qp)
{
	struct uroce_rwqe *rwqe = qp->resp.rwqe;

	uroce_timer_cancel(&qp->host->wheel, &qp->timer);
	qp->sq.head = qp->sq.next = qp->sq.tail = 0;
	qp->rq.head = qp->rq.tail = 0;
	free(qp->resp.res);
	qp->req = (struct uroce_requester){};
	qp->resp = (struct uroce_responder){ .rwqe = rwqe };
	qp->first_error = (struct uroce_first_error){};
	qp->attr = (struct ibv_qp_attr){};
	qp->sq_draining = qp->last_wqe_raised = qp->established_raised = false;
	qp->av = (struct uroce_av){};
	qp->peer_lost = false;
	qp->dest_qpn = 0;
}

static void responder_start(struct uroce_qp *qp, const struct ibv_qp_attr *attr)
{
	qp->resp.psn = qp->rq_psn = attr->rq_psn & PSN_MASK;
	qp->resp.min_rnr_timer = attr->min_rnr_timer;
	qp->resp.max_rd_atomic = attr->max_dest_rd_atomic;
}

static void requester_start(struct uroce_qp *qp, const struct ibv_qp_attr *attr)
{
	struct uroce_requester *req = &qp->req;

	req->psn = req->una = req->max_psn = qp->sq_psn = attr->sq_psn & PSN_MASK;
	req->max_rd_atomic = attr->max_rd_atomic;
	req->window_max = req->window =
		qp->av.path && qp->av.path->lossless ? UROCE_WINDOW_LOSSLESS : UROCE_WINDOW;
}

static void attr_keep(struct uroce_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *kept = &qp->attr;

	if (mask & IBV_QP_PKEY_INDEX)
		kept->pkey_index = attr->pkey_index;
	if (mask & IBV_QP_PORT)
		kept->port_num = attr->port_num;
	if (mask & IBV_QP_QKEY)
		kept->qkey = qp->qkey = attr->qkey;
	if (mask & IBV_QP_ACCESS_FLAGS)
		kept->qp_access_flags = qp->access = attr->qp_access_flags;
	if (mask & IBV_QP_AV)
		kept->ah_attr = attr->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		kept->path_mtu = attr->path_mtu;
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		kept->en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		kept->min_rnr_timer = qp->resp.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_TIMEOUT)
		kept->timeout = qp->req.timeout = attr->timeout & 31;
	if (mask & IBV_QP_RETRY_CNT)
		kept->retry_cnt = qp->req.retry_cnt = qp->req.retry_left = attr->retry_cnt & 7;
	if (mask & IBV_QP_RNR_RETRY)
		kept->rnr_retry = qp->req.rnr_retry = qp->req.rnr_left = attr->rnr_retry & 7;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		kept->max_rd_atomic = qp->req.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		kept->max_dest_rd_atomic = qp->resp.max_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IBV_QP_DEST_QPN)
		kept->dest_qp_num = qp->dest_qpn = attr->dest_qp_num & QPN_MASK;
}

/* What may fail is got before the QP's lock is taken. */
struct qp_prepared {
	struct uroce_av av;
	struct uroce_resource *res;
	uint32_t res_size;
};

static int qp_prepare(struct uroce_qp *qp, const struct ibv_qp_attr *attr, int mask,
		      struct qp_prepared *ret)
{
	uint32_t dest = mask & IBV_QP_DEST_QPN ? attr->dest_qp_num : qp->dest_qpn;
	int r;

	if (mask & IBV_QP_AV) {
		r = uroce_av_resolve(qp->dev, &attr->ah_attr, dest & QPN_MASK, &ret->av);
		if (r < 0)
			return r;
	}
	if (qp->type == IBV_QPT_RC && (mask & IBV_QP_MAX_DEST_RD_ATOMIC)) {
		ret->res_size = max_of((uint32_t)attr->max_dest_rd_atomic, (uint32_t)RES_MIN);
		ret->res = calloc(ret->res_size, sizeof(*ret->res));
		if (!ret->res)
			return -ENOMEM;
	}
	return 0;
}

static void qp_install(struct uroce_qp *qp, const struct ibv_qp_attr *attr, int mask,
		       struct qp_prepared *got)
{
	if (mask & IBV_QP_AV) {
		qp->av = got->av;
		if (!qp->udp_counted && qp->av.path && !qp->av.path->lossless) {
			qp->udp_counted = true;
			atomic_fetch_add_explicit(&qp->host->udp_interest, 1, memory_order_relaxed);
		}
	}
	if (got->res) {
		free(qp->resp.res);
		qp->resp.res = take_ptr(&got->res);
		qp->resp.res_size = got->res_size;
		qp->resp.res_head = qp->resp.res_count = qp->resp.res_pending = 0;
	}
	if ((mask & IBV_QP_PATH_MTU))
		qp->mtu = 128u << attr->path_mtu;
	if (qp->av.path && !qp->av.path->lossless)
		qp->av.mtu = qp->mtu ? qp->mtu : qp->av.mtu;
}

static void qp_transition(struct uroce_qp *qp, enum ibv_qp_state next,
			  const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state cur = qp->state;

	if (next == IBV_QPS_RESET || next == IBV_QPS_ERR)
		owed_flush(qp);
	if (next == IBV_QPS_RESET) {
		qp_reset(qp);
	} else if (next == IBV_QPS_RTR && cur == IBV_QPS_INIT) {
		responder_start(qp, attr);
	} else if (next == IBV_QPS_RTS && cur == IBV_QPS_RTR) {
		requester_start(qp, attr);
	}
	if (next == IBV_QPS_ERR) {
		uroce_qp_error(qp);
		return;
	}
	qp->state = next;
	if (next == IBV_QPS_SQD && cur == IBV_QPS_RTS) {
		const struct uroce_sq *sq = &qp->sq;

		qp->sq_draining = true;
		if (sq->tail == sq->next &&
		    (sq->next == sq->head || !sq_wqe(sq, sq->next)->psn_assigned))
			uroce_qp_drained(qp);
	}
}

static int qp_modify_locked(struct uroce_qp *qp, const struct verbs_modify_qp *in,
			    struct qp_prepared *got)
{
	enum ibv_qp_state next = in->mask & IBV_QP_STATE ? in->attr->qp_state : qp->state;

	if ((in->mask & IBV_QP_CUR_STATE) &&
	    in->attr->cur_qp_state != (enum ibv_qp_state)qp->state) {
		verbs_err(qp->vqp.qp.context,
			  "qp 0x%x: cur_qp_state is %d, but the QP is in state %d",
			  qp->vqp.qp.qp_num, in->attr->cur_qp_state, qp->state);
		return -EINVAL;
	}
	if (qp->state == IBV_QPS_ERR && next != IBV_QPS_RESET && next != IBV_QPS_ERR) {
		verbs_err(
			qp->vqp.qp.context,
			"qp 0x%x: in the error state (see the QP's first error): only RESET leads out",
			qp->vqp.qp.qp_num);
		return -EINVAL;
	}
	qp_install(qp, in->attr, in->mask, got);
	if (next != IBV_QPS_RESET)
		attr_keep(qp, in->attr, in->mask);
	qp_transition(qp, next, in->attr, in->mask);
	return 0;
}

int uroce_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct qp_prepared got = {};
	int r = uroce_host_check(qp->host);

	if (r < 0)
		return r;
	r = qp_prepare(qp, in->attr, in->mask, &got);
	if (r < 0)
		return r;
	uroce_lock(&qp->lock);
	r = qp_modify_locked(qp, in, &got);
	uroce_board_qp(qp);
	if (!r && qp->state == IBV_QPS_RTS)
		uroce_req_run(qp, uroce_now());
	uroce_unlock(&qp->lock);
	free(got.res);
	return r;
}

int uroce_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	struct ibv_qp_attr *attr = in->ret_attr;

	uroce_lock(&qp->lock);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = qp->state;
	attr->sq_psn = qp->req.psn;
	attr->rq_psn = qp->resp.psn;
	attr->sq_draining = qp->sq_draining;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->cap = vqp->cap;
	uroce_unlock(&qp->lock);
	*in->ret_init_attr = (struct ibv_qp_init_attr){
		.qp_context = vqp->qp.qp_context,
		.send_cq = vqp->qp.send_cq,
		.recv_cq = vqp->qp.recv_cq,
		.srq = vqp->qp.srq,
		.cap = vqp->cap,
		.qp_type = vqp->qp.qp_type,
		.sq_sig_all = qp->sq.sig_all,
	};
	return 0;
}
