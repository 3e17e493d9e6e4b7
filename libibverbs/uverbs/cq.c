/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

static uint32_t cq_kernel_flags(const struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = 0;

	if (attr->wc_flags &
	    (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK))
		flags |= IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		flags |= IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	return flags;
}

static int cq_create_plain(struct verbs_cq *cq, const struct verbs_create_cq *in,
			   struct ib_uverbs_create_cq_resp *ret_resp)
{
	struct ib_uverbs_create_cq cmd = {
		.user_handle = (uintptr_t)&cq->cq,
		.cqe = in->attr->cqe,
		.comp_vector = in->attr->comp_vector,
		.comp_channel = in->attr->channel ? in->attr->channel->fd : -1,
	};

	return uverbs_write(cq->cq.context, IB_USER_VERBS_CMD_CREATE_CQ, &cmd, sizeof(cmd),
			    ret_resp, sizeof(*ret_resp), in->udata);
}

static int cq_create_flags(struct verbs_cq *cq, const struct verbs_create_cq *in, uint32_t flags,
			   struct ib_uverbs_create_cq_resp *ret_resp)
{
	struct ib_uverbs_ex_create_cq_resp resp = {};
	struct ib_uverbs_ex_create_cq cmd = {
		.user_handle = (uintptr_t)&cq->cq,
		.cqe = in->attr->cqe,
		.comp_vector = in->attr->comp_vector,
		.comp_channel = in->attr->channel ? in->attr->channel->fd : -1,
		.flags = flags,
	};
	int r = uverbs_write(cq->cq.context,
			     IB_USER_VERBS_EX_CMD_CREATE_CQ | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			     sizeof(cmd), &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	*ret_resp = resp.base;
	return 0;
}

static int cq_create_driver_attrs(struct verbs_cq *cq, const struct verbs_create_cq *in,
				  uint32_t flags, struct ib_uverbs_create_cq_resp *ret_resp)
{
	const struct ibv_comp_channel *channel = in->attr->channel;
	const struct ibv_context *ctx = cq->cq.context;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_CQ_HANDLE, &ret_resp->cq_handle),
		uverbs_u32(UVERBS_ATTR_CREATE_CQ_CQE, in->attr->cqe),
		uverbs_u64(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, (uintptr_t)&cq->cq),
		uverbs_when(channel, uverbs_fd(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL,
					       channel ? channel->fd : -1)),
		uverbs_u32(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, in->attr->comp_vector),
		uverbs_when(flags, uverbs_u32(UVERBS_ATTR_CREATE_CQ_FLAGS, flags)),
		uverbs_when(uverbs_events_are_own(cq->cq.context),
			    uverbs_fd(UVERBS_ATTR_CREATE_CQ_EVENT_FD, ctx->async_fd)),
		uverbs_out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, &ret_resp->cqe, sizeof(ret_resp->cqe)),
	};

	return uverbs_ioctl(cq->cq.context, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, a,
			    ARRAY_SIZE(a), in->udata);
}

/* Return the create flags that the kernel does not know and this library cannot serve. */
static uint32_t cq_flags_unknown(const struct ibv_cq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS))
		return 0;
	return attr->flags &
	       ~(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
}

int uverbs_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in)
{
	struct ib_uverbs_create_cq_resp resp = {};
	uint32_t flags = cq_kernel_flags(in->attr), unknown = cq_flags_unknown(in->attr);
	int r;

	if (unlikely(unknown)) {
		verbs_err(cq->cq.context, "ibv_create_cq_ex: flags 0x%x are not supported",
			  unknown);
		return -EOPNOTSUPP;
	}
	if (unlikely((in->udata && in->udata->attr_count) || uverbs_events_are_own(cq->cq.context)))
		r = cq_create_driver_attrs(cq, in, flags, &resp);
	else if (flags)
		r = cq_create_flags(cq, in, flags, &resp);
	else
		r = cq_create_plain(cq, in, &resp);
	if (r < 0)
		return r;
	cq->cq.handle = resp.cq_handle;
	cq->cq.cqe = resp.cqe;
	return 0;
}

int uverbs_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in)
{
	struct ib_uverbs_resize_cq cmd = { .cq_handle = cq->cq.handle, .cqe = in->cqe };
	struct ib_uverbs_resize_cq_resp resp = {};
	int r = uverbs_write(cq->cq.context, IB_USER_VERBS_CMD_RESIZE_CQ, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), in->udata);

	if (r < 0)
		return r;
	cq->cq.cqe = resp.cqe;
	return 0;
}

int uverbs_modify_cq(struct verbs_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ib_uverbs_ex_modify_cq cmd = {
		.cq_handle = cq->cq.handle,
		.attr_mask = attr->attr_mask,
		.attr = {
			.cq_count = attr->moderate.cq_count,
			.cq_period = attr->moderate.cq_period,
		},
	};

	return uverbs_write(cq->cq.context,
			    IB_USER_VERBS_EX_CMD_MODIFY_CQ | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			    sizeof(cmd), NULL, 0, NULL);
}

int uverbs_destroy_cq(struct verbs_cq *cq)
{
	struct ib_uverbs_destroy_cq cmd = { .cq_handle = cq->cq.handle };
	struct ib_uverbs_destroy_cq_resp resp = {};
	int r = uverbs_write(cq->cq.context, IB_USER_VERBS_CMD_DESTROY_CQ, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), NULL);

	if (r < 0)
		return r;
	if (resp.comp_events_reported || resp.async_events_reported)
		verbs_cq_wait_events(cq, resp.comp_events_reported, resp.async_events_reported);
	return 0;
}

int uverbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct ib_uverbs_req_notify_cq cmd = {
		.cq_handle = cq->handle,
		.solicited_only = !!solicited_only,
	};

	return -uverbs_write(cq->context, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, &cmd, sizeof(cmd), NULL,
			     0, NULL);
}

int uverbs_poll_cq(struct verbs_cq *cq)
{
	struct ib_uverbs_poll_cq cmd = { .cq_handle = cq->cq.handle, .ne = 1 };
	struct {
		struct ib_uverbs_poll_cq_resp base;
		struct ib_uverbs_wc wc;
	} resp = {};

	return uverbs_write(cq->cq.context, IB_USER_VERBS_CMD_POLL_CQ, &cmd, sizeof(cmd), &resp,
			    sizeof(resp), NULL);
}
