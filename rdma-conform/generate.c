/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generate a program out of scenes that run at the same time. A scene has its own objects and its
 * own thread on each side. It distributes its steps over phases, and a sync separates two phases.
 * The file "scenes" contains the scenes and explains their language. A scene numbers its objects
 * and messages from the start. This file replaces these numbers by unique numbers of the program.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/generate.h"
#include "util/util.h"

#define IDS 100 /* a scene has the messages #1 to #99 of each side */

extern const char scenes_text[];

/* A sync follows each phase, except for LINK. */
#define PHASE_LIST(X) \
	X(MAKE, make) \
	X(LINK, link) X(CONNECT, connect) X(ACT, act) X(AFTER, after) X(LOOK, look) X(END, end)
#define AS_PHASE(name, text) PHASE_##name,
enum phase {
	PHASE_LIST(AS_PHASE) PHASES
};

struct maker {
	uint64_t random;
	const struct offer *offer;
	struct program phases[PHASES];
	uint8_t next_id;
};

struct scene {
	char name[64];
	unsigned int weight;
	char needs[16]; /* the feature that the device must support, or empty */
	const char *lines;
};

struct writing {
	struct maker *maker;
	uint8_t thread;
	char line[512];
	unsigned int length; /* length of the line */
	unsigned int index;  /* index of the repetition */
	bool turned;	     /* sides a and b are exchanged */
	uint64_t variable[26];
	uint8_t ids[2][IDS]; /* first index: @turned */
};

/* Return a random number below @below. xorshift64* gives the same numbers on every machine. */
static uint64_t pick(struct maker *m, uint64_t below)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return (m->random * 0x2545f4914f6cdd1du >> 11) % below;
}

static void write_text(struct writing *w, const char *text, size_t length)
{
	if (w->length + length >= sizeof(w->line))
		abort();
	memcpy(w->line + w->length, text, length);
	w->length += length;
	w->line[w->length] = '\0';
}

static void write_number(struct writing *w, uint64_t number)
{
	char text[24];

	write_text(w, text, snprintf(text, sizeof(text), "%llu", (unsigned long long)number));
}

/* Append the value of a sum such as "$L+64" to the line. Return the rest of @text. */
static const char *write_sum(struct writing *w, const char *text)
{
	uint64_t sum = 0;

	do {
		if (*text == '+')
			text++;
		if (*text == '$') {
			sum += w->variable[text[1] - 'A'];
			text += 2;
		} else {
			sum += strtoull(text, (char **)&text, 10);
		}
	} while (*text == '+');
	write_number(w, sum);
	return text;
}

/* Append a choice from "a|b|c" or from "4..9" to the line. Return the text after the closing brace.
 */
static const char *write_choice(struct writing *w, const char *text)
{
	const char *end = strchr(text, '}');
	unsigned int begin = w->length, count = 1, chosen;
	unsigned long long from, to;
	char name = text[1] == '=' ? *text : 0;

	text += name ? 2 : 0;
	for (const char *at = text; at < end; at++)
		count += *at == '|';
	for (chosen = pick(w->maker, count); chosen; chosen--)
		text = strchr(text, '|') + 1;
	if (*text == '$')
		write_sum(w, text);
	else if (*text == '%')
		write_number(w, w->index);
	else if (sscanf(text, "%llu..%llu", &from, &to) == 2)
		write_number(w, from + pick(w->maker, to - from + 1));
	else
		write_text(w, text, strcspn(text, "|}"));
	if (name)
		w->variable[name - 'A'] = strtoull(w->line + begin, NULL, 10);
	return end + 1;
}

static void write_line(struct writing *w, const char *text)
{
	w->length = 0;
	while (*text != '\n') {
		if (*text == '{')
			text = write_choice(w, text + 1);
		else if (*text == '$')
			text = write_sum(w, text);
		else if (*text == '%')
			write_number(w, w->index), text++;
		else
			write_text(w, text++, 1);
	}
}

static uint8_t number_of(const struct writing *w, char kind, uint8_t number)
{
	if (number == NO_OBJECT)
		return number;
	return kind == 'q' ? w->thread + number * THREADS : w->thread * 2 + number;
}

static void renumber(struct writing *w, struct step *step)
{
	uint8_t *id = &w->ids[w->turned][step->id];

	step->thread = (w->thread + step->thread) % THREADS;
	step->object = number_of(w, step->kind, step->object);
	step->remote = number_of(w, 0, step->remote);
	for (unsigned int i = 0; i < OTHERS; i++)
		step->others[i] = number_of(w, 0, step->others[i]);
	for (unsigned int i = 0; i < step->pieces; i++)
		step->piece[i].region = number_of(w, 0, step->piece[i].region);
	if (step->id && !*id && w->maker->next_id < UINT8_MAX)
		*id = ++w->maker->next_id;
	step->id = step->id ? *id ?: UINT8_MAX : 0;
}

/* iWARP has no immediate data. Turn a write with immediate into an empty send, which takes its
 * receive. */
static void drop_immediate(struct step *step)
{
	if (step->operation == OP_WRITE && HAS(step, IMM)) {
		step->operation = OP_SEND;
		step->remote = NO_OBJECT;
		step->pieces = 0;
	}
	step->words &= ~WORD(IMM);
}

/* Remove from a step: features that the device does not support, inline data that is too long, and
 * empty pieces at the end. */
static void reduce(const struct offer *offer, struct step *step)
{
	unsigned int most = step->verb == VERB_RECV	 ? offer->recv_sge
			    : step->operation == OP_READ ? offer->read_sge
							 : offer->max_sge;

	if (offer->iwarp)
		drop_immediate(step);
	while (step->pieces > 1 && (step->pieces > most || !step->piece[step->pieces - 1].length))
		step->pieces--;
	if (!offer->wr_api)
		step->words &= ~WORD(WR_API);
	if (!offer->extended_cq)
		step->words &= ~WORD(EXTENDED);
	if (!offer->inline_bytes ||
	    step_length(step) > min_of(offer->inline_bytes, INLINE_BYTES + 0u))
		step->words &= ~WORD(INLINE);
	if (!offer->inline_asked && step->verb == VERB_QP)
		step->y = 0;
}

static void add_line(struct writing *w, char *line)
{
	static const char *const phases[PHASES] = { PHASE_LIST(AS_TEXT) };
	const char *name = strsep(&line, " "), *wrong;
	enum phase phase = 0;
	struct step step;

	while (strcmp(phases[phase], name))
		if (++phase == PHASES)
			abort();
	wrong = step_parse(line, &step);
	if (wrong || step.id >= IDS) {
		fprintf(stderr, "rdma-conform: a scene has a step %s: %s\n", line, wrong);
		abort();
	}
	renumber(w, &step);
	reduce(w->maker->offer, &step);
	program_add(&w->maker->phases[phase], step);
}

/* Add a step for the thread: "act a post" becomes "act a0 post", and "act a1 post" is a step of the
 * next thread. "act * post" becomes a step of each side. */
static void write_step(struct writing *w)
{
	char *side = strchr(w->line, ' ') + 1, copy[sizeof(w->line) + 2];

	for (char name = 'a'; name <= 'b'; name++)
		if (*side == name || *side == '*') {
			snprintf(copy, sizeof(copy), "%.*s%c%s%s", (int)(side - w->line), w->line,
				 w->turned ? 'a' + 'b' - name : name, side[1] == ' ' ? "0" : "",
				 side + 1);
			add_line(w, copy);
		}
}

static void write_lines(struct writing *w, const char *text);

/* Write the lines after the heading "block @name:". */
static void write_block(struct writing *w, const char *name, bool turn)
{
	char heading[80];

	snprintf(heading, sizeof(heading), "\nblock %s:", name);
	w->turned ^= turn;
	write_lines(w, strchr((char *)need(strstr(scenes_text, heading)) + 1, '\n') + 1);
	w->turned ^= turn;
}

/* Return how often to repeat the line: "? act" 0 or 1 times, "%8 act" 8 times, "%1..8 act" 1 to 8
 * times. */
static unsigned int repetitions(struct writing *w, const char **line)
{
	unsigned int from = 1, to = 1, count = 1;

	if (**line == '?')
		count = pick(w->maker, 2);
	else if (sscanf(*line, "%%%u..%u", &from, &to) == 2)
		count = from + pick(w->maker, to - from + 1);
	else if (sscanf(*line, "%%%u", &from) == 1)
		count = from;
	else
		return 1;
	*line = strchr(*line, ' ') + 1;
	return count;
}

static void write_lines(struct writing *w, const char *text)
{
	for (; *text == '\t'; text = strchr(text, '\n') + 1) {
		const char *line = text + 1;
		unsigned int index = w->index;
		bool repeated = *line == '%';
		unsigned int count = repetitions(w, &line);

		for (unsigned int i = 0; i < count; i++) {
			w->index = repeated ? i : index;
			write_line(w, line);
			if (!strncmp(w->line, "use ", 4))
				write_block(w, w->line + 4, false);
			else if (!strncmp(w->line, "turn ", 5))
				write_block(w, w->line + 5, true);
			else if (strncmp(w->line, "let ", 4))
				write_step(w);
		}
		w->index = index;
	}
}

static bool scene_offered(const struct scene *scene, const struct offer *o)
{
	const struct {
		const char *name;
		uint32_t offered;
	} features[] = { { "", o->rc },
			 { "uc", o->uc },
			 { "ud", o->ud },
			 { "multicast", o->ud && o->multicast },
			 { "srq", o->rc && o->srq },
			 { "windows", o->rc && o->windows },
			 { "atomics", o->rc && o->atomics },
			 { "on_demand", o->rc && o->on_demand } };

	for (unsigned int i = 0; i < ARRAY_SIZE(features); i++)
		if (!strcmp(features[i].name, scene->needs))
			return features[i].offered;
	abort(); /* the scene needs an unknown feature */
}

/* Read the next scene. *@at: NULL before the first scene. Return false after the last scene. */
static bool scene_next(const char **at, struct scene *ret_scene)
{
	const char *heading = strstr(*at ?: scenes_text, "\nscene ");

	*ret_scene = (struct scene){};
	if (!heading || sscanf(heading, "\nscene %63[^:]: %u needs %15s", ret_scene->name,
			       &ret_scene->weight, ret_scene->needs) < 2)
		return false;
	ret_scene->lines = strchr(heading + 1, '\n') + 1;
	*at = ret_scene->lines - 1;
	return true;
}

#define LEFT_OUT 64
static struct left_out left_out[LEFT_OUT];

const struct left_out *generate_left_out(void)
{
	return left_out;
}

static void leave_out(const char *what)
{
	struct left_out *l = left_out;

	while (*l->what && strcmp(l->what, what) && l < &left_out[LEFT_OUT - 2])
		l++;
	snprintf(l->what, sizeof(l->what), "%s", what);
	l->times++;
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

/* Add the steps of a scene for thread @thread of both sides. A device that supports no scene at all
 * gets empty programs. */
static void play(struct maker *m, uint8_t thread)
{
	struct writing w = { .maker = m, .thread = thread };

	for (unsigned int i = 0; i < 100; i++) {
		struct scene scene;

		choose_scene(m, &scene);
		if (scene_offered(&scene, m->offer)) {
			write_lines(&w, scene.lines);
			write_block(&w, "END", false);
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
