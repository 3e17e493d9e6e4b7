/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One side takes something away while the other uses it, and uses the memory for something else at
 * once. */
#include "rdma-conform/scene.h"
#include "util/util.h"

enum leaving {
	LEAVE_DESTROY,
	LEAVE_RESET,
	LEAVE_ERR,
	LEAVE_DEREG,
	LEAVE_ACCESS,
	LEAVE_REREG,
	LEAVE_COUNT,
};

static uint32_t big_length(struct scene *s)
{
	static const uint32_t lengths[] = { 64, 4096, 16384, 20000, 65536, 262144, 1048576 };

	return lengths[pick(s->maker, ARRAY_SIZE(lengths))];
}

static void pause_randomly(struct scene *s, uint8_t side, unsigned int limit_us)
{
	if (chance(s->maker, 50))
		add(s, PHASE_ACT, side, VERB_PAUSE)->n = 1 + pick(s->maker, limit_us);
}

static void leave_by(struct scene *s, uint8_t side, enum leaving how, unsigned int region)
{
	switch (how) {
	case LEAVE_DESTROY:
		add_qp(s, PHASE_ACT, side, VERB_DESTROY);
		break;
	case LEAVE_RESET:
		add_qp(s, PHASE_ACT, side, VERB_MODIFY)->words = WORD(RESET);
		break;
	case LEAVE_ERR:
		add_qp(s, PHASE_ACT, side, VERB_MODIFY)->words = WORD(ERR);
		break;
	case LEAVE_ACCESS:
		add_qp(s, PHASE_ACT, side, VERB_ACCESS);
		break;
	case LEAVE_REREG:
		add_region(s, PHASE_ACT, side, VERB_REREG, region)->words = WORD(LOCAL_WRITE);
		break;
	default:
		add_region(s, PHASE_ACT, side, VERB_DESTROY, region);
		break;
	}
}

/* A sender posts, leaves, and fills its memory with something else. */
void scene_sender_leaves(struct scene *s)
{
	enum leaving how = pick(s->maker, LEAVE_DEREG + 1);
	unsigned int messages = 1 + pick(s->maker, 3), region = pick(s->maker, 2);
	struct piece source[4];
	uint8_t ids[4];
	bool poll_late = chance(s->maker, 60), write = chance(s->maker, 25);

	for (unsigned int i = 0; i < messages; i++) {
		uint32_t length = big_length(s);
		struct piece target = place(s, SIDE_B, pick(s->maker, 2), length + 16);
		struct step *step;

		source[i] = place(s, SIDE_A, region, length);
		ids[i] = new_id(s->maker);
		add_fill(s, PHASE_CONNECT, SIDE_A, ids[i], 0, &source[i], 1);
		add_fill(s, PHASE_CONNECT, SIDE_B, new_id(s->maker), 0, &target, 1);
		step = add_qp(s, PHASE_ACT, SIDE_A, VERB_POST);
		step->operation = write ? OP_WRITE : OP_SEND;
		step->id = ids[i];
		step->pieces = 1;
		step->piece[0] = source[i];
		step->words = WORD(SIGNALED) | (write ? WORD(IMM) : 0);
		step->remote = write ? target.region : NO_OBJECT;
		step->remote_offset = write ? target.offset : 0;
		step = add_qp(s, PHASE_CONNECT, SIDE_B, VERB_RECV);
		step->id = new_id(s->maker);
		step->pieces = !write;
		step->piece[0] = (struct piece){ target.region, target.offset, length };
		add_look(s, PHASE_LOOK, SIDE_B, target);
	}
	pause_randomly(s, SIDE_A, 300);
	leave_by(s, SIDE_A, how, region);
	if (how == LEAVE_ERR)
		add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);
	if (how != LEAVE_DEREG && chance(s->maker, 40))
		leave_by(s, SIDE_A, LEAVE_DEREG, region);
	for (unsigned int i = 0; i < messages; i++)
		add_fill(s, PHASE_ACT, SIDE_A, ids[i], 1, &source[i], 1);
	for (unsigned int i = poll_late; i < 2; i++) {
		struct step *step = add_cq(s, i ? PHASE_AFTER : PHASE_ACT, SIDE_B, VERB_POLL);

		step->n = messages;
		step->x = 2000;
	}
	scene_frame(s);
}

/* The target of writes leaves while they come, and fills its memory with something else. */
void scene_target_leaves(struct scene *s)
{
	enum leaving how = pick(s->maker, LEAVE_COUNT);
	unsigned int region = pick(s->maker, 2);
	uint32_t length = big_length(s);
	struct piece source = place(s, SIDE_A, pick(s->maker, 2), length);
	struct piece target = place(s, SIDE_B, region, length);
	uint8_t id = new_id(s->maker);
	struct step *step;

	s->timeout = 8;
	s->retries = 1;
	add_fill(s, PHASE_CONNECT, SIDE_A, id, 0, &source, 1);
	add_fill(s, PHASE_CONNECT, SIDE_B, new_id(s->maker), 0, &target, 1);
	step = add_qp(s, PHASE_ACT, SIDE_A, VERB_POST);
	step->operation = OP_WRITE;
	step->id = id;
	step->pieces = 1;
	step->piece[0] = source;
	step->remote = target.region;
	step->remote_offset = target.offset;
	step->words = WORD(SIGNALED);
	step->n = 2 + pick(s->maker, s->send_depth - 2);
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);

	step = add(s, PHASE_ACT, SIDE_B, VERB_WATCH);
	step->pieces = 1;
	step->piece[0] = (struct piece){ target.region, ROUND_UP(target.offset, 8), 8 };
	step->n = 20000;
	step->x = pick(s->maker, 800);
	leave_by(s, SIDE_B, how, region);
	add_fill(s, PHASE_ACT, SIDE_B, new_id(s->maker), 0, &target, 1);
	add(s, PHASE_ACT, SIDE_B, VERB_PAUSE)->n = 200 + pick(s->maker, 2000);
	add_look(s, PHASE_ACT, SIDE_B, target);
	add_look(s, PHASE_AFTER, SIDE_B, target);
	scene_frame(s);
}

static void add_peek(struct scene *s, enum phase phase, uint8_t side, struct piece word)
{
	struct step *step = add(s, phase, side, VERB_PEEK);

	step->pieces = 1;
	step->piece[0] = word;
}

/* Fetch and add from one side, and at times the target leaves. */
void scene_atomics(struct scene *s)
{
	bool leaves = chance(s->maker, 50);
	struct piece word = place(s, SIDE_B, pick(s->maker, 2), 8),
		     result = place(s, SIDE_A, pick(s->maker, 2), 8);
	struct step *step;

	word.offset = ROUND_UP(word.offset, 8);
	s->used[SIDE_B][word.region % 2] = word.offset + 8;
	if (leaves) {
		s->timeout = 8;
		s->retries = 1;
	}
	step = add(s, PHASE_CONNECT, SIDE_B, VERB_SET);
	step->pieces = 1;
	step->piece[0] = word;
	step->x = 1000;
	step = add_qp(s, PHASE_ACT, SIDE_A, VERB_POST);
	step->operation = OP_FADD;
	step->id = new_id(s->maker);
	step->pieces = 1;
	step->piece[0] = result;
	step->remote = word.region;
	step->remote_offset = word.offset;
	step->words = WORD(SIGNALED);
	step->n = 2 + pick(s->maker, s->send_depth - 2);
	step->x = 1;
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);
	if (leaves) {
		step = add(s, PHASE_ACT, SIDE_B, VERB_WATCH);
		step->pieces = 1;
		step->piece[0] = word;
		step->n = 20000;
		step->x = pick(s->maker, 20);
		leave_by(s, SIDE_B, pick(s->maker, LEAVE_DEREG), 0);
		add_peek(s, PHASE_ACT, SIDE_B, word);
		add(s, PHASE_ACT, SIDE_B, VERB_PAUSE)->n = 1000;
	}
	add_peek(s, PHASE_AFTER, SIDE_B, word);
	scene_frame(s);
}
