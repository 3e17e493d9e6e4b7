/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scenes of the file "scenes", which explains their language. Objects and messages have numbers of
 * the scene, which are replaced by those of the program. */
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/scene.h"
#include "util/util.h"

struct writing {
	struct scene *scene;
	char line[256];
	unsigned int length; /* of the line */
	uint64_t variable[26];
	uint8_t ids[32];
};

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

/* Choose from "a|b|c" or from "4..9". */
static void write_choice(struct writing *w, const char *text, const char *end)
{
	unsigned int begin = w->length, count = 1, chosen;
	unsigned long long from, to;
	char name = text[1] == '=' ? *text : 0;

	text += name ? 2 : 0;
	for (const char *at = text; at < end; at++)
		count += *at == '|';
	for (chosen = pick(w->scene->maker, count); chosen; chosen--)
		text = strchr(text, '|') + 1;
	if (sscanf(text, "%llu..%llu", &from, &to) == 2)
		write_number(w, from + pick(w->scene->maker, to - from + 1));
	else
		write_text(w, text, strcspn(text, "|}"));
	if (name)
		w->variable[name - 'A'] = strtoull(w->line + begin, NULL, 10);
}

/* Copy a line of @text with its choices made. Return the rest of @text. */
static const char *write_line(struct writing *w, const char *text)
{
	w->length = 0;
	while (*text != '\n') {
		const char *end = text + 1;

		if (*text == '{') {
			end = strchr(text, '}') + 1;
			write_choice(w, text + 1, end - 1);
		} else if (*text == '$') {
			write_number(w, w->variable[*end++ - 'A']);
		} else {
			write_text(w, text, 1);
		}
		text = end;
	}
	return text + 1;
}

static uint8_t number_of(const struct writing *w, char kind, uint8_t number)
{
	if (number == NO_OBJECT)
		return number;
	return kind == 'q' ? w->scene->number + number * 8 : w->scene->number * 2 + number;
}

static void renumber(struct writing *w, struct step *step)
{
	uint8_t *const others[] = { &step->cq, &step->cq2, &step->srq,
				    &step->mw, &step->pd,  &step->remote };

	step->thread = w->scene->number;
	step->object = number_of(w, step->kind, step->object);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		*others[i] = number_of(w, 0, *others[i]);
	for (unsigned int i = 0; i < step->pieces; i++)
		step->piece[i].region = number_of(w, 0, step->piece[i].region);
	if (!step->id)
		return;
	if (!w->ids[step->id])
		w->ids[step->id] = new_id(w->scene->maker);
	step->id = w->ids[step->id];
}

static void add_line(struct writing *w, char *line)
{
	static const char *const phases[PHASES] = { "make",  "link", "connect", "act",
						    "after", "look", "end" };
	const struct offer *offer = w->scene->maker->offer;
	const char *name = strsep(&line, " "), *wrong;
	struct step step;
	enum phase phase = 0;

	while (strcmp(phases[phase], name))
		if (++phase == PHASES)
			abort();
	wrong = step_parse(line, &step);
	if (wrong) {
		fprintf(stderr, "rdma-conform: a scene has a step %s: %s\n", line, wrong);
		abort();
	}
	renumber(w, &step);
	if (!offer->wr_api)
		step.words &= ~WORD(WR_API);
	if (!offer->extended_cq)
		step.words &= ~WORD(EXTENDED);
	program_add(&w->scene->maker->phases[phase], step);
}

/* Return the line after the heading "@kind @name:", or NULL. */
static const char *lines_of(const char *kind, const char *name)
{
	char heading[80];
	const char *at;

	snprintf(heading, sizeof(heading), "\n%s %s:", kind, name);
	at = strstr(scenes_text, heading);
	return at ? strchr(at + 1, '\n') + 1 : NULL;
}

/* Add the step of a thread: "act a0 post" for "act a post", and twice for "act * post". */
static void write_step(struct writing *w)
{
	char *side = strchr(w->line, ' ') + 1, copy[sizeof(w->line) + 2];

	for (char name = 'a'; name <= 'b'; name++)
		if (*side == name || *side == '*') {
			snprintf(copy, sizeof(copy), "%.*s%c0%s", (int)(side - w->line), w->line,
				 name, side + 1);
			add_line(w, copy);
		}
}

static void write_lines(struct writing *w, const char *text)
{
	if (!text)
		abort(); /* there is no such block */
	while (*text == '\t') {
		bool optional = text[1] == '?';

		text = write_line(w, text + (optional ? 3 : 1));
		if (!strncmp(w->line, "use ", 4))
			write_lines(w, lines_of("block", w->line + 4));
		else if (!optional || chance(w->scene->maker, 50))
			write_step(w);
	}
}

static bool offered(const struct offer *o, const char *feature)
{
	const struct {
		const char *name;
		uint32_t offered;
	} features[] = { { "ud", o->ud },	    { "multicast", o->ud && o->multicast },
			 { "srq", o->srq },	    { "windows", o->windows },
			 { "atomics", o->atomics }, { "on_demand", o->on_demand } };

	for (unsigned int i = 0; i < ARRAY_SIZE(features); i++)
		if (!strcmp(features[i].name, feature))
			return features[i].offered;
	return !*feature;
}

bool scene_next(const char **at, struct written *ret_written)
{
	const char *scene = strstr(*at, "\nscene ");

	*ret_written = (struct written){};
	if (!scene || sscanf(scene, "\nscene %63[^:]: %u needs %15s", ret_written->name,
			     &ret_written->weight, ret_written->needs) < 2)
		return false;
	*at = scene + 1;
	return true;
}

bool scene_write(struct scene *s, const struct written *written)
{
	struct writing w = { .scene = s };

	if (!offered(s->maker->offer, written->needs))
		return false;
	write_lines(&w, lines_of("scene", written->name));
	return true;
}
