/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include "providers/siw/siw.h"

int siw_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct siw_uresp_create_srq resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_create_srq request = { .attr = in->attr, .udata = &udata };
	int r;

	if (vsrq->srq_type != IBV_SRQT_BASIC) {
		verbs_err(vsrq->srq.context, "ibv_create_srq_ex: type %d is not supported by siw",
			  vsrq->srq_type);
		return -EOPNOTSUPP;
	}
	r = uverbs_create_srq(vsrq, &request);
	if (r < 0)
		return r;
	r = siw_recv_queue_map(&to_ssrq(&vsrq->srq)->rq, vsrq->srq.context, "shared receive queue",
			       resp.srq_key, resp.num_rqe, in->attr->attr.max_sge);
	if (r < 0)
		uverbs_destroy_srq(vsrq);
	return r;
}

int siw_destroy_srq(struct verbs_srq *vsrq)
{
	int r = uverbs_destroy_srq(vsrq);

	if (!r)
		kit_page_unmap(&to_ssrq(&vsrq->srq)->rq.ring);
	return r;
}
