/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/world.h"
#include "util/util.h"

#define SAMPLE 20

bool breaks(struct world *world, const struct program *program, const struct rule *rule,
	    unsigned int runs, struct check *ret_check, struct trial *ret_trial)
{
	bool found = false;

	for (unsigned int i = 0; i < runs && !found; i++) {
		if (world_run(world, program, ret_trial) < 0)
			break;
		check_trial(ret_check, ret_trial, NULL, NULL);
		for (unsigned int j = 0; j < ret_check->broken_count; j++)
			found |= ret_check->broken[j].rule == rule;
	}
	return found;
}

struct shrinking {
	struct world *world;
	const struct rule *rule;
	unsigned int runs; /* runs in which the rule must hold before a step counts as needed */
	int64_t end;
	struct check check;
	struct trial trial;
	struct program trying;
};

static bool try(struct shrinking *s)
{
	return now() < s->end &&
	       breaks(s->world, &s->trying, s->rule, s->runs, &s->check, &s->trial);
}

static unsigned int measure(struct shrinking *s, const struct program *program)
{
	unsigned int hits = 0;

	for (unsigned int i = 0; i < SAMPLE && now() < s->end; i++)
		hits += breaks(s->world, program, s->rule, 1, &s->check, &s->trial);
	return hits;
}

static void leave_out(const struct program *from, unsigned int begin, unsigned int count,
		      struct program *to)
{
	*to = *from;
	memmove(&to->step[begin], &to->step[begin + count],
		(to->count - begin - count) * sizeof(to->step[0]));
	to->count -= count;
}

/* All steps of a thread on both sides, which are one scene. */
static void drop_scenes(struct shrinking *s, struct program *program)
{
	for (unsigned int thread = 0; thread < THREADS; thread++) {
		s->trying = *program;
		s->trying.count = 0;
		for (unsigned int i = 0; i < program->count; i++)
			if (program->step[i].verb == VERB_SYNC || program->step[i].thread != thread)
				program_add(&s->trying, program->step[i]);
		if (s->trying.count != program->count && try(s))
			*program = s->trying;
	}
}

/* Try halves first and single steps last. Repeat as long as a step can be removed. */
static void drop_steps(struct shrinking *s, struct program *program)
{
	for (unsigned int size = program->count / 2; size; size = size == 1 ? 0 : (size + 1) / 2) {
		bool again = true;

		while (again && now() < s->end) {
			again = false;
			for (unsigned int i = program->count; i >= size && now() < s->end;) {
				i -= size;
				leave_out(program, i, size, &s->trying);
				if (try(s)) {
					*program = s->trying;
					i = min_of(i, program->count);
					again = size == 1;
				}
				if (i < size)
					break;
			}
		}
	}
}

/* Fewer words and repetitions make the cause clearer. */
static void simplify_steps(struct shrinking *s, struct program *program)
{
	for (unsigned int i = 0; i < program->count && now() < s->end; i++) {
		for (unsigned int bit = 0; bit < WORD_COUNT; bit++) {
			if (!(program->step[i].words >> bit & 1))
				continue;
			s->trying = *program;
			s->trying.step[i].words &= ~(1ull << bit);
			if (try(s))
				*program = s->trying;
		}
		while (program->step[i].verb == VERB_POST && program->step[i].n > 1 &&
		       now() < s->end) {
			s->trying = *program;
			s->trying.step[i].n /= 2;
			if (!try(s))
				break;
			*program = s->trying;
		}
	}
}

unsigned int shrink(struct world *world, struct program *program, const struct rule *rule,
		    int64_t limit)
{
	struct shrinking *s = need(calloc(1, sizeof(*s)));
	unsigned int hits;

	s->world = world;
	s->rule = rule;
	s->end = now() + limit;
	hits = measure(s, program);
	s->runs = hits ? min_of(3 * SAMPLE / hits, 40u) : 40;
	drop_scenes(s, program);
	drop_steps(s, program);
	simplify_steps(s, program);
	s->end = now() + limit / 4;
	hits = measure(s, program);
	free(s);
	return hits * 100 / SAMPLE;
}
