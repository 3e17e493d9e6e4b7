/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. Receives complete in any order. A ring of indices tells the device which
 * receives are posted. */
#include "providers/hns/wqe.h"
#include "providers/kit/srq.h"

enum {
	WORD_BITS = 64,
};

static int srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr)
{
	const struct hns_context *ctx = to_hctx(vsrq->srq.context);

	if (vsrq->srq_type != IBV_SRQT_BASIC && vsrq->srq_type != IBV_SRQT_XRC) {
		verbs_err(&ctx->vctx.context, "ibv_create_srq_ex: type %d is not supported",
			  vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (attr->max_wr > ctx->max_srq_wr || !attr->max_sge || attr->max_sge > ctx->max_srq_sge) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_srq: %u receives of %u entries are not possible (at most %u "
			  "of 1 to %u are)",
			  attr->max_wr, attr->max_sge, ctx->max_srq_wr, ctx->max_srq_sge);
		return -EINVAL;
	}
	return 0;
}

static void srq_free(struct hns_srq *srq)
{
	kit_buf_free(&srq->buf);
	kit_buf_free(&srq->index_buf);
	dbrec_free(&to_hctx(srq->vsrq.srq.context)->records, (__be32 *)srq->rq.record, NULL);
	free(srq->rq.wr_ids);
	free(srq->free);
}

/* Mark all receives as free. */
static int free_make(struct hns_srq *srq, uint32_t count)
{
	srq->free = calloc((count + WORD_BITS - 1) / WORD_BITS, sizeof(*srq->free));
	srq->rq.wr_ids = calloc(count, sizeof(*srq->rq.wr_ids));
	if (!srq->free || !srq->rq.wr_ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		srq->free[i / WORD_BITS] |= 1ull << i % WORD_BITS;
	return 0;
}

static int rings_make(struct hns_srq *srq, const struct ibv_srq_attr *attr)
{
	struct hns_context *ctx = to_hctx(srq->vsrq.srq.context);
	uint32_t count = round_up_pow2(max_of(attr->max_wr, 1u));
	struct hns_rq *rq = &srq->rq;
	int r = free_make(srq, count);

	rq->wqe_sge = round_up_pow2(attr->max_sge + ctx->old);
	rq->shift = __builtin_ctz(rq->wqe_sge * SEGMENT);
	rq->mask = count - 1;
	rq->max_sge = min_of(rq->wqe_sge - ctx->old, ctx->max_srq_sge);
	rq->max_post = count;
	rq->ends = ctx->old;
	rq->doorbell = ctx->doorbell;
	if (!r)
		r = dbrec_alloc(&ctx->records, NULL, (__be32 **)&rq->record);
	if (!r)
		r = kit_buf_alloc(&srq->buf, ROUND_UP((size_t)count << rq->shift, HNS_PART));
	if (!r)
		r = kit_buf_alloc(&srq->index_buf,
				  ROUND_UP((size_t)count * sizeof(uint32_t), HNS_PART));
	rq->ring = srq->buf.base;
	srq->indices = srq->index_buf.base;
	return r;
}

/* Check the kernel's answer and store its values. */
static int answer_take(struct hns_srq *srq, const struct ibv_srq_attr *attr,
		       const struct hns_roce_ib_create_srq_resp *resp)
{
	struct hns_rq *rq = &srq->rq;

	if (attr->max_wr != rq->mask + 1 || attr->max_sge != rq->wqe_sge) {
		verbs_err(srq->vsrq.srq.context,
			  "ibv_create_srq: the kernel grants %u receives of %u entries, of %u and "
			  "%u",
			  attr->max_wr, attr->max_sge, rq->mask + 1, rq->wqe_sge);
		return -EPROTO;
	}
	srq->number = resp->srqn & HNS_NUMBER_MASK;
	srq->vsrq.srq_num = srq->number;
	rq->recorded = resp->cap_flags & HNS_ROCE_RSP_SRQ_CAP_RECORD_DB;
	rq->tag = hns_doorbell(HNS_DB_SRQ, srq->number);
	return 0;
}

/* The caller holds qp_lock. */
static int srq_create_locked(struct hns_srq *srq, const struct verbs_create_srq *in)
{
	struct hns_roce_ib_create_srq cmd = {
		.buf_addr = (uintptr_t)srq->buf.base,
		.db_addr = (uintptr_t)srq->rq.record,
		.que_addr = (uintptr_t)srq->index_buf.base,
		.req_cap_flags = HNS_ROCE_SRQ_CAP_RECORD_DB,
	};
	struct hns_roce_ib_create_srq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	struct ibv_srq_attr *attr = &in->attr->attr;
	int r;

	attr->max_wr = max_of(attr->max_wr, 1u);
	attr->max_sge = srq->rq.wqe_sge;
	attr->srq_limit = 0;
	r = uverbs_create_srq(&srq->vsrq, &request);
	if (r < 0)
		return r;
	r = answer_take(srq, attr, &resp);
	if (!r && srq->vsrq.srq_type == IBV_SRQT_XRC)
		r = kit_srq_enter(&to_hctx(srq->vsrq.srq.context)->xrc_srqs, &srq->vsrq, srq,
				  to_hcq(srq->vsrq.cq));
	if (r < 0)
		uverbs_destroy_srq(&srq->vsrq);
	return r;
}

int hns_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct hns_context *ctx = to_hctx(vsrq->srq.context);
	struct hns_srq *srq = to_hsrq(&vsrq->srq);
	int r = srq_check(vsrq, &in->attr->attr);

	if (r < 0)
		return r;
	r = rings_make(srq, &in->attr->attr);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = srq_create_locked(srq, in);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	if (r < 0) {
		srq_free(srq);
		return r;
	}
	in->attr->attr.max_sge = srq->rq.max_sge;
	return 0;
}

int hns_query_srq(struct verbs_srq *vsrq, struct ibv_srq_attr *ret_attr)
{
	int r = uverbs_query_srq(vsrq, ret_attr);

	if (!r)
		ret_attr->max_sge = to_hsrq(&vsrq->srq)->rq.max_sge;
	return r;
}

int hns_destroy_srq(struct verbs_srq *vsrq)
{
	struct hns_context *ctx = to_hctx(vsrq->srq.context);
	struct hns_srq *srq = to_hsrq(&vsrq->srq);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_srq(vsrq);
	if (!r && vsrq->srq_type == IBV_SRQT_XRC)
		hns_cq_clean_srq(srq);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		srq_free(srq);
	return r;
}

bool hns_srq_take(struct hns_srq *srq, uint32_t index, uint64_t *ret_wr_id)
{
	uint32_t word = index / WORD_BITS;
	uint64_t bit = 1ull << index % WORD_BITS;
	struct hns_rq *rq = &srq->rq;
	bool posted;

	spinlock_lock(&rq->lock);
	posted = index <= rq->mask && !(srq->free[word] & bit);
	if (posted) {
		*ret_wr_id = rq->wr_ids[index];
		srq->free[word] |= bit;
		srq->low = min_of(srq->low, word);
		atomic_fetch_add_explicit(&rq->tail, 1, memory_order_relaxed);
	}
	spinlock_unlock(&rq->lock);
	return posted;
}
