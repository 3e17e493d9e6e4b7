/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judge the bytes that a step finds in memory. The memory must have the bytes with which its side
 * filled it last, and those of each later request that succeeded before the step. The bytes of a
 * request that may still be at work are allowed as well. Any other byte is a wound.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/check.h"
#include "util/util.h"

struct view {
	struct check *c;
	const struct event *look;
	uint32_t length;
	uint8_t *seen, *want;
	uint8_t *known;	   /* 0: anything may be here; else 1 + index of the writer that must have
			      written, or FILL */
	struct piece part; /* the piece that is judged, and its offset in the look */
	uint32_t base;
	bool taken[WRITERS]; /* writers that are ignored for this look */
};

#define FILL 0xff
#define SURE 16 /* bytes that do not occur by chance */

/* Walk over the runs of bytes that a step found in memory. Their events follow that of the step. */
#define FOR_EACH_RUN(v, e)                          \
	for (const struct event *e = (v)->look + 1; \
	     e < (v)->c->trial->events + (v)->c->trial->count && e->kind == EVENT_RUN; e++)

/* The part of a piece that overlaps the judged piece. The length is 0 if they do not overlap. */
struct overlap {
	uint32_t from, skip, length; /* offset in the look; offset in the piece */
};

static struct overlap overlap_of(const struct view *v, const struct piece *p, uint32_t length)
{
	uint32_t begin = max_of(p->offset, v->part.offset);
	uint32_t end = min_of(p->offset + length, v->part.offset + v->part.length);

	if (p->region != v->part.region || begin >= end)
		return (struct overlap){};
	return (struct overlap){ v->base + begin - v->part.offset, begin - p->offset, end - begin };
}

static void paint(struct view *v, uint32_t from, uint32_t length, struct tag tag, uint64_t offset,
		  uint8_t known)
{
	tag_fill(v->want + from, length, tag, offset);
	memset(v->known + from, known, length);
}

static void paint_fills(struct view *v)
{
	FOR_EACH_FILL(v->c, e, s, v->look->side)
	{
		struct tag tag = { v->c->trial->program->number, s->id, s->generation };
		uint64_t offset = 0;

		for (unsigned int i = 0; i < s->pieces; offset += s->piece[i].length, i++) {
			struct overlap o = overlap_of(v, &s->piece[i], s->piece[i].length);

			if (before(v->c, e, v->look))
				paint(v, o.from, o.length, tag, offset + o.skip, FILL);
			else if (!before(v->c, v->look, e))
				memset(v->known + o.from, 0, o.length);
		}
	}
}

/* The last fill before the look that touches the writer's piece. */
static const struct event *fill_under(const struct view *v, const struct piece *p)
{
	const struct event *last = NULL;

	FOR_EACH_FILL(v->c, e, s, v->look->side)
	if (before(v->c, e, v->look) && pieces_overlap(PIECES(s), p, 1))
		last = e;
	return last;
}

static bool succeeded_before(const struct view *v, const struct writer *w)
{
	return (w->success[0] && before(v->c, w->success[0], v->look)) ||
	       (w->success[1] && before(v->c, w->success[1], v->look));
}

static void forget(struct view *v, const struct writer *w)
{
	for (unsigned int i = 0; i < w->pieces; i++) {
		struct overlap o = overlap_of(v, &w->piece[i], w->piece[i].length);

		memset(v->known + o.from, 0, o.length);
	}
}

/* Two requests for the same memory have an order only if they use one queue pair. */
static bool has_rival(const struct view *v, const struct writer *w)
{
	FOR_EACH_WRITER(v->c, o)
	{
		if (o == w || o->side != w->side || o->refused || v->taken[o - v->c->writers])
			continue;
		if (pieces_overlap(PIECES(o), PIECES(w)) &&
		    !(same_queue(o->request, w->request) &&
		      o->request->step->operation == w->request->step->operation))
			return true;
	}
	return false;
}

/* Call @f for each part of the message that overlaps the part of the look. */
static void for_message(struct view *v, const struct writer *w,
			void (*f)(struct view *v, const struct writer *w, uint32_t from,
				  uint32_t length, int64_t offset))
{
	int64_t offset = -(int64_t)w->skip;
	int64_t end = w->length;

	for (unsigned int i = 0; i < w->pieces && offset < end; offset += w->piece[i].length, i++) {
		int64_t all = min_of((int64_t)w->piece[i].length, end - offset);
		struct overlap o = overlap_of(v, &w->piece[i], all);
		/* Any bytes may stand before the message. */
		uint32_t head = min_of((uint32_t)max_of(-offset - o.skip, (int64_t)0), o.length);

		memset(v->known + o.from, 0, head);
		f(v, w, o.from + head, o.length - head, offset + o.skip + head);
	}
}

static void paint_message(struct view *v, const struct writer *w, uint32_t from, uint32_t length,
			  int64_t offset)
{
	paint(v, from, length, w->message->source[0], offset, 1 + (w - v->c->writers) % (FILL - 1));
}

/* Accept each byte of the memory that has the value that @w writes there. */
static void allow_message(struct view *v, const struct writer *w, uint32_t from, uint32_t length,
			  int64_t offset)
{
	uint8_t *bytes = need(malloc(length + 1));

	for (unsigned int s = 0; s < w->message->sources; s++) {
		tag_fill(bytes, length, w->message->source[s], offset);
		for (uint32_t i = 0; i < length; i++)
			if (v->seen[from + i] == bytes[i])
				v->want[from + i] = bytes[i];
	}
	free(bytes);
}

static bool touches(const struct view *v, const struct writer *w, const struct event **ret_fill)
{
	for (unsigned int i = 0; i < w->pieces; i++)
		if (overlap_of(v, &w->piece[i], w->piece[i].length).length) {
			*ret_fill = fill_under(v, &w->piece[i]);
			return true;
		}
	return false;
}

enum say {
	SAY_NOTHING,
	SAY_MAYBE,
	SAY_CERTAIN,
};

/* Apply @w to the bytes of the look. */
static enum say say(struct view *v, const struct writer *w)
{
	const struct event *fill;
	const struct finish *f;

	if (w->side != v->look->side || !touches(v, w, &fill) || before(v->c, v->look, w->start))
		return SAY_NOTHING;
	if (w->refused) {
		v->c->chances[HARM_REFUSED][0]++;
		return SAY_NOTHING;
	}
	f = fill ? finish_before(v->c, &w->finish, fill) : NULL;
	if (f) {
		v->c->chances[HARM_LATE][f->cause]++;
		return SAY_NOTHING;
	}
	if (!succeeded_before(v, w) || (fill && !before(v->c, fill, w->start)) || has_rival(v, w))
		return SAY_MAYBE;
	return SAY_CERTAIN;
}

static void paint_writers(struct view *v)
{
	const struct writer *writers = v->c->writers;
	enum say said[WRITERS];

	for (unsigned int i = 0; i < v->c->writer_count; i++) {
		said[i] = say(v, &writers[i]);
		v->taken[i] = said[i] == SAY_NOTHING;
	}
	for (unsigned int i = 0; i < v->c->writer_count; i++)
		if (said[i] == SAY_CERTAIN && !writers[i].wild) {
			const struct finishes *f = &writers[i].message->released;

			v->c->chances[HARM_MISSING][0]++;
			for (unsigned int j = 0; j < f->count; j++)
				v->c->chances[HARM_SOURCE][f->list[j].cause]++;
			for_message(v, &writers[i], paint_message);
		}
	for (unsigned int i = 0; i < v->c->writer_count; i++)
		if (said[i] && writers[i].wild)
			forget(v, &writers[i]);
		else if (said[i] == SAY_MAYBE || (said[i] && writers[i].message->sources > 1))
			for_message(v, &writers[i], allow_message);
}

static const struct event *run_at(const struct view *v, uint32_t offset)
{
	FOR_EACH_RUN(v, e)
	if (offset - e->run.offset < e->run.length)
		return e;
	return v->look;
}

static const struct writer *writer_of_tag(const struct view *v, const struct event *run)
{
	FOR_EACH_WRITER(v->c, w)
	{
		const struct event *fill;

		if (w->side != v->look->side || !w->message || !touches(v, w, &fill))
			continue;
		for (unsigned int s = 0; s < w->message->sources; s++)
			if (w->message->source[s].id == run->run.id)
				return w;
	}
	return NULL;
}

/* The first event after which the memory of @m belonged to the program again. */
static enum cause first_release(const struct check *c, const struct message *m)
{
	const struct finish *first = m->released.list;

	for (unsigned int i = 1; i < m->released.count; i++)
		if (before(c, m->released.list[i].event, first->event))
			first = &m->released.list[i];
	return m->released.count ? first->cause : CAUSE_COMPLETION;
}

static void explain(struct view *v, struct wound *wound, uint8_t known)
{
	const struct event *run = run_at(v, wound->offset), *fill;
	const struct writer *expected = known == FILL ? NULL : &v->c->writers[known - 1];
	const struct writer *held =
		run->kind == EVENT_RUN && run->run.kind == RUN_TAG ? writer_of_tag(v, run) : NULL;
	const struct finish *f = NULL;

	wound->seen = *run;
	wound->writer = held ?: expected;
	if (held && touches(v, held, &fill) && fill)
		f = finish_before(v->c, &held->finish, fill);
	if (held && held->refused)
		wound->harm = HARM_REFUSED;
	else if (f)
		wound->harm = HARM_LATE, wound->cause = f->cause;
	else if (held && !message_holds(held->message, run->run.id, run->run.generation))
		wound->harm = HARM_SOURCE, wound->cause = first_release(v->c, held->message);
	else if (expected && held)
		wound->harm = HARM_ORDER;
	else if (expected)
		wound->harm = HARM_MISSING;
	else
		wound->harm = HARM_FOREIGN;
}

static void find_wounds(struct view *v)
{
	struct check *c = v->c;

	for (uint32_t i = 0; i < v->length && c->wound_count < BROKEN; i++) {
		struct wound *w = &c->wounds[c->wound_count];
		uint32_t begin = i;

		if (!v->known[i] || v->seen[i] == v->want[i])
			continue;
		*w = (struct wound){ .look = v->look, .offset = begin };
		/* Only some bytes of a word differ between tags. */
		for (; i < v->length && v->known[i] == v->known[begin]; i++)
			w->length += v->seen[i] != v->want[i];
		explain(v, w, v->known[begin]);
		c->wound_count++;
	}
}

/* Return the event by which the peer filled its buffer with the bytes of @run, or NULL. */
static const struct event *fill_of(const struct view *v, const struct event *run)
{
	FOR_EACH_FILL(v->c, e, s, !v->look->side)
	if (s->id == run->run.id && s->generation == run->run.generation)
		return e;
	return NULL;
}

/* Find bytes that were written to the peer's memory after its release. Only look in the memory of a
 * receive without a completion, which may otherwise have any contents. */
static void find_leaks(struct view *v)
{
	FOR_EACH_RUN(v, e)
	{
		const struct event *fill = e->run.kind == RUN_TAG ? fill_of(v, e) : NULL;
		const struct message *m = fill ? message_released(v->c, fill) : NULL;

		if (m && e->run.length >= SURE && !v->known[e->run.offset] &&
		    v->c->wound_count < BROKEN)
			v->c->wounds[v->c->wound_count++] =
				(struct wound){ .harm = HARM_SOURCE,
						.cause = first_release(v->c, m),
						.look = v->look,
						.offset = e->run.offset,
						.length = e->run.length,
						.seen = *e };
	}
}

/* Restore the bytes of the look from its runs. */
static void restore(struct view *v)
{
	FOR_EACH_RUN(v, e)
	{
		struct tag tag = { v->c->trial->program->number, e->run.id, e->run.generation };
		uint8_t *to = v->seen + e->run.offset;

		if (e->run.offset + e->run.length > v->length)
			return;
		if (e->run.kind == RUN_TAG) {
			tag_fill(to, e->run.length, tag, e->run.from);
		} else if (e->run.kind == RUN_RAW) {
			memcpy(to, e->run.raw, min_of(e->run.length, (uint32_t)RAW));
		}
	}
}

static void judge_look(struct check *c, const struct event *look)
{
	struct view v = { .c = c, .look = look, .length = look->done.value[0] };
	const struct step *step = step_of(c, look);

	v.seen = need(calloc(3, v.length + 1));
	v.want = v.seen + v.length;
	v.known = v.want + v.length;
	restore(&v);
	for (unsigned int i = 0; i < step->pieces; i++) {
		v.part = step->piece[i];
		paint_fills(&v);
		paint_writers(&v);
		v.base += v.part.length;
	}
	c->chances[HARM_FOREIGN][0]++;
	find_wounds(&v);
	find_leaks(&v);
	free(v.seen);
}

void judge_memory(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_LOOK)
	if (e->done.value[0] == step_length(step_of(c, e)))
		judge_look(c, e);
}
