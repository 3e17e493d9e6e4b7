/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-conform/generate.h"
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

/* xorshift64*: the same numbers on every machine. */
uint64_t pick(struct maker *m, uint64_t below)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return (m->random * 0x2545f4914f6cdd1du >> 11) % below;
}

static void choose_scene(struct maker *m, struct scene *ret_scene)
{
	unsigned int total = 0, place;
	const char *at = NULL;

	while (scene_next(&at, ret_scene))
		total += ret_scene->weight;
	place = pick(m, total);
	at = NULL;
	while (scene_next(&at, ret_scene) && place >= ret_scene->weight)
		place -= ret_scene->weight;
}

/* A device that supports no scene at all gets empty programs. */
static void play(struct maker *m, uint8_t thread)
{
	for (unsigned int i = 0; i < 100; i++) {
		struct scene scene;

		choose_scene(m, &scene);
		if (scene_offered(&scene, m->offer)) {
			scene_write(m, &scene, thread);
			return;
		}
		leave_out(scene.name);
	}
}

/* Join the phases. The steps of one thread keep their order. */
static void join(const struct maker *m, struct program *program)
{
	for (unsigned int i = 0; i < PHASES; i++) {
		for (unsigned int j = 0; j < m->phases[i].count; j++)
			program_add(program, m->phases[i].step[j]);
		if (i + 1 < PHASES && i != PHASE_LINK)
			program_add(program, step_make(0, 0, VERB_SYNC));
	}
}

void generate(uint64_t seed, unsigned int threads, const struct offer *offer,
	      struct program *ret_program)
{
	static struct maker m;

	memset(&m, 0, sizeof(m));
	*ret_program = (struct program){ .seed = seed, .number = seed };
	m.random = (seed + 1) * 0x9e3779b97f4a7c15u;
	m.offer = offer;
	if (!threads)
		threads = pick(&m, 5) < 3 ? 1 : 2 + pick(&m, 2);
	for (uint8_t i = 0; i < threads; i++)
		play(&m, i);
	join(&m, ret_program);
}
