/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/tag.h"

#include <errno.h>

int model_create_srq(struct object *srq, uint32_t entries, uint32_t sges)
{
	struct ibv_srq_init_attr_ex attr = {
		.srq_context = srq,
		.attr = { .max_wr = entries, .max_sge = sges },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
	};
	struct ibv_device_attr limits;

	if (!model_on())
		return 0;
	if (srq->tags)
		return model_create_tags(srq);
	/* A process may request an entry more than it uses. */
	model_query_device(&limits);
	if (attr.attr.max_sge > (uint32_t)limits.max_srq_sge)
		attr.attr.max_sge = limits.max_srq_sge;
	attr.pd = srq->pd->backend.pd;
	if (srq->xrcd) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.xrcd = srq->xrcd->backend.xrcd;
		attr.cq = srq->recv_cq->backend.cq;
	}
	srq->backend.srq = ibv_create_srq_ex(model_context(), &attr);
	if (!srq->backend.srq)
		return errno;
	/* The number by which requests on the wire name the SRQ. */
	if (srq->xrcd)
		ibv_get_srq_num(srq->backend.srq, &srq->number);
	return 0;
}

int model_modify_srq(struct object *srq, const struct ib_uverbs_modify_srq *q)
{
	struct ibv_srq_attr attr = { .max_wr = q->max_wr, .srq_limit = q->srq_limit };

	if (!model_on())
		return 0;
	model_receive(srq); /* the limit counts what the process has posted by now */
	return ibv_modify_srq(srq->backend.srq, &attr, q->attr_mask);
}

int model_query_srq(struct object *srq, struct ib_uverbs_query_srq_resp *ret)
{
	struct ibv_srq_attr attr;
	int r;

	if (!model_on())
		return 0;
	r = ibv_query_srq(srq->backend.srq, &attr);
	if (r)
		return r;
	*ret = (struct ib_uverbs_query_srq_resp){ attr.max_wr, attr.max_sge, attr.srq_limit };
	return 0;
}
