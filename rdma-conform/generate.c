/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-conform/scene.h"
#include "util/util.h"

struct kind {
	const char *name;
	void (*make)(struct scene *s);
	unsigned int weight;
	bool (*offered)(const struct offer *o);
};

static bool atomics_offered(const struct offer *o)
{
	return o->atomics;
}

static const struct kind kinds[] = {
	{ "traffic", scene_traffic, 6, NULL },
	{ "sender leaves", scene_sender_leaves, 3, NULL },
	{ "target leaves", scene_target_leaves, 3, NULL },
	{ "atomics", scene_atomics, 2, atomics_offered },
	{ "mistakes", scene_wrong, 4, NULL },
};

static struct left_out left_out[ARRAY_SIZE(kinds) + 1];

const struct left_out *generate_left_out(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		left_out[i].what = kinds[i].name;
	return left_out;
}

static const struct kind *choose(struct maker *m)
{
	unsigned int total = 0, at;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		total += kinds[i].weight;
	at = pick(m, total);
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (at < kinds[i].weight) {
			if (!kinds[i].offered || kinds[i].offered(m->offer))
				return &kinds[i];
			left_out[i].times++;
			return &kinds[0];
		}
		at -= kinds[i].weight;
	}
	return &kinds[0];
}

static void play(struct maker *m, uint8_t number)
{
	const struct kind *kind = choose(m);
	struct scene s = {
		.maker = m,
		.number = number,
		.send_depth = 32,
		.recv_depth = 32,
		.rnr_retries = 7,
		.srq = NO_OBJECT,
	};

	if (m->offer->wr_api && chance(m, 30))
		s.qp_words |= WORD(WR_API);
	if (m->offer->extended_cq && chance(m, 30))
		s.cq_words |= WORD(EXTENDED);
	if (chance(m, 20))
		s.qp_words |= WORD(SIGNAL_ALL);
	kind->make(&s);
	scene_end(&s);
}

/* Each phase is shuffled between threads only: the steps of one thread keep their order. */
static void join(struct maker *m)
{
	for (unsigned int i = 0; i < PHASES; i++) {
		for (unsigned int j = 0; j < m->phases[i].count; j++)
			program_add(m->program, m->phases[i].step[j]);
		if (i + 1 < PHASES && i != PHASE_LINK)
			program_add(m->program, step_make(0, 0, VERB_SYNC));
	}
}

void generate(uint64_t seed, const struct offer *offer, struct program *ret_program)
{
	static struct maker m;

	memset(&m, 0, sizeof(m));
	*ret_program = (struct program){ .seed = seed, .number = seed };
	m.random = (seed + 1) * 0x9e3779b97f4a7c15u;
	m.offer = offer;
	m.program = ret_program;
	pick(&m, 2);
	m.scenes = chance(&m, 60) ? 1 : 2 + pick(&m, 2);
	for (uint8_t i = 0; i < m.scenes; i++)
		play(&m, i);
	join(&m);
}
