/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trace flows as a process asks for them: their specifications, and the driver's part of
 * counters. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	ROW = 16,
};

static void trace_bytes(const char *what, const uint8_t *bytes, size_t length)
{
	char text[4 * ROW];

	for (size_t at = 0; at < length; at += ROW) {
		trace_hex(text, bytes + at, length - at < ROW ? length - at : ROW);
		trace_line("    %-8s %s", what, text);
	}
}

/* A specification begins with its type and its size. */
static void trace_specs(const uint8_t *at, size_t length)
{
	while (length >= 8) {
		uint16_t size = at[4] | at[5] << 8;

		if (size < 8 || size > length)
			break;
		trace_bytes("spec", at, size);
		at += size;
		length -= size;
	}
}

int handle_create_flow(struct command *c)
{
	const struct ib_uverbs_create_flow *q = c->in;
	struct ib_uverbs_create_flow_resp response;
	struct object *qp = object_find(OBJECT_QP, q->qp_handle), *flow;

	if (!qp || c->in_len < sizeof(*q) + q->flow_attr.size)
		return EINVAL;
	if (model_on())
		return EOPNOTSUPP;
	flow = object_new(OBJECT_FLOW);
	if (!flow)
		return ENOMEM;
	flow->pd = qp;
	trace_line("CREATE_FLOW %s type=%u priority=%u specs=%u port=%u flags=0x%x -> %s",
		   object_name(OBJECT_QP, q->qp_handle), q->flow_attr.type, q->flow_attr.priority,
		   q->flow_attr.num_of_specs, q->flow_attr.port, q->flow_attr.flags,
		   object_name(OBJECT_FLOW, flow->handle));
	trace_specs((const uint8_t *)(q + 1), q->flow_attr.size);
	if (c->driver.in_len >= 8)
		trace_bytes("driver", c->driver.in, 8); /* behind it are addresses */
	response = (struct ib_uverbs_create_flow_resp){ .flow_handle = flow->handle };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_destroy_flow(struct command *c)
{
	const struct ib_uverbs_destroy_flow *q = c->in;

	return object_destroy(OBJECT_FLOW, q->flow_handle, NULL);
}

int counters_create(struct object **ret_counters)
{
	struct object *counters = object_new(OBJECT_COUNTERS);

	if (!counters)
		return ENOMEM;
	trace_line("CREATE_COUNTERS -> %s", object_name(OBJECT_COUNTERS, counters->handle));
	*ret_counters = counters;
	return 0;
}
