/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

/* Check the limit of the device, as drivers do. */
static bool is_possible(uint32_t cqe)
{
	struct command nothing = { 0 };
	struct ibv_device_attr attr;

	return !context_attributes(&nothing, &attr) &&
	       cqe <= (uint32_t)attr.max_cqe + device->cqes_beyond;
}

int cq_create(const struct ib_uverbs_ex_create_cq *q, struct command *c, struct object **ret_cq,
	      uint32_t *ret_cqe)
{
	struct object *cq;
	int r;

	if (q->comp_vector >= COMP_VECTORS)
		return EINVAL;
	cq = object_new(OBJECT_CQ);
	if (!cq)
		return ENOMEM;
	cq->user_handle = q->user_handle;
	cq->channel = q->comp_channel;
	*ret_cqe = q->cqe;
	trace_line("CREATE_CQ cqe=%u vector=%u channel=%s flags=0x%x -> %s", q->cqe, q->comp_vector,
		   q->comp_channel < 0 ? "no" : "yes", q->flags,
		   object_name(OBJECT_CQ, cq->handle));
	command_trace(REQUEST_CQ, c);
	r = is_possible(q->cqe) ? device->create_cq(cq, ret_cqe, c) : EINVAL;
	if (r) {
		trace_unwatch(cq);
		object_free(cq);
		return r;
	}
	*ret_cq = cq;
	return 0;
}

int handle_create_cq(struct command *c)
{
	const struct ib_uverbs_create_cq *plain = c->in;
	const struct ib_uverbs_ex_create_cq q = {
		.user_handle = plain->user_handle,
		.cqe = plain->cqe,
		.comp_vector = plain->comp_vector,
		.comp_channel = plain->comp_channel,
	};
	struct ib_uverbs_create_cq_resp response;
	struct object *cq;
	uint32_t cqe;
	int r = cq_create(&q, c, &cq, &cqe);

	if (r)
		return r;
	response = (struct ib_uverbs_create_cq_resp){ .cq_handle = cq->handle, .cqe = cqe };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_create_cq_ex(struct command *c)
{
	struct ib_uverbs_ex_create_cq_resp response = { .response_length = sizeof(response) };
	struct object *cq;
	uint32_t cqe;
	int r = cq_create(c->in, c, &cq, &cqe);

	if (r)
		return r;
	response.base = (struct ib_uverbs_create_cq_resp){ .cq_handle = cq->handle, .cqe = cqe };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_resize_cq(struct command *c)
{
	const struct ib_uverbs_resize_cq *q = c->in;
	struct object *cq = object_find(OBJECT_CQ, q->cq_handle);
	struct ib_uverbs_resize_cq_resp response = { .cqe = q->cqe };
	int r;

	if (!cq)
		return EINVAL;
	trace_line("RESIZE_CQ %s cqe=%u", object_name(OBJECT_CQ, q->cq_handle), q->cqe);
	command_trace(REQUEST_RESIZE, c);
	r = !device->resize_cq	   ? EOPNOTSUPP
	    : !is_possible(q->cqe) ? EINVAL
				   : device->resize_cq(cq, &response.cqe, c);
	if (!r)
		command_answer(c, &response, sizeof(response));
	return r;
}

/* A driver has no completions of a queue whose ring the process reads. */
int handle_poll_cq(struct command *c)
{
	const struct ib_uverbs_poll_cq *q = c->in;
	const struct ib_uverbs_poll_cq_resp response = { .count = 0 };

	trace_line("POLL_CQ %s", object_name(OBJECT_CQ, q->cq_handle));
	if (!object_find(OBJECT_CQ, q->cq_handle))
		return EINVAL;
	command_answer(c, &response, sizeof(response));
	return 0;
}

/* Events may come before they have to. */
int handle_modify_cq(struct command *c)
{
	const struct ib_uverbs_ex_modify_cq *q = c->in;

	trace_line("MODIFY_CQ %s mask=0x%x count=%u period=%u",
		   object_name(OBJECT_CQ, q->cq_handle), q->attr_mask, q->attr.cq_count,
		   q->attr.cq_period);
	if (!object_find(OBJECT_CQ, q->cq_handle) || q->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	return 0;
}

int handle_destroy_cq(struct command *c)
{
	const struct ib_uverbs_destroy_cq *q = c->in;
	uint32_t events[2];
	int r = object_destroy(OBJECT_CQ, q->cq_handle, events);
	struct ib_uverbs_destroy_cq_resp response;

	if (r)
		return r;
	response = (struct ib_uverbs_destroy_cq_resp){ events[0], events[1] };
	command_answer(c, &response, sizeof(response));
	return 0;
}
