/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State transitions, and their effect on the rings.
 *
 * During the transition to the error state, the kernel reads the heads of the rings from their
 * records. It then completes all posted requests. A request that is posted later needs another
 * command for the same transition. Therefore this library marks the rings before it sends the
 * command. A post that does not see the mark has written its record before the command. A post that
 * sees the mark sends the command itself.
 */
#include "providers/hns/wqe.h"

enum {
	TC_MODE_DSCP = 1,
	SL_MASK = 7,
	MTU_SHIFT = 7, /* enum ibv_mtu n means 2^(7 + n) bytes */
	MTU_UD = 4096,
	PLAIN_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM | 1 << IBV_WR_RDMA_WRITE |
		    1 << IBV_WR_RDMA_WRITE_WITH_IMM | 1 << IBV_WR_RDMA_READ,
};

void hns_qp_post_limits_set(struct hns_qp *qp, enum ibv_qp_state state)
{
	bool sends = state >= IBV_QPS_RTS && qp->vqp.qp.qp_type != IBV_QPT_XRC_RECV;
	bool receives = state != IBV_QPS_RESET && qp->rq.max_post;
	struct hns_sq *sq = &qp->sq;
	struct hns_rq *rq = &qp->rq;

	spinlock_lock(&sq->lock);
	sq->max_sge = sends ? (int)qp->vqp.cap.max_send_sge : -1;
	sq->plain_ops = state == IBV_QPS_RTS && !sq->datagrams && !sq->xrc ? PLAIN_OPS : 0;
	sq->flushes = state == IBV_QPS_ERR;
	spinlock_lock(&rq->lock);
	rq->max_sge = receives ? (int)qp->vqp.cap.max_recv_sge : -1;
	rq->plain = receives && state != IBV_QPS_ERR && !rq->ends;
	rq->flushes = state == IBV_QPS_ERR;
	atomic_store_explicit(&qp->state, state, memory_order_relaxed);
	spinlock_unlock(&rq->lock);
	spinlock_unlock(&sq->lock);
}

void hns_qp_flush(struct hns_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct verbs_modify_qp request = { .attr = &attr, .mask = IBV_QP_STATE };
	int r = uverbs_modify_qp(&qp->vqp, &request);

	if (r < 0)
		verbs_warn(qp->vqp.qp.context,
			   "qp 0x%x: the kernel does not flush its requests: %s", qp->number,
			   strerror(-r));
}

void hns_qp_fail(struct hns_qp *qp)
{
	enum ibv_qp_state state = atomic_load_explicit(&qp->state, memory_order_relaxed);

	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET)
		return;
	hns_qp_post_limits_set(qp, IBV_QPS_ERR);
	hns_qp_flush(qp);
}

/* Empty both rings. Clear the records as well: the adapter begins with index 0, and the kernel
 * reads the records. */
static void rings_empty(struct hns_qp *qp)
{
	qp->sq.head = qp->sq.segment = qp->rq.head = 0;
	atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
	*qp->sq_record = 0;
	if (qp->rq_record)
		*qp->rq_record = 0;
}

/* Reset a queue pair and remove its completions. Hold the locks during both steps: a poll between
 * them could find a failed completion and move the queue pair to the error state. */
static int reset(struct hns_qp *qp, const struct verbs_modify_qp *request)
{
	int r;

	hns_cqs_lock(qp);
	r = uverbs_modify_qp(&qp->vqp, request);
	if (!r) {
		hns_cqs_clean(qp);
		hns_qp_post_limits_set(qp, IBV_QPS_RESET);
		rings_empty(qp);
	}
	hns_cqs_unlock(qp);
	return r;
}

static int transition(struct hns_qp *qp, const struct verbs_modify_qp *request)
{
	enum ibv_qp_state before = atomic_load_explicit(&qp->state, memory_order_relaxed);
	enum ibv_qp_state state = request->attr->qp_state;
	int r;

	if (!(request->mask & IBV_QP_STATE))
		return uverbs_modify_qp(&qp->vqp, request);
	if (state == IBV_QPS_RESET)
		return reset(qp, request);
	if (state == IBV_QPS_ERR)
		hns_qp_post_limits_set(qp, state);
	r = uverbs_modify_qp(&qp->vqp, request);
	if (state == IBV_QPS_ERR ? r < 0 : !r)
		hns_qp_post_limits_set(qp, r < 0 ? before : state);
	return r;
}

/* Store the attributes that requests and doorbells need. */
static void attributes_take(struct hns_qp *qp, const struct ibv_qp_attr *attr, int mask,
			    const struct hns_roce_ib_modify_qp_resp *resp)
{
	struct hns_sq *sq = &qp->sq;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR) {
		qp->by_dscp = resp->tc_mode == TC_MODE_DSCP;
		qp->priority = resp->priority;
	}
	if (mask & IBV_QP_QKEY)
		sq->qkey = attr->qkey;
	if (sq->datagrams)
		sq->mtu = MTU_UD;
	else if (mask & IBV_QP_PATH_MTU)
		sq->mtu = 1u << (MTU_SHIFT + (attr->path_mtu & 7));
	if (mask & IBV_QP_AV) {
		qp->sl = (qp->by_dscp ? qp->priority : attr->ah_attr.sl) & SL_MASK;
		sq->tag = hns_doorbell(HNS_DB_SQ, qp->number) | (uint64_t)qp->sl << HNS_DB_SL_SHIFT;
	}
}

int hns_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct hns_roce_ib_modify_qp_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	const struct verbs_modify_qp request = { .attr = in->attr,
						 .mask = in->mask,
						 .udata = &udata };
	struct hns_qp *qp = to_hqp(&vqp->qp);
	int r;

	if (qp->opened)
		return uverbs_modify_qp(vqp, in);
	r = transition(qp, &request);
	if (!r)
		attributes_take(qp, in->attr, in->mask, &resp);
	return r;
}
