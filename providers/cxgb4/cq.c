/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, arming, and removal of the completions of a queue
 * pair. */
#include "providers/cxgb4/wqe.h"
#include "providers/kit/cq.h"

enum {
	CQE_COUNT_MAX = 65518,
	CQE_SHORT = 32,
	CQE_LONG = 64,
	ENTRIES_MAX = 65520,
	REPORT_PART = 16, /* reports of polled entries until the ring wraps */
	/* The doorbell: number of the queue, operation, and number of polled entries. */
	DB_T4 = 4,
	DB = 20,
	DB_ID_SHIFT = 16,
	DB_UPDATE = 7 << 13,
	DB_ARM = 6 << 13,
	DB_SOLICITED = 1 << 12,
	DB_COUNT_MAX = 4095,
	NUMBER_NONE = 0xfffff,
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (in->extended) {
		verbs_err(ctx, "ibv_create_cq_ex: cxgb4 has ibv_create_cq() only");
		return -EOPNOTSUPP;
	}
	if (!in->attr->cqe || in->attr->cqe > CQE_COUNT_MAX) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  in->attr->cqe, CQE_COUNT_MAX);
		return -EINVAL;
	}
	return 0;
}

static void ring_set(struct cx_cq *cq, uint32_t entries, uint32_t bytes)
{
	cq->entries = entries;
	cq->ring = cq->next = cq->queue.base;
	cq->end = cq->ring + (size_t)entries * bytes;
	cq->stamp_at = bytes - sizeof(uint64_t);
	cq->stamp = cq->end - sizeof(uint64_t);
	cq->report_at = max_of(min_of(entries / REPORT_PART, (uint32_t)DB_COUNT_MAX), 1u);
	cq->last_head = CX_HEAD_NONE;
	/* The status page is where one more entry would be. */
	cq->flag = (uint8_t *)cq->end + STATUS_ERROR;
	cq->host_index = (uint16_t *)(void *)(cq->end + STATUS_CONSUMED);
	TAILQ_INIT(&cq->todos);
}

/* Map the queue that the kernel created. */
static int cq_map(struct cx_cq *cq, const struct c4iw_create_cq_resp *resp)
{
	struct cx_context *ctx = to_cctx(cq->vcq.cq.context);
	uint32_t bytes = resp->flags & C4IW_64B_CQE ? CQE_LONG : CQE_SHORT;
	int r;

	if (!resp->size || resp->size > ENTRIES_MAX ||
	    (uint64_t)resp->size * bytes + STATUS_BYTES > resp->memsize) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_cq: the kernel grants %u entries of %u bytes in %llu",
			  resp->size, bytes, (unsigned long long)resp->memsize);
		return -EPROTO;
	}
	r = kit_page_map(&ctx->vctx.context, resp->key, resp->memsize, PROT_READ | PROT_WRITE,
			 &cq->queue);
	if (!r)
		r = kit_page_map(&ctx->vctx.context, resp->gts_key, sysconf(_SC_PAGESIZE),
				 PROT_WRITE, &cq->registers);
	if (r < 0) {
		kit_page_unmap(&cq->queue);
		return r;
	}
	ring_set(cq, resp->size, bytes);
	cq->doorbell = (char *)cq->registers.base + (ctx->chip == 4 ? DB_T4 : DB);
	cq->id = (resp->cqid & resp->qid_mask) << DB_ID_SHIFT;
	return 0;
}

int cx_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct c4iw_create_cq cmd = { .flags = C4IW_64B_CQE };
	struct c4iw_create_cq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = cq_check(vcq->cq.context, in);

	if (!r)
		r = kit_create_cq(vcq, in, in->attr->cqe, &udata);
	if (r < 0)
		return r;
	r = cq_map(to_ccq(&vcq->cq), &resp);
	if (r < 0)
		uverbs_destroy_cq(vcq);
	return r;
}

int cx_destroy_cq(struct verbs_cq *vcq)
{
	struct cx_cq *cq = to_ccq(&vcq->cq);
	int r = uverbs_destroy_cq(vcq);

	if (r)
		return r;
	kit_page_unmap(&cq->registers);
	kit_page_unmap(&cq->queue);
	return 0;
}

void cx_cq_report(struct cx_cq *cq)
{
	while (cq->consumed - cq->reported >= cq->report_at) {
		uint32_t count = min_of(cq->consumed - cq->reported, (uint32_t)DB_COUNT_MAX);

		cx_register_write(cq->doorbell, cq->id | DB_UPDATE | count);
		cq->reported += count;
	}
}

/* The caller holds the lock, and this function releases it. */
FLAT int arm_locked(struct cx_cq *cq, int solicited_only)
{
	uint32_t count = cq->consumed - cq->reported;

	cq->reported = cq->consumed;
	cx_register_write(cq->doorbell,
			  cq->id | DB_ARM | (solicited_only ? DB_SOLICITED : 0) | count);
	spinlock_unlock(&cq->lock);
	return 0;
}

SEPARATE static int arm_contended(struct cx_cq *cq, int solicited_only)
{
	spinlock_wait(&cq->lock);
	return arm_locked(cq, solicited_only);
}

/* The number of polled entries fits into this doorbell, because polls report often enough. */
int cx_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct cx_cq *cq = to_ccq(ibcq);

	if (unlikely(!spinlock_try(&cq->lock)))
		return arm_contended(cq, solicited_only);
	return arm_locked(cq, solicited_only);
}

/* Replace the number in the completions of a queue pair by a number that no queue pair has. The
 * completions keep their places, because the phase bit belongs to the place. */
static void clean_locked(struct cx_cq *cq, uint32_t number)
{
	char *cqe = cq->next;
	uint8_t phase = cq->phase;

	cq->last_head = CX_HEAD_NONE;
	do {
		uint32_t head;

		if (!cqe_is_valid(cq, cqe, phase))
			return;
		barrier_from_device();
		head = cqe_get(cqe, 0);
		if (head >> CQE_NUMBER_SHIFT == number) {
			head = htobe32((uint32_t)NUMBER_NONE << CQE_NUMBER_SHIFT |
				       (head & ((1 << CQE_NUMBER_SHIFT) - 1)));
			memcpy(cqe, &head, sizeof(head));
		}
		cqe_step(cq, &cqe, &phase);
	} while (cqe != cq->next);
}

void cx_cqs_clean(struct cx_qp *qp)
{
	clean_locked(qp->send_cq, qp->number);
	if (qp->recv_cq != qp->send_cq)
		clean_locked(qp->recv_cq, qp->number);
}
