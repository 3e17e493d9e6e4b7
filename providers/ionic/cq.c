/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues except for polling: memory, arming, and the lists of their queue pairs. */
#include "providers/ionic/wqe.h"
#include "providers/kit/cq.h"

enum {
	SPARE = 100, /* places of a ring in addition to the requested ones */
	CQE_MAX = 65535 - SPARE,
};
#define WC_TIMES \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* ---- creation */

static int cq_check(struct ibv_context *ibctx, const struct verbs_create_cq *in)
{
	bool has_clock = to_ioctx(ibctx)->clock.base;
	int r = kit_cq_ex_check(ibctx, in,
				IBV_WC_STANDARD_FLAGS | (has_clock ? (uint64_t)WC_TIMES : 0));

	if (r < 0)
		return r;
	if (in->attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    in->attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) {
		verbs_err(ibctx, "ibv_create_cq_ex: the device does not ignore an overrun");
		return -EOPNOTSUPP;
	}
	if (in->attr->cqe && in->attr->cqe <= CQE_MAX)
		return 0;
	verbs_err(ibctx, "ibv_create_cq: %u entries are not possible (1 to %d are)", in->attr->cqe,
		  CQE_MAX);
	return -EINVAL;
}

static int rings_make(struct ionic_cq *cq, uint32_t entries)
{
	const struct ionic_context *ctx = to_ioctx(cq->kit.vcq.cq.context);
	int r = 0;

	for (unsigned int i = 0; i < ctx->pipelines && !r; i++) {
		struct ionic_cq_ring *ring = &cq->rings[i];

		if (!(cq->pipelines >> i & 1))
			continue;
		r = ionic_ring_make(ctx, &ring->memory, entries + SPARE, CQE_BYTES,
				    cq->kit.vcq.parent, IONIC_RESOURCE_CQ);
		if (r < 0)
			break;
		ring->base = ring->next = ring->memory.buf.base;
		ring->end = ring->base + ((size_t)(ring->memory.mask + 1) << CQE_SHIFT);
		ring->color = WORD_COLOR;
		/* Report at half of the spare places, because a program leaves at most @entries
		 * completions unread. */
		cq->report = (int32_t)(ring->memory.mask - entries) / 2;
		ring->until_report = cq->report;
	}
	return r;
}

static void rings_free(struct ionic_cq *cq)
{
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++)
		ionic_ring_free(&cq->rings[i].memory);
}

static int kernel_create(struct ionic_cq *cq, const struct verbs_create_cq *in)
{
	struct ionic_cq_req cmd = { .udma_mask = cq->pipelines };
	struct ionic_cq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r;

	for (unsigned int i = 0; i < IONIC_PIPELINES; i++)
		if (cq->rings[i].base)
			cmd.cq[i] = ionic_ring_describe(&cq->rings[i].memory);
	r = kit_create_cq(&cq->kit.vcq, in, in->attr->cqe, &udata);
	if (r < 0)
		return r;
	if (resp.udma_mask != cq->pipelines) {
		verbs_err(cq->kit.vcq.cq.context,
			  "ibv_create_cq: the kernel has pipelines 0x%x instead of 0x%x",
			  resp.udma_mask, cq->pipelines);
		uverbs_destroy_cq(&cq->kit.vcq);
		return -EPROTO;
	}
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++)
		cq->rings[i].number = resp.cqid[i] & IONIC_NUMBER_MASK;
	return 0;
}

/* A queue that is created without a parent domain has a ring in each pipeline. */
int ionic_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	const struct ionic_context *ctx = to_ioctx(vcq->cq.context);
	struct ionic_cq *cq = to_iocq(&vcq->cq);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	cq->pipelines = (1u << ctx->pipelines) - 1;
	if (vcq->parent && ((struct ionic_pd *)vcq->parent)->pipelines)
		cq->pipelines = ((struct ionic_pd *)vcq->parent)->pipelines;
	cq->last_number = IONIC_NO_QP;
	r = rings_make(cq, in->attr->cqe);
	if (!r)
		r = kernel_create(cq, in);
	if (r < 0) {
		rings_free(cq);
		return r;
	}
	if (in->extended) {
		cq->stamps = in->attr->wc_flags & WC_TIMES;
		ionic_cq_ex_set_slots(cq, in->attr->wc_flags);
	}
	return 0;
}

int ionic_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		rings_free(to_iocq(&vcq->cq));
	return r;
}

/* ---- doorbells */

static char *doorbell_of(const struct ionic_cq *cq)
{
	return to_ioctx(cq->kit.vcq.cq.context)->cq_doorbell;
}

static uint64_t number_of(const struct ionic_cq_ring *ring)
{
	return (uint64_t)ring->number << IONIC_NUMBER_SHIFT;
}

void ionic_cq_report(struct ionic_cq *cq, struct ionic_cq_ring *ring)
{
	ring->until_report = cq->report;
	ionic_ring(doorbell_of(cq), number_of(ring),
		   (uint32_t)((ring->next - ring->base) >> CQE_SHIFT));
}

/* Arm a ring. The device counts the armings for solicited and for any completions separately. */
static void ring_arm(struct ionic_cq *cq, struct ionic_cq_ring *ring, bool solicited)
{
	uint32_t *count = solicited ? &ring->armed_solicited : &ring->armed_any;

	if (ring->until_report != cq->report)
		ionic_cq_report(cq, ring);
	*count = (*count + 1) & ring->memory.mask;
	ionic_ring(doorbell_of(cq), number_of(ring),
		   *count | (solicited ? IONIC_ARM_SOLICITED : IONIC_ARM_ANY));
}

int ionic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct ionic_cq *cq = to_iocq(ibcq);

	spinlock_lock(&cq->lock);
	for (unsigned int i = 0; i < IONIC_PIPELINES; i++)
		if (cq->rings[i].base)
			ring_arm(cq, &cq->rings[i], solicited_only);
	spinlock_unlock(&cq->lock);
	return 0;
}

/* ---- queue pairs */

void ionic_cqs_attach(struct ionic_qp *qp)
{
	struct ionic_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	LIST_INSERT_HEAD(&send_cq->senders, qp, sender);
	LIST_INSERT_HEAD(&recv_cq->receivers, qp, receiver);
	idtable_own(&to_ioctx(qp->vqp.qp.context)->qps, qp->number, send_cq, recv_cq);
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}

/* Remove the completions of a queue pair. Entries stay in the ring, because the color bit belongs
 * to the place. They get the number IONIC_NO_QP, which polls skip. */
static void clean_locked(struct ionic_cq *cq, const struct ionic_qp *qp)
{
	struct ionic_cq_ring *ring = &cq->rings[qp->pipeline];
	struct ionic_cq_ring at = *ring;
	uint32_t word;

	cq->last_number = IONIC_NO_QP;
	for (uint32_t i = 0; i <= ring->memory.mask && cqe_look(&at, &word); i++) {
		if (word >> WORD_NUMBER_SHIFT == qp->number) {
			*(volatile uint32_t *)(void *)(at.next + CQE_WORD) =
				htobe32(word | (uint32_t)IONIC_NO_QP << WORD_NUMBER_SHIFT);
			if (!i)
				ring->applied = false;
		}
		ring_advance(&at);
	}
}

static void rings_empty(struct ionic_qp *qp)
{
	struct ionic_sq *sq = &qp->sq;
	struct ionic_rq *rq = &qp->rq;

	sq->head = sq->messages = sq->completed = 0;
	for (uint32_t i = 0; i <= sq->mask; i++) {
		sq->sent[i].done = false;
		sq->sent[i].status = IBV_WC_SUCCESS;
		sq->sent[i].vendor_err = 0;
	}
	atomic_store_explicit(&sq->posted, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&sq->over, false, memory_order_relaxed);
	rq->head = rq->first = 0;
	rq->unordered = false;
	for (uint32_t i = 0; i <= rq->mask; i++)
		atomic_store_explicit(&rq->received[i].posted, false, memory_order_relaxed);
	atomic_store_explicit(&rq->over, false, memory_order_relaxed);
}

void ionic_cqs_clean(struct ionic_qp *qp, bool gone)
{
	struct ionic_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	clean_locked(send_cq, qp);
	if (recv_cq != send_cq)
		clean_locked(recv_cq, qp);
	if (gone) {
		LIST_REMOVE(qp, sender);
		LIST_REMOVE(qp, receiver);
		idtable_take(&to_ioctx(qp->vqp.qp.context)->qps, qp->number, qp);
	} else {
		rings_empty(qp);
	}
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}

void ionic_flush(struct ionic_qp *qp, bool sends, bool receives)
{
	/* release: pairs with the acquire of flush() in poll.c */
	if (sends) {
		atomic_store_explicit(&qp->sq.over, true, memory_order_release);
		atomic_store_explicit(&qp->send_cq->flushes, true, memory_order_release);
	}
	if (receives) {
		atomic_store_explicit(&qp->rq.over, true, memory_order_release);
		atomic_store_explicit(&qp->recv_cq->flushes, true, memory_order_release);
	}
}
