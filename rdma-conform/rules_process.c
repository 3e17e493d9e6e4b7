/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check the numbers of objects, and the life of the process. */
#include "rdma-conform/rules.h"

/* The queue pair was created and destroyed before @e. */
static bool gone_before(const struct check *c, const struct event *qp, const struct event *e)
{
	const struct event *end = done_on(c, VERB_DESTROY, qp->side, 'q', step_of(c, qp)->object);

	return end && before(c, end, e);
}

RULE(unique_numbers)
{
	FOR_EACH_DONE(c, a, VERB_QP)
	FOR_EACH_DONE(c, b, VERB_QP)
	if (a < b && !a->done.error && !b->done.error && !gone_before(c, a, b) &&
	    !gone_before(c, b, a))
		keeps(c, b,
		      a->done.value[0] != b->done.value[0] || !c->trial->offers[0].same_address,
		      "q%u of %c and q%u of %c both have the number 0x%x", step_of(c, a)->object,
		      'a' + a->side, step_of(c, b)->object, 'a' + b->side,
		      (unsigned int)a->done.value[0]);
}

RULE(lives)
{
	for (unsigned int side = 0; side < 2; side++) {
		bool killed = false;

		FOR_EACH_DONE(c, kill, VERB_KILL)
		killed |= kill->side == side;
		keeps(c, NULL, !c->trial->ended[side] || killed || c->trial->silent[side],
		      "process %c ended by signal %d", 'a' + side, c->trial->signal[side]);
	}
}

RULE(returns)
{
	for (unsigned int side = 0; side < 2; side++)
		keeps(c, NULL, !c->trial->silent[side],
		      "process %c did not come to the end of the program", 'a' + side);
}

RULE(cleans_up)
{
	FOR_EACH_EVENT(c, end)
	if (end->kind == EVENT_DONE && end->step == c->trial->program->count)
		keeps(c, end, !end->done.error, "%c%u of %c could not be destroyed: errno %u",
		      (char)end->done.value[0], end->object, 'a' + end->side,
		      (unsigned int)end->done.error);
}
