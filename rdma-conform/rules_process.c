/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check the numbers of objects, and the life of the process. */
#include "rdma-conform/rules.h"

static bool makes_qp(const struct check *c, const struct event *e)
{
	const struct step *s = step_of(c, e);

	return e->kind == EVENT_DONE && s && !e->done.error &&
	       (s->verb == VERB_QP || (s->verb == VERB_CROWD && s->n));
}

/* The queue pair that @qp made was destroyed before @e. */
static bool gone_before(const struct check *c, const struct event *qp, const struct event *e)
{
	const struct step *s = step_of(c, qp);
	const struct event *end = NULL;

	if (s->verb == VERB_QP)
		end = done_on(c, VERB_DESTROY, qp->side, 'q', s->object);
	FOR_EACH_ON(c, d, VERB_CROWD, qp->side, s->object)
	if (s->verb == VERB_CROWD && !step_of(c, d)->n)
		end = d;
	return end && before(c, end, e);
}

RULE(unique_numbers)
{
	FOR_EACH_EVENT(c, a)
	if (c->trial->offers[0].same_address && makes_qp(c, a))
		FOR_EACH_EVENT(c, b)
	if (b > a && makes_qp(c, b))
		keeps(c, b,
		      a->done.value[0] != b->done.value[0] || gone_before(c, a, b) ||
			      gone_before(c, b, a),
		      "the queue pairs of step %u and of step %u both have the number 0x%x",
		      a->step + 1, b->step + 1, (unsigned int)a->done.value[0]);
}

RULE(lives)
{
	/* A process that is killed reports no events. */
	for (unsigned int i = 0; i < c->trial->program->count; i++)
		if (c->trial->program->step[i].verb == VERB_KILL)
			return;
	for (unsigned int side = 0; side < 2; side++)
		keeps(c, NULL, !c->trial->ended[side] || c->trial->silent[side],
		      "process %c ended by signal %d", 'a' + side, c->trial->signal[side]);
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
		      (char)end->done.value[0], (unsigned int)end->done.value[1], 'a' + end->side,
		      (unsigned int)end->done.error);
}
