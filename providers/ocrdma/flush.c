/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs that have failed. The adapter reports one failure, or none if the program has stopped
 * the queue pair. This library completes the requests that are left, behind the completions in the
 * ring, and also those that are posted later.
 */
#include "providers/ocrdma/wqe.h"

static void post_limits_set(struct oc_qp *qp, enum oc_post_state state)
{
	atomic_store_explicit(&qp->sq.post_state, state, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.post_state, state, memory_order_relaxed);
}

/* Add @n to the numbers of failed queue pairs of both completion queues. */
static void count(struct oc_qp *qp, uint32_t n)
{
	atomic_fetch_add_explicit(&qp->send_cq->failed, n, memory_order_relaxed);
	if (qp->recv_cq != qp->send_cq)
		atomic_fetch_add_explicit(&qp->recv_cq->failed, n, memory_order_relaxed);
}

void oc_fail(struct oc_qp *qp)
{
	struct oc_context *ctx = to_octx(qp->vqp.qp.context);

	spinlock_lock(&ctx->flush_lock);
	if (!qp->failed) {
		qp->failed = true;
		LIST_INSERT_HEAD(&ctx->failed, qp, entry);
		post_limits_set(qp, OC_POST_FLUSHED);
		count(qp, 1);
	}
	spinlock_unlock(&ctx->flush_lock);
}

void oc_recover(struct oc_qp *qp)
{
	struct oc_context *ctx = to_octx(qp->vqp.qp.context);

	spinlock_lock(&ctx->flush_lock);
	post_limits_set(qp, OC_POST_REFUSED);
	if (qp->failed) {
		qp->failed = false;
		LIST_REMOVE(qp, entry);
		count(qp, -1);
	}
	spinlock_unlock(&ctx->flush_lock);
}

static void wc_flushed(struct ibv_wc *wc, const struct oc_qp *qp, uint64_t wr_id, uint32_t opcode)
{
	wc->wr_id = wr_id;
	wc->status = IBV_WC_WR_FLUSH_ERR;
	wc->opcode = (enum ibv_wc_opcode)opcode;
	wc->byte_len = 0;
	wc->qp_num = qp->vqp.qp.qp_num;
	wc->wc_flags = 0;
	verbs_data_wc(qp->vqp.qp.send_cq, wc);
}

static int sends_flush(struct oc_qp *qp, int room, struct ibv_wc *wc)
{
	struct oc_sq *sq = &qp->sq;
	/* acquire: pairs with the release of a post, which has written the entries */
	uint32_t head = atomic_load_explicit(&sq->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);
	int n = 0;

	for (; n < room && tail != head; n++, tail++) {
		const struct oc_sent *sent = &sq->sent[tail & sq->mask];

		wc_flushed(&wc[n], qp, sent->wr_id, sent->opcode);
	}
	/* release: the entries are read before new requests replace them */
	atomic_store_explicit(&sq->tail, tail, memory_order_release);
	return n;
}

static int receives_flush(struct oc_qp *qp, int room, struct ibv_wc *wc)
{
	struct oc_rq *rq = &qp->rq;
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	int n = 0;

	for (; n < room && tail != head; n++, tail++)
		wc_flushed(&wc[n], qp, rq->wr_ids[tail & rq->mask], IBV_WC_RECV);
	atomic_store_explicit(&rq->tail, tail, memory_order_release);
	return n;
}

int oc_flush(struct oc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct oc_context *ctx = to_octx(cq->vcq.cq.context);
	struct oc_qp *qp;
	int n = 0;

	spinlock_lock(&ctx->flush_lock);
	LIST_FOREACH(qp, &ctx->failed, entry) {
		if (qp->send_cq == cq)
			n += sends_flush(qp, num_entries - n, wc + n);
		if (qp->recv_cq == cq)
			n += receives_flush(qp, num_entries - n, wc + n);
	}
	spinlock_unlock(&ctx->flush_lock);
	return n;
}
