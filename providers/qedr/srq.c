/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. The device takes receives in the order of the ring, and reads in memory
 * how many there are. It completes them in any order, and a completion has the number of the
 * request. */
#include "providers/kit/srq.h"
#include "providers/qedr/wqe.h"

enum {
	PAIR = 8, /* bytes */
};

static int srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr)
{
	const struct qedr_context *ctx = to_qctx(vsrq->srq.context);

	if (vsrq->srq_type != IBV_SRQT_BASIC && (vsrq->srq_type != IBV_SRQT_XRC || ctx->iwarp)) {
		verbs_err(&ctx->vctx.context, "ibv_create_srq_ex: type %d is not supported",
			  vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (!attr->max_wr || attr->max_wr > ctx->max_srq_wr || attr->max_sge > ctx->recv_sge) {
		verbs_err(&ctx->vctx.context,
			  "ibv_create_srq: %u receives of %u entries are not possible (1 to %u of "
			  "at most %u are)",
			  attr->max_wr, attr->max_sge, ctx->max_srq_wr, ctx->recv_sge);
		return -EINVAL;
	}
	return 0;
}

static void srq_free(struct qedr_srq *srq)
{
	kit_buf_free(&srq->pair);
	kit_buf_free(&srq->buf);
}

static int rings_make(struct qedr_srq *srq, const struct ibv_srq_attr *attr)
{
	int r = kit_buf_alloc(&srq->pair, PAIR);

	if (!r)
		r = kit_buf_alloc(&srq->buf, (size_t)attr->max_wr * (attr->max_sge + 1) * ELEMENT);
	srq->ring = srq->at = srq->buf.base;
	srq->end = srq->ring + srq->buf.size;
	srq->max_post = attr->max_wr;
	srq->max_sge = attr->max_sge;
	return r;
}

/* The caller holds qp_lock. */
static int srq_create_locked(struct qedr_srq *srq, const struct verbs_create_srq *in)
{
	struct qedr_create_srq_ureq cmd = {
		.prod_pair_addr = (uintptr_t)srq->pair.base,
		.srq_addr = (uintptr_t)srq->buf.base,
		.srq_len = srq->buf.size,
	};
	struct qedr_create_srq_uresp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r = uverbs_create_srq(&srq->vsrq, &request);

	if (r < 0)
		return r;
	srq->number = resp.srq_id;
	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return 0;
	srq->vsrq.srq_num = srq->number;
	r = kit_srq_enter(&to_qctx(srq->vsrq.srq.context)->xrc_srqs, &srq->vsrq, srq,
			  to_qcq(srq->vsrq.cq));
	if (r < 0)
		uverbs_destroy_srq(&srq->vsrq);
	return r;
}

int qedr_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct qedr_context *ctx = to_qctx(vsrq->srq.context);
	struct qedr_srq *srq = to_qsrq(&vsrq->srq);
	int r = srq_check(vsrq, &in->attr->attr);

	if (r < 0)
		return r;
	r = rings_make(srq, &in->attr->attr);
	if (!r) {
		pthread_mutex_lock(&ctx->qp_lock);
		r = srq_create_locked(srq, in);
		pthread_mutex_unlock(&ctx->qp_lock);
	}
	if (r < 0)
		srq_free(srq);
	return r;
}

/* Remove an XRC SRQ from the table, and its completions from the queue. */
static void xrc_forget(struct qedr_context *ctx, struct qedr_srq *srq)
{
	struct qedr_cq *cq = to_qcq(srq->vsrq.cq);

	spinlock_lock(&cq->lock);
	qedr_cq_clean_srq(cq, srq);
	idtable_take(&ctx->xrc_srqs, srq->number, srq);
	spinlock_unlock(&cq->lock);
}

int qedr_destroy_srq(struct verbs_srq *vsrq)
{
	struct qedr_context *ctx = to_qctx(vsrq->srq.context);
	struct qedr_srq *srq = to_qsrq(&vsrq->srq);
	int r;

	pthread_mutex_lock(&ctx->qp_lock);
	r = uverbs_destroy_srq(vsrq);
	if (!r && vsrq->srq_type == IBV_SRQT_XRC)
		xrc_forget(ctx, srq);
	pthread_mutex_unlock(&ctx->qp_lock);
	if (!r)
		srq_free(srq);
	return r;
}

/* ---- posting */

static void element_put(struct qedr_srq *srq, uint64_t first, uint64_t second)
{
	uint64_t *to = (uint64_t *)(void *)srq->at;

	to[0] = htole64(first);
	to[1] = htole64(second);
	srq->at += ELEMENT;
	if (srq->at == srq->end)
		srq->at = srq->ring;
}

static void srq_put(struct qedr_srq *srq, const struct ibv_recv_wr *wr)
{
	element_put(srq, wr->wr_id, (uint32_t)wr->num_sge);
	for (int i = 0; i < wr->num_sge; i++)
		element_put(srq, wr->sg_list[i].addr,
			    wr->sg_list[i].length | (uint64_t)wr->sg_list[i].lkey << 32);
	srq->elements += 1 + wr->num_sge;
	srq->posted++;
}

/* Store how many elements and receives there are, if possible at once. */
static void pair_store(struct qedr_srq *srq)
{
	volatile uint32_t *pair = srq->pair.base;

	barrier_to_device();
#if UINTPTR_MAX > UINT32_MAX
	*(volatile uint64_t *)(void *)pair = htole64(srq->elements | (uint64_t)srq->posted << 32);
#else
	pair[0] = htole32(srq->elements);
	barrier_to_device();
	pair[1] = htole32(srq->posted);
#endif
}

__attribute__((noinline, cold)) static int srq_refuse(struct qedr_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.max_post = srq->max_post,
		.max_sge = srq->max_sge,
	};

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->said, wr, &limits);
}

int qedr_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct qedr_srq *srq = to_qsrq(ibsrq);
	uint32_t before;

	spinlock_lock(&srq->lock);
	before = srq->posted;
	for (; wr; wr = wr->next) {
		/* acquire: pairs with the release of qedr_srq_take() */
		uint32_t used =
			srq->posted - atomic_load_explicit(&srq->consumed, memory_order_acquire);

		if (unlikely(used >= srq->max_post) ||
		    unlikely((uint32_t)wr->num_sge > (uint32_t)srq->max_sge) ||
		    unlikely(wr->num_sge && !wr->sg_list))
			break;
		srq_put(srq, wr);
	}
	if (likely(srq->posted != before))
		pair_store(srq);
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}
