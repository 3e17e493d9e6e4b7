/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues, and the tables that queue pairs receive through. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <stdlib.h>
#include "tests/adapters/lab/shim/trace.h"

enum {
	TABLE_LOG_MAX = 13
};

int wq_create(struct ib_uverbs_ex_create_wq *q, struct command *c, struct object **ret_wq)
{
	struct object *wq = object_new(OBJECT_WQ);
	int r;

	if (!wq)
		return ENOMEM;
	wq->user_handle = q->user_handle;
	wq->pd = object_find(OBJECT_PD, q->pd_handle);
	wq->recv_cq = object_find(OBJECT_CQ, q->cq_handle);
	trace_line("CREATE_WQ type=%u %s %s wr=%u sge=%u flags=0x%x -> %s", q->wq_type,
		   object_name(OBJECT_PD, q->pd_handle), object_name(OBJECT_CQ, q->cq_handle),
		   q->max_wr, q->max_sge, q->create_flags, object_name(OBJECT_WQ, wq->handle));
	command_trace(REQUEST_WQ, c);
	r = !device->create_wq	      ? EOPNOTSUPP
	    : !wq->pd || !wq->recv_cq ? EINVAL
				      : device->create_wq(wq, q, c);
	if (r) {
		trace_unwatch(wq);
		object_free(wq);
		return r;
	}
	*ret_wq = wq;
	return 0;
}

int handle_create_wq(struct command *c)
{
	struct ib_uverbs_ex_create_wq q = *(const struct ib_uverbs_ex_create_wq *)c->in;
	struct ib_uverbs_ex_create_wq_resp response;
	struct object *wq;
	int r = wq_create(&q, c, &wq);

	if (r)
		return r;
	response = (struct ib_uverbs_ex_create_wq_resp){
		.response_length = sizeof(response),
		.wq_handle = wq->handle,
		.max_wr = q.max_wr,
		.max_sge = q.max_sge,
		.wqn = wq->number,
	};
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_modify_wq(struct command *c)
{
	const struct ib_uverbs_ex_modify_wq *q = c->in;
	struct object *wq = object_find(OBJECT_WQ, q->wq_handle);

	trace_line("MODIFY_WQ %s mask=0x%x state=%u current=%u flags=0x%x",
		   object_name(OBJECT_WQ, q->wq_handle), q->attr_mask, q->wq_state,
		   q->curr_wq_state, q->flags);
	if (!wq)
		return EINVAL;
	if (!(q->attr_mask & IBV_WQ_ATTR_STATE))
		return 0;
	wq->state = q->wq_state == IBV_WQS_RDY ? IBV_QPS_RTS : IBV_QPS_RESET;
	if (q->wq_state == IBV_WQS_RESET)
		wq->rq.consumed = 0;
	return 0;
}

int handle_destroy_wq(struct command *c)
{
	const struct ib_uverbs_ex_destroy_wq *q = c->in;
	struct ib_uverbs_ex_destroy_wq_resp response = { .response_length = sizeof(response) };
	uint32_t events[2];
	int r = object_destroy(OBJECT_WQ, q->wq_handle, events);

	if (r)
		return r;
	response.events_reported = events[1];
	command_answer(c, &response, sizeof(response));
	return 0;
}

static int table_fill(struct object *table, const uint32_t *handles, uint32_t count)
{
	table->members = calloc(count, sizeof(*table->members));
	if (!table->members)
		return ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		table->members[i] = object_find(OBJECT_WQ, handles[i]);
		trace_line("    entry    %u: %s", i, object_name(OBJECT_WQ, handles[i]));
		if (!table->members[i])
			return EINVAL;
		table->member_count++;
	}
	return 0;
}

int handle_create_table(struct command *c)
{
	const struct ib_uverbs_ex_create_rwq_ind_table *q = c->in;
	struct ib_uverbs_ex_create_rwq_ind_table_resp response;
	struct object *table;
	int r;

	if (q->log_ind_tbl_size > TABLE_LOG_MAX ||
	    c->in_len < sizeof(*q) + (sizeof(q->wq_handles[0]) << q->log_ind_tbl_size))
		return EINVAL;
	table = object_new(OBJECT_TABLE);
	if (!table)
		return ENOMEM;
	trace_line("CREATE_TABLE log=%u -> %s", q->log_ind_tbl_size,
		   object_name(OBJECT_TABLE, table->handle));
	r = table_fill(table, q->wq_handles, 1u << q->log_ind_tbl_size);
	if (r) {
		object_free(table);
		return r;
	}
	response = (struct ib_uverbs_ex_create_rwq_ind_table_resp){
		.response_length = sizeof(response),
		.ind_tbl_handle = table->handle,
		.ind_tbl_num = table->number,
	};
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_destroy_table(struct command *c)
{
	const struct ib_uverbs_ex_destroy_rwq_ind_table *q = c->in;

	return object_destroy(OBJECT_TABLE, q->ind_tbl_handle, NULL);
}
