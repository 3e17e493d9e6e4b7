/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

/* log2 of the maximum queues of a table in the kernel, for any device. */
#define RWQ_LOG_MAX 13

static int wq_create_attrs(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	struct ibv_wq_init_attr *attr = in->attr;
	struct ibv_context *ctx = wq->wq.context;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_WQ_HANDLE, &wq->wq.handle),
		uverbs_idr(UVERBS_ATTR_CREATE_WQ_PD_HANDLE, attr->pd->handle),
		uverbs_idr(UVERBS_ATTR_CREATE_WQ_CQ_HANDLE, attr->cq->handle),
		uverbs_u64(UVERBS_ATTR_CREATE_WQ_USER_HANDLE, (uintptr_t)&wq->wq),
		uverbs_const(UVERBS_ATTR_CREATE_WQ_TYPE, attr->wq_type),
		uverbs_fd(UVERBS_ATTR_CREATE_WQ_EVENT_FD, ctx->async_fd),
		uverbs_u32(UVERBS_ATTR_CREATE_WQ_MAX_WR, attr->max_wr),
		uverbs_u32(UVERBS_ATTR_CREATE_WQ_MAX_SGE, attr->max_sge),
		uverbs_u32(UVERBS_ATTR_CREATE_WQ_FLAGS,
			   attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0),
		uverbs_out(UVERBS_ATTR_CREATE_WQ_RESP_MAX_WR, &attr->max_wr, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_CREATE_WQ_RESP_MAX_SGE, &attr->max_sge, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_CREATE_WQ_RESP_WQ_NUM, &wq->wq.wq_num, sizeof(uint32_t)),
	};

	return uverbs_ioctl(ctx, UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, a, ARRAY_SIZE(a),
			    in->udata);
}

static int wq_create_plain(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	struct ibv_wq_init_attr *attr = in->attr;
	bool flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS;
	struct ib_uverbs_ex_create_wq_resp resp = {};
	struct ib_uverbs_ex_create_wq cmd = {
		.wq_type = attr->wq_type,
		.user_handle = (uintptr_t)&wq->wq,
		.pd_handle = attr->pd->handle,
		.cq_handle = attr->cq->handle,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.create_flags = flags ? attr->create_flags : 0,
	};
	int r = uverbs_write(wq->wq.context,
			     IB_USER_VERBS_EX_CMD_CREATE_WQ | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			     sizeof(cmd), &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	wq->wq.handle = resp.wq_handle;
	wq->wq.wq_num = resp.wqn;
	attr->max_wr = resp.max_wr;
	attr->max_sge = resp.max_sge;
	return 0;
}

int uverbs_create_wq(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	if (unlikely((in->udata && in->udata->attr_count) || uverbs_events_are_own(wq->wq.context)))
		return wq_create_attrs(wq, in);
	return wq_create_plain(wq, in);
}

int uverbs_modify_wq(struct verbs_wq *wq, const struct verbs_modify_wq *in)
{
	const struct ibv_wq_attr *attr = in->attr;
	bool flags = attr->attr_mask & IBV_WQ_ATTR_FLAGS;
	struct ib_uverbs_ex_modify_wq cmd = {
		.attr_mask = attr->attr_mask,
		.wq_handle = wq->wq.handle,
		.wq_state = attr->wq_state,
		.curr_wq_state = attr->curr_wq_state,
		.flags = flags ? attr->flags : 0,
		.flags_mask = flags ? attr->flags_mask : 0,
	};

	return uverbs_write(wq->wq.context,
			    IB_USER_VERBS_EX_CMD_MODIFY_WQ | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			    sizeof(cmd), NULL, 0, in->udata);
}

int uverbs_destroy_wq(struct verbs_wq *wq)
{
	struct ib_uverbs_ex_destroy_wq cmd = { .wq_handle = wq->wq.handle };
	struct ib_uverbs_ex_destroy_wq_resp resp = {};
	int r = uverbs_write(wq->wq.context,
			     IB_USER_VERBS_EX_CMD_DESTROY_WQ | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			     &cmd, sizeof(cmd), &resp, sizeof(resp), NULL);

	if (r < 0)
		return r;
	if (resp.events_reported)
		verbs_wq_wait_events(wq, resp.events_reported);
	return 0;
}

int uverbs_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
				const struct verbs_create_rwq_ind_table *in)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	uint32_t log_size = in->attr->log_ind_tbl_size;
	_cleanup_free_ struct ib_uverbs_ex_create_rwq_ind_table *cmd = NULL;
	unsigned int count;
	size_t size;
	int r;

	if (log_size > RWQ_LOG_MAX)
		return -EINVAL;
	count = 1u << log_size;
	/* A struct of this form is a multiple of 8 bytes. */
	size = sizeof(*cmd) + ROUND_UP(count * sizeof(cmd->wq_handles[0]), 8);
	cmd = calloc(1, size);
	if (!cmd)
		return -ENOMEM;
	cmd->log_ind_tbl_size = log_size;
	for (unsigned int i = 0; i < count; i++)
		cmd->wq_handles[i] = in->attr->ind_tbl[i]->handle;
	r = uverbs_write(table->context,
			 IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			 cmd, size, &resp, sizeof(resp), in->udata);
	if (r < 0)
		return r;
	table->ind_tbl_handle = resp.ind_tbl_handle;
	table->ind_tbl_num = resp.ind_tbl_num;
	return 0;
}

int uverbs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	struct ib_uverbs_ex_destroy_rwq_ind_table cmd = { .ind_tbl_handle = table->ind_tbl_handle };

	return uverbs_write(table->context,
			    IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL |
				    IB_USER_VERBS_CMD_FLAG_EXTENDED,
			    &cmd, sizeof(cmd), NULL, 0, NULL);
}
