/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of objects, and what becomes of the process. */
#include "rdma-conform/rules.h"

/* The whole life of a queue pair lies before @e. */
static bool gone_before(const struct check *c, const struct event *qp, const struct event *e)
{
	const struct event *end = done_on(c, VERB_DESTROY, qp->side, 'q', step_of(c, qp)->object);

	return end && before(c, end, e);
}

static void unique_numbers(struct check *c)
{
	FOR_EACH_DONE(c, a, VERB_QP)
	FOR_EACH_DONE(c, b, VERB_QP)
	{
		if (a >= b || a->done.error || b->done.error || gone_before(c, a, b) ||
		    gone_before(c, b, a))
			continue;
		keeps(c, b,
		      !(a->done.value[0] == b->done.value[0] && c->trial->offers[0].same_address),
		      "q%u of %c and q%u of %c both have the number 0x%x", step_of(c, a)->object,
		      'a' + a->side, step_of(c, b)->object, 'a' + b->side,
		      (unsigned int)a->done.value[0]);
	}
}

static void lives(struct check *c)
{
	for (unsigned int side = 0; side < 2; side++) {
		bool killed = false;

		FOR_EACH_DONE(c, e, VERB_KILL)
		killed |= e->side == side;
		keeps(c, NULL, !(c->trial->ended[side] && !killed && !c->trial->silent[side]),
		      "process %c ended by signal %d", 'a' + side, c->trial->signal[side]);
	}
}

static void returns(struct check *c)
{
	for (unsigned int side = 0; side < 2; side++) {
		keeps(c, NULL, !(c->trial->silent[side]),
		      "process %c did not come to the end of the program", 'a' + side);
	}
}

static void cleans_up(struct check *c)
{
	FOR_EACH_EVENT(c, e)
	{
		if (e->kind != EVENT_DONE || e->step != c->trial->program->count)
			continue;
		keeps(c, e, !e->done.error, "%c%u of %c could not be destroyed: errno %u",
		      (char)e->done.value[0], e->object, 'a' + e->side,
		      (unsigned int)e->done.error);
	}
}

const struct judge rules_process[] = {
	{ 32, unique_numbers },
	{ 33, lives },
	{ 34, returns },
	{ 35, cleans_up },
};
const unsigned int rules_process_count = ARRAY_SIZE(rules_process);
