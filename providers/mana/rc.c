/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RC queue pairs: creation, states and destruction. */
#include "providers/kit/qp.h"
#include "providers/mana/rc.h"

enum {
	SEND_SGE_MAX = 2 * SEND_UNITS_MAX - 2,
	RECV_SGE_MAX = 2 * RECV_UNITS_MAX - 1,
	ROLLBACK_SIGNATURE = 0x4b424c52, /* "RLBK" */
	MTU_SHIFT = 7,			 /* of IBV_MTU_256 - 1 */
};

int mana_rc_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (!comp_mask_ok(attr->comp_mask, IBV_QP_INIT_ATTR_PD)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by RC of mana",
			  attr->comp_mask & ~IBV_QP_INIT_ATTR_PD);
		return -EOPNOTSUPP;
	}
	if (attr->srq) {
		verbs_err(ctx, "ibv_create_qp: mana has no shared receive queues");
		return -EOPNOTSUPP;
	}
	if (!attr->send_cq || !attr->recv_cq || !to_mcq(attr->send_cq)->ring ||
	    !to_mcq(attr->recv_cq)->ring) {
		verbs_err(ctx, "ibv_create_qp: RC needs two completion queues that were created "
			       "without an allocator of the program");
		return -EINVAL;
	}
	if (cap->max_send_sge > SEND_SGE_MAX || cap->max_recv_sge > RECV_SGE_MAX) {
		verbs_err(
			ctx,
			"ibv_create_qp: %u and %u entries of a send and a receive (at most %u and "
			"%u)",
			cap->max_send_sge, cap->max_recv_sge, SEND_SGE_MAX, RECV_SGE_MAX);
		return -EINVAL;
	}
	if (cap->max_inline_data) {
		verbs_err(ctx, "ibv_create_qp: %u bytes inline: mana has no inline data",
			  cap->max_inline_data);
		return -EINVAL;
	}
	return 0;
}

/* ---- memory */

static void rc_free(struct mana_rc *qp)
{
	for (int i = 0; i < RC_QUEUES; i++)
		kit_buf_free(&qp->bufs[i]);
	free(qp->sq.sent);
	free(qp->rq.received);
}

/* Allocate the queues. @bytes: their sizes */
static int queues_make(struct mana_rc *qp, const struct ibv_qp_cap *cap, uint32_t bytes[RC_QUEUES])
{
	struct ibv_context *ctx = qp->vqp.qp.context;

	/* A write with immediate data has one element more. */
	bytes[RC_SEND] = mana_queue_bytes(ctx, MANA_QUEUE_RC_SQ, cap->max_send_wr,
					  max_of(cap->max_send_sge, 1u) + 1);
	bytes[RC_SEND_RESPONDER] = bytes[RC_READS] = MANA_PAGE;
	bytes[RC_RECV] = mana_queue_bytes(ctx, MANA_QUEUE_RQ, cap->max_recv_wr,
					  max_of(cap->max_recv_sge, 1u));
	if (!bytes[RC_SEND] || !bytes[RC_RECV])
		return -EINVAL;
	for (int i = 0; i < RC_QUEUES; i++) {
		size_t more = i == RC_SEND ? sizeof(struct mana_rollback) : 0;
		int r = kit_buf_alloc(&qp->bufs[i], bytes[i] + more);

		if (r < 0)
			return r;
	}
	return 0;
}

static void ring_init(struct mana_ring *ring, const struct kit_buf *buf, uint32_t bytes)
{
	ring->base = buf->base;
	ring->mask = bytes - 1;
}

static int rings_make(struct mana_rc *qp, const struct ibv_qp_cap *cap,
		      const uint32_t bytes[RC_QUEUES])
{
	uint32_t sends = round_up_pow2(max_of(cap->max_send_wr, 1u));
	uint32_t receives = round_up_pow2(max_of(cap->max_recv_wr, 1u));

	qp->sq.sent = calloc(sends, sizeof(*qp->sq.sent));
	qp->rq.received = calloc(receives, sizeof(*qp->rq.received));
	if (!qp->sq.sent || !qp->rq.received)
		return -ENOMEM;
	ring_init(&qp->sq.ring, &qp->bufs[RC_SEND], bytes[RC_SEND]);
	ring_init(&qp->sq.reads, &qp->bufs[RC_READS], bytes[RC_READS]);
	ring_init(&qp->rq.ring, &qp->bufs[RC_RECV], bytes[RC_RECV]);
	qp->sq.mask = sends - 1;
	qp->rq.mask = receives - 1;
	qp->sq.max_post = cap->max_send_wr;
	qp->rq.max_post = cap->max_recv_wr;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	qp->sq.rollback = (void *)(qp->sq.ring.base + bytes[RC_SEND]);
	*qp->sq.rollback = (struct mana_rollback){
		.signature = htole32(ROLLBACK_SIGNATURE),
		.size = htole32(sizeof(struct mana_rollback)),
	};
	qp->doorbells = to_mctx(qp->vqp.qp.context)->doorbells.base;
	return 0;
}

/* ---- creation */

static int numbers_accept(struct mana_rc *qp, const struct mana_ib_create_rc_qp_resp *resp)
{
	for (int i = 0; i < RC_QUEUES; i++) {
		if (resp->queue_id[i] > CQE_QUEUE_MASK) {
			verbs_err(qp->vqp.qp.context,
				  "ibv_create_qp: the kernel gives queue %d number 0x%x, at most "
				  "0x%x fits",
				  i, resp->queue_id[i], CQE_QUEUE_MASK);
			return -EPROTO;
		}
	}
	qp->sq.ring.number = resp->queue_id[RC_SEND];
	qp->sq.reads.number = resp->queue_id[RC_READS];
	qp->rq.ring.number = resp->queue_id[RC_RECV];
	qp->vqp.qp.qp_num = resp->queue_id[RC_RECV];
	return 0;
}

static uint32_t table_number(const struct mana_ring *ring)
{
	return ring->number & ~(uint32_t)QUEUE_TYPE_MASK;
}

static int tables_put(struct mana_rc *qp)
{
	struct mana_context *ctx = to_mctx(qp->vqp.qp.context);
	uint32_t sends = table_number(&qp->sq.ring), receives = table_number(&qp->rq.ring);
	int r = idtable_put(&ctx->by_sq, sends, qp);

	if (r < 0)
		return r;
	r = idtable_put(&ctx->by_rq, receives, qp);
	if (r < 0) {
		idtable_take(&ctx->by_sq, sends, qp);
		return r;
	}
	idtable_own(&ctx->by_sq, sends, qp->send_cq, qp->recv_cq);
	idtable_own(&ctx->by_rq, receives, qp->send_cq, qp->recv_cq);
	return 0;
}

static void cqs_lock(struct mana_rc *qp)
{
	spinlock_lock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

static void cqs_unlock(struct mana_rc *qp)
{
	spinlock_unlock_both(&qp->send_cq->lock, &qp->recv_cq->lock);
}

/* The caller holds qp_lock. */
static int create_locked(struct mana_rc *qp, const struct verbs_create_qp *in,
			 const uint32_t bytes[RC_QUEUES])
{
	struct mana_ib_create_rc_qp_resp resp = {};
	struct mana_ib_create_rc_qp cmd = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r;

	for (int i = 0; i < RC_QUEUES; i++) {
		cmd.queue_buf[i] = (uintptr_t)qp->bufs[i].base;
		cmd.queue_size[i] = bytes[i];
	}
	cmd.queue_size[RC_SEND] += sizeof(struct mana_rollback);
	r = kit_create_qp(&qp->vqp, in, &udata);
	if (r < 0)
		return r;
	r = numbers_accept(qp, &resp);
	if (!r)
		r = tables_put(qp);
	if (r < 0) {
		uverbs_destroy_qp(&qp->vqp);
		return r;
	}
	cqs_lock(qp);
	LIST_INSERT_HEAD(&qp->send_cq->senders, qp, sender);
	LIST_INSERT_HEAD(&qp->recv_cq->receivers, qp, receiver);
	cqs_unlock(qp);
	return 0;
}

int mana_rc_create(struct mana_rc *qp, const struct verbs_create_qp *in)
{
	struct mana_context *ctx = to_mctx(qp->vqp.qp.context);
	struct ibv_qp_cap cap = in->attr->cap;
	uint32_t bytes[RC_QUEUES];
	int r = queues_make(qp, &cap, bytes);

	qp->send_cq = to_mcq(in->attr->send_cq);
	qp->recv_cq = to_mcq(in->attr->recv_cq);
	if (in->attr->sq_sig_all)
		qp->sq.always = IBV_SEND_SIGNALED << REQUEST_FLAGS_SHIFT;
	if (!r)
		r = rings_make(qp, &cap, bytes);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = create_locked(qp, in, bytes);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	/* The kernel does not know the limits of a request. */
	in->attr->cap = qp->vqp.cap = cap;
	if (r < 0)
		rc_free(qp);
	return r;
}

int mana_rc_destroy(struct mana_rc *qp)
{
	struct mana_context *ctx = to_mctx(qp->vqp.qp.context);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_qp(&qp->vqp);
	if (!r) {
		cqs_lock(qp);
		mana_cqs_clean(qp);
		LIST_REMOVE(qp, sender);
		LIST_REMOVE(qp, receiver);
		idtable_take(&ctx->by_sq, table_number(&qp->sq.ring), qp);
		idtable_take(&ctx->by_rq, table_number(&qp->rq.ring), qp);
		cqs_unlock(qp);
	}
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		rc_free(qp);
	return r;
}

/* ---- states */

/* Set which requests the queue pair accepts in this state. */
static void state_set(struct mana_rc *qp, enum ibv_qp_state state)
{
	bool sends = state == IBV_QPS_RTS && qp->sq.max_post;
	bool receives = state != IBV_QPS_RESET && state != IBV_QPS_ERR && qp->rq.max_post;

	spinlock_lock(&qp->sq.lock);
	qp->sq.max_sge = sends ? (int)qp->vqp.cap.max_send_sge : -1;
	spinlock_lock(&qp->rq.lock);
	qp->rq.max_sge = receives ? (int)qp->vqp.cap.max_recv_sge : -1;
	/* release: a poll that finds the error state also finds all requests */
	atomic_store_explicit(&qp->state, state, memory_order_release);
	spinlock_unlock(&qp->rq.lock);
	spinlock_unlock(&qp->sq.lock);
}

/* Let the next polls flush the requests. */
static void flush_start(struct mana_rc *qp)
{
	atomic_store(&qp->send_cq->flushes, true);
	atomic_store(&qp->recv_cq->flushes, true);
}

void mana_rc_fail(struct mana_rc *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct verbs_modify_qp request = { .attr = &attr, .mask = IBV_QP_STATE };
	enum ibv_qp_state state = atomic_load_explicit(&qp->state, memory_order_relaxed);
	int r;

	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET)
		return;
	state_set(qp, IBV_QPS_ERR);
	r = uverbs_modify_qp(&qp->vqp, &request);
	if (r < 0)
		verbs_warn(qp->vqp.qp.context,
			   "qp 0x%x: it has failed, and the kernel does not move it to ERR: %s",
			   qp->vqp.qp.qp_num, strerror(-r));
	flush_start(qp);
}

/* The device may report a failed queue pair by an event before the completion. */
void mana_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		if (event->element.qp->qp_type == IBV_QPT_RC)
			mana_rc_fail(to_mrc(event->element.qp));
		return;
	default:
		return;
	}
}

static void rings_empty(struct mana_rc *qp)
{
	struct mana_sq *sq = &qp->sq;
	struct mana_rq *rq = &qp->rq;

	sq->ring.head = sq->reads.head = rq->ring.head = sq->armed = 0;
	atomic_store_explicit(&sq->reads_tail, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->posted, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->completed, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->posted, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->completed, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->rollback->right, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->rollback->left, 0, memory_order_relaxed);
}

/*
 * Reset a queue pair and remove its completions. Hold the locks during both steps: a poll between
 * them could find a failed completion and move the queue pair to the error state.
 */
static int reset(struct mana_rc *qp, const struct verbs_modify_qp *in)
{
	int r;

	cqs_lock(qp);
	r = uverbs_modify_qp(&qp->vqp, in);
	if (!r) {
		mana_cqs_clean(qp);
		state_set(qp, IBV_QPS_RESET);
		rings_empty(qp);
	}
	cqs_unlock(qp);
	return r;
}

/* Begin with the first packet, and ask for a completion when the peer has acknowledged it. */
static void send_start(struct mana_rc *qp, uint32_t psn)
{
	spinlock_lock(&qp->sq.lock);
	qp->sq.psn = psn & PSN_MASK;
	qp->sq.ssn = 1;
	spinlock_unlock(&qp->sq.lock);
	mana_rc_arm(qp, psn & PSN_MASK);
}

static void applied(struct mana_rc *qp, const struct verbs_modify_qp *in)
{
	enum ibv_qp_state state = in->attr->qp_state;

	if (in->mask & IBV_QP_PATH_MTU)
		qp->sq.mtu_shift =
			MTU_SHIFT + min_of(max_of(in->attr->path_mtu, IBV_MTU_256), IBV_MTU_4096);
	if (!(in->mask & IBV_QP_STATE))
		return;
	if (state == IBV_QPS_RTS && in->mask & IBV_QP_SQ_PSN)
		send_start(qp, in->attr->sq_psn);
	state_set(qp, state);
	if (state == IBV_QPS_ERR)
		flush_start(qp);
}

int mana_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in)
{
	struct mana_rc *qp = to_mrc(&vqp->qp);
	int r;

	if (vqp->qp.qp_type != IBV_QPT_RC) {
		verbs_err(vqp->qp.context,
			  "qp 0x%x: ibv_modify_qp: a queue pair of raw packets has "
			  "no states",
			  vqp->qp.qp_num);
		return -EOPNOTSUPP;
	}
	if (in->mask & IBV_QP_STATE && in->attr->qp_state == IBV_QPS_RESET)
		return reset(qp, in);
	r = uverbs_modify_qp(vqp, in);
	if (!r)
		applied(qp, in);
	return r;
}

int mana_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	int r;

	if (vqp->qp.qp_type != IBV_QPT_RC)
		return -EOPNOTSUPP;
	r = uverbs_query_qp(vqp, in);
	/* The kernel does not know the limits of a request. */
	if (!r)
		in->ret_attr->cap = in->ret_init_attr->cap = vqp->cap;
	return r;
}
