/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdma-conform/tally.h"

static void refusal_add(struct tally *t, uint8_t verb, uint16_t error)
{
	struct refusal *r = t->refusals;

	t->refused++;
	while (r->times && (r->verb != verb || r->error != error))
		r++;
	/* The last entry stays empty. */
	if (r == &t->refusals[REFUSALS - 1]) {
		t->unlisted++;
		return;
	}
	r->verb = verb;
	r->error = error;
	r->times++;
}

static void done_add(struct tally *t, const struct step *step, const struct event *e)
{
	if (step->verb == VERB_POST) {
		t->requests++;
		t->accepted += e->done.value[0] > 0;
	}
	/* The result of a step "try" is its answer, even if it is an error. */
	if (e->done.error && step->verb != VERB_TRY)
		refusal_add(t, step->verb, e->done.error);
	else
		t->taken++;
}

/* Steps that access memory or wait do not call the device. */
static bool asks_device(const struct step *step)
{
	const uint64_t others = 1ull << VERB_FILL | 1ull << VERB_LOOK | 1ull << VERB_SET |
				1ull << VERB_PEEK | 1ull << VERB_WATCH | 1ull << VERB_PAUSE |
				1ull << VERB_FORK | 1ull << VERB_STOP | 1ull << VERB_KILL;

	return !(others >> step->verb & 1);
}

void tally_add(struct tally *tally, const struct trial *trial)
{
	for (unsigned int i = 0; i < trial->count; i++) {
		const struct event *e = &trial->events[i];
		const struct step *step = &trial->program->step[e->step];

		if (e->step >= trial->program->count || !asks_device(step))
			continue;
		if (e->kind == EVENT_DONE) {
			done_add(tally, step, e);
		} else if (e->kind == EVENT_SKIP && e->skip < SKIP_COUNT) {
			tally->skips[e->skip]++;
			tally->left_out++;
		}
	}
}

const char *tally_doubt(const struct tally *t)
{
	if (t->taken <= t->left_out + t->refused)
		return "most steps were left out or refused";
	if (t->requests && !t->accepted)
		return "the device accepted no request";
	return NULL;
}
