/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll. Each completion is
 * polled into an ibv_wc, because one entry of the device completes several sends.
 */
#include "providers/bnxt_re/wqe.h"

static inline struct bnxt_re_cq *ex_to_bcq(struct ibv_cq_ex *ex)
{
	return (struct bnxt_re_cq *)ex;
}

/* Take the next completion. If there is none, the current one stays readable. */
static int ex_take(struct bnxt_re_cq *cq)
{
	struct ibv_wc wc;

	if (!bnxt_re_poll_one(cq, &wc)) {
		errno = ENOENT;
		return ENOENT;
	}
	kit_cq_keep(&cq->kit, &wc);
	return 0;
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct bnxt_re_cq *cq = ex_to_bcq(ex);
	int r;

	if (unlikely(attr->comp_mask)) {
		errno = EINVAL;
		return EINVAL;
	}
	spinlock_lock(&cq->lock);
	r = ex_take(cq);
	if (r) {
		/* Entries without a completion were consumed. */
		bnxt_re_cq_report(cq);
		spinlock_unlock(&cq->lock);
	}
	return r;
}

static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct bnxt_re_cq *cq = ex_to_bcq(ex);

	bnxt_re_cq_report(cq);
	return ex_take(cq);
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	struct bnxt_re_cq *cq = ex_to_bcq(ex);

	bnxt_re_cq_report(cq);
	spinlock_unlock(&cq->lock);
}

static const struct ibv_cq_ex ex_polls = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = ex_end_poll,
};

void bnxt_re_cq_ex_set_slots(struct bnxt_re_cq *cq, uint64_t wc_flags)
{
	kit_cq_ex_set_kept(&cq->kit.vcq.cq_ex, &ex_polls, wc_flags);
}
