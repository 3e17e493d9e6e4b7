/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of the queues. The device frees the entry of a request without a completion, and that of
 * a receive, when it has executed the request. Adapters free them with the next completion that is
 * polled.
 */
#include <errno.h>

#include "providers/uroce/strict/record.h"

/* Log once for each queue: a program may fill it on purpose. */
static void full_log(const struct strict_qp *sqp, bool *logged, const char *verb, const char *queue,
		     uint32_t size)
{
	if (*logged)
		return;
	*logged = true;
	verbs_err(sqp->record.ctx,
		  "qp 0x%x: %s: %s queue full: all %u entries wait for a completion to be polled; "
		  "poll before posting more, or create the QP with a larger max_%s_wr",
		  sqp->record.number, verb, queue, size, *queue == 's' ? "send" : "recv");
}

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
		full_log(sqp, &sqp->send_full, verb, "send", size);
	return full ? ENOMEM : 0;
}

int strict_receive_room_check(struct strict_qp *sqp)
{
	uint32_t size = sqp->qp->rq.size;
	bool full;

	strict_lock();
	full = sqp->state != IBV_QPS_ERR && sqp->rq.count >= size;
	strict_unlock();
	if (full)
		full_log(sqp, &sqp->recv_full, "ibv_post_recv", "receive", size);
	return full ? ENOMEM : 0;
}
