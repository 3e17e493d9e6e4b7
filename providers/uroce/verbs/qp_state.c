/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state machine of a queue pair, IBTA vol. 1, chapter 10. The library checks the attribute
 * mask and the transition before (verbs_check_modify_qp()); here the attributes become engine
 * state.
 */

#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

enum {
	/* replay window for any max_dest_rd_atomic, because flush and atomic write also need it */
	RES_MIN = 16,
};

static void qp_reset(struct uroce_qp *qp)
{
	struct uroce_rwqe *rwqe = qp->resp.rwqe;

	uroce_timer_cancel(&qp->engine->wheel, &qp->timer);
	qp->sq.head = qp->sq.next = qp->sq.tail = 0;
	qp->rq.head = qp->rq.tail = 0;
	free(qp->resp.res);
	qp->req = (struct uroce_requester){};
	qp->resp = (struct uroce_responder){ .rwqe = rwqe };
	qp->first_error = (struct uroce_first_error){};
	qp->attr = (struct ibv_qp_attr){};
	qp->sq_draining = qp->last_wqe_raised = qp->established_raised = false;
	qp->av = (struct uroce_av){};
	qp->short_way = false;
	qp->peer_lost = false;
	qp->dest_qpn = 0;
	/*
	 * Remove completions like adapters do: from now on completions belong to requests posted
	 * later.
	 */
	uroce_cq_qp_purge(qp);
}

static void responder_start(struct uroce_qp *qp, const struct ibv_qp_attr *attr)
{
	qp->resp.psn = qp->rq_psn = attr->rq_psn & PSN_MASK;
	qp->resp.again_before = UINT32_MAX; /* no PSN, because there was no duplicate yet */
	qp->resp.min_rnr_timer = attr->min_rnr_timer & 31;
	qp->resp.max_rd_atomic = attr->max_dest_rd_atomic;
}

static void requester_start(struct uroce_qp *qp, const struct ibv_qp_attr *attr)
{
	struct uroce_requester *req = &qp->req;

	req->psn = req->una = req->max_psn = qp->sq_psn = attr->sq_psn & PSN_MASK;
	req->max_rd_atomic = attr->max_rd_atomic;
	uroce_window_start(qp);
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
		kept->min_rnr_timer = qp->resp.min_rnr_timer = attr->min_rnr_timer & 31;
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

/* Resources that are allocated before the QP's lock is taken, because that may fail. */
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

	/* The library checks the upper bound. No peer accepts an MTU of 128 bytes. */
	if (mask & IBV_QP_PATH_MTU && attr->path_mtu < IBV_MTU_256)
		return -EINVAL;
	if (mask & IBV_QP_AV) {
		r = uroce_av_resolve(qp->dev, &attr->ah_attr, dest & QPN_MASK, &ret->av);
		if (r < 0)
			return r;
	}
	if (uroce_qp_reliable(qp) && (mask & IBV_QP_MAX_DEST_RD_ATOMIC)) {
		ret->res_size = max_of((uint32_t)attr->max_dest_rd_atomic, (uint32_t)RES_MIN);
		ret->res = calloc(ret->res_size, sizeof(*ret->res));
		if (!ret->res)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Install a list of replay resources and keep requests of the peer in it, because the peer may
 * repeat them. A smaller list is used only from the next connection on.
 */
static void resources_install(struct uroce_responder *resp, struct qp_prepared *got)
{
	if (resp->res_count && got->res_size <= resp->res_size)
		return;
	for (uint32_t i = 0; i < resp->res_count; i++)
		got->res[i] = resp->res[(resp->res_head + i) % resp->res_size];
	free(resp->res);
	resp->res = take_ptr(&got->res);
	resp->res_size = got->res_size;
	resp->res_head = 0;
}

static void qp_install(struct uroce_qp *qp, const struct ibv_qp_attr *attr, int mask,
		       struct qp_prepared *got)
{
	uint8_t path_mtu = mask & IBV_QP_PATH_MTU ? attr->path_mtu : qp->av.path_mtu;

	if (mask & IBV_QP_AV) {
		qp->av = got->av;
		qp->short_way = uroce_short_way_possible(qp);
		if (!qp->udp_counted && qp->av.path && !qp->av.path->lossless) {
			qp->udp_counted = true;
			uroce_qp_network_join(qp);
			atomic_fetch_add_explicit(&qp_host(qp)->udp_interest, 1,
						  memory_order_relaxed);
		}
	}
	if (got->res)
		resources_install(&qp->resp, got);
	if ((mask & IBV_QP_PATH_MTU))
		qp->mtu = 128u << attr->path_mtu;
	qp->av.path_mtu = path_mtu;
	if (qp->av.path && !qp->av.path->lossless)
		qp->av.mtu = qp->mtu ? qp->mtu : qp->av.mtu;
}

static void qp_transition(struct uroce_qp *qp, enum ibv_qp_state next,
			  const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state cur = qp->state;

	if (next == IBV_QPS_RESET || next == IBV_QPS_ERR)
		uroce_qp_owed_flush(qp);
	if (next == IBV_QPS_RESET) {
		qp_reset(qp);
	} else if (next == IBV_QPS_RTR && cur == IBV_QPS_INIT) {
		responder_start(qp, attr);
		qp->was_connected = qp->type != IBV_QPT_UD;
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

static bool is_step_to_rtr(const struct verbs_modify_qp *in)
{
	return in->mask & IBV_QP_STATE && in->attr->qp_state == IBV_QPS_RTR;
}

/*
 * Drop packets of the QP's former connection that have arrived but were not received yet, because
 * the next connection may have the same QP numbers. An adapter receives packets at once, this
 * process only in a pass. A QP's first connection drops nothing, because early packets may belong
 * to it.
 */
static void former_drain(struct uroce_qp *qp, const struct verbs_modify_qp *in)
{
	if (is_step_to_rtr(in) && qp->was_connected)
		uroce_progress_drain_full(qp_host(qp));
}

static bool is_end(const struct verbs_modify_qp *in)
{
	return in->mask & IBV_QP_STATE &&
	       (in->attr->qp_state == IBV_QPS_RESET || in->attr->qp_state == IBV_QPS_ERR);
}

/* Show the peer that it may begin no more copies. Return: the number of its QP. */
static uint32_t end_show(struct uroce_qp *qp)
{
	uint32_t peer_qpn;

	uroce_lock(&qp->lock);
	peer_qpn = qp->dest_qpn;
	qp->ending = true;
	uroce_qp_show(qp);
	uroce_unlock(&qp->lock);
	return peer_qpn;
}

/*
 * Wait for the peer's copies to or from memory of the QP. Afterwards requests can be flushed, and
 * their memory belongs to the application again.
 */
static void end_prepare(struct uroce_qp *qp)
{
	uroce_qp_fence(qp, end_show(qp));
}

bool uroce_qp_end_waits(struct ibv_qp *ibqp)
{
	struct uroce_qp *qp = uroce_qp_real((struct verbs_qp *)ibqp);
	unsigned int slot = uroce_qpn_slot(end_show(qp));

	return slot && uroce_board_qp_used(qp_host(qp)->shm, qp->vqp.qp.qp_num, slot);
}

static int qp_modify(struct uroce_qp *qp, const struct verbs_modify_qp *in, struct qp_prepared *got)
{
	bool lost;
	int r;

	if (is_end(in))
		end_prepare(qp);
	uroce_lock(&qp->lock);
	qp->ending = false;
	r = qp_modify_locked(qp, in, got);
	lost = uroce_qp_hide_lost(qp);
	if (!lost)
		uroce_qp_show(qp);
	if (!r && qp->state == IBV_QPS_RTS)
		uroce_qp_run(qp, uroce_now());
	uroce_unlock(&qp->lock);
	if (!lost)
		return r;
	uroce_qp_fence(qp, qp->dest_qpn);
	uroce_lock(&qp->lock);
	uroce_qp_show(qp);
	uroce_unlock(&qp->lock);
	return r;
}

int uroce_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_qp *qp = uroce_qp_real(vqp);
	struct qp_prepared got = {};
	int r = uroce_host_check(qp_host(qp));

	/* The QP may have been modified through another handle. */
	if (!r && vqp != &qp->vqp)
		vqp->qp.state = qp->state;
	if (!r)
		r = verbs_check_modify_qp(vqp, in);
	if (r < 0)
		return r;
	if (in->mask & IBV_QP_AV)
		uroce_shm_find_begin(qp_host(qp)->shm);
	r = qp_prepare(qp, in->attr, in->mask, &got);
	if (!r) {
		if (is_step_to_rtr(in))
			uroce_shm_rest_later(qp_host(qp)->shm, qp->vqp.qp.qp_num);
		former_drain(qp, in);
		r = qp_modify(qp, in, &got);
	}
	if (in->mask & IBV_QP_AV)
		uroce_shm_find_end(qp_host(qp)->shm);
	free(got.res);
	return r;
}

int uroce_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_qp *qp = uroce_qp_real(vqp);
	struct ibv_qp_attr *attr = in->ret_attr;
	int r = uroce_host_check(qp_host(qp));

	if (r < 0)
		return r;
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
