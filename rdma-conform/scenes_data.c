/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traffic without disturbance. */
#include <string.h>

#include "rdma-conform/scene.h"
#include "util/util.h"

/* The completions that each side waits for. */
struct count {
	unsigned int completions[2];
};

static uint64_t post_words(struct scene *s, uint32_t length, bool last)
{
	struct maker *m = s->maker;
	uint64_t words = last || chance(m, 40) ? WORD(SIGNALED) : 0;

	if (chance(m, 15))
		words |= WORD(FENCE);
	if (chance(m, 20))
		words |= WORD(SOLICITED);
	if (length <= 64 && chance(m, 50))
		words |= WORD(INLINE);
	if (!last && chance(m, 25))
		words |= WORD(MORE);
	return words;
}

static void add_receive(struct scene *s, uint8_t side, uint32_t length)
{
	uint8_t id = new_id(s->maker);
	struct piece slot = place(s, side, pick(s->maker, 2), length + 32 + pick(s->maker, 100));
	struct piece whole = slot;
	struct step *step;

	add_fill(s, PHASE_CONNECT, side, new_id(s->maker), 0, &whole, 1);
	step = add_qp(s, PHASE_CONNECT, side, VERB_RECV);
	step->id = id;
	slot.length -= 16;
	if (slot.length > 64 && chance(s->maker, 30)) {
		uint32_t first = pick(s->maker, slot.length);

		step->piece[0] = (struct piece){ slot.region, slot.offset, first };
		step->piece[1] =
			(struct piece){ slot.region, slot.offset + first, slot.length - first };
		step->pieces = 2;
	} else {
		step->piece[0] = slot;
		step->pieces = 1;
	}
	add_look(s, PHASE_LOOK, side, whole);
}

static struct step *add_post(struct scene *s, uint8_t side, enum operation operation,
			     uint32_t length, bool last)
{
	struct piece pieces[SGES];
	unsigned int count = shape(s, side, length, pieces);
	uint8_t id = new_id(s->maker);
	struct step *step;

	if (count && operation != OP_READ)
		add_fill(s, PHASE_CONNECT, side, id, 0, pieces, count);
	else if (count)
		add_fill(s, PHASE_CONNECT, side, new_id(s->maker), 0, pieces, count);
	step = add_qp(s, PHASE_ACT, side, VERB_POST);
	step->operation = operation;
	step->id = id;
	step->pieces = count;
	memcpy(step->piece, pieces, count * sizeof(pieces[0]));
	step->words = post_words(s, length, last);
	if (operation == OP_READ)
		step->words &= ~(WORD(INLINE) | WORD(SOLICITED));
	for (unsigned int i = 0; i < count; i++)
		add_look(s, PHASE_LOOK, side, pieces[i]);
	return step;
}

static void aim(struct scene *s, struct step *step, uint32_t length)
{
	uint8_t side = !step->side;
	struct piece slot = place(s, side, pick(s->maker, 2), length + 32);

	add_fill(s, PHASE_CONNECT, side, new_id(s->maker), 0, &slot, 1);
	step->remote = slot.region;
	step->remote_offset = slot.offset;
	if (step->operation == OP_WRITE) {
		step->remote_offset += 16;
		add_look(s, PHASE_LOOK, side, slot);
	}
}

static enum operation operation_of(struct scene *s)
{
	unsigned int x = pick(s->maker, 100);

	if (s->qp_words & WORD(UC))
		return x < 50 ? OP_SEND : OP_WRITE;
	return x < 45 ? OP_SEND : x < 75 ? OP_WRITE : OP_READ;
}

static void add_message(struct scene *s, uint8_t side, bool last, struct count *count)
{
	uint32_t length = message_length(s, UINT32_MAX);
	enum operation operation = operation_of(s);
	struct step *step = add_post(s, side, operation, length, last);
	bool imm = operation != OP_READ && chance(s->maker, 30);

	if (imm)
		step->words |= WORD(IMM);
	if (HAS(step, SIGNALED) || s->qp_words & WORD(SIGNAL_ALL))
		count->completions[side]++;
	if (operation == OP_SEND || imm) {
		add_receive(s, !side, operation == OP_SEND ? length : 0);
		count->completions[!side]++;
	}
	if (operation != OP_SEND)
		aim(s, step, length);
}

/* Two writes to the same memory: the later one wins. */
static void add_overwrite(struct scene *s, uint8_t side, struct count *count)
{
	uint32_t length = 1 + message_length(s, 20000);
	struct step *first = add_post(s, side, OP_WRITE, length, false), *second;
	uint8_t region;
	uint32_t offset;

	aim(s, first, length);
	region = first->remote;
	offset = first->remote_offset;
	count->completions[side] += HAS(first, SIGNALED) || s->qp_words & WORD(SIGNAL_ALL);
	second = add_post(s, side, OP_WRITE, 1 + pick(s->maker, length), true);
	second->remote = region;
	second->remote_offset = offset;
	count->completions[side]++;
}

void scene_traffic(struct scene *s)
{
	unsigned int messages = 1 + pick(s->maker, 8);
	struct count count = {};

	if (s->maker->offer->uc && chance(s->maker, 15))
		s->qp_words |= WORD(UC);
	for (uint8_t side = 0; side < 2; side++) {
		unsigned int n = side ? pick(s->maker, messages) : messages;

		for (unsigned int i = 0; i < n; i++)
			add_message(s, side, i + 1 == n, &count);
		if (chance(s->maker, 20))
			add_overwrite(s, side, &count);
	}
	for (uint8_t side = 0; side < 2; side++) {
		struct step *step;

		if (!count.completions[side])
			continue;
		step = add_cq(s, PHASE_ACT, side, VERB_POLL);
		step->n = count.completions[side];
		if (s->qp_words & WORD(UC))
			step->x = 300000;
	}
	scene_frame(s);
}
