/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Find a program that polls one completion queue in vain, while completions wait in another queue.
 * Such a program mistakes send_cq for recv_cq. Do not suspect queues with a completion channel,
 * because a thread may wait for their events.
 */
#include "providers/uroce/strict/record.h"

enum {
	LOOKS = 3,
};

struct left {
	const struct ibv_context *ctx;
	uint32_t cq, count; /* queue with completions */
	bool in_vain;
	uint32_t polled; /* queue that is polled in vain */
};

static bool cq_look(struct strict_record *record, void *arg)
{
	struct strict_cq *scq = (struct strict_cq *)record;
	uint32_t count = atomic_load(&scq->cq->head) - atomic_load(&scq->cq->tail);
	bool polled = scq->polls != scq->left_polls;
	bool in_vain = polled && scq->completions == scq->left_completions && !count;
	bool left = !polled && count && !scq->cq->vcq.cq.channel;
	struct left *look = arg;

	scq->left_polls = scq->polls;
	scq->left_completions = scq->completions;
	scq->vain_looks = in_vain ? scq->vain_looks + 1 : 0;
	scq->left_looks = left ? scq->left_looks + 1 : 0;
	if (scq->vain_looks >= LOOKS) {
		look->in_vain = true;
		look->polled = record->number;
	}
	if (scq->left_looks >= LOOKS && !scq->left) {
		look->ctx = record->ctx;
		look->cq = record->number;
		look->count = count;
	}
	return false;
}

static bool cq_mark(struct strict_record *record, void *arg)
{
	const struct left *look = arg;

	if (record->ctx != look->ctx || record->number != look->cq)
		return false;
	((struct strict_cq *)record)->left = true;
	return true;
}

void strict_left_look(void)
{
	struct left look = {};
	bool found;

	strict_lock();
	strict_records_visit(STRICT_CQ, cq_look, &look);
	found = look.ctx && look.in_vain;
	if (found)
		strict_records_visit(STRICT_CQ, cq_mark, &look);
	strict_unlock();
	if (found)
		strict_fault(STRICT_RULE_LEFT, look.ctx,
			     "cq 0x%x: %u completion%s in it and the program does not poll it, "
			     "while it polls cq 0x%x in vain",
			     look.cq, look.count, look.count == 1 ? " waits" : "s wait",
			     look.polled);
}
