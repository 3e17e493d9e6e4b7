/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Extended polling: the lock is held from a successful start_poll to end_poll. */
#include "providers/hns/wqe.h"

const uint64_t hns_cq_ex_wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN;

static inline struct hns_cq *ex_to_hcq(struct ibv_cq_ex *ex)
{
	return (struct hns_cq *)ex;
}

/* Take the next completion. If there is none, the current one stays readable. */
static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct hns_cq *cq = ex_to_hcq(ex);
	struct ibv_wc wc = {};

	if (!hns_poll_one(cq, &wc)) {
		errno = ENOENT;
		return ENOENT;
	}
	kit_cq_keep(&cq->kit, &wc);
	return 0;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	hns_cq_publish(ex_to_hcq(ex));
	spinlock_unlock(&ex_to_hcq(ex)->lock);
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct hns_cq *cq = ex_to_hcq(ex);
	uint32_t before;
	int r;

	if (unlikely(attr->comp_mask)) {
		errno = EINVAL;
		return EINVAL;
	}
	spinlock_lock(&cq->lock);
	before = cq->consumer;
	r = ex_next_poll(ex);
	if (!r)
		return 0;
	if (cq->consumer != before)
		hns_cq_publish(cq);
	spinlock_unlock(&cq->lock);
	return r;
}

static uint16_t ex_read_cvlan(struct ibv_cq_ex *ex)
{
	return ex_to_hcq(ex)->vlan;
}

static const struct ibv_cq_ex ex_polls = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = ex_end_poll,
};

void hns_cq_ex_set_slots(struct hns_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->kit.vcq.cq_ex;

	kit_cq_ex_set_kept(ex, &ex_polls, wc_flags);
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = ex_read_cvlan;
}
