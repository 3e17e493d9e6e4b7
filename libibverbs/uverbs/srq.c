/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

static int srq_create_basic(struct verbs_srq *srq, const struct verbs_create_srq *in,
			    struct ib_uverbs_create_srq_resp *ret_resp)
{
	const struct ibv_srq_attr *attr = &in->attr->attr;
	struct ib_uverbs_create_srq cmd = {
		.user_handle = (uintptr_t)&srq->srq,
		.pd_handle = srq->srq.pd->handle,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.srq_limit = attr->srq_limit,
	};

	return uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_CREATE_SRQ, &cmd, sizeof(cmd),
			    ret_resp, sizeof(*ret_resp), in->udata);
}

static int srq_create_typed(struct verbs_srq *srq, const struct verbs_create_srq *in,
			    struct ib_uverbs_create_srq_resp *ret_resp)
{
	const struct ibv_srq_init_attr_ex *attr = in->attr;
	struct ib_uverbs_create_xsrq cmd = {
		.user_handle = (uintptr_t)&srq->srq,
		.srq_type = srq->srq_type,
		.pd_handle = srq->srq.pd->handle,
		.max_wr = attr->attr.max_wr,
		.max_sge = attr->attr.max_sge,
		.srq_limit = attr->attr.srq_limit,
		.max_num_tags =
			attr->comp_mask & IBV_SRQ_INIT_ATTR_TM ? attr->tm_cap.max_num_tags : 0,
		.xrcd_handle = srq->xrcd ? to_vxrcd(srq->xrcd)->handle : 0,
		.cq_handle = srq->cq ? srq->cq->handle : 0,
	};

	return uverbs_write(srq->srq.context, IB_USER_VERBS_CMD_CREATE_XSRQ, &cmd, sizeof(cmd),
			    ret_resp, sizeof(*ret_resp), in->udata);
}

static int srq_create_attrs(struct verbs_srq *srq, const struct verbs_create_srq *in,
			    struct ib_uverbs_create_srq_resp *ret_resp)
{
	const struct ibv_srq_init_attr_ex *attr = in->attr;
	bool tags = attr->comp_mask & IBV_SRQ_INIT_ATTR_TM;
	struct ibv_context *ctx = srq->srq.context;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_SRQ_HANDLE, &ret_resp->srq_handle),
		uverbs_idr(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, srq->srq.pd->handle),
		uverbs_when(srq->xrcd, uverbs_idr(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE,
						  srq->xrcd ? to_vxrcd(srq->xrcd)->handle : 0)),
		uverbs_when(srq->cq, uverbs_idr(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE,
						srq->cq ? srq->cq->handle : 0)),
		uverbs_u64(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, (uintptr_t)&srq->srq),
		uverbs_u32(UVERBS_ATTR_CREATE_SRQ_MAX_WR, attr->attr.max_wr),
		uverbs_u32(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, attr->attr.max_sge),
		uverbs_u32(UVERBS_ATTR_CREATE_SRQ_LIMIT, attr->attr.srq_limit),
		uverbs_when(tags, uverbs_u32(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS,
					     attr->tm_cap.max_num_tags)),
		uverbs_const(UVERBS_ATTR_CREATE_SRQ_TYPE, srq->srq_type),
		uverbs_fd(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, ctx->async_fd),
		uverbs_out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &ret_resp->max_wr, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &ret_resp->max_sge,
			   sizeof(uint32_t)),
		uverbs_when(srq->srq_type == IBV_SRQT_XRC,
			    uverbs_out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &ret_resp->srqn,
				       sizeof(uint32_t))),
	};

	return uverbs_ioctl(ctx, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, a, ARRAY_SIZE(a),
			    in->udata);
}

static int srq_create_any(struct verbs_srq *srq, const struct verbs_create_srq *in,
			  struct ib_uverbs_create_srq_resp *ret_resp)
{
	if (unlikely((in->udata && in->udata->attr_count) ||
		     uverbs_events_are_own(srq->srq.context)))
		return srq_create_attrs(srq, in, ret_resp);
	return srq->srq_type == IBV_SRQT_BASIC ? srq_create_basic(srq, in, ret_resp)
					       : srq_create_typed(srq, in, ret_resp);
}

int uverbs_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct ib_uverbs_create_srq_resp resp = {};
	int r = srq_create_any(srq, in, &resp);

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
