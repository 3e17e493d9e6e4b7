/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The room for the GRH in the receives of UD queue pairs. */
#include <inttypes.h>

#include "providers/uroce/strict/record.h"

void strict_datagram_recv(const struct strict_qp *sqp, const struct strict_entries *entries)
{
	uint64_t length = 0;

	if (sqp->qp->type != IBV_QPT_UD)
		return;
	for (int i = 0; i < entries->num_sge; i++)
		length += entries->sge[i].length;
	if (length < sizeof(struct ibv_grh))
		strict_fault(STRICT_RULE_GRH, entries->ctx,
			     "qp 0x%x: ibv_post_recv of request 0x%" PRIx64 ": %" PRIu64 " bytes",
			     entries->number, entries->wr_id, length);
}

/* Do not wait for the queue pair under the lock of the records. The next call counts its drops. */
uint64_t strict_datagram_new_drops(struct strict_qp *sqp)
{
	struct uroce_qp *qp = sqp->qp;
	uint64_t drops;

	if (qp->type != IBV_QPT_UD || !uroce_trylock(&qp->lock))
		return 0;
	drops = qp->counters.short_receive - sqp->drops;
	sqp->drops += drops;
	uroce_unlock(&qp->lock);
	return drops;
}

void strict_datagram_report(const struct ibv_context *ctx, uint32_t number, uint64_t drops)
{
	strict_fault(STRICT_RULE_GRH, ctx,
		     "qp 0x%x: %" PRIu64 " datagram%s dropped, longer than the receive", number,
		     drops, drops == 1 ? " was" : "s were");
}
