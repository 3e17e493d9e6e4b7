/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/srq.h"

int kit_srq_enter(struct idtable *table, const struct verbs_srq *vsrq, void *object, const void *cq)
{
	int r = idtable_put(table, vsrq->srq_num, object);

	if (r == -EPROTO)
		verbs_err(
			vsrq->srq.context,
			"ibv_create_srq_ex: the kernel gives the number 0x%x, which another SRQ has",
			vsrq->srq_num);
	if (!r)
		idtable_own(table, vsrq->srq_num, cq, NULL);
	return r;
}
