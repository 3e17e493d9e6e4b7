/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/qp.h"

int kit_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	struct ibv_qp_cap *cap = &in->ret_attr->cap;
	int r = uverbs_query_qp(vqp, in);

	if (r < 0)
		return r;
	/* The kernel does not know the capabilities of the rings. */
	cap->max_send_wr = vqp->cap.max_send_wr;
	cap->max_send_sge = vqp->cap.max_send_sge;
	cap->max_inline_data = vqp->cap.max_inline_data;
	in->ret_init_attr->cap = *cap;
	return 0;
}
