/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. Receives complete in any order: each has a tag, an index of the lists of
 * free tags and of request ids. */
#include "providers/bnxt_re/wqe.h"

enum {
	TAG_NONE = UINT32_MAX,
	SRQ_SLOTS = 8, /* number of slots of an entry */
};

static int srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr)
{
	struct ibv_context *ctx = vsrq->srq.context;
	uint32_t most = to_bctx(ctx)->max_srq_wr;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(ctx, "ibv_create_srq_ex: type %d is not supported", vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > most || attr->max_sge > SRQ_SLOTS - HEADERS) {
		verbs_err(
			ctx,
			"ibv_create_srq: %u receives of %u entries are not possible (1 to %u of at "
			"most %u are)",
			attr->max_wr, attr->max_sge, most, SRQ_SLOTS - HEADERS);
		return -EINVAL;
	}
	return 0;
}

static void srq_free(struct bnxt_re_srq *srq)
{
	kit_buf_free(&srq->buf);
	free(srq->next);
	free(srq->wr_ids);
}

static int rings_make(struct bnxt_re_srq *srq, const struct ibv_srq_attr *attr)
{
	struct bnxt_re_context *ctx = to_bctx(srq->vsrq.srq.context);
	uint32_t count = bnxt_re_depth(ctx, attr->max_wr + 1, ctx->max_srq_wr + 1);
	int r = kit_buf_alloc(&srq->buf, (size_t)count * SRQ_SLOTS * SLOT);

	if (r < 0)
		return r;
	srq->next = calloc(count, sizeof(*srq->next));
	srq->wr_ids = calloc(count, sizeof(*srq->wr_ids));
	if (!srq->next || !srq->wr_ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		srq->next[i] = i + 1 < count ? i + 1 : TAG_NONE;
	srq->last = count - 1;
	srq->ring = srq->buf.base;
	srq->count = count;
	srq->max_sge = attr->max_sge;
	srq->doorbell = ctx->doorbells.base;
	return 0;
}

static int srq_create(struct bnxt_re_srq *srq, const struct verbs_create_srq *in)
{
	struct bnxt_re_srq_req cmd = {
		.srqva = (uintptr_t)srq->buf.base,
		.srq_handle = (uintptr_t)srq,
	};
	struct bnxt_re_srq_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_srq(&srq->vsrq, &request);

	if (r < 0)
		return r;
	srq->number = resp.srqid & BNXT_RE_NUMBER_MASK;
	srq->limit = in->attr->attr.srq_limit;
	srq->arms = srq->limit;
	return 0;
}

int bnxt_re_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct bnxt_re_srq *srq = to_bsrq(&vsrq->srq);
	int r = srq_check(vsrq, &in->attr->attr);

	if (r < 0)
		return r;
	r = rings_make(srq, &in->attr->attr);
	if (!r)
		r = srq_create(srq, in);
	if (r < 0)
		srq_free(srq);
	return r;
}

int bnxt_re_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct bnxt_re_srq *srq = to_bsrq(&vsrq->srq);
	int r;

	/* Kernels before 6.8 return success and do not resize. */
	if (in->mask & IBV_SRQ_MAX_WR)
		return -EINVAL;
	r = uverbs_modify_srq(vsrq, in);
	if (r < 0 || !(in->mask & IBV_SRQ_LIMIT))
		return r;
	spinlock_lock(&srq->lock);
	srq->limit = in->attr->srq_limit;
	srq->arms = srq->limit;
	spinlock_unlock(&srq->lock);
	return 0;
}

int bnxt_re_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_bsrq(&vsrq->srq));
	return r;
}

bool bnxt_re_srq_take(struct bnxt_re_srq *srq, uint32_t tag, uint64_t *ret_wr_id)
{
	bool waits;

	spinlock_lock(&srq->lock);
	/* The tag of a posted receive is the only one that is its own successor. */
	waits = tag < srq->count && srq->next[tag] == tag;
	if (waits) {
		*ret_wr_id = srq->wr_ids[tag];
		srq->next[srq->last] = tag;
		srq->next[tag] = TAG_NONE;
		srq->last = tag;
		srq->waiting--;
	}
	spinlock_unlock(&srq->lock);
	return waits;
}
