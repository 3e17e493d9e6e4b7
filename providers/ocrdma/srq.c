/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. The adapter takes receives in the order of the ring, and completes them in
 * any order, with the tag that is in the receive. */
#include "providers/ocrdma/wqe.h"

enum {
	WORD_BITS = 64,
};

/* ---- tags */

/* Take the lowest free tag. The caller knows that there is one. */
static uint32_t tag_take(struct oc_srq *srq)
{
	uint32_t bit;

	while (!srq->free[srq->first])
		srq->first++;
	bit = __builtin_ctzll(srq->free[srq->first]);
	srq->free[srq->first] &= srq->free[srq->first] - 1;
	return srq->first * WORD_BITS + bit + 1;
}

bool oc_srq_take(struct oc_srq *srq, uint32_t tag, uint64_t *ret_wr_id)
{
	uint32_t index = tag - 1, word = index / WORD_BITS;
	uint64_t bit = 1ull << index % WORD_BITS;
	bool posted;

	spinlock_lock(&srq->lock);
	posted = index <= srq->mask && !(srq->free[word] & bit);
	if (likely(posted)) {
		*ret_wr_id = srq->wr_ids[index];
		srq->free[word] |= bit;
		srq->first = min_of(srq->first, word);
		srq->posted--;
	}
	spinlock_unlock(&srq->lock);
	return posted;
}

/* ---- creation */

static int tags_make(struct oc_srq *srq)
{
	uint32_t count = srq->mask + 1, words = (count + WORD_BITS - 1) / WORD_BITS;

	srq->wr_ids = calloc(count, sizeof(*srq->wr_ids));
	srq->free = calloc(words, sizeof(*srq->free));
	if (!srq->wr_ids || !srq->free)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		srq->free[i / WORD_BITS] |= 1ull << i % WORD_BITS;
	return 0;
}

static int srq_open(struct oc_srq *srq, const struct ocrdma_create_srq_uresp *resp)
{
	struct ibv_context *ctx = srq->vsrq.srq.context;
	const struct oc_ring_answer answer = {
		.address = resp->rq_page_addr[0],
		.bytes = resp->rq_page_size,
		.pages = resp->num_rq_pages,
		.entries = resp->num_rqe_allocated,
		.stride = to_octx(ctx)->rqe_bytes,
		.name = "ring of a shared receive queue",
	};
	int r = oc_ring_map(ctx, &answer, &srq->queue);

	if (!r)
		r = kit_page_map(ctx, resp->db_page_addr, resp->db_page_size, PROT_WRITE,
				 &srq->registers);
	if (r < 0)
		return r;
	srq->doorbell = oc_register(ctx, &srq->registers, resp->db_rq_offset);
	if (!srq->doorbell)
		return -EPROTO;
	srq->mask = answer.entries - 1;
	srq->stride = answer.stride;
	srq->ring = srq->queue.base;
	srq->announcement = htole32(resp->rq_dbid | 1u << (resp->db_shift & 31));
	return tags_make(srq);
}

static void srq_free(struct oc_srq *srq)
{
	kit_page_unmap(&srq->queue);
	kit_page_unmap(&srq->registers);
	free(srq->wr_ids);
	free(srq->free);
}

static int srq_check(struct ibv_context *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC) {
		verbs_err(ctx, "ibv_create_srq: SRQ type %d: ocrdma has IBV_SRQT_BASIC",
			  attr->srq_type);
		return -EOPNOTSUPP;
	}
	if (HEADER + attr->attr.max_sge * (uint64_t)ENTRY > to_octx(ctx)->rqe_bytes) {
		verbs_err(ctx, "ibv_create_srq: %u entries do not fit into a receive of %u bytes",
			  attr->attr.max_sge, to_octx(ctx)->rqe_bytes);
		return -EINVAL;
	}
	return 0;
}

int oc_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct oc_srq *srq = to_oc_srq(&vsrq->srq);
	struct ocrdma_create_srq_uresp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_srq request = *in;
	int r = srq_check(vsrq->srq.context, in->attr);

	request.udata = &udata;
	if (!r)
		r = uverbs_create_srq(vsrq, &request);
	if (r < 0)
		return r;
	srq->max_sge = in->attr->attr.max_sge;
	r = srq_open(srq, &resp);
	if (r < 0) {
		uverbs_destroy_srq(vsrq);
		srq_free(srq);
	}
	return r;
}

int oc_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_oc_srq(&vsrq->srq));
	return r;
}

/* ---- posting */

static bool srq_accepts(const struct oc_srq *srq, const struct ibv_recv_wr *wr)
{
	return srq->posted != srq->mask && (uint32_t)wr->num_sge <= srq->max_sge &&
	       (wr->sg_list || !wr->num_sge);
}

__attribute__((noinline, cold)) static int srq_refuse(struct oc_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.max_post = srq->mask,
		.max_sge = srq->max_sge,
	};

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->said, wr, &limits);
}

int oc_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct oc_srq *srq = to_oc_srq(ibsrq);

	spinlock_lock(&srq->lock);
	for (; wr && srq_accepts(srq, wr); wr = wr->next) {
		uint32_t tag = tag_take(srq);

		srq->wr_ids[tag - 1] = wr->wr_id;
		receive_put(slot_of(srq->ring, srq->head++ & srq->mask, srq->stride), tag, wr);
		srq->posted++;
		announce(srq->doorbell, srq->announcement);
	}
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}
