/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of the send queue. The device frees the entry of a request without a completion when it
 * has executed the request. Adapters free it with the next completion that is polled.
 */
#include <errno.h>

#include "providers/uroce/strict/record.h"

int strict_room_check(struct strict_qp *sqp, const char *verb, uint32_t n)
{
	const struct strict_queue *sq = &sqp->sq;
	uint32_t size = sqp->qp->sq.size, count;
	bool full, never;

	if (!size) /* a kind without a send queue, which is refused below */
		return 0;
	strict_lock();
	count = sq->count;
	full = sqp->state != IBV_QPS_ERR && count + n > size;
	never = full && count && !sq->signaled;
	strict_unlock();
	if (never)
		strict_fault(STRICT_RULE_SIGNAL, sqp->record.ctx,
			     "qp 0x%x: %s: the send queue is full, and none of its %u requests has "
			     "IBV_SEND_SIGNALED",
			     sqp->record.number, verb, count);
	else if (full)
		verbs_data(sqp->record.ctx,
			   "qp 0x%x: %s: all %u entries wait for a completion to be polled",
			   sqp->record.number, verb, size);
	return full ? ENOMEM : 0;
}
