/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "rdma-conform/scene.h"
#include "util/util.h"

/* xorshift64*: the same numbers on every machine. */
static uint64_t next_random(struct maker *m)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return m->random * 0x2545f4914f6cdd1du;
}

uint64_t pick(struct maker *m, uint64_t below)
{
	return (next_random(m) >> 11) % below;
}

bool chance(struct maker *m, unsigned int percent)
{
	return pick(m, 100) < percent;
}

uint8_t new_id(struct maker *m)
{
	if (m->next_id < UINT8_MAX)
		m->next_id++;
	return m->next_id;
}

struct step *add(struct scene *s, enum phase phase, uint8_t side, enum verb verb)
{
	return program_add(&s->maker->phases[phase], step_make(side, s->number, verb));
}

struct step *add_qp(struct scene *s, enum phase phase, uint8_t side, enum verb verb)
{
	struct step *step = add(s, phase, side, verb);

	step->kind = 'q';
	step->object = s->number;
	return step;
}

struct step *add_cq(struct scene *s, enum phase phase, uint8_t side, enum verb verb)
{
	struct step *step = add(s, phase, side, verb);

	step->kind = 'c';
	step->object = s->number * 2;
	return step;
}

struct step *add_region(struct scene *s, enum phase phase, uint8_t side, enum verb verb,
			unsigned int which)
{
	struct step *step = add(s, phase, side, verb);

	step->kind = 'r';
	step->object = s->number * 2 + which;
	return step;
}

struct piece place(struct scene *s, uint8_t side, unsigned int which, uint32_t length)
{
	struct piece piece = { .region = s->number * 2 + which, .length = length };

	/* Any alignment, except for words of atomics, which have their own. */
	piece.offset = ROUND_UP(s->used[side][which], 64) + 64 +
		       (chance(s->maker, 30) ? pick(s->maker, 64) : 0);
	s->used[side][which] = piece.offset + length;
	return piece;
}

void add_fill(struct scene *s, enum phase phase, uint8_t side, uint8_t id, uint8_t generation,
	      const struct piece *pieces, unsigned int count)
{
	struct step *step = add(s, phase, side, VERB_FILL);

	step->id = id;
	step->generation = generation;
	step->pieces = count;
	memcpy(step->piece, pieces, count * sizeof(*pieces));
}

void add_look(struct scene *s, enum phase phase, uint8_t side, struct piece piece)
{
	struct step *step = add(s, phase, side, VERB_LOOK);

	step->pieces = 1;
	step->piece[0] = piece;
}

uint32_t message_length(struct scene *s, uint32_t limit)
{
	static const uint32_t edges[] = { 0,	1,    8,    64,	  255,	256,   1023,  1024,
					  1025, 4095, 4096, 4097, 8192, 16384, 16385, 65536 };
	struct maker *m = s->maker;
	uint32_t length;

	if (chance(m, 50))
		length = edges[pick(m, ARRAY_SIZE(edges))];
	else if (chance(m, 70))
		length = pick(m, 5000);
	else
		length = pick(m, 300000);
	return min_of(length, limit);
}

unsigned int shape(struct scene *s, uint8_t side, uint32_t length, struct piece *ret_pieces)
{
	unsigned int most = min_of(s->maker->offer->max_sge, SGES + 0u), count = 1;

	if (!length && chance(s->maker, 50))
		return 0;
	if (length > 8 && most > 1 && chance(s->maker, 40))
		count = 2 + pick(s->maker, most - 1);
	for (unsigned int i = 0; i < count; i++) {
		uint32_t n = i + 1 < count ? pick(s->maker, length + 1) : length;

		ret_pieces[i] = place(s, side, pick(s->maker, 2), n);
		length -= n;
	}
	return count;
}

static void add_objects(struct scene *s, uint8_t side)
{
	struct step *step;

	for (unsigned int i = 0; i < 2; i++) {
		step = add_region(s, PHASE_MAKE, side, VERB_REGION, i);
		step->n = ROUND_UP(s->used[side][i] + 128, 4096);
		step->words = s->region_words[i]
				      ?: WORD(LOCAL_WRITE) | WORD(REMOTE_WRITE) |
						 WORD(REMOTE_READ) | WORD(REMOTE_ATOMIC);
		if (i)
			step->words |= WORD(SHARED);
	}
	step = add_cq(s, PHASE_MAKE, side, VERB_CQ);
	step->n = 2 * (s->send_depth + s->recv_depth);
	step->words = s->cq_words;
	step = add_qp(s, PHASE_MAKE, side, VERB_QP);
	step->cq = s->number * 2;
	step->srq = s->srq;
	step->n = s->send_depth;
	step->x = s->recv_depth;
	step->y = 64;
	step->words = s->qp_words;
}

void scene_frame(struct scene *s)
{
	for (uint8_t side = 0; side < 2; side++) {
		struct step *step;

		add_objects(s, side);
		step = add_qp(s, PHASE_LINK, side, VERB_CONNECT);
		step->n = s->timeout;
		step->x = s->retries;
		step->y = s->rnr_retries;
	}
}

void scene_end(struct scene *s)
{
	for (uint8_t side = 0; side < 2; side++) {
		add_qp(s, PHASE_END, side, VERB_MODIFY)->words = WORD(ERR);
		add_cq(s, PHASE_END, side, VERB_DRAIN);
		if (chance(s->maker, 50))
			add_qp(s, PHASE_END, side, VERB_DESTROY);
	}
}
