/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, and removal of the completions of a queue
 * pair. */
#include "providers/kit/cq.h"
#include "providers/qedr/wqe.h"

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: qedr has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	if (!in->attr->cqe || in->attr->cqe > to_qctx(ctx)->max_cqe) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  in->attr->cqe, to_qctx(ctx)->max_cqe);
		return -EINVAL;
	}
	return 0;
}

static void cq_free(struct qedr_cq *cq)
{
	kit_page_unmap(&cq->doorbell.page);
	kit_buf_free(&cq->buf);
}

static int cq_ask(struct qedr_cq *cq, const struct verbs_create_cq *in)
{
	struct qedr_context *ctx = to_qctx(cq->vcq.cq.context);
	struct qedr_create_cq_ureq cmd = { .addr = (uintptr_t)cq->buf.base, .len = cq->buf.size };
	struct qedr_create_cq_uresp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->vcq, in, in->attr->cqe, &udata);

	if (r < 0)
		return r;
	cq->base = cq->word = resp.icid | CQ_DB_SET;
	r = qedr_doorbell_open(ctx, &cq->doorbell, resp.db_offset, sizeof(uint64_t),
			       resp.db_rec_addr);
	if (r < 0)
		uverbs_destroy_cq(&cq->vcq);
	return r;
}

int qedr_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct qedr_cq *cq = to_qcq(&vcq->cq);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	r = kit_buf_alloc(&cq->buf, (in->attr->cqe + 1ull) * CQE);
	if (!r) {
		cq->ring = cq->buf.base;
		cq->end = cq->ring + cq->buf.size;
		atomic_store_explicit(&cq->next, (uintptr_t)cq->ring | CQE_PHASE,
				      memory_order_relaxed);
		r = cq_ask(cq, in);
	}
	if (r < 0)
		cq_free(cq);
	return r;
}

int qedr_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_free(to_qcq(&vcq->cq));
	return r;
}

/* ---- arming */

/* The device reports an event once. Later doorbells no longer ask for it. */
void qedr_cq_event(struct verbs_cq *vcq)
{
	struct qedr_cq *cq = to_qcq(&vcq->cq);

	spinlock_lock(&cq->lock);
	cq->word = cq->base;
	spinlock_unlock(&cq->lock);
}

/* A doorbell also has the number of polled entries. Without the lock a late doorbell could take
 * back a poll of another thread, and the device could take the queue for full. The caller holds
 * the lock, and this function releases it. */
FLAT int arm_locked(struct qedr_cq *cq, int solicited_only)
{
	cq->word = cq->base | (solicited_only ? CQ_DB_ARM_SOLICITED : CQ_DB_ARM);
	cq_doorbell_ring(cq);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int arm_contended(struct qedr_cq *cq, int solicited_only)
{
	spinlock_wait(&cq->lock);
	return arm_locked(cq, solicited_only);
}

int qedr_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct qedr_cq *cq = to_qcq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return arm_contended(cq, solicited_only);
	return arm_locked(cq, solicited_only);
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

/* An XRC receiver has no completion queue, and a sender one. */
static struct spinlock *lock_of(struct qedr_cq *cq)
{
	return cq ? &cq->lock : NULL;
}

void qedr_cqs_lock(struct qedr_qp *qp)
{
	spinlock_lock_both(lock_of(qp->send_cq), lock_of(qp->recv_cq));
}

void qedr_cqs_unlock(struct qedr_qp *qp)
{
	spinlock_unlock_both(lock_of(qp->send_cq), lock_of(qp->recv_cq));
}

/* Return whether an entry belongs to the queue pair. If it does, its shared receive is no longer
 * posted. */
static bool cqe_is_of(const char *cqe, struct qedr_qp *qp)
{
	if (cqe_type(cqe) == CQE_XRC || cqe_get_64(cqe, CQE_AT_COOKIE) != qp->cookie)
		return false;
	if (cqe_type(cqe) == CQE_SHARED && qp->srq)
		qedr_srq_take(qp->srq);
	return true;
}

static bool cqe_is_of_srq(const char *cqe, const struct qedr_srq *srq)
{
	return cqe_type(cqe) == CQE_XRC && (cqe_get_32(cqe, CQE_AT_ID) & 0xffff) == srq->number;
}

/* Let the entries of @qp, or those of @srq, belong to no queue pair. They keep their places,
 * because the phase bit belongs to the place. */
static void clean(struct qedr_cq *cq, struct qedr_qp *qp, const struct qedr_srq *srq)
{
	const uintptr_t first = atomic_load_explicit(&cq->next, memory_order_relaxed);
	uintptr_t next = first;

	cq->last_cookie = QEDR_COOKIE_NONE;
	cq->last = NULL;
	do {
		char *cqe = cqe_of(next);

		if (!cqe_is_valid(next))
			return;
		barrier_from_device();
		if (qp ? cqe_is_of(cqe, qp) : cqe_is_of_srq(cqe, srq)) {
			memset(cqe + CQE_AT_COOKIE, 0, sizeof(uint64_t));
			cqe[CQE_AT_FLAGS] &= CQE_PHASE;
		}
		next = cqe_step(cq, next);
	} while (cqe_of(next) != cqe_of(first));
}

void qedr_cqs_clean(struct qedr_qp *qp)
{
	if (qp->send_cq)
		clean(qp->send_cq, qp, NULL);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		clean(qp->recv_cq, qp, NULL);
}

void qedr_cq_clean_srq(struct qedr_cq *cq, const struct qedr_srq *srq)
{
	clean(cq, NULL, srq);
}
