/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules of memory: which memory a request may write, how long it may write there, and which bytes a
 * successful completion guarantees. */
#include <inttypes.h>

#include "rdma-conform/rules.h"

static void report(struct check *c, const struct wound *w)
{
	const struct event *run = &w->seen;
	char held[64] = "bytes without a tag", request[32] = "";

	if (run->kind == EVENT_RUN && run->run.kind == RUN_TAG)
		snprintf(held, sizeof(held), "byte %" PRIu64 " of #%u.%u",
			 run->run.from + w->offset - run->run.offset, run->run.id,
			 run->run.generation);
	if (w->writer)
		snprintf(request, sizeof(request), ", request #%u", w->writer->request->step->id);
	keeps(c, w->look, false, "%u wrong bytes from %u on; the first is %s%s", w->length,
	      w->offset, held, request);
}

#define ANY_OPERATION -1

/* Report the wounds (wrong bytes) with this harm and cause. @operation: operation of the request;
 * OP_COUNT: a receive */
static void wounds(struct check *c, enum harm harm, enum cause cause, int operation)
{
	if (operation == ANY_OPERATION)
		exercised(c, c->chances[harm][cause]);
	for (const struct wound *w = c->wounds; w < c->wounds + c->wound_count; w++)
		if (w->harm == harm && w->cause == cause &&
		    (operation == ANY_OPERATION ||
		     (w->writer && w->writer->request->step->operation == operation)))
			report(c, w);
}

/* The argument is the operation, or OP_COUNT for receives. write_order() checks whether an earlier
 * write replaced a later one. */
RULE(success_bytes)
{
	enum operation operation = c->rule->argument;

	FOR_EACH_WRITER(c, w)
	exercised(c, w->request->step->operation == operation && w->success[0] && !w->wild);
	wounds(c, HARM_MISSING, 0, operation);
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, operation);
	if (operation == OP_COUNT)
		wounds(c, HARM_ORDER, 0, operation);
}

/* Memory has no harm of the kind that the argument of the rule names. */
RULE(harmed)
{
	wounds(c, c->rule->argument, 0, ANY_OPERATION);
}

RULE(write_order)
{
	for (const struct writer *w = c->writers + 1; w < c->writers + c->writer_count; w++) {
		const struct step *this = w->request->step, *last = (w - 1)->request->step;

		exercised(c, this->operation == OP_WRITE && last->operation == OP_WRITE &&
				     this->remote_offset == last->remote_offset && w->success[0]);
	}
	wounds(c, HARM_ORDER, 0, OP_WRITE);
}

/* The argument is the end, after which no byte is written. */
RULE(late)
{
	wounds(c, HARM_LATE, c->rule->argument, ANY_OPERATION);
}

/* The argument is the end, after which the memory of a sender belongs to the program. */
RULE(source)
{
	wounds(c, HARM_SOURCE, c->rule->argument, ANY_OPERATION);
}
