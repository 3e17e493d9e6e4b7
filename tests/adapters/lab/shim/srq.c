/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

/* Check the limits of the device, as drivers do. */
static bool is_possible(const struct ib_uverbs_create_xsrq *q)
{
	struct command nothing = { 0 };
	struct ibv_device_attr attr;

	return !context_attributes(&nothing, &attr) && q->max_wr <= (uint32_t)attr.max_srq_wr &&
	       q->max_sge <=
		       (device->receive_sges ? device->receive_sges : (uint32_t)attr.max_srq_sge);
}

int srq_create(struct ib_uverbs_create_xsrq *q, struct command *c, struct object **ret_srq)
{
	struct object *srq = object_new(OBJECT_SRQ);
	int r;

	if (!srq)
		return ENOMEM;
	srq->user_handle = q->user_handle;
	srq->pd = object_find(OBJECT_PD, q->pd_handle);
	srq->tags = q->srq_type == IBV_SRQT_TM;
	if (q->srq_type == IBV_SRQT_XRC)
		srq->xrcd = object_find(OBJECT_XRCD, q->xrcd_handle);
	if (q->srq_type != IBV_SRQT_BASIC)
		srq->recv_cq = object_find(OBJECT_CQ, q->cq_handle);
	if (!srq->pd || (q->srq_type == IBV_SRQT_XRC && !srq->xrcd) ||
	    (q->srq_type != IBV_SRQT_BASIC && !srq->recv_cq) || (srq->tags && !device->tagged)) {
		object_free(srq);
		return EINVAL;
	}
	trace_line("CREATE_SRQ type=%u %s%s%s%s%s wr=%u sge=%u limit=%u -> %s", q->srq_type,
		   object_name(OBJECT_PD, q->pd_handle), srq->xrcd ? " " : "",
		   srq->xrcd ? object_name(OBJECT_XRCD, q->xrcd_handle) : "",
		   srq->recv_cq ? " " : "",
		   srq->recv_cq ? object_name(OBJECT_CQ, q->cq_handle) : "", q->max_wr, q->max_sge,
		   q->srq_limit, object_name(OBJECT_SRQ, srq->handle));
	if (srq->tags)
		trace_line("    tags      %u", q->max_num_tags);
	command_trace(REQUEST_SRQ, c);
	r = !device->create_srq ? EOPNOTSUPP
	    : !is_possible(q)	? EINVAL
				: device->create_srq(srq, q, c);
	if (r) {
		trace_line("# refused %s", object_name(OBJECT_SRQ, srq->handle));
		trace_unwatch(srq);
		object_free(srq);
		return r;
	}
	*ret_srq = srq;
	return 0;
}

static int answer(struct ib_uverbs_create_xsrq *q, struct command *c)
{
	struct ib_uverbs_create_srq_resp response;
	struct object *srq;
	int r = srq_create(q, c, &srq);

	if (r)
		return r;
	response = (struct ib_uverbs_create_srq_resp){
		.srq_handle = srq->handle,
		.max_wr = q->max_wr,
		.max_sge = q->max_sge,
		.srqn = srq->number,
	};
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_create_srq(struct command *c)
{
	const struct ib_uverbs_create_srq *plain = c->in;
	struct ib_uverbs_create_xsrq q = {
		.user_handle = plain->user_handle,
		.pd_handle = plain->pd_handle,
		.max_wr = plain->max_wr,
		.max_sge = plain->max_sge,
		.srq_limit = plain->srq_limit,
	};

	return answer(&q, c);
}

int handle_create_xsrq(struct command *c)
{
	struct ib_uverbs_create_xsrq q;

	memcpy(&q, c->in, sizeof(q));
	return answer(&q, c);
}

int handle_modify_srq(struct command *c)
{
	const struct ib_uverbs_modify_srq *q = c->in;
	struct object *srq = object_find(OBJECT_SRQ, q->srq_handle);

	trace_line("MODIFY_SRQ %s mask=0x%x wr=%u limit=%u", object_name(OBJECT_SRQ, q->srq_handle),
		   q->attr_mask, q->max_wr, q->srq_limit);
	if (!srq || (q->attr_mask & IBV_SRQ_MAX_WR && !device->resizes_srq))
		return EINVAL;
	return model_modify_srq(srq, q);
}

int handle_query_srq(struct command *c)
{
	const struct ib_uverbs_query_srq *q = c->in;
	struct object *srq = object_find(OBJECT_SRQ, q->srq_handle);
	struct ib_uverbs_query_srq_resp response = { 0 };
	int r;

	trace_line("QUERY_SRQ %s", object_name(OBJECT_SRQ, q->srq_handle));
	r = srq ? model_query_srq(srq, &response) : EINVAL;
	if (!r)
		command_answer(c, &response, sizeof(response));
	return r;
}

int handle_destroy_srq(struct command *c)
{
	const struct ib_uverbs_destroy_srq *q = c->in;
	uint32_t events[2];
	int r = object_destroy(OBJECT_SRQ, q->srq_handle, events);
	struct ib_uverbs_destroy_srq_resp response;

	if (r)
		return r;
	response = (struct ib_uverbs_destroy_srq_resp){ events[1] };
	command_answer(c, &response, sizeof(response));
	return 0;
}
