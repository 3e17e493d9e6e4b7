/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, and removal of the completions of a queue
 * pair. */
#include "providers/erdma/wqe.h"
#include "providers/kit/cq.h"

enum {
	CQE_COUNT_MIN = 64,
	CQE_COUNT_MAX = 1 << 23, /* the counter in the doorbell has 24 bits */
	REGISTERS = 512,
	DB_CQN_MASK = 0xffffff,
	DB_CQN_SHIFT = 32,
	DB_ARMINGS_SHIFT = 56,
	DB_COUNTER_MASK = 0xffffff,
	QPN_NONE = 0xffffff,
};
#define DB_ARM	     (1u << 31)
#define DB_SOLICITED (1u << 30)
#define DB_EVENT     (1ull << 28) /* counted modulo 4 */
#define DB_EVENTS    (3ull << 28)
/* A record of a queue that was never armed. */
#define DB_NEVER (0xffull << DB_ARMINGS_SHIFT | DB_EVENTS)

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: erdma has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	if (!in->attr->cqe || in->attr->cqe > CQE_COUNT_MAX) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  in->attr->cqe, CQE_COUNT_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Check that the queue that the kernel created fits into its memory. */
static int cq_accept(struct erdma_cq *cq, const struct erdma_uresp_create_cq *resp)
{
	struct erdma_context *ctx = to_ectx(cq->vcq.cq.context);
	uint32_t count = resp->num_cqe;

	if (!count || count & (count - 1) || count > cq->buf.size / BLOCK) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_cq: the kernel grants %u entries in memory for %zu", count,
			  cq->buf.size / BLOCK);
		return -EPROTO;
	}
	cq->vcq.cq.cqe = count;
	cq->ring = cq->next = cq->buf.base;
	cq->end = cq->ring + count;
	cq->last_qpn = ERDMA_QPN_NONE;
	cq->word = (uint64_t)(resp->cq_id & DB_CQN_MASK) << DB_CQN_SHIFT;
	cq->doorbell = (char *)ctx->cq_page.base + resp->cq_id % REGISTERS * sizeof(uint64_t);
	*cq->record = htole64(DB_NEVER | cq->word);
	return 0;
}

static int cq_create(struct erdma_cq *cq, const struct verbs_create_cq *in, uint32_t entries)
{
	struct erdma_uresp_create_cq resp = {};
	struct erdma_ureq_create_cq cmd = {
		.db_record_va = (uintptr_t)cq->record,
		.qbuf_va = (uintptr_t)cq->buf.base,
		.qbuf_len = ROUND_UP(entries * BLOCK, ERDMA_PAGE),
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->vcq, in, entries, &udata);

	if (r < 0)
		return r;
	r = cq_accept(cq, &resp);
	if (r < 0)
		uverbs_destroy_cq(&cq->vcq);
	return r;
}

static void cq_free(struct erdma_cq *cq)
{
	erdma_record_free(to_ectx(cq->vcq.cq.context), cq->record);
	kit_buf_free(&cq->buf);
}

int erdma_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct erdma_cq *cq = to_ecq(&vcq->cq);
	uint32_t entries;
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	entries = max_of(round_up_pow2(in->attr->cqe), (uint32_t)CQE_COUNT_MIN);
	r = kit_buf_alloc(&cq->buf, (size_t)entries * BLOCK);
	if (r < 0)
		return r;
	cq->record = erdma_record_alloc(to_ectx(vcq->cq.context));
	r = cq->record ? cq_create(cq, in, entries) : -ENOMEM;
	if (r < 0)
		cq_free(cq);
	return r;
}

int erdma_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_free(to_ecq(&vcq->cq));
	return r;
}

void erdma_cq_event(struct verbs_cq *vcq)
{
	struct erdma_cq *cq = to_ecq(&vcq->cq);

	spinlock_lock(&cq->lock);
	cq->word = (cq->word & ~DB_EVENTS) | ((cq->word + DB_EVENT) & DB_EVENTS);
	spinlock_unlock(&cq->lock);
}

int erdma_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct erdma_cq *cq = to_ecq(ibcq);
	uint64_t flags = solicited_only ? DB_ARM | DB_SOLICITED : DB_ARM;

	spinlock_lock(&cq->lock);
	erdma_ring(cq->record, cq->doorbell,
		   htole64(cq->word | flags | (cq->counter & DB_COUNTER_MASK)));
	cq->word += 1ull << DB_ARMINGS_SHIFT;
	spinlock_unlock(&cq->lock);
	return 0;
}

/* ---- removing the completions of a queue pair that is destroyed */

/*
 * Replace the number in the completions of a queue pair by a number that no queue pair has. The
 * completions keep their places, because the phase bit belongs to the place.
 */
static void clean_locked(struct erdma_cq *cq, uint32_t number)
{
	const struct erdma_cqe *cqe = cq->next;
	uint32_t head, phase = cq->phase;

	cq->last_qpn = ERDMA_QPN_NONE;
	do {
		if (!erdma_cqe_look(cqe, phase, &head))
			return;
		barrier_from_device();
		if (be32toh(cqe->qpn) == number)
			((struct erdma_cqe *)cqe)->qpn = htobe32(QPN_NONE);
		erdma_cqe_step(cq, &cqe, &phase);
	} while (cqe != cq->next);
}

void erdma_cqs_clean(struct erdma_qp *qp)
{
	struct erdma_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;

	spinlock_lock_both(&send_cq->lock, &recv_cq->lock);
	clean_locked(send_cq, qp->number);
	if (recv_cq != send_cq)
		clean_locked(recv_cq, qp->number);
	idtable_take(&to_ectx(qp->vqp.qp.context)->qps, qp->number, qp);
	spinlock_unlock_both(&send_cq->lock, &recv_cq->lock);
}
