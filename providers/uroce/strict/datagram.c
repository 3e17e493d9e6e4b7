/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams that were dropped, and the room for the GRH in the receives of UD queue pairs. */
#include <inttypes.h>

#include "providers/uroce/strict/record.h"

/* Return the increase of a counter since the value that was @reported, and report it. */
static uint64_t increase(uint64_t counter, uint64_t *reported)
{
	uint64_t more = counter - *reported;

	*reported = counter;
	return more;
}

/* Count the drops. A program that once had posted a receive may lose datagrams on purpose. */
static bool drops_take(struct strict_qp *sqp, struct strict_drops *ret_drops)
{
	const struct uroce_qp *qp = sqp->qp;
	bool early = !qp->srq && !sqp->receives;

	*ret_drops = (struct strict_drops){
		.wrong_qkey = increase(qp->counters.wrong_qkey, &sqp->drops.wrong_qkey),
		.early = early ? increase(qp->counters.no_receive, &sqp->drops.early) : 0,
		.short_receive = increase(qp->counters.short_receive, &sqp->drops.short_receive),
	};
	return ret_drops->wrong_qkey || ret_drops->early || ret_drops->short_receive;
}

/* Do not wait for the queue pair under the lock of the records. The next call counts its drops. */
bool strict_datagram_try_drops(struct strict_qp *sqp, struct strict_drops *ret_drops)
{
	bool found;

	if (sqp->qp->type != IBV_QPT_UD || !uroce_trylock(&sqp->qp->lock))
		return false;
	found = drops_take(sqp, ret_drops);
	uroce_unlock(&sqp->qp->lock);
	return found;
}

static void drops_report(const struct strict_datagrams *of, enum strict_rule rule, uint64_t drops,
			 const char *why)
{
	if (drops)
		strict_fault(rule, of->ctx, "qp 0x%x: %" PRIu64 " datagram%s dropped, %s",
			     of->number, drops, drops == 1 ? " was" : "s were", why);
}

void strict_datagrams_report(const struct strict_datagrams *of)
{
	drops_report(of, STRICT_RULE_GRH, of->drops.short_receive, "longer than the receive");
	drops_report(of, STRICT_RULE_QKEY, of->drops.wrong_qkey, "with a wrong Q_Key");
	drops_report(of, STRICT_RULE_EARLY, of->drops.early, "before the first receive was posted");
}

void strict_datagrams_check(struct strict_qp *sqp)
{
	struct strict_datagrams of = { .ctx = sqp->record.ctx, .number = sqp->record.number };
	bool found;

	if (sqp->qp->type != IBV_QPT_UD)
		return;
	uroce_lock(&sqp->qp->lock);
	found = drops_take(sqp, &of.drops);
	uroce_unlock(&sqp->qp->lock);
	if (found)
		strict_datagrams_report(&of);
}

/* A receive is posted. */
static void receives_begin(struct strict_qp *sqp)
{
	strict_datagrams_check(sqp);
	uroce_lock(&sqp->qp->lock);
	sqp->receives = true;
	uroce_unlock(&sqp->qp->lock);
}

/* Check only the first one: later ones may be for a process that has ended. */
void strict_datagram_send(const struct strict_qp *sqp, const struct ibv_send_wr *wr)
{
	const struct uroce_ah *ah = (const struct uroce_ah *)wr->wr.ud.ah;
	uint32_t number = wr->wr.ud.remote_qpn & QPN_MASK;

	if (sqp->qp->type == IBV_QPT_UD && !sqp->sq.next && ah &&
	    !uroce_av_may_have(&ah->av, number))
		strict_fault(STRICT_RULE_NUMBER, sqp->record.ctx,
			     "qp 0x%x: ibv_post_send of request 0x%" PRIx64
			     ": no process of the host has qp 0x%x",
			     sqp->record.number, wr->wr_id, number);
}

void strict_datagram_recv(struct strict_qp *sqp, const struct strict_entries *entries)
{
	uint64_t length = 0;

	if (sqp->qp->type != IBV_QPT_UD)
		return;
	if (!sqp->rq.next) /* under sqp->recv */
		receives_begin(sqp);
	for (int i = 0; i < entries->num_sge; i++)
		length += entries->sge[i].length;
	if (length < sizeof(struct ibv_grh))
		strict_fault(STRICT_RULE_GRH, entries->ctx,
			     "qp 0x%x: ibv_post_recv of request 0x%" PRIx64 ": %" PRIu64 " bytes",
			     entries->number, entries->wr_id, length);
}
