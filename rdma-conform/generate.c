/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-conform/scene.h"
#include "util/util.h"

#define LEFT_OUT 64
static struct left_out left_out[LEFT_OUT];

const struct left_out *generate_left_out(void)
{
	return left_out;
}

static void leave_out(const char *what)
{
	unsigned int i = 0;

	while (i + 2 < LEFT_OUT && *left_out[i].what && strcmp(left_out[i].what, what))
		i++;
	snprintf(left_out[i].what, sizeof(left_out[i].what), "%s", what);
	left_out[i].times++;
}

#define TRAFFIC 40 /* weight of random traffic compared with one scene */

static void make_scene(struct scene *s)
{
	const char *at = scenes_text;
	struct written written;
	int total = TRAFFIC, place;

	while (scene_next(&at, &written))
		total += written.weight;
	place = pick(s->maker, total);
	at = scenes_text;
	while (scene_next(&at, &written) && place >= (int)written.weight)
		place -= written.weight;
	if (written.weight && scene_write(s, &written))
		return;
	if (written.weight)
		leave_out(written.name);
	scene_traffic(s);
}

static void play(struct maker *m, uint8_t number)
{
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
	make_scene(&s);
	scene_end(&s);
}

/* Shuffle each phase between threads only: the steps of one thread keep their order. */
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
