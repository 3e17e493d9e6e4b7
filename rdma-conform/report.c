/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libibverbs/tools/json.h"
#include "rdma-conform/generate.h"
#include "rdma-conform/report.h"
#include "util/util.h"

#define KNOWN 256

#define FOR_EACH_REFUSAL(t, verb, error)                              \
	for (unsigned int verb = 0; verb < VERB_COUNT; verb++)        \
		for (unsigned int error = 0; error < ERRNOS; error++) \
			if ((t)->refusals[verb][error])

static struct known {
	char device[64], reason[160];
	char word[16]; /* a word that the program must have, or empty */
	unsigned int rule;
} known[KNOWN];
static unsigned int known_count;

/* A line is "DEVICE: rule NUMBER: REASON" or "DEVICE: rule NUMBER if WORD: REASON". The device is a
 * pattern with the wildcards of the shell. */
static bool known_parse(const char *line, struct known *k)
{
	*k = (struct known){};
	return sscanf(line, "%63[^:]: rule %u if %15[a-z]: %159[^\n]", k->device, &k->rule, k->word,
		      k->reason) == 4 ||
	       (!*k->word &&
		sscanf(line, "%63[^:]: rule %u: %159[^\n]", k->device, &k->rule, k->reason) == 3);
}

int known_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[320];
	int r = file ? 0 : -errno;

	while (!r && known_count < KNOWN && fgets(line, sizeof(line), file)) {
		if (*line == '#' || *line == '\n')
			continue;
		if (known_parse(line, &known[known_count]))
			known_count++;
		else
			r = -EINVAL;
	}
	if (file)
		fclose(file);
	return r;
}

static bool has_word(const struct program *program, const char *word)
{
	char *text = text_of(program, NULL), *rest = text, *found;

	while ((found = strsep(&rest, " \n")) && strcmp(found, word))
		;
	free(text);
	return found;
}

/* Return the reason why @device is known to break @rule with @program, or an empty text. */
static const char *known_reason(const char *device, const struct rule *rule,
				const struct program *program)
{
	for (const struct known *k = known; k < known + known_count; k++)
		if (k->rule == rule->number && !fnmatch(k->device, device, 0) &&
		    (!*k->word || has_word(program, k->word)))
			return k->reason;
	return "";
}

/* Return the finding of @rule with this reason. Without @reason, prefer one that is not known. */
static const struct finding *finding_of(const struct report *r, const struct rule *rule,
					const char *reason)
{
	const struct finding *found = NULL;

	for (const struct finding *f = r->findings; f < r->findings + r->finding_count; f++)
		if (f->rule == rule && (reason ? !strcmp(f->known, reason) : !found || !*f->known))
			found = f;
	return found;
}

struct finding *report_finding(struct report *report, const struct rule *rule,
			       const struct program *program, bool *ret_new)
{
	const char *reason = known_reason(report->offer.device, rule, program);
	struct finding *f = (struct finding *)finding_of(report, rule, reason);

	*ret_new = !f;
	if (f)
		return f;
	f = &report->findings[report->finding_count++];
	f->rule = rule;
	snprintf(f->known, sizeof(f->known), "%s", reason);
	return f;
}

unsigned int report_failures(const struct report *report)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < report->finding_count; i++)
		count += !*report->findings[i].known;
	return count;
}

static void done_add(struct tally *t, const struct step *step, const struct event *e)
{
	if (step->verb == VERB_POST) {
		t->requests++;
		t->accepted += e->done.value[0] > 0;
	}
	/* A step "try" counts as taken even if the device refuses it, because both are valid
	 * results. */
	if (e->done.error && step->verb != VERB_TRY) {
		t->refused++;
		t->refusals[step->verb][min_of(e->done.error, ERRNOS - 1ul)]++;
	} else {
		t->taken++;
	}
}

/* Return whether a step calls the device. Steps that access memory or wait do not. */
static bool asks_device(const struct step *step)
{
	const uint64_t others = 1ull << VERB_FILL | 1ull << VERB_LOOK | 1ull << VERB_SET |
				1ull << VERB_PEEK | 1ull << VERB_WATCH | 1ull << VERB_PAUSE |
				1ull << VERB_FORK | 1ull << VERB_STOP | 1ull << VERB_KILL;

	return !(others >> step->verb & 1);
}

void tally_add(struct tally *tally, const struct trial *trial)
{
	for (unsigned int i = 0; i < trial->count; i++) {
		const struct event *e = &trial->events[i];
		const struct step *step = &trial->program->step[e->step];

		if (e->step >= trial->program->count || !asks_device(step))
			continue;
		if (e->kind == EVENT_DONE) {
			done_add(tally, step, e);
		} else if (e->kind == EVENT_SKIP && e->skip < SKIP_COUNT) {
			tally->skips[e->skip]++;
			tally->left_out++;
		}
	}
}

static const char *tally_doubt(const struct tally *t)
{
	if (t->taken <= t->left_out + t->refused)
		return "most steps were left out or refused";
	if (t->requests && !t->accepted)
		return "the device accepted no request";
	return NULL;
}

const char *report_doubt(const struct report *r)
{
	const char *doubt = tally_doubt(&r->tally);
	bool seen = r->replay;

	if (!r->programs)
		return "no program was run";
	/* Rules 1 to 3 and 49 check bytes that arrived. Other rules of memory hold even if no data
	 * moves. */
	for (unsigned int i = 0; rule_at(i); i++)
		seen |= r->exercised[i] &&
			(r->some || rule_at(i)->number <= 3 || rule_at(i)->number == 49);
	if (doubt || seen)
		return doubt;
	return r->some ? "no chosen rule was exercised" : "no rule about data was exercised";
}

void trial_print(FILE *to, const struct program *program, const struct trial *trial)
{
	if (program)
		program_print(to, program);
	for (unsigned int i = 0; trial && i < trial->count; i++)
		event_print(to, &trial->events[i], trial->program);
}

char *text_of(const struct program *program, const struct trial *trial)
{
	char *text = NULL;
	size_t length;
	FILE *to = need(open_memstream(&text, &length));

	trial_print(to, program, trial);
	fclose(to);
	return text;
}

void report_rules(FILE *to)
{
	for (unsigned int i = 0; rule_at(i); i++)
		fprintf(to, "%3u  %-22s %s  [%s]\n", rule_at(i)->number, rule_at(i)->name,
			rule_at(i)->sentence, rule_at(i)->source);
}

static void finding_print(const struct finding *f)
{
	printf("\nrule %u, %s, is broken%s%s: %s\n", f->rule->number, f->rule->name,
	       *f->known ? ", as known: " : "", f->known, f->rule->sentence);
	printf("  source: %s\n  seen: %s\n  programs: %" PRIu64 ", the first has seed %" PRIu64
	       "\n",
	       f->rule->source, f->text, f->times, f->seed);
	if (f->program)
		printf("  the shortest program (%u steps, broke the rule in %u of 100 runs):\n\n%s\nwhat happened:\n\n%s",
		       f->steps, f->percent, f->program, f->events ?: "");
}

static void tally_print(const struct tally *t, const char *prefix)
{
	printf("%ssteps: %" PRIu64 " taken, %" PRIu64 " left out, %" PRIu64 " refused\n", prefix,
	       t->taken, t->left_out, t->refused);
	for (unsigned int i = 0; i < SKIP_COUNT; i++)
		if (t->skips[i])
			printf("%sleft out, %s: %" PRIu64 " steps\n", prefix, skip_names[i],
			       t->skips[i]);
	FOR_EACH_REFUSAL(t, verb, error)
	printf("%srefused, %s: %u steps \"%s\"\n", prefix, strerror(error),
	       t->refusals[verb][error], verb_names[verb]);
}

void report_text(const struct report *r)
{
	unsigned int never = 0;

	for (unsigned int i = 0; i < r->finding_count; i++)
		finding_print(&r->findings[i]);
	printf("\n%s: %" PRIu64 " programs from seed %" PRIu64 " in %.1f s, %u rules broken\n",
	       r->offer.device, r->programs, r->first_seed, r->seconds, r->finding_count);
	for (unsigned int i = 0; rule_at(i); i++)
		if (r->wanted[i] && !r->exercised[i])
			printf("%s %u %s", never++ ? "," : "never exercised: rules",
			       rule_at(i)->number, rule_at(i)->name);
	printf("%s", never ? "\n" : "");
	tally_print(&r->tally, "");
	for (const struct left_out *l = generate_left_out(); *l->what; l++)
		if (l->times)
			printf("left out, because the device does not offer it: %s (%" PRIu64
			       " times)\n",
			       l->what, l->times);
	if (report_doubt(r))
		printf("this run proves nothing: %s\n", report_doubt(r));
}

static void json_count(const char *name, const char *text, uint64_t times)
{
	json_open(NULL, '{');
	json_string(name, text);
	json_number("times", times);
	json_close('}');
}

static void json_tally(const struct tally *t)
{
	json_open("steps", '{');
	json_number("taken", t->taken);
	json_open("left_out", '[');
	for (unsigned int i = 0; i < SKIP_COUNT; i++)
		if (t->skips[i])
			json_count("cause", skip_names[i], t->skips[i]);
	json_close(']');
	json_open("refused", '[');
	FOR_EACH_REFUSAL(t, verb, error)
	{
		json_open(NULL, '{');
		json_string("verb", verb_names[verb]);
		json_number("errno", error);
		json_number("times", t->refusals[verb][error]);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

void report_json(const struct report *r)
{
	json_open(NULL, '{');
	json_number("schema_version", 1);
	json_string("device", r->offer.device);
	json_number("first_seed", r->first_seed);
	json_number("programs", r->programs);
	json_bool("proves_nothing", report_doubt(r));
	if (report_doubt(r))
		json_string("why", report_doubt(r));
	json_tally(&r->tally);
	json_open("rules", '[');
	for (unsigned int i = 0; rule_at(i); i++) {
		json_open(NULL, '{');
		json_number("rule", rule_at(i)->number);
		json_string("name", rule_at(i)->name);
		json_bool("wanted", r->wanted[i]);
		json_number("exercised", r->exercised[i]);
		json_close('}');
	}
	json_close(']');
	json_open("findings", '[');
	for (unsigned int i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		json_open(NULL, '{');
		json_number("rule", f->rule->number);
		json_string("name", f->rule->name);
		json_string("seen", f->text);
		if (*f->known)
			json_string("known", f->known);
		json_number("seed", f->seed);
		json_number("programs", f->times);
		if (f->program) {
			json_string("program", f->program);
			json_string("events", f->events ?: "");
		}
		json_close('}');
	}
	json_close(']');
	json_open("left_out", '[');
	for (const struct left_out *l = generate_left_out(); *l->what; l++)
		if (l->times)
			json_count("what", l->what, l->times);
	json_close(']');
	json_close('}');
}

void report_tap(const struct report *r)
{
	const char *doubt = report_doubt(r);

	printf("TAP version 13\n1..%u\n", rule_count() + 1);
	for (unsigned int i = 0; rule_at(i); i++) {
		const struct finding *f = finding_of(r, rule_at(i), NULL);

		printf("%sok %u - rule %u %s", f ? "not " : "", i + 1, rule_at(i)->number,
		       rule_at(i)->name);
		if (f && *f->known)
			printf(" # TODO %s", f->known);
		else if (!f && !r->exercised[i])
			printf(" # SKIP never exercised");
		printf("\n");
		if (f)
			printf("# seed %" PRIu64 ": %s\n", f->seed, f->text);
	}
	printf("%sok %u - enough was exercised\n", doubt ? "not " : "", rule_count() + 1);
	if (doubt)
		printf("# this run proves nothing: %s\n", doubt);
	tally_print(&r->tally, "# ");
}
