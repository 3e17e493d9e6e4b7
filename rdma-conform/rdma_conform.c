/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Test whether a device keeps the rules of RDMA, with programs from a seed and a table of rules
 * that judges the events. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/generate.h"
#include "rdma-conform/report.h"
#include "util/util.h"
#include "util/version.h"

enum {
	EXIT_KEPT = 0,
	EXIT_BROKEN = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DEVICE = 3,
	EXIT_UNPROVEN = 4, /* report_doubt() */
};

#define SECOND 1000000000ll

/* How the value of an option is read. */
enum kind {
	FLAG,
	TEXT,
	NUMBER,
	SPECIAL, /* parse_special() */
};

static struct options {
	struct world_options world;
	int64_t seed, programs, threads, time, patience; /* @time and @patience in seconds */
	const char *replay, *rules;
	bool print, list, events, serve, no_shrink, first, quiet, json, tap;
} options = {
	.world = { .agent = { .gid_index = -1, .port = 1 }, .user = -1, .port = "18514" },
	.seed = 1,
	.programs = 1000,
	.patience = 20,
};

#define AGENT options.world.agent
static const struct {
	const char *name, *argument;
	char letter; /* the short option, or 1 and more if there is none */
	enum kind kind;
	void *to;
	const char *help;
} option_rows[] = {
	{ "device", "DEVICE", 'd', TEXT, &AGENT.device, "the device; else the first" },
	{ "gid", "INDEX", 'g', NUMBER, &AGENT.gid_index, "the GID; else RoCEv2 of IPv4" },
	{ "port", "N", 'i', NUMBER, &AGENT.port, "the port of the device (1)" },
	{ "seed", "N", 's', NUMBER, &options.seed, "the first seed (1)" },
	{ "programs", "N", 'n', NUMBER, &options.programs, "how many programs (1000)" },
	{ "time", "SECONDS", 't', NUMBER, &options.time, "end after this time" },
	{ "threads", "N", 'm', NUMBER, &options.threads, "threads of each side: 1 to 4" },
	{ "rules", "LIST", 'r', TEXT, &options.rules, "only these rules, such as 1,lives" },
	{ "known", "FILE", 'k', SPECIAL, NULL, "deviations that are no failures" },
	{ "replay", "FILE", 'R', TEXT, &options.replay, "run the program of FILE instead" },
	{ "print", NULL, 'p', FLAG, &options.print, "print the program of --seed, run nothing" },
	{ "list", NULL, 'l', FLAG, &options.list, "print the rules" },
	{ "one-process", NULL, '1', FLAG, &options.world.one_process, "the sides are threads" },
	{ "user", "UID", 'u', NUMBER, &options.world.user, "the second process is of this user" },
	{ "serve", NULL, 'S', FLAG, &options.serve, "be the PEER of other hosts" },
	{ "tcp-port", "PORT", 'P', TEXT, &options.world.port, "where (18514)" },
	{ "patience", "S", 'w', NUMBER, &options.patience, "how long a completion may take (20)" },
	{ "events", NULL, 'e', FLAG, &options.events, "print what happened in each program" },
	{ "first", NULL, 'f', FLAG, &options.first, "end with the first finding" },
	{ "no-shrink", NULL, 1, FLAG, &options.no_shrink, "do not look for the shortest program" },
	{ "json", NULL, 'j', FLAG, &options.json, "the report as JSON" },
	{ "tap", NULL, 'T', FLAG, &options.tap, "the report as TAP" },
	{ "quiet", NULL, 'q', FLAG, &options.quiet, "no progress" },
	{ "help", NULL, 'h', SPECIAL, NULL, "this text" },
	{ "version", NULL, 'V', SPECIAL, NULL, "the version" },
};
#define OPTIONS ARRAY_SIZE(option_rows)

static void usage_print(FILE *to)
{
	fputs("Usage: rdma-conform [options] [PEER]\n"
	      "       rdma-conform --serve [options]\n"
	      "\n"
	      "Makes up programs from a seed, runs them on an RDMA device with two processes, and reports each\n"
	      "rule that the device breaks, with the shortest program that shows it.\n"
	      "\n"
	      "Options:\n",
	      to);
	for (unsigned int i = 0; i < OPTIONS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s%s%s", option_rows[i].name,
			 option_rows[i].argument ? "=" : "", option_rows[i].argument ?: "");
		fprintf(to, option_rows[i].letter > 1 ? "  -%c, --%-18s%s\n" : "  %c   --%-18s%s\n",
			option_rows[i].letter > 1 ? option_rows[i].letter : ' ', name,
			option_rows[i].help);
	}
}

/* Mark the rules of @list, or all rules if @list is NULL. */
static const char *rules_choose(struct report *report, const char *list)
{
	char *copy = list ? strdup(list) : NULL, *rest = copy, *name;
	bool known = true;

	for (unsigned int i = 0; rule_at(i); i++)
		report->wanted[i] = !list;
	while (known && (name = strsep(&rest, ","))) {
		known = false;
		for (unsigned int i = 0; rule_at(i); i++)
			if (atoi(name) == (int)rule_at(i)->number ||
			    !strcmp(name, rule_at(i)->name))
				report->wanted[i] = known = true;
	}
	free(copy);
	return known ? NULL : "--rules: there is no such rule; see --list";
}

static void progress(const struct options *o, const struct report *r, int64_t *last)
{
	if (o->quiet || now() < *last + 10 * SECOND)
		return;
	*last = now();
	fprintf(stderr, "rdma-conform: %" PRIu64 " programs, %u rules broken\n", r->programs,
		r->finding_count);
}

/* Shorten the program of the finding, and keep it with the events of a run that shows the fault. */
static void finding_shorten(const struct options *o, struct world *world, struct finding *f,
			    const struct program *program)
{
	struct program *shortest = need(malloc(sizeof(*shortest)));
	struct check *check = need(malloc(sizeof(*check)));
	struct trial trial = {};

	*shortest = *program;
	if (!o->quiet)
		fprintf(stderr, "rdma-conform: seed %" PRIu64 " breaks rule %u, %s: %s\n", f->seed,
			f->rule->number, f->rule->name, f->text);
	if (!o->no_shrink && !*f->known)
		f->percent = shrink(world, shortest, f->rule, 40 * SECOND);
	f->steps = shortest->count;
	f->program = text_of(shortest, NULL);
	if (!o->no_shrink && !*f->known && breaks(world, shortest, f->rule, 100, check, &trial))
		f->events = text_of(NULL, &trial);
	free(shortest);
	free(check);
}

static void note_findings(const struct options *o, struct world *world, struct report *report,
			  const struct program *program, const struct check *check)
{
	for (unsigned int i = 0; i < check->broken_count; i++) {
		bool new;
		struct finding *f = report_finding(report, check->broken[i].rule, program, &new);

		f->times += f->last != report->programs;
		f->last = report->programs;
		if (!new)
			continue;
		f->seed = program->seed;
		snprintf(f->text, sizeof(f->text), "%s", check->broken[i].text);
		finding_shorten(o, world, f, program);
	}
}

static int replay_read(const char *path, struct program *ret_program)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	const char *wrong;

	if (!file || getdelim(&text, &room, '\0', file) < 0) {
		fprintf(stderr, "rdma-conform: %s: %s\n", path, strerror(errno));
		return -errno;
	}
	fclose(file);
	wrong = program_parse(text, ret_program);
	free(text);
	if (wrong)
		fprintf(stderr, "rdma-conform: %s: %s\n", path, wrong);
	return wrong ? -EINVAL : 0;
}

static void offer_least(const struct world *world, struct offer *ret_offer)
{
	const uint32_t *a = &world->offer[0].max_qp_wr, *b = &world->offer[1].max_qp_wr;
	uint32_t *least = &ret_offer->max_qp_wr;

	*ret_offer = world->offer[0];
	for (unsigned int i = 0;
	     i < (sizeof(*ret_offer) - offsetof(struct offer, max_qp_wr)) / sizeof(*a); i++)
		least[i] = min_of(a[i], b[i]);
}

static int run(const struct options *o, struct report *report)
{
	static struct program program;
	static struct check check;
	static struct world world;
	struct trial trial;
	int64_t start = now(), last = start;
	int r = 0;

	if (world_start(&world, &o->world) < 0)
		return EXIT_NO_DEVICE;
	offer_least(&world, &report->offer);
	if (o->replay && replay_read(o->replay, &program) < 0)
		return EXIT_USAGE;
	for (int64_t i = 0; i < o->programs && (!o->time || now() < start + o->time * SECOND);
	     i++) {
		if (!o->replay)
			generate(o->seed + i, o->threads, &report->offer, &program);
		if (o->print) {
			program_print(stdout, &program);
			world_stop(&world);
			return EXIT_KEPT;
		}
		r = world_run(&world, &program, &trial);
		if (r < 0)
			break;
		if (o->events)
			trial_print(stdout, &program, &trial);
		check_trial(&check, &trial, report->wanted, report->exercised);
		tally_add(&report->tally, &trial);
		report->programs++;
		note_findings(o, &world, report, &program, &check);
		progress(o, report, &last);
		if (o->first && report_failures(report))
			break;
	}
	if (r < 0)
		fprintf(stderr, "rdma-conform: the processes did not start again: %s\n",
			strerror(-r));
	world_stop(&world);
	report->seconds = (double)(now() - start) / SECOND;
	(o->json ? report_json : o->tap ? report_tap : report_text)(report);
	if (report_failures(report))
		return EXIT_BROKEN;
	if (r < 0)
		return EXIT_NO_DEVICE;
	return report_doubt(report) ? EXIT_UNPROVEN : EXIT_KEPT;
}

static const char *parse_special(int letter)
{
	if (letter == 'k')
		return known_read(optarg) < 0 ? "--known: the file cannot be read" : NULL;
	if (letter == 'h')
		usage_print(stdout);
	else
		version_print();
	exit(EXIT_KEPT);
}

static const char *parse_value(unsigned int row)
{
	void *to = option_rows[row].to;

	switch (option_rows[row].kind) {
	case FLAG:
		*(bool *)to = true;
		return NULL;
	case TEXT:
		*(const char **)to = optarg;
		return NULL;
	case NUMBER:
		*(int64_t *)to = strtoll(optarg, NULL, 0);
		return NULL;
	default:
		return parse_special(option_rows[row].letter);
	}
}

static const char *parse(int argc, char **argv)
{
	struct option long_options[OPTIONS + 1] = {};
	char letters[2 * OPTIONS + 1] = "";
	const char *wrong = NULL;
	int c;

	for (unsigned int i = 0; i < OPTIONS; i++) {
		const char text[] = { option_rows[i].letter, option_rows[i].argument ? ':' : '\0',
				      '\0' };

		long_options[i] = (struct option){ option_rows[i].name, !!option_rows[i].argument,
						   NULL, option_rows[i].letter };
		strcat(letters, text);
	}
	while (!wrong && (c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		unsigned int row = 0;

		while (row < OPTIONS && option_rows[row].letter != c)
			row++;
		wrong = row < OPTIONS ? parse_value(row) : "";
	}
	if (options.time)
		options.programs = INT64_MAX;
	AGENT.patience = options.patience * SECOND;
	if (optind < argc)
		options.world.peer = argv[optind++];
	if (options.threads < 0 || options.threads > THREADS)
		wrong = "--threads: at most 4";
	return wrong ?: optind < argc ? "there is one PEER only" : NULL;
}

/* The GNU library keeps freed memory up to twice the size of the largest record that was ever
 * freed. The processes of the agents inherit this memory. Return it. */
static void return_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
}

int main(int argc, char **argv)
{
	static struct report report;
	const char *wrong = parse(argc, argv);

	report.exercised = need(calloc(rule_count(), sizeof(*report.exercised)));
	report.wanted = need(calloc(rule_count(), sizeof(*report.wanted)));
	if (!wrong)
		wrong = rules_choose(&report, options.rules);
	if (wrong) {
		if (*wrong)
			fprintf(stderr, "rdma-conform: %s\n", wrong);
		usage_print(stderr);
		return EXIT_USAGE;
	}
	report.first_seed = options.seed;
	report.some = options.rules;
	report.replay = options.replay;
	signal(SIGPIPE, SIG_IGN);
	return_memory();
	if (options.list) {
		report_rules(stdout);
		return EXIT_KEPT;
	}
	if (options.serve)
		return world_serve(&options.world) < 0 ? EXIT_NO_DEVICE : EXIT_KEPT;
	return run(&options, &report);
}
