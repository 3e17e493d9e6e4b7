/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion queues apart from polling. A queue in memory of the program is polled by the program.
 */
#include "providers/kit/cq.h"
#include "providers/mana/rc.h"

enum {
	/* rounds of the ring that the device may write behind the announced entry */
	CREDIT_LAPS = CQE_PHASES / 2,
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	if (!in->extended)
		return 0;
	verbs_err(ctx, "ibv_create_cq_ex: mana has ibv_create_cq() only");
	return -EOPNOTSUPP;
}

/* ---- queues in memory of the program */

static int program_create(struct mana_cq *cq, const struct verbs_create_cq *in)
{
	const struct mana_ib_create_cq cmd = { .buf_addr = (uintptr_t)cq->queue.buf.base };
	struct verbs_udata udata = {
		.in = &cmd,
		/* The length that the first kernels know. Later fields are for RC. */
		.in_len = offsetof(struct mana_ib_create_cq, flags),
	};
	struct verbs_create_cq request = *in;

	request.udata = &udata;
	return uverbs_create_cq(&cq->vcq, &request);
}

/* ---- queues of RC */

static int rc_memory(struct mana_cq *cq, uint32_t entries)
{
	struct ibv_context *ctx = cq->vcq.cq.context;
	uint32_t bytes = mana_queue_bytes(ctx, MANA_QUEUE_CQ, entries, 0);
	int r;

	if (!bytes)
		return -EINVAL;
	r = kit_buf_alloc(&cq->queue.buf, bytes);
	if (r < 0)
		return r;
	cq->queue.bytes = bytes;
	cq->queue.entries = bytes / sizeof(struct mana_cqe);
	return 0;
}

static int rc_accept(struct mana_cq *cq, uint32_t number)
{
	struct ibv_context *ctx = cq->vcq.cq.context;
	uint32_t entries = cq->queue.entries;

	if (number == MANA_NUMBER_NONE) {
		verbs_err(ctx,
			  "ibv_create_cq: the kernel has no queues of RC for this device. For raw "
			  "packets call manadv_set_context_attr() before");
		return -EOPNOTSUPP;
	}
	if (number > CQE_QUEUE_MASK) {
		verbs_err(ctx, "ibv_create_cq: the kernel gives number 0x%x, at most 0x%x fits",
			  number, CQE_QUEUE_MASK);
		return -EPROTO;
	}
	cq->queue.number = number;
	cq->vcq.cq.cqe = entries;
	cq->mask = entries - 1;
	cq->round_shift = __builtin_ctz(entries);
	/* A new ring is that of round 0, and the device begins with round 1. */
	cq->head = entries;
	cq->credit_end = cq->head + CREDIT_LAPS * entries - 1;
	cq->last_word = MANA_NUMBER_NONE;
	cq->ring = cq->next = cq->queue.buf.base;
	return 0;
}

static int rc_create(struct mana_cq *cq, const struct verbs_create_cq *in)
{
	const struct mana_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->queue.buf.base,
		.flags = MANA_IB_CREATE_RNIC_CQ,
	};
	struct mana_ib_create_cq_resp resp = { .cqid = MANA_NUMBER_NONE };
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = kit_create_cq(&cq->vcq, in, cq->queue.entries, &udata);

	if (r < 0)
		return r;
	r = rc_accept(cq, resp.cqid);
	if (r < 0)
		uverbs_destroy_cq(&cq->vcq);
	return r;
}

int mana_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mana_context *ctx = to_mctx(vcq->cq.context);
	struct mana_cq *cq = to_mcq(&vcq->cq);
	bool by_program = ctx->allocator.alloc;
	int r = cq_check(vcq->cq.context, in);

	if (!r)
		r = by_program ? mana_queue_make(ctx, MANA_QUEUE_CQ, in->attr->cqe, 0, &cq->queue)
			       : rc_memory(cq, in->attr->cqe);
	if (r < 0)
		return r;
	r = by_program ? program_create(cq, in) : rc_create(cq, in);
	if (r < 0)
		kit_buf_free(&cq->queue.buf);
	return r;
}

int mana_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		kit_buf_free(&to_mcq(&vcq->cq)->queue.buf);
	return r;
}

/* ---- arming */

/*
 * If the queue is armed, the index for the device is behind the last entry that was read. Otherwise
 * it is one entry less. A queue that is armed again without a poll needs an index that differs from
 * the last one: it grows by one each time.
 */
void mana_cq_announce(struct mana_cq *cq, bool arm)
{
	uint32_t entries = cq->mask + 1, most = CREDIT_LAPS * entries;
	uint32_t credit = cq->credit_end - cq->head, index;

	if (credit >= most)
		credit++;
	else
		credit = most - (arm ? 0 : 1);
	cq->credit_end = cq->head + credit;
	index = (cq->credit_end - most) & (CQE_PHASES * entries - 1);
	mana_ring_doorbell(to_mctx(cq->vcq.cq.context)->doorbells.base, DB_CQ,
			   cq->queue.number | (uint64_t)index << DB_VALUE_SHIFT |
				   (arm ? DB_CQ_ARMED : 0));
}

int mana_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mana_cq *cq = to_mcq(ibcq);

	if (!cq->ring || solicited_only) {
		verbs_err(ibcq->context, "cq %u: ibv_req_notify_cq: %s", ibcq->handle,
			  cq->ring ? "mana has no events for solicited completions only"
				   : "the program arms a queue in its own memory by itself");
		return EOPNOTSUPP;
	}
	spinlock_lock(&cq->lock);
	mana_cq_announce(cq, true);
	spinlock_unlock(&cq->lock);
	return 0;
}

/* ---- removing the completions of a queue pair that is destroyed */

static bool is_of(const struct mana_rc *qp, uint32_t word)
{
	uint32_t queue = word & CQE_IS_SEND ? qp->sq.ring.number : qp->rq.ring.number;

	return !(((word & CQE_QUEUE_MASK) ^ queue) & ~(uint32_t)QUEUE_TYPE_MASK);
}

/* Change the entries of a queue pair so that they complete no request. They keep their places,
 * because the round belongs to the place. */
static void clean_locked(struct mana_cq *cq, const struct mana_rc *qp)
{
	cq->last_word = MANA_NUMBER_NONE;
	if (cq->rest.qp == qp)
		cq->rest.qp = NULL;
	for (uint32_t i = cq->head; i != cq->head + cq->mask + 1; i++) {
		struct mana_cqe *cqe = (struct mana_cqe *)&cq->ring[i & cq->mask];
		uint32_t word = le32toh(((volatile struct mana_cqe *)cqe)->queue);

		if (((word >> CQE_PHASE_SHIFT) ^ (i >> cq->round_shift)) % CQE_PHASES)
			return;
		barrier_from_device();
		if (is_of(qp, word))
			cqe->head = 0;
	}
}

void mana_cqs_clean(struct mana_rc *qp)
{
	clean_locked(qp->send_cq, qp);
	if (qp->recv_cq != qp->send_cq)
		clean_locked(qp->recv_cq, qp);
}
