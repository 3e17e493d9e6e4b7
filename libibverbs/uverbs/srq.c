/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct ib_uverbs_create_srq_resp resp = {};
	struct ib_uverbs_create_srq cmd = {
		.user_handle = (uintptr_t)&srq->srq,
		.pd_handle = srq->srq.pd->handle,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.srq_limit = attr->srq_limit,
	};
	int r;

	if (srq->srq_type != IBV_SRQT_BASIC)
		return -EOPNOTSUPP;
	r = uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_CREATE_SRQ, &cmd, sizeof(cmd), &resp,
			 sizeof(resp), in->udata);
	if (r < 0)
		return r;
	srq->srq.handle = resp.srq_handle;
	srq->srq_num = resp.srqn;
	attr->max_wr = resp.max_wr;
	attr->max_sge = resp.max_sge;
	return 0;
}

int uverbs_modify_srq(struct verbs_srq *srq, const struct verbs_modify_srq *in)
{
	struct ib_uverbs_modify_srq cmd = {
		.srq_handle = srq->srq.handle,
		.attr_mask = in->mask,
		.max_wr = in->attr->max_wr,
		.srq_limit = in->attr->srq_limit,
	};

	return uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_MODIFY_SRQ, &cmd, sizeof(cmd), NULL,
			    0, in->udata);
}

int uverbs_query_srq(struct verbs_srq *srq, struct ibv_srq_attr *ret_attr)
{
	struct ib_uverbs_query_srq cmd = { .srq_handle = srq->srq.handle };
	struct ib_uverbs_query_srq_resp resp = {};
	int r = uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_QUERY_SRQ, &cmd, sizeof(cmd),
			     &resp, sizeof(resp), NULL);

	if (r < 0)
		return r;
	*ret_attr = (struct ibv_srq_attr){
		.max_wr = resp.max_wr,
		.max_sge = resp.max_sge,
		.srq_limit = resp.srq_limit,
	};
	return 0;
}

int uverbs_destroy_srq(struct verbs_srq *srq)
{
	struct ib_uverbs_destroy_srq cmd = { .srq_handle = srq->srq.handle };
	struct ib_uverbs_destroy_srq_resp resp = {};
	int r = uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_DESTROY_SRQ, &cmd, sizeof(cmd),
			     &resp, sizeof(resp), NULL);

	if (r < 0)
		return r;
	if (resp.events_reported)
		verbs_srq_wait_events(srq, resp.events_reported);
	return 0;
}
