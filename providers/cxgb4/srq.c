/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues, which a T6 has. The device takes receives in the order of the ring, for
 * all queue pairs, and completes them in any order. A place of the ring is free again when the
 * receives before it are complete too. Meanwhile new receives wait in memory.
 */
#include "providers/cxgb4/wqe.h"

static void srq_free(struct cx_srq *srq)
{
	cx_ring_unmap(&srq->ring);
	free(srq->entries);
	free(srq->waiting);
}

static int srq_map(struct cx_srq *srq, const struct c4iw_create_srq_resp *resp)
{
	struct cx_context *ctx = to_cctx(srq->vsrq.srq.context);
	const struct cx_ring_answer answer = {
		.queue_key = resp->srq_key,
		.registers_key = resp->srq_db_gts_key,
		.bytes = resp->srq_memsize,
		.slots = resp->srq_size <= UINT16_MAX ? resp->srq_size * RECV_SLOTS : 0,
		.number = resp->srqid,
		.mask = resp->qid_mask,
	};
	int r = cx_ring_map(&srq->ring, ctx, &answer);

	if (r < 0)
		return r;
	srq->ring.by_kernel = &cx_never;
	srq->entries = calloc(resp->srq_size, sizeof(*srq->entries));
	srq->waiting = calloc(resp->srq_size, sizeof(*srq->waiting));
	return srq->entries && srq->waiting ? 0 : -ENOMEM;
}

int cx_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct cx_srq *srq = to_csrq(&vsrq->srq);
	struct c4iw_create_srq_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_srq request = *in;
	int r;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(vsrq->srq.context,
			  "ibv_create_srq_ex: type %d: cxgb4 has basic SRQs only", vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	if (in->attr->attr.max_sge > RECV_SGE_MAX) {
		verbs_err(vsrq->srq.context, "ibv_create_srq: %u entries of a receive (at most %u)",
			  in->attr->attr.max_sge, RECV_SGE_MAX);
		return -EINVAL;
	}
	request.udata = &udata;
	r = uverbs_create_srq(vsrq, &request);
	if (r < 0)
		return r;
	r = srq_map(srq, &resp);
	if (r < 0) {
		uverbs_destroy_srq(vsrq);
		srq_free(srq);
		return r;
	}
	srq->size = resp.srq_size;
	srq->first = resp.rqt_abs_idx;
	srq->has_limit = resp.flags & T4_SRQ_LIMIT_SUPPORT;
	srq->max_sge = in->attr->attr.max_sge;
	return 0;
}

int cx_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in)
{
	struct cx_srq *srq = to_csrq(&vsrq->srq);
	int r;

	if (in->mask & IBV_SRQ_MAX_WR) {
		verbs_err(vsrq->srq.context, "ibv_modify_srq: cxgb4 does not resize SRQs");
		return -EINVAL;
	}
	spinlock_lock(&srq->lock);
	r = uverbs_modify_srq(vsrq, in);
	if (!r && in->mask & IBV_SRQ_LIMIT) {
		srq->limit_armed = true;
		srq->limit = in->attr->srq_limit;
	}
	spinlock_unlock(&srq->lock);
	return r;
}

int cx_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		srq_free(to_csrq(&vsrq->srq));
	return r;
}

static uint32_t next_of(const struct cx_srq *srq, uint32_t index)
{
	return index + 1 == srq->size ? 0 : index + 1;
}

/* ---- posting */

/* Write a receive into the next place of the ring. */
static void entry_post(struct cx_srq *srq, uint64_t wr_id, const uint64_t *words, uint32_t len16)
{
	srq->entries[srq->head] = (struct cx_srq_entry){ wr_id, true };
	cx_ring_put(&srq->ring, words, len16);
	srq->head = next_of(srq, srq->head);
}

/* Keep a receive until the ring has a place. The device ignores the index in it. */
static void entry_keep(struct cx_srq *srq, const struct ibv_recv_wr *wr)
{
	struct cx_waiting *waiting = &srq->waiting[srq->waiting_head];

	waiting->wr_id = wr->wr_id;
	waiting->len16 = receive_put(waiting->words, srq->head, wr);
	srq->waiting_head = next_of(srq, srq->waiting_head);
	srq->waiting_count++;
}

static void announce(struct cx_srq *srq, uint32_t from)
{
	if (from == srq->ring.at)
		return;
	status_put(srq->ring.status, STATUS_HEAD, srq->head);
	ring_announce(&srq->ring, from, NULL, 0);
}

__attribute__((noinline, cold)) static int srq_refuse(struct cx_srq *srq,
						      const struct ibv_recv_wr *wr)
{
	const struct kit_rq_limits limits = {
		.max_post = srq->size - 1,
		.max_sge = srq->max_sge,
	};

	return kit_post_srq_refuse(&srq->vsrq.srq, &srq->said, wr, &limits);
}

int cx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct cx_srq *srq = to_csrq(ibsrq);
	uint32_t from;

	spinlock_lock(&srq->lock);
	from = srq->ring.at;
	for (; wr; wr = wr->next) {
		uint64_t words[RECV_WORDS];

		if (srq->used == srq->size - 1 || (uint32_t)wr->num_sge > srq->max_sge ||
		    (wr->num_sge && !wr->sg_list))
			break;
		srq->used++;
		if (srq->holes || srq->waiting_count || srq->entries[srq->head].posted)
			entry_keep(srq, wr);
		else
			entry_post(srq, wr->wr_id, words, receive_put(words, srq->head, wr));
	}
	announce(srq, from);
	spinlock_unlock(&srq->lock);
	if (likely(!wr))
		return 0;
	*bad_wr = wr;
	return srq_refuse(srq, wr);
}

/* ---- completion */

/* Post the receives that wait for a place. */
static void waiting_post(struct cx_srq *srq)
{
	uint32_t from = srq->ring.at;

	while (srq->waiting_count && !srq->entries[srq->head].posted) {
		struct cx_waiting *waiting = &srq->waiting[srq->waiting_tail];

		entry_post(srq, waiting->wr_id, waiting->words, waiting->len16);
		srq->waiting_tail = next_of(srq, srq->waiting_tail);
		srq->waiting_count--;
	}
	announce(srq, from);
}

/* The device does not watch the limit: let the kernel report that it is reached. */
static void limit_watch(struct cx_srq *srq)
{
	struct ibv_srq_attr attr = {};
	const struct verbs_modify_srq request = { .attr = &attr };
	int r;

	if (srq->has_limit || !srq->limit_armed || srq->used >= srq->limit)
		return;
	srq->limit_armed = false;
	r = uverbs_modify_srq(&srq->vsrq, &request);
	if (r < 0)
		verbs_err(srq->vsrq.srq.context, "srq: the kernel does not report the limit: %s",
			  strerror(-r));
}

bool cx_srq_take(struct cx_srq *srq, uint32_t index, uint64_t *ret_wr_id)
{
	uint32_t at = index - srq->first;
	bool posted;

	spinlock_lock(&srq->lock);
	posted = at < srq->size && srq->entries[at].posted;
	if (posted) {
		*ret_wr_id = srq->entries[at].wr_id;
		srq->entries[at].posted = false;
		srq->used--;
		if (at != srq->tail) {
			srq->holes++;
		} else {
			srq->tail = next_of(srq, srq->tail);
			for (; srq->holes && !srq->entries[srq->tail].posted; srq->holes--)
				srq->tail = next_of(srq, srq->tail);
			status_put(srq->ring.status, STATUS_CONSUMED, srq->tail);
		}
		if (!srq->holes)
			waiting_post(srq);
		limit_watch(srq);
	}
	spinlock_unlock(&srq->lock);
	return posted;
}
