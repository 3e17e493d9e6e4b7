/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues except for polling: memory, arming, and the lists of their queue pairs. */
#include "providers/bnxt_re/wqe.h"
#include "providers/kit/cq.h"

int bnxt_re_cq_check(struct ibv_context *ctx, const char *verb, uint32_t cqe)
{
	uint32_t most = to_bctx(ctx)->max_cqes;

	if (cqe && cqe <= most)
		return 0;
	verbs_err(ctx, "%s: %u entries are not possible (1 to %u are)", verb, cqe, most);
	return -EINVAL;
}

/* A queue with room for twice the entries needs a doorbell only for each half of its ring. */
uint32_t bnxt_re_ring_size(const struct bnxt_re_context *ctx, uint32_t cqe,
			   struct bnxt_re_ring *ret_ring)
{
	bool defers = 2 * (uint64_t)cqe < ctx->max_cqes;
	uint32_t entries = cqe << defers;
	uint32_t depth = bnxt_re_depth(ctx, entries + 1, ctx->max_cqes + 1);

	ret_ring->depth = depth;
	ret_ring->report = defers ? depth / 2 : 1;
	return entries;
}

static int cq_create(struct bnxt_re_cq *cq, const struct verbs_create_cq *in, uint32_t entries)
{
	struct bnxt_re_cq_req cmd = {
		.cq_va = (uintptr_t)cq->buf.base,
		.cq_handle = (uintptr_t)cq,
	};
	struct bnxt_re_cq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->kit.vcq, in, entries, &udata);

	if (r < 0)
		return r;
	cq->number = resp.cqid & BNXT_RE_NUMBER_MASK;
	cq->phase = resp.phase & CQE_PHASE;
	return 0;
}

int bnxt_re_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct bnxt_re_cq *cq = to_bcq(&vcq->cq);
	int r = kit_cq_ex_check(vcq->cq.context, in, IBV_WC_STANDARD_FLAGS);
	struct bnxt_re_ring ring;
	uint32_t entries;

	if (!r)
		r = bnxt_re_cq_check(vcq->cq.context, "ibv_create_cq", in->attr->cqe);
	if (r < 0)
		return r;
	entries = bnxt_re_ring_size(to_bctx(vcq->cq.context), in->attr->cqe, &ring);
	r = kit_buf_alloc(&cq->buf, (size_t)ring.depth * CQE_SIZE);
	if (r < 0)
		return r;
	cq->ring = cq->next = cq->buf.base;
	cq->end = cq->ring + ring.depth;
	cq->report = cq->until_report = ring.report;
	r = cq_create(cq, in, entries);
	if (r < 0)
		kit_buf_free(&cq->buf);
	else if (in->extended)
		bnxt_re_cq_ex_set_slots(cq, in->attr->wc_flags);
	return r;
}

int bnxt_re_destroy_cq(struct verbs_cq *vcq)
{
	struct bnxt_re_cq *cq = to_bcq(&vcq->cq);
	int r = uverbs_destroy_cq(vcq);

	if (r < 0)
		return r;
	kit_buf_free(&cq->buf);
	kit_buf_free(&cq->after.buf);
	free(cq->kept);
	return 0;
}

/* Arm a queue that has no doorbell, or whose kept entries are polled, and release the lock. Kept
 * entries precede the first entry of the ring. */
__attribute__((noinline)) static int arm_early(struct bnxt_re_cq *cq, uint32_t type)
{
	char *doorbell = to_bctx(cq->kit.vcq.cq.context)->doorbells.base;

	if (cq->kept && doorbell && !cq->acknowledge)
		bnxt_re_ring(doorbell, type, cq->number, cq->epoch);
	else
		cq->early = type;
	spinlock_unlock(&cq->lock);
	return 0;
}

/* Arm the queue and release the lock. */
static inline int arm_end(struct bnxt_re_cq *cq, uint32_t type)
{
	if (unlikely(!cq->doorbell))
		return arm_early(cq, type);
	bnxt_re_ring(cq->doorbell, type, cq->number, (uint32_t)(cq->next - cq->ring) | cq->epoch);
	spinlock_unlock(&cq->lock);
	return 0;
}

__attribute__((noinline)) static int arm_waited(struct bnxt_re_cq *cq, uint32_t type)
{
	spinlock_wait(&cq->lock);
	return arm_end(cq, type);
}

int bnxt_re_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	uint32_t type = solicited_only ? BNXT_RE_DB_CQ_ARM_SOLICITED : BNXT_RE_DB_CQ_ARM;
	struct bnxt_re_cq *cq = to_bcq(ibcq);

	/* This waiting is a separate function, so that its caller saves no registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return arm_waited(cq, type);
	return arm_end(cq, type);
}

/* ---- queue pairs */

/* The register is mapped for a protection domain, and a completion queue needs none. */
void bnxt_re_cq_open(struct bnxt_re_cq *cq)
{
	char *doorbell = to_bctx(cq->kit.vcq.cq.context)->doorbells.base;
	uint32_t place = cq->kept ? 0 : (uint32_t)(cq->next - cq->ring);

	if (cq->doorbell || !doorbell)
		return;
	if (cq->acknowledge)
		bnxt_re_ring(doorbell, BNXT_RE_DB_CUT_OFF, cq->number,
			     cq->epoch | (cq->acknowledge & CQE_TOGGLE_MASK)
						 << BNXT_RE_DB_TOGGLE_SHIFT);
	if (cq->early)
		bnxt_re_ring(doorbell, cq->early, cq->number, place | cq->epoch);
	cq->acknowledge = cq->early = 0;
	cq->doorbell = cq->kept ? NULL : doorbell;
}

void bnxt_re_cqs_attach(struct bnxt_re_qp *qp)
{
	struct bnxt_re_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	bnxt_re_cq_open(send_cq);
	bnxt_re_cq_open(recv_cq);
	LIST_INSERT_HEAD(&send_cq->senders, qp, sender);
	LIST_INSERT_HEAD(&recv_cq->receivers, qp, receiver);
	idtable_own(&to_bctx(qp->vqp.qp.context)->qps, qp->id, send_cq, recv_cq);
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}

/* Remove a completion. The entry itself stays, because the phase belongs to its place. The receive
 * of an SRQ is freed. */
static void cqe_clean(struct bnxt_re_cqe *cqe, uint32_t info, const struct bnxt_re_qp *qp)
{
	uint32_t type = info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK;
	__le64 *handle = type == CQE_SEND || type == CQE_TERM ? &cqe->a : &cqe->b;
	uint64_t unused;

	if (*handle != bnxt_re_handle(qp->id))
		return;
	*handle = 0;
	if (info & CQE_FLAG_SRQ && qp->srq && handle == &cqe->b)
		bnxt_re_srq_take(qp->srq, le32toh(cqe->tag) & CQE_TAG_MASK, &unused);
}

/* Remove the completions of @qp from @cqe on, in @phase, up to the end of kept entries. */
static void clean_from(struct bnxt_re_cq *cq, struct bnxt_re_cqe *cqe, uint32_t phase,
		       const struct bnxt_re_qp *qp)
{
	const struct bnxt_re_cqe *first = cqe;
	uint32_t info;

	do {
		info = le32toh(((volatile struct bnxt_re_cqe *)cqe)->info);
		if ((info & CQE_PHASE) != phase)
			return;
		barrier_from_device();
		if ((info >> CQE_TYPE_SHIFT & CQE_TYPE_MASK) == CQE_CUT_OFF)
			return;
		cqe_clean(cqe, info, qp);
		if (++cqe == cq->end) {
			cqe = cq->ring;
			phase ^= CQE_PHASE;
		}
	} while (cqe != first);
}

static void clean_locked(struct bnxt_re_cq *cq, const struct bnxt_re_qp *qp)
{
	cq->last_handle = 0;
	clean_from(cq, cq->next, cq->phase, qp);
	if (cq->kept)
		clean_from(cq, cq->ring, cq->phase, qp);
}

static void rings_empty(struct bnxt_re_qp *qp)
{
	struct bnxt_re_sq *sq = &qp->sq;
	struct bnxt_re_rq *rq = &qp->rq;

	sq->tail = sq->index = sq->first = sq->posted_here = sq->msn = sq->epoch = 0;
	rq->tail = rq->first = rq->epoch = 0;
	atomic_store_explicit(&sq->posted, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->released, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->posted, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->released, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->sends_over, false, memory_order_relaxed);
	atomic_store_explicit(&qp->receives_over, false, memory_order_relaxed);
}

void bnxt_re_cqs_clean(struct bnxt_re_qp *qp, bool gone)
{
	struct bnxt_re_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	clean_locked(send_cq, qp);
	if (recv_cq != send_cq)
		clean_locked(recv_cq, qp);
	if (gone) {
		LIST_REMOVE(qp, sender);
		LIST_REMOVE(qp, receiver);
		idtable_remove(&to_bctx(qp->vqp.qp.context)->qps, qp->id);
	} else {
		rings_empty(qp);
	}
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}

void bnxt_re_flush(struct bnxt_re_qp *qp, bool sends, bool receives)
{
	/* release: pairs with the acquire of flush() in poll.c */
	if (sends) {
		atomic_store_explicit(&qp->sends_over, true, memory_order_release);
		atomic_store_explicit(&qp->send_cq->flushes, true, memory_order_release);
	}
	if (receives && !qp->srq) {
		atomic_store_explicit(&qp->receives_over, true, memory_order_release);
		atomic_store_explicit(&qp->recv_cq->flushes, true, memory_order_release);
	}
}
