/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of librdmacm on queue pairs, in a form that no public function has. */
#include <string.h>

#include "libibverbs/library.h"

int verbs_post_write_copy(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);
	struct ibv_send_wr *bad;

	if (ops->post_write_copy)
		return ops->post_write_copy(qp, wr, bytes);
	memcpy((void *)(uintptr_t)wr->sg_list->addr, bytes, wr->sg_list->length);
	return ibv_post_send(qp, wr, &bad);
}

bool verbs_qp_end_waits(struct ibv_qp *qp)
{
	const struct verbs_ops *ops = ctx_ops(qp->context);

	return ops->qp_end_waits && ops->qp_end_waits(qp);
}
