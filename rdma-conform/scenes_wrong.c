/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of the program, which the device must refuse, and queues that are full, busy or empty.
 */
#include "rdma-conform/scene.h"
#include "util/util.h"

static struct step *add_send(struct scene *s, enum phase phase, enum operation operation,
			     uint32_t length)
{
	struct piece source = place(s, SIDE_A, pick(s->maker, 2), length);
	uint8_t id = new_id(s->maker);
	struct step *step;

	add_fill(s, PHASE_CONNECT, SIDE_A, id, 0, &source, 1);
	step = add_qp(s, phase, SIDE_A, VERB_POST);
	step->operation = operation;
	step->id = id;
	step->pieces = 1;
	step->piece[0] = source;
	step->words = WORD(SIGNALED);
	return step;
}

static void add_recv(struct scene *s, enum phase phase, uint32_t length)
{
	struct piece target = place(s, SIDE_B, pick(s->maker, 2), length);
	struct step *step;

	add_fill(s, PHASE_CONNECT, SIDE_B, new_id(s->maker), 0, &target, 1);
	step = add_qp(s, phase, SIDE_B, VERB_RECV);
	step->id = new_id(s->maker);
	step->pieces = 1;
	step->piece[0] = target;
	add_look(s, PHASE_LOOK, SIDE_B, target);
}

/* A request with a wrong key or to a receive that is too short, and one behind it. */
static void wrong_request(struct scene *s)
{
	uint32_t length = 64 + pick(s->maker, 9000);
	unsigned int mistake = pick(s->maker, 3);
	struct step *step = add_send(s, PHASE_ACT, mistake ? OP_SEND : OP_WRITE, length);

	if (mistake == 0) {
		struct piece target = place(s, SIDE_B, pick(s->maker, 2), length);

		add_fill(s, PHASE_CONNECT, SIDE_B, new_id(s->maker), 0, &target, 1);
		add_look(s, PHASE_LOOK, SIDE_B, target);
		step->remote = target.region;
		step->remote_offset = target.offset;
		step->words |= WORD(BAD_RKEY);
	} else if (mistake == 1) {
		step->words |= WORD(BAD_LKEY);
	}
	add_recv(s, PHASE_CONNECT, mistake == 2 ? length - 1 - pick(s->maker, 60) : length);
	add_send(s, PHASE_ACT, OP_SEND, 100);
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);
	add_qp(s, PHASE_ACT, SIDE_A, VERB_QUERY);
	add_cq(s, PHASE_AFTER, SIDE_B, VERB_DRAIN);
}

/* Posts and moves in states that have none of them. */
static void wrong_state(struct scene *s)
{
	add_send(s, PHASE_LINK, OP_SEND, 64);
	add_recv(s, PHASE_LINK, 64);
	add_qp(s, PHASE_LINK, SIDE_A, VERB_MODIFY)->words = WORD(RTS);
	add_qp(s, PHASE_LINK, SIDE_A, VERB_QUERY);
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DESTROY);
	add_send(s, PHASE_ACT, OP_SEND, 64);
	add_recv(s, PHASE_CONNECT, 64);
	add_cq(s, PHASE_ACT, SIDE_A, VERB_POLL)->n = 1;
	add_cq(s, PHASE_ACT, SIDE_B, VERB_POLL)->n = 1;
	add_qp(s, PHASE_ACT, SIDE_A, VERB_QUERY);
	add_qp(s, PHASE_ACT, SIDE_A, VERB_MODIFY)->words = WORD(ERR);
	add_qp(s, PHASE_ACT, SIDE_A, VERB_QUERY);
	add_send(s, PHASE_ACT, OP_SEND, 64);
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);
}

/* More than the queue holds, for a receiver that posts nothing: it is full, and then the retries
 * end. */
static void full_queue(struct scene *s)
{
	s->rnr_retries = 0;
	s->send_depth = 1 + pick(s->maker, 30);
	add_send(s, PHASE_ACT, OP_SEND, 32)->n = s->send_depth;
	add_cq(s, PHASE_ACT, SIDE_A, VERB_DRAIN);
}

static void completion_event(struct scene *s)
{
	s->cq_words |= WORD(EVENTS);
	add_recv(s, PHASE_CONNECT, 256);
	add_cq(s, PHASE_CONNECT, SIDE_B, VERB_ARM)->words =
		chance(s->maker, 50) ? WORD(SOLICITED) : 0;
	add_send(s, PHASE_ACT, OP_SEND, 256)->words |= WORD(SOLICITED);
	add_cq(s, PHASE_ACT, SIDE_B, VERB_EVENT);
	add_cq(s, PHASE_ACT, SIDE_B, VERB_POLL)->n = 1;
	add_cq(s, PHASE_ACT, SIDE_B, VERB_EVENT)->x = 2000;
	add_cq(s, PHASE_ACT, SIDE_A, VERB_POLL)->n = 1;
}

void scene_wrong(struct scene *s)
{
	static void (*const kinds[])(struct scene * s) = { wrong_request, wrong_state, full_queue,
							   completion_event };

	kinds[pick(s->maker, ARRAY_SIZE(kinds))](s);
	scene_frame(s);
}
