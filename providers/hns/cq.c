/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: memory, events, and removal of the completions of a queue pair. poll.c has the
 * polling. */
#include "providers/hns/wqe.h"
#include "providers/kit/cq.h"

enum {
	ARM_SOLICITED_SHIFT = 56,
	ARM_SN_MASK = 3,
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	uint32_t most = to_hctx(ctx)->max_cqe;
	int r = kit_cq_ex_check(ctx, in, hns_cq_ex_wc_flags);

	if (r < 0)
		return r;
	if (!in->attr->cqe || in->attr->cqe > most) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  in->attr->cqe, most);
		return -EINVAL;
	}
	return 0;
}

static void cq_free(struct hns_cq *cq)
{
	kit_buf_free(&cq->buf);
	dbrec_free(&to_hctx(cq->kit.vcq.cq.context)->records, (__be32 *)cq->record, NULL);
}

static int ring_make(struct hns_cq *cq, uint32_t cqe)
{
	struct hns_context *ctx = to_hctx(cq->kit.vcq.cq.context);
	int r;

	cq->count = round_up_pow2(max_of(cqe, (uint32_t)HNS_DEPTH));
	cq->mask = cq->count - 1;
	cq->size = ctx->cqe_size;
	cq->shift = __builtin_ctz(cq->size);
	cq->last_number = HNS_NO_NUMBER;
	cq->doorbell = ctx->doorbell;
	cq->arm_mask = 2 * cq->count - 1;
	r = dbrec_alloc(&ctx->records, NULL, (__be32 **)&cq->record);
	if (!r)
		r = kit_buf_alloc(&cq->buf, ROUND_UP((size_t)cq->count << cq->shift, HNS_PART));
	cq->ring = cq->buf.base;
	return r;
}

static int kernel_create(struct hns_cq *cq, const struct verbs_create_cq *in)
{
	struct hns_roce_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.db_addr = (uintptr_t)cq->record,
		.cqe_size = 1u << cq->shift,
	};
	struct hns_roce_ib_create_cq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->kit.vcq, in, cq->count, &udata);

	if (r < 0)
		return r;
	cq->number = resp.cqn & HNS_NUMBER_MASK;
	cq->arm = hns_doorbell(HNS_DB_CQ_ARM, cq->number) | 1ull << HNS_DB_ARM_SHIFT;
	cq->recorded = resp.cap_flags & HNS_ROCE_CQ_FLAG_RECORD_DB;
	/* The kernel returns the largest index. The adapter uses all entries. */
	cq->kit.vcq.cq.cqe = cq->count;
	return 0;
}

int hns_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct hns_cq *cq = to_hcq(&vcq->cq);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	r = ring_make(cq, in->attr->cqe);
	if (!r)
		r = kernel_create(cq, in);
	if (r < 0) {
		cq_free(cq);
		return r;
	}
	if (in->extended)
		hns_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int hns_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_free(to_hcq(&vcq->cq));
	return r;
}

/* ---- events */

void hns_cq_event(struct verbs_cq *vcq)
{
	const uint64_t all = (uint64_t)ARM_SN_MASK << HNS_DB_ARM_SHIFT;
	struct hns_cq *cq = to_hcq(&vcq->cq);

	cq->arm = (cq->arm & ~all) | ((cq->arm + (1ull << HNS_DB_ARM_SHIFT)) & all);
}

/* Another thread may poll at the same time and change the index. Either index is correct: the
 * arming covers the completions behind the index. */
int hns_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct hns_cq *cq = to_hcq(ibcq);
	uint32_t index = __atomic_load_n(&cq->consumer, __ATOMIC_RELAXED) & cq->arm_mask;

	hns_doorbell_ring(cq->doorbell, cq->arm | (uint64_t)index << HNS_DB_INDEX_SHIFT |
						(uint64_t) !!solicited_only << ARM_SOLICITED_SHIFT);
	return 0;
}

/* ---- removing the completions of a queue that is destroyed or reset */

void hns_cqs_lock(struct hns_qp *qp)
{
	spinlock_lock_both(qp->send_cq ? &qp->send_cq->lock : NULL,
			   qp->recv_cq ? &qp->recv_cq->lock : NULL);
}

void hns_cqs_unlock(struct hns_qp *qp)
{
	spinlock_unlock_both(qp->send_cq ? &qp->send_cq->lock : NULL,
			     qp->recv_cq ? &qp->recv_cq->lock : NULL);
}

/* Return whether the entry belongs to @of, a queue pair or an SRQ. Free the receive of the entry if
 * the receive belongs to an SRQ. */
typedef bool cqe_take(void *of, const char *cqe);

static bool take_of_qp(void *of, const char *cqe)
{
	struct hns_qp *qp = of;
	uint32_t first = get_32(cqe);
	uint64_t wr_id;

	if ((get_32(cqe + CQE_AT_QP) & HNS_NUMBER_MASK) != qp->number)
		return false;
	if (first & CQE_RECEIVE && qp->srq)
		hns_srq_take(qp->srq, first >> CQE_INDEX_SHIFT, &wr_id);
	return true;
}

static bool take_of_srq(void *of, const char *cqe)
{
	const struct hns_srq *srq = of;

	return get_32(cqe) & CQE_RECEIVE &&
	       (get_32(cqe + CQE_AT_SRQ) & HNS_NUMBER_MASK) == srq->number;
}

/* Copy an entry to another place. The owner's bit of that place does not change. */
static void cqe_move(const struct hns_cq *cq, char *to, const char *from)
{
	uint32_t owner = get_32(to) & CQE_OWNER;

	memcpy(to, from, (size_t)1 << cq->shift);
	put_32(to, (get_32(from) & ~CQE_OWNER) | owner);
}

static void cq_clean(struct hns_cq *cq, void *of, cqe_take *take)
{
	uint32_t end = cq->consumer, freed = 0;

	while (end - cq->consumer < cq->count && cqe_is_valid(cq, end, get_32(cqe_at(cq, end))))
		end++;
	barrier_from_device();
	/* Go from the last entry to the first. Entries that stay move towards the end. */
	while (end-- != cq->consumer) {
		if (take(of, cqe_at(cq, end)))
			freed++;
		else if (freed)
			cqe_move(cq, cqe_at(cq, end + freed), cqe_at(cq, end));
	}
	if (!freed)
		return;
	cq->consumer += freed;
	hns_cq_publish(cq);
}

void hns_cqs_clean(struct hns_qp *qp)
{
	struct hns_cq *const cqs[] = { qp->recv_cq, qp->send_cq };

	for (int i = 0; i < 2; i++) {
		if (!cqs[i] || (i && cqs[1] == cqs[0]))
			continue;
		if (cqs[i]->last == qp)
			cqs[i]->last_number = HNS_NO_NUMBER;
		cq_clean(cqs[i], qp, take_of_qp);
	}
}

void hns_cq_clean_srq(struct hns_srq *srq)
{
	struct hns_cq *cq = to_hcq(srq->vsrq.cq);
	struct hns_context *ctx = to_hctx(srq->vsrq.srq.context);

	spinlock_lock(&cq->lock);
	idtable_take(&ctx->xrc_srqs, srq->number, srq);
	cq_clean(cq, srq, take_of_srq);
	spinlock_unlock(&cq->lock);
}
