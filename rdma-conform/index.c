/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Build the index of the rules: requests with their completions, and the writers of each piece of
 * memory. */
#include <string.h>

#include "rdma-conform/check.h"
#include "util/util.h"

static void collect(struct check *c)
{
	unsigned int order = 0;

	FOR_EACH_STEP(c, e, s)
	if (s->verb == VERB_POST || s->verb == VERB_RECV) {
		struct message *m = &c->messages[s->id];

		m->step = s;
		m->posted = e;
		m->accepted = e->done.value[0];
		m->order = order++;
	}
	FOR_EACH_WC(c, e)
	{
		struct message *m = (struct message *)message_of_wc(c, e);

		if (!m)
			continue;
		m->completions++;
		m->successes += !e->wc.status;
		m->first = m->first ?: e;
		m->last = e;
		if (e->wc.status && !m->failed)
			m->failed = e;
	}
}

static bool same_pieces(const struct step *a, const struct step *b)
{
	return a->pieces == b->pieces && a->pieces &&
	       !memcmp(a->piece, b->piece, a->pieces * sizeof(a->piece[0]));
}

static void finish_add(struct finishes *f, enum cause cause, const struct event *event)
{
	if (event && f->count < FINISHES)
		f->list[f->count++] = (struct finish){ cause, event };
}

/* Events of @side that end the requests of queue pair @number. */
static void finish_by_qp(const struct check *c, struct finishes *f, uint8_t side, uint8_t number,
			 bool by_err)
{
	FOR_EACH_ON(c, e, VERB_MODIFY, side, number)
	{
		if (HAS(step_of(c, e), RESET))
			finish_add(f, CAUSE_RESET, e);
		else if (by_err && HAS(step_of(c, e), ERR))
			finish_add(f, CAUSE_ERR, e);
	}
	finish_add(f, CAUSE_DESTROY, done_on(c, VERB_DESTROY, side, 'q', number));
}

/* Ignore a destruction before @start: the request may have the key of a later object. */
static void finish_by_dereg(const struct check *c, struct finishes *f, uint8_t side, char kind,
			    uint8_t number, const struct event *start)
{
	const struct event *e = done_on(c, VERB_DESTROY, side, kind, number);

	if (e && !before(c, e, start))
		finish_add(f, CAUSE_DEREG, e);
}

/* The time from which the program may use the memory of @m again. */
static void release(struct check *c, struct message *m)
{
	uint8_t side = m->step->side, number = m->step->object;

	if (m->completions >= m->accepted && m->last)
		finish_add(&m->released, m->failed ? CAUSE_FLUSH : CAUSE_COMPLETION, m->last);
	if (HAS(m->step, INLINE))
		finish_add(&m->released, CAUSE_INLINE, m->posted);
	if (m->step->kind == 'q')
		finish_by_qp(c, &m->released, side, number, false);
	for (unsigned int i = 0; i < m->step->pieces; i++)
		finish_by_dereg(c, &m->released, side, 'r', m->step->piece[i].region, m->posted);
	if (!is_send_side(m))
		return;
	/* The completion of a later request of the queue confirms the earlier ones as well. */
	FOR_EACH_MESSAGE(c, later)
	if (same_queue(later, m) && later->order > m->order && later->successes)
		finish_add(&m->released, CAUSE_COMPLETION, later->first);
}

const struct finish *finish_before(const struct check *c, const struct finishes *f,
				   const struct event *e)
{
	for (unsigned int i = 0; i < f->count; i++)
		if (before(c, f->list[i].event, e))
			return &f->list[i];
	return NULL;
}

static void source_add(struct message *m, struct tag tag)
{
	if (m->sources < ARRAY_SIZE(m->source))
		m->source[m->sources++] = tag;
	else
		m->source_known = false;
}

/* The message has the bytes of the last fill before the post, and of each fill that came too
 * early. */
static void find_source(struct check *c, struct message *m)
{
	const struct step *last = NULL;

	m->source_known = true;
	FOR_EACH_FILL(c, e, s, m->step->side)
	if (pieces_overlap(PIECES(s), PIECES(m->step))) {
		if (!same_pieces(s, m->step)) {
			m->source_known = false;
			return;
		}
		last = before(c, e, m->posted) ? s : last;
	}
	if (!last) {
		m->source_known = !step_length(m->step);
		return;
	}
	source_add(m, (struct tag){ c->trial->program->number, last->id, last->generation });
	FOR_EACH_FILL(c, e, s, m->step->side)
	if (same_pieces(s, m->step) && !before(c, e, m->posted) &&
	    !finish_before(c, &m->released, e))
		source_add(m, (struct tag){ c->trial->program->number, s->id, s->generation });
}

bool message_holds(const struct message *m, uint8_t id, uint8_t generation)
{
	for (unsigned int i = 0; i < m->sources; i++)
		if (m->source[i].id == id && m->source[i].generation == generation)
			return true;
	return false;
}

const struct message *message_released(const struct check *c, const struct event *fill)
{
	const struct step *s = step_of(c, fill);
	const struct message *found = NULL;

	FOR_EACH_MESSAGE(c, m)
	{
		if (m->step->operation == OP_READ && m->step->side != fill->side)
			return NULL;
		if (!is_send_side(m) || m->step->side != fill->side ||
		    !pieces_overlap(PIECES(s), PIECES(m->step)))
			continue;
		if (!m->source_known || message_holds(m, s->id, s->generation) ||
		    !finish_before(c, &m->released, fill))
			return NULL;
		found = m;
	}
	return found;
}

/* The @index-th request of the other side's queue pair @number that consumes a receive. */
static struct message *send_by_order(struct check *c, uint8_t side, uint8_t number,
				     unsigned int index)
{
	FOR_EACH_STEP(c, e, s)
	if (s->verb == VERB_POST && e->side == side && s->object == number &&
	    takes_receive(&c->messages[s->id])) {
		if (index < c->messages[s->id].accepted)
			return &c->messages[s->id];
		index -= c->messages[s->id].accepted;
	}
	return NULL;
}

static int qp_by_number(const struct check *c, uint8_t side, uint32_t qp_num)
{
	FOR_EACH_DONE(c, e, VERB_QP)
	if (e->side == side && !e->done.error && e->done.value[0] == qp_num)
		return step_of(c, e)->object;
	return -1;
}

/* Messages of a reliable connection are received in the order of their posts. Others are identified
 * by their immediate. */
static void match_receives(struct check *c)
{
	unsigned int taken[2][OBJECTS] = {};

	FOR_EACH_WC(c, e)
	{
		struct message *r = (struct message *)message_of_wc(c, e), *m;
		int number = qp_by_number(c, e->side, e->wc.qp_num);

		if (!r || is_send_side(r) || e->wc.status || number < 0)
			continue;
		m = qp_reliable(c, e->side, number)
			    ? send_by_order(c, !e->side, number, taken[e->side][number]++)
			    : (struct message *)message_by_imm(c, e);
		if (!m || m->step->object != number)
			continue;
		r->partner = m;
		m->partner = r;
		m->partner_wc = r->partner_wc = e;
	}
}

void index_messages(struct check *c)
{
	collect(c);
	FOR_EACH_MESSAGE(c, m)
	release(c, m);
	FOR_EACH_MESSAGE(c, m)
	if (is_send_side(m))
		find_source(c, m);
	match_receives(c);
}

static struct writer *writer_add(struct check *c, uint8_t side, const struct message *message,
				 const struct message *request)
{
	/* If the array is full, overwrite the last element, because the caller always fills in a
	 * writer. */
	struct writer *w = &c->writers[min_of(c->writer_count, WRITERS - 1u)];

	c->writer_count = w - c->writers + 1;
	*w = (struct writer){
		.side = side, .message = message, .request = request, .start = request->posted
	};
	return w;
}

static void use_own_pieces(struct writer *w, const struct message *request)
{
	memcpy(w->piece, request->step->piece, sizeof(w->piece));
	w->pieces = request->step->pieces;
	w->finish = request->released;
}

/* A message of the queue of @m was lost, and an unreliable connection may have left a part of it in
 * the receive of a later message. */
static bool left_a_part(const struct check *c, const struct message *m)
{
	const struct step *qp = qp_step(c, m->step->side, m->step->object);

	return qp && HAS(qp, UC) &&
	       ANY(FOR_EACH_MESSAGE(c, o), takes_receive(o) && same_queue(o, m) && !o->partner_wc);
}

static void add_receive(struct check *c, const struct message *r)
{
	const struct message *m = r->partner;
	struct writer *w = writer_add(c, r->step->side, m, r);

	use_own_pieces(w, r);
	w->wild = !m || r->accepted != 1 || !m->source_known || left_a_part(c, m);
	if (!m) {
		w->length = step_length(r->step);
		return;
	}
	w->length = m->step->operation == OP_SEND ? step_length(m->step) : 0;
	w->skip = HAS(qp_step(c, m->step->side, m->step->object), UD) ? 40 : 0;
	w->success[0] = r->partner_wc;
	if (before(c, r->posted, m->posted))
		w->start = m->posted;
}

/* Events that end remote access to a region or a window of @side. */
static void finish_by_memory(const struct check *c, struct writer *w, const struct step *s)
{
	uint8_t side = w->side;

	finish_by_dereg(c, &w->finish, side, s->remote_window ? 'w' : 'r', s->remote, w->start);
	if (s->remote_window) {
		FOR_EACH_MESSAGE(c, m)
		if (m->step->side == side && m->step->operation == OP_INV &&
		    m->step->mw == s->remote && m->successes)
			finish_add(&w->finish, CAUSE_INVALIDATE, m->first);
		return;
	}
	FOR_EACH_ON(c, e, VERB_REREG, side, s->remote)
	if (!HAS(step_of(c, e), REMOTE_WRITE))
		finish_add(&w->finish, CAUSE_REREG, e);
}

/* The memory of a window is that of its bind. */
static const struct piece *window_place(const struct check *c, uint8_t side, uint8_t window)
{
	FOR_EACH_MESSAGE(c, m)
	if (m->step->side == side && m->step->operation == OP_BIND && m->step->mw == window &&
	    m->step->pieces)
		return m->step->piece;
	return NULL;
}

static const struct event *seen_by_receive(const struct check *c, const struct message *m)
{
	if (!qp_reliable(c, m->step->side, m->step->object))
		return NULL;
	FOR_EACH_MESSAGE(c, later)
	if (takes_receive(later) && same_queue(later, m) && later->order > m->order &&
	    later->partner_wc)
		return later->partner_wc;
	return NULL;
}

static void add_write(struct check *c, const struct message *m)
{
	const struct step *s = m->step;
	struct writer *w = writer_add(c, !s->side, m, m);
	const struct piece region = { .region = s->remote };
	const struct piece *place =
		s->remote_window ? window_place(c, !s->side, s->remote) : &region;

	w->wild = !place || !m->source_known;
	if (!place)
		return;
	w->length = step_length(s);
	w->piece[0] = (struct piece){ place->region, place->offset + s->remote_offset, w->length };
	w->pieces = 1;
	w->refused = message_denied(c, m) > DENIED_MAYBE;
	if (qp_confirms(c, s->side, s->object) && m->successes && m->successes == m->completions)
		w->success[0] = m->last;
	w->success[1] = seen_by_receive(c, m);
	if (qp_confirms(c, s->side, s->object) && m->successes && m->completions >= m->accepted &&
	    !m->failed)
		finish_add(&w->finish, CAUSE_COMPLETION, m->last);
	finish_by_qp(c, &w->finish, w->side, s->object, true);
	FOR_EACH_ON(c, e, VERB_ACCESS, w->side, s->object)
	if (!HAS(step_of(c, e), REMOTE_WRITE))
		finish_add(&w->finish, CAUSE_ACCESS, e);
	finish_by_memory(c, w, s);
}

/* Find the fill whose bytes a read fetches, if that memory was not filled again. */
static void read_source(struct check *c, struct message *m)
{
	uint32_t length = step_length(m->step), count = 0;
	const struct piece read = { m->step->remote, m->step->remote_offset, length };

	m->source_known = false;
	m->sources = 0;
	FOR_EACH_FILL(c, e, s, !m->step->side)
	{
		if (m->step->remote_window || s->pieces != 1 || !pieces_meet(&s->piece[0], &read))
			continue;
		if (++count > 1 || !before(c, e, m->posted) ||
		    s->piece[0].offset != m->step->remote_offset || s->piece[0].length < length)
			return;
		m->source[0] = (struct tag){ c->trial->program->number, s->id, s->generation };
	}
	m->sources = count;
	m->source_known = count == 1;
}

static void add_read(struct check *c, struct message *m)
{
	struct writer *w = writer_add(c, m->step->side, m, m);

	read_source(c, m);
	use_own_pieces(w, m);
	w->length = step_length(m->step);
	w->wild = !m->source_known || m->step->operation != OP_READ;
	w->refused = message_denied(c, m) > DENIED_MAYBE;
	if (m->successes && m->successes == m->completions)
		w->success[0] = m->last;
}

void index_writers(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	if (m->accepted) {
		if (!is_send_side(m))
			add_receive(c, m);
		else if (m->step->operation == OP_WRITE)
			add_write(c, m);
		else if (m->step->operation >= OP_READ && m->step->operation <= OP_CAS)
			add_read(c, m);
	}
	/* A write to the memory that a read fetches makes the bytes of the read uncertain. */
	for (struct writer *r = c->writers; r < c->writers + c->writer_count; r++) {
		const struct step *s = r->request->step;
		const struct piece read = { s->remote, s->remote_offset, r->length };

		FOR_EACH_WRITER(c, w)
		r->wild |= s->operation == OP_READ && w->side != r->side &&
			   pieces_overlap(PIECES(w), &read, 1);
	}
}
