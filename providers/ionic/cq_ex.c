/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll. Each completion is
 * polled into an ibv_wc, because one entry of the device completes several sends.
 */
#include "providers/ionic/wqe.h"

static inline struct ionic_cq *ex_to_iocq(struct ibv_cq_ex *ex)
{
	return (struct ionic_cq *)ex;
}

/* Take the next completion. If there is none, the current one stays readable. */
static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct ionic_cq *cq = ex_to_iocq(ex);
	struct ibv_wc wc;

	if (!ionic_poll_one(cq, &wc)) {
		errno = ENOENT;
		return ENOENT;
	}
	kit_cq_keep(&cq->kit, &wc);
	return 0;
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct ionic_cq *cq = ex_to_iocq(ex);
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

/* Read the clock page before a completion is consumed, because the read may fail. */
static int ex_start_poll_clock(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct ionic_cq *cq = ex_to_iocq(ex);
	struct ionic_clock_info clock;
	int r = ionic_clock_read(to_ioctx(ex->context), &clock);

	if (unlikely(r < 0)) {
		errno = -r;
		return -r;
	}
	r = ex_start_poll(ex, attr);
	if (!r)
		cq->clock = clock;
	return r;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	spinlock_unlock(&ex_to_iocq(ex)->lock);
}

static uint64_t ex_read_completion_ts(struct ibv_cq_ex *ex)
{
	return ex_to_iocq(ex)->time;
}

static uint64_t ex_read_wallclock_ns(struct ibv_cq_ex *ex)
{
	const struct ionic_cq *cq = ex_to_iocq(ex);

	return ionic_clock_ns(&cq->clock, cq->time);
}

void ionic_cq_ex_set_slots(struct ionic_cq *cq, uint64_t wc_flags)
{
	bool wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	const struct ibv_cq_ex polls = {
		.start_poll = wallclock ? ex_start_poll_clock : ex_start_poll,
		.next_poll = ex_next_poll,
		.end_poll = ex_end_poll,
	};
	struct ibv_cq_ex *ex = &cq->kit.vcq.cq_ex;

	kit_cq_ex_set_kept(ex, &polls, wc_flags);
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = ex_read_completion_ts;
	if (wallclock)
		ex->read_completion_wallclock_ns = ex_read_wallclock_ns;
}
