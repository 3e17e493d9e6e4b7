/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll. Each completion is
 * polled into an ibv_wc, because one entry of the device may complete several requests.
 */
#include "providers/irdma/wqe.h"

static inline struct irdma_cq *ex_to_icq(struct ibv_cq_ex *ex)
{
	return (struct irdma_cq *)ex;
}

/* Take the next completion. If there is none, the current one stays readable. */
static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct irdma_cq *cq = ex_to_icq(ex);
	struct ibv_wc wc;

	if (!irdma_poll_one(cq, &wc)) {
		errno = ENOENT;
		return ENOENT;
	}
	kit_cq_keep(&cq->kit, &wc);
	return 0;
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct irdma_cq *cq = ex_to_icq(ex);
	int r;

	if (unlikely(attr->comp_mask)) {
		errno = EINVAL;
		return EINVAL;
	}
	spinlock_lock(&cq->lock);
	r = ex_next_poll(ex);
	if (r)
		spinlock_unlock(&cq->lock);
	return r;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	spinlock_unlock(&ex_to_icq(ex)->lock);
}

static uint64_t ex_read_completion_ts(struct ibv_cq_ex *ex)
{
	return ex_to_icq(ex)->timestamp;
}

static const struct ibv_cq_ex ex_polls = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = ex_end_poll,
};

void irdma_cq_ex_set_slots(struct irdma_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->kit.vcq.cq_ex;

	kit_cq_ex_set_kept(ex, &ex_polls, wc_flags);
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = ex_read_completion_ts;
}
