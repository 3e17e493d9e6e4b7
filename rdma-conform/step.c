/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/step.h"
#include "util/util.h"

const char *const verb_names[VERB_COUNT] = { VERBS(AS_TEXT) };
const char *const probe_names[PROBE_COUNT] = { PROBES(AS_TEXT) };
static const char *const operation_names[OP_COUNT] = { OPERATIONS(AS_TEXT) };
static const char *const word_names[WORD_COUNT] = { WORDS(AS_TEXT) };
static const char other_letters[] = "ccswp", number_letters[] = "nxy";

struct step step_make(uint8_t side, uint8_t thread, enum verb verb)
{
	return (struct step){
		.side = side,
		.thread = thread,
		.verb = verb,
		.operation = OP_COUNT,
		.probe = PROBE_COUNT,
		.object = NO_OBJECT,
		.others = { NO_OBJECT, NO_OBJECT, NO_OBJECT, NO_OBJECT, NO_OBJECT },
		.remote = NO_OBJECT,
	};
}

struct step *program_add(struct program *program, struct step step)
{
	/* The last place is kept so that a caller always has a step to fill. */
	if (program->count == STEPS)
		program->count--;
	program->step[program->count] = step;
	return &program->step[program->count++];
}

uint64_t step_length(const struct step *step)
{
	uint64_t length = 0;

	for (unsigned int i = 0; i < step->pieces; i++)
		length += step->piece[i].length;
	return length;
}

static void print_object(FILE *to, char letter, uint8_t number)
{
	if (number != NO_OBJECT)
		fprintf(to, " %c%u", letter, number);
}

static void step_print(FILE *to, const struct step *step)
{
	if (step->verb == VERB_SYNC) {
		fputs("sync\n", to);
		return;
	}
	fprintf(to, "%c%u %s", 'a' + step->side, step->thread, verb_names[step->verb]);
	print_object(to, step->kind, step->object);
	if (step->operation != OP_COUNT)
		fprintf(to, " %s", operation_names[step->operation]);
	if (step->probe != PROBE_COUNT)
		fprintf(to, " %s", probe_names[step->probe]);
	for (unsigned int i = 0; i < OTHERS; i++)
		print_object(to, other_letters[i], step->others[i]);
	if (step->id)
		fprintf(to, step->generation ? " #%u.%u" : " #%u", step->id, step->generation);
	for (unsigned int i = 0; i < step->pieces; i++)
		fprintf(to, "%cr%u+%u/%u", i ? ',' : ' ', step->piece[i].region,
			step->piece[i].offset, step->piece[i].length);
	if (step->remote != NO_OBJECT)
		fprintf(to, " @%c%u+%u", step->remote_window ? 'w' : 'r', step->remote,
			step->remote_offset);
	for (unsigned int i = 0; i < WORD_COUNT; i++)
		if (step->words >> i & 1)
			fprintf(to, " %s", word_names[i]);
	for (unsigned int i = 0; i < ARRAY_SIZE(step->numbers); i++)
		if (step->numbers[i])
			fprintf(to, " %c=%" PRIu64, number_letters[i], step->numbers[i]);
	fputc('\n', to);
}

void program_print(FILE *to, const struct program *program)
{
	fprintf(to, "# seed %" PRIu64 "\n", program->seed);
	for (unsigned int i = 0; i < program->count; i++)
		step_print(to, &program->step[i]);
}

static int find(const char *const *names, unsigned int count, const char *word)
{
	for (unsigned int i = 0; i < count; i++)
		if (names[i] && !strcmp(names[i], word))
			return i;
	return -1;
}

static bool parse_pieces(char *text, struct step *step)
{
	char *piece;

	while ((piece = strsep(&text, ","))) {
		unsigned int region, offset, length;
		char rest;

		if (step->pieces == SGES ||
		    sscanf(piece, "r%u+%u/%u%c", &region, &offset, &length, &rest) != 3 ||
		    region >= OBJECTS)
			return false;
		step->piece[step->pieces++] = (struct piece){ region, offset, length };
	}
	return true;
}

static bool parse_object(const char *text, struct step *step)
{
	unsigned int number;
	char letter, rest;

	if (sscanf(text, "%c%u%c", &letter, &number, &rest) != 2 || number >= OBJECTS ||
	    !strchr("cpqrsw", letter))
		return false;
	if (step->object == NO_OBJECT) {
		step->kind = letter;
		step->object = number;
		return true;
	}
	for (unsigned int i = 0; i < OTHERS; i++)
		if (other_letters[i] == letter && step->others[i] == NO_OBJECT) {
			step->others[i] = number;
			return true;
		}
	return false;
}

static bool parse_remote(const char *text, struct step *step)
{
	unsigned int number, offset;
	char letter, rest;

	if (sscanf(text, "@%c%u+%u%c", &letter, &number, &offset, &rest) != 3 ||
	    number >= OBJECTS || !strchr("rw", letter))
		return false;
	step->remote = number;
	step->remote_window = letter == 'w';
	step->remote_offset = offset;
	return true;
}

static bool parse_number(const char *text, struct step *step)
{
	char *end;

	step->numbers[strchr(number_letters, *text) - number_letters] = strtoull(text + 2, &end, 0);
	return !*end && text[2];
}

static bool parse_id(const char *text, struct step *step)
{
	unsigned int id, generation = 0;
	int n = sscanf(text, "#%u.%u", &id, &generation);

	step->id = id;
	step->generation = generation;
	return n >= 1 && id <= UINT8_MAX && generation < 16;
}

static bool parse_argument(char *text, struct step *step)
{
	int i;

	if (*text == '#')
		return parse_id(text, step);
	if (*text == '@')
		return parse_remote(text, step);
	if (strchr(number_letters, *text) && text[1] == '=')
		return parse_number(text, step);
	if (*text == 'r' && strchr(text, '/'))
		return parse_pieces(text, step);
	if ((i = find(operation_names, OP_COUNT, text)) >= 0)
		step->operation = i;
	else if ((i = find(word_names, WORD_COUNT, text)) >= 0)
		step->words |= 1ull << i;
	else if ((i = find(probe_names, PROBE_COUNT, text)) >= 0)
		step->probe = i;
	else
		return parse_object(text, step);
	return true;
}

const char *step_parse(char *line, struct step *ret_step)
{
	char *word = strsep(&line, " ");
	int verb;

	*ret_step = step_make(0, 0, VERB_SYNC);
	if (!strcmp(word, "sync"))
		return line ? "sync has no arguments" : NULL;
	if (word[0] < 'a' || word[0] > 'b' || word[1] < '0' || word[1] >= '0' + THREADS || word[2])
		return "the first word is neither sync nor a thread such as a0";
	ret_step->side = word[0] - 'a';
	ret_step->thread = word[1] - '0';
	word = strsep(&line, " ");
	verb = word ? find(verb_names, VERB_COUNT, word) : -1;
	if (verb < 0)
		return "there is no such verb";
	ret_step->verb = verb;
	while ((word = strsep(&line, " ")))
		if (*word && !parse_argument(word, ret_step))
			return "an argument is not understood";
	return NULL;
}

const char *program_parse(char *text, struct program *ret_program)
{
	static char wrong[128];
	unsigned int number = 0;
	char *line;

	*ret_program = (struct program){};
	while ((line = strsep(&text, "\n"))) {
		const char *why;
		struct step step;

		number++;
		if (sscanf(line, "# seed %" SCNu64, &ret_program->seed) == 1)
			ret_program->number = ret_program->seed;
		if (!*line || *line == '#')
			continue;
		why = ret_program->count == STEPS ? "too many steps" : step_parse(line, &step);
		if (why) {
			snprintf(wrong, sizeof(wrong), "line %u: %s", number, why);
			return wrong;
		}
		program_add(ret_program, step);
	}
	return NULL;
}
