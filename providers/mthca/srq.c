/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues. Free receives form a list. The adapter follows the links in the ring. This
 * library follows its own copy, which the adapter cannot write.
 */
#include "providers/mthca/wqe.h"

enum {
	SRQ_WR_MAX = 1 << 16,
};
#define LIST_END (UINT32_MAX - 1)

static struct mthca_next_seg *receive_at(const struct mthca_srq *srq, uint32_t index)
{
	return (void *)(srq->ring + ((size_t)index << srq->shift));
}

/* Append a receive to the list. */
static void list_append(struct mthca_srq *srq, uint32_t index)
{
	receive_at(srq, srq->tail)->nda_op = htobe32(index << srq->shift | NDA_RECV);
	srq->next[srq->tail] = index;
	srq->next[index] = LIST_END;
	srq->tail = index;
}

/* ---- creation */

/* Put all receives into the list, and let each segment end the list of entries of its receive. */
static void list_make(struct mthca_srq *srq)
{
	uint32_t segments = ((1u << srq->shift) - NEXT_BYTES) / MLX_SEGMENT;

	srq->next[0] = LIST_END;
	for (uint32_t i = 0; i < srq->count; i++) {
		struct mlx_data_seg *seg = (void *)(receive_at(srq, i) + 1);

		for (uint32_t n = 0; n < segments; n++)
			seg[n].lkey = htobe32(MLX_INVALID_LKEY);
		if (i)
			list_append(srq, i);
	}
	srq->last = (char *)receive_at(srq, srq->count - 1);
}

static int memory_make(struct mthca_srq *srq)
{
	int r = mthca_region_make(&srq->memory, srq->vsrq.srq.pd, (size_t)srq->count << srq->shift,
				  0);

	if (r < 0)
		return r;
	srq->ring = srq->memory.buf.base;
	srq->next = calloc(srq->count, sizeof(*srq->next));
	srq->wr_ids = calloc(srq->count, sizeof(*srq->wr_ids));
	if (!srq->next || !srq->wr_ids)
		return -ENOMEM;
	list_make(srq);
	return mthca_record_alloc(to_mctx(srq->vsrq.srq.context), MTHCA_RECORD_SRQ, &srq->record);
}

static void srq_free(struct mthca_srq *srq)
{
	mthca_record_free(to_mctx(srq->vsrq.srq.context), &srq->record);
	kit_region_free(&srq->memory);
	free(srq->wr_ids);
	free(srq->next);
}

static int srq_ask(struct mthca_srq *srq, const struct verbs_create_srq *in)
{
	struct mthca_create_srq_resp resp = {};
	struct mthca_create_srq cmd = {
		.lkey = srq->memory.mr.ibv_mr.lkey,
		.db_index = srq->record.index,
		.db_page = mthca_record_page(&srq->record),
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_srq request = *in;
	int r;

	request.udata = &udata;
	r = uverbs_create_srq(&srq->vsrq, &request);
	if (!r)
		srq->number = resp.srqn & MTHCA_NUMBER_MASK;
	return r;
}

int mthca_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct mthca_context *ctx = to_mctx(vsrq->srq.context);
	struct mthca_srq *srq = to_mthca_srq(&vsrq->srq);
	const struct ibv_srq_attr *attr = &in->attr->attr;
	int r = mlx_srq_check(vsrq, attr, 1u << IBV_SRQT_BASIC, SRQ_WR_MAX, MTHCA_SGE_MAX);

	if (r < 0)
		return r;
	srq->count = mthca_has_records(ctx) ? round_up_pow2(attr->max_wr + 1) : attr->max_wr + 1;
	srq->shift = mthca_shift(NEXT_BYTES + MLX_SEGMENT * attr->max_sge);
	srq->max_sge = attr->max_sge;
	srq->doorbell = (char *)ctx->uar.base + MTHCA_REG_RECV;
	r = memory_make(srq);
	if (!r)
		r = srq_ask(srq, in);
	if (r < 0) {
		srq_free(srq);
		return r;
	}
	mthca_record_name(&srq->record, MTHCA_RECORD_SRQ, srq->number);
	return 0;
}

int mthca_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_mthca_srq(&vsrq->srq));
	return r;
}

/* ---- posting */

bool mthca_srq_give(struct mthca_srq *srq, uint32_t index)
{
	bool posted;

	spinlock_lock(&srq->lock);
	posted = index < srq->count && srq->next[index] == MTHCA_POSTED;
	if (likely(posted))
		list_append(srq, index);
	spinlock_unlock(&srq->lock);
	return posted;
}

__attribute__((noinline, cold)) static int srq_refuse(struct mthca_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.max_post = srq->count - 1,
		.max_sge = srq->max_sge,
	};

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->said, wr, &limits);
}

/* Write the first free receive and take it from the list. Return: false if it is refused. */
FLAT bool receive_take(struct mthca_srq *srq, const struct ibv_recv_wr *wr)
{
	uint32_t index = srq->head;
	struct mthca_next_seg *next = receive_at(srq, index);

	/* The last receive stays in the list, because the link to the next one is in it. */
	if (unlikely(index == srq->tail) || unlikely((uint32_t)wr->num_sge > srq->max_sge) ||
	    (unlikely(!wr->sg_list) && wr->num_sge))
		return false;
	next->ee_nds = 0;
	mthca_scatter_write((struct mlx_data_seg *)(void *)(next + 1), srq->max_sge, wr);
	srq->wr_ids[index] = wr->wr_id;
	srq->head = srq->next[index];
	srq->next[index] = MTHCA_POSTED;
	return true;
}

int mthca_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mthca_srq *srq = to_mthca_srq(ibsrq);
	uint16_t posted;

	spinlock_lock(&srq->lock);
	posted = srq->posted;
	for (; wr && receive_take(srq, wr); wr = wr->next)
		posted++;
	if (posted != srq->posted) {
		srq->posted = posted;
		barrier_to_device();
		*(volatile __be32 *)srq->record.words = htobe32(posted);
	}
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}

static void tavor_ring(const struct mthca_srq *srq, uint32_t first, uint32_t count)
{
	barrier_to_device();
	mthca_ring(srq->doorbell, first << srq->shift,
		   srq->number << DB_NUMBER_SHIFT | (count & (RECV_BATCH - 1)));
}

int mthca_tavor_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr)
{
	struct mthca_srq *srq = to_mthca_srq(ibsrq);
	uint32_t first, count = 0;

	spinlock_lock(&srq->lock);
	first = srq->head;
	for (; wr; wr = wr->next) {
		struct mthca_next_seg *next = receive_at(srq, srq->head);

		if (!receive_take(srq, wr))
			break;
		barrier_to_device();
		((struct mthca_next_seg *)(void *)srq->last)->ee_nds = htobe32(EE_DOORBELL);
		srq->last = (char *)next;
		if (++count < RECV_BATCH)
			continue;
		tavor_ring(srq, first, count);
		first = srq->head;
		count = 0;
	}
	if (likely(count))
		tavor_ring(srq, first, count);
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}
