/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

static void trace_create(const struct ib_uverbs_ex_create_qp *q, const struct object *qp)
{
	bool table = q->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE;

	trace_line(
		"CREATE_QP type=%u %s scq=%s rcq=%s srq=%s swr=%u rwr=%u ssge=%u rsge=%u "
		"inline=%u sig_all=%u flags=0x%x%s%s -> %s",
		q->qp_type,
		object_name(q->qp_type == IBV_QPT_XRC_RECV ? OBJECT_XRCD : OBJECT_PD, q->pd_handle),
		object_name(OBJECT_CQ, q->send_cq_handle),
		object_name(OBJECT_CQ, q->recv_cq_handle),
		q->is_srq ? object_name(OBJECT_SRQ, q->srq_handle) : "none", q->max_send_wr,
		q->max_recv_wr, q->max_send_sge, q->max_recv_sge, q->max_inline_data, q->sq_sig_all,
		q->create_flags, table ? " table=" : "",
		table ? object_name(OBJECT_TABLE, q->rwq_ind_tbl_handle) : "",
		object_name(OBJECT_QP, qp->handle));
}

/* Whether the request is complete. A QP that receives through a table has no CQ of its own. */
static bool is_whole(const struct ib_uverbs_ex_create_qp *q, const struct object *qp)
{
	if (q->comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE)
		return qp->pd && qp->table;
	if (q->qp_type == IBV_QPT_XRC_RECV)
		return qp->xrcd;
	if (q->qp_type == IBV_QPT_XRC_SEND)
		return qp->pd && qp->send_cq;
	if (q->qp_type == IBV_QPT_DRIVER)
		return qp->pd && (qp->send_cq || qp->recv_cq) && (qp->srq || !q->is_srq);
	return qp->pd && qp->send_cq && qp->recv_cq && (qp->srq || !q->is_srq);
}

enum {
	/* The flags that the kernel accepts. For any other flag it returns EINVAL. */
	CREATE_FLAGS = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |
		       IB_UVERBS_QP_CREATE_SCATTER_FCS | IB_UVERBS_QP_CREATE_CVLAN_STRIPPING |
		       IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING | IBV_QP_CREATE_SOURCE_QPN,
};

int qp_create(struct ib_uverbs_ex_create_qp *q, struct command *c, struct object **ret_qp)
{
	struct object *qp = object_new(OBJECT_QP);
	int r;

	if (!qp)
		return ENOMEM;
	qp->user_handle = q->user_handle;
	qp->qp_type = q->qp_type;
	qp->pd = object_find(OBJECT_PD, q->pd_handle);
	if (q->qp_type == IBV_QPT_XRC_RECV)
		qp->xrcd = object_find(OBJECT_XRCD, q->pd_handle);
	qp->send_cq = object_find(OBJECT_CQ, q->send_cq_handle);
	qp->recv_cq = object_find(OBJECT_CQ, q->recv_cq_handle);
	qp->srq = q->is_srq ? object_find(OBJECT_SRQ, q->srq_handle) : NULL;
	qp->table = object_find(OBJECT_TABLE, q->rwq_ind_tbl_handle);
	trace_create(q, qp);
	command_trace(qp->table ? REQUEST_QP_TABLE : REQUEST_QP, c);
	r = EINVAL;
	if (is_whole(q, qp) && !(q->create_flags & ~CREATE_FLAGS))
		r = device->create_qp(qp, q, c);
	if (r) {
		trace_unwatch(qp);
		object_free(qp);
		return r;
	}
	*ret_qp = qp;
	return 0;
}

uint32_t qp_number_told(const struct object *qp)
{
	return qp->number | (qp->qp_type == IBV_QPT_XRC_RECV ? device->xrc_bit : 0);
}

static struct ib_uverbs_create_qp_resp response_of(const struct object *qp,
						   const struct ib_uverbs_ex_create_qp *q)
{
	return (struct ib_uverbs_create_qp_resp){
		.qp_handle = qp->handle,
		.qpn = qp_number_told(qp),
		.max_send_wr = q->max_send_wr,
		.max_recv_wr = q->max_recv_wr,
		.max_send_sge = q->max_send_sge,
		.max_recv_sge = q->max_recv_sge,
		.max_inline_data = q->max_inline_data,
	};
}

int handle_create_qp(struct command *c)
{
	const struct ib_uverbs_create_qp *plain = c->in;
	struct ib_uverbs_ex_create_qp q = { 0 };
	struct ib_uverbs_create_qp_resp response;
	struct object *qp;
	int r;

	/* The plain request is the extended one behind a response pointer. */
	memcpy(&q, &plain->user_handle, offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	r = qp_create(&q, c, &qp);
	if (r)
		return r;
	response = response_of(qp, &q);
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_create_qp_ex(struct command *c)
{
	struct ib_uverbs_ex_create_qp q = { 0 };
	struct ib_uverbs_ex_create_qp_resp response = { .response_length = sizeof(response) };
	struct object *qp;
	int r;

	memcpy(&q, c->in, c->in_len < sizeof(q) ? c->in_len : sizeof(q));
	r = qp_create(&q, c, &qp);
	if (r)
		return r;
	response.base = response_of(qp, &q);
	command_answer(c, &response, sizeof(response));
	return 0;
}

static void trace_modify(const struct ib_uverbs_modify_qp *q)
{
	trace_line(
		"MODIFY_QP %s mask=0x%x state=%u mtu=%u dest=0x%x rq_psn=0x%x sq_psn=0x%x access=0x%x "
		"pkey=%u rd=%u dest_rd=%u rnr=%u port=%u timeout=%u retry=%u rnr_retry=%u sl=%u "
		"global=%u sgid=%u hops=%u qkey=0x%x",
		object_name(OBJECT_QP, q->qp_handle), q->attr_mask, q->qp_state, q->path_mtu,
		q->dest_qp_num, q->rq_psn, q->sq_psn, q->qp_access_flags, q->pkey_index,
		q->max_rd_atomic, q->max_dest_rd_atomic, q->min_rnr_timer, q->port_num, q->timeout,
		q->retry_cnt, q->rnr_retry, q->dest.sl, q->dest.is_global, q->dest.sgid_index,
		q->dest.hop_limit, q->qkey);
}

/* Return only the attributes that the mask names. */
static struct ib_uverbs_modify_qp named(const struct ib_uverbs_modify_qp *q)
{
	struct ib_uverbs_modify_qp n = { .qp_handle = q->qp_handle, .attr_mask = q->attr_mask };

#define NAME(bit, member)         \
	if (q->attr_mask & (bit)) \
		n.member = q->member;
	NAME(IBV_QP_STATE, qp_state)
	NAME(IBV_QP_PATH_MTU, path_mtu)
	NAME(IBV_QP_DEST_QPN, dest_qp_num)
	NAME(IBV_QP_RQ_PSN, rq_psn)
	NAME(IBV_QP_SQ_PSN, sq_psn)
	NAME(IBV_QP_ACCESS_FLAGS, qp_access_flags)
	NAME(IBV_QP_PKEY_INDEX, pkey_index)
	NAME(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic)
	NAME(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic)
	NAME(IBV_QP_MIN_RNR_TIMER, min_rnr_timer)
	NAME(IBV_QP_PORT, port_num)
	NAME(IBV_QP_TIMEOUT, timeout)
	NAME(IBV_QP_RETRY_CNT, retry_cnt)
	NAME(IBV_QP_RNR_RETRY, rnr_retry)
	NAME(IBV_QP_QKEY, qkey)
	NAME(IBV_QP_AV, dest)
#undef NAME
	return n;
}

int qp_modify(struct object *qp, const struct ib_uverbs_modify_qp *q)
{
	int r = model_modify_qp(qp, q);

	if (r || !(q->attr_mask & IBV_QP_STATE))
		return r;
	qp->state = q->qp_state;
	qp->was_init = qp->state == IBV_QPS_INIT || (qp->was_init && qp->state != IBV_QPS_RESET);
	if (qp->state == IBV_QPS_RESET)
		qp->sq.consumed = qp->rq.consumed = qp->rq.cursor = 0;
	return 0;
}

static int pace(struct object *qp, const struct ib_uverbs_ex_modify_qp *q, struct command *c)
{
	if (!q || !(q->base.attr_mask & IBV_QP_RATE_LIMIT))
		return 0;
	return device->pace ? device->pace(qp, q, c) : EINVAL;
}

/* @ex: the same request in the form that has a rate; or NULL. */
static int modify(struct command *c, const struct ib_uverbs_ex_modify_qp *ex)
{
	const struct ib_uverbs_modify_qp *q = c->in;
	struct object *qp = object_find(OBJECT_QP, q->qp_handle);
	struct ib_uverbs_modify_qp n = named(q);
	int r;

	if (!qp)
		return EINVAL;
	trace_modify(device->loose_modify ? &n : q);
	if (ex && q->attr_mask & IBV_QP_RATE_LIMIT)
		trace_line("    rate     %u kbit/s", ex->rate_limit);
	command_trace(REQUEST_MODIFY, c);
	r = pace(qp, ex, c);
	n = *q;
	if (!r && device->transition)
		r = device->transition(qp, &n, c);
	if (!r)
		r = qp_modify(qp, &n);
	if (!r && device->modified)
		device->modified(qp, c);
	return r;
}

int handle_modify_qp(struct command *c)
{
	return modify(c, NULL);
}

int handle_modify_qp_ex(struct command *c)
{
	struct ib_uverbs_ex_modify_qp_resp response = { .response_length = sizeof(response) };
	int r = modify(c, c->in);

	if (!r)
		command_answer(c, &response, sizeof(response));
	return r;
}

int handle_query_qp(struct command *c)
{
	const struct ib_uverbs_query_qp *q = c->in;
	struct object *qp = object_find(OBJECT_QP, q->qp_handle);
	struct ib_uverbs_query_qp_resp response = { 0 };
	int r;

	if (!qp)
		return EINVAL;
	trace_line("QUERY_QP %s mask=0x%x", object_name(OBJECT_QP, q->qp_handle), q->attr_mask);
	response.qp_state = response.cur_qp_state = qp->state;
	r = model_query_qp(qp, &response);
	if (!r)
		command_answer(c, &response, sizeof(response));
	return r;
}

int handle_destroy_qp(struct command *c)
{
	const struct ib_uverbs_destroy_qp *q = c->in;
	uint32_t events[2];
	int r = object_destroy(OBJECT_QP, q->qp_handle, events);
	struct ib_uverbs_destroy_qp_resp response;

	if (r)
		return r;
	response = (struct ib_uverbs_destroy_qp_resp){ events[1] };
	command_answer(c, &response, sizeof(response));
	return 0;
}

static int mcast(const struct ib_uverbs_attach_mcast *q, bool attach)
{
	struct object *qp = object_find(OBJECT_QP, q->qp_handle);

	trace_line("%s_MCAST %s", attach ? "ATTACH" : "DETACH",
		   object_name(OBJECT_QP, q->qp_handle));
	return qp ? model_mcast(qp, q->gid, q->mlid, attach) : EINVAL;
}

int handle_attach_mcast(struct command *c)
{
	return mcast(c->in, true);
}

/* The request of a detach has the layout of an attach. */
int handle_detach_mcast(struct command *c)
{
	return mcast(c->in, false);
}
