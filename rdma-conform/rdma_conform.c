/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Does a device keep the rules of RDMA? Programs from a seed, and a table of rules that judges what
 * happened. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/generate.h"
#include "rdma-conform/report.h"
#include "rdma-conform/shrink.h"
#include "util/util.h"
#include "util/version.h"

enum {
	EXIT_KEPT = 0,
	EXIT_BROKEN = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DEVICE = 3,
};

#define SECOND 1000000000ll

static const char usage_text[] =
	"Usage: rdma-conform [options] [PEER]\n"
	"       rdma-conform --serve [options]\n"
	"\n"
	"Makes up programs from a seed, runs them on an RDMA device with two processes, and reports each\n"
	"rule that the device breaks, with the shortest program that shows it.\n"
	"\n"
	"Options:\n"
	"  -d, --device=DEVICE   the device; else the first\n"
	"  -g, --gid=INDEX       the index of the GID; else a RoCEv2 one of IPv4\n"
	"  -i, --port=N          the port of the device (1)\n"
	"  -s, --seed=N          the first seed (1)\n"
	"  -n, --programs=N      how many programs (1000)\n"
	"  -t, --time=SECONDS    end after this time\n"
	"  -r, --rules=LIST      only these rules, by number or name, separated by commas\n"
	"  -k, --known=FILE      known deviations: they are reported and no failure\n"
	"  -R, --replay=FILE     run the program of FILE instead, --programs times\n"
	"  -p, --print           print the program of --seed, run nothing\n"
	"  -l, --list            print the rules\n"
	"  -1, --one-process     both sides are threads of one process\n"
	"  -u, --user=UID        the second process is of this user\n"
	"  -S, --serve           be the second host for controllers that name this one as PEER\n"
	"  -P, --tcp-port=PORT   where (18514)\n"
	"  -w, --patience=S      how long a completion may take (20)\n"
	"  -e, --events          print what happened in each program\n"
	"  -f, --first           end with the first finding\n"
	"      --no-shrink       do not look for the shortest program\n"
	"  -j, --json            the report as JSON\n"
	"  -T, --tap             the report as TAP\n"
	"  -q, --quiet           no progress\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

struct options {
	struct world_options world;
	uint64_t seed, programs;
	int64_t time;
	const char *replay, *rules;
	enum format format;
	bool print, list, events, serve, no_shrink, first, quiet;
};

static int usage_error(const char *what)
{
	if (what)
		fprintf(stderr, "rdma-conform: %s\n", what);
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

static bool rule_named(const struct rule *rule, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", rule->number);
	return !strcmp(name, number) || !strcmp(name, rule->name);
}

/* Mark the rules of @list, which is cut into pieces. */
static const char *rules_choose(struct report *report, char *list)
{
	char *name;

	for (unsigned int i = 0; rule_at(i); i++)
		report->wanted[i] = !list;
	while (list && (name = strsep(&list, ","))) {
		bool found = false;

		for (unsigned int i = 0; rule_at(i); i++)
			if (rule_named(rule_at(i), name))
				report->wanted[i] = found = true;
		if (!found)
			return "--rules: there is no such rule; see --list";
	}
	return NULL;
}

static void progress(const struct options *o, const struct report *r, int64_t *last)
{
	if (o->quiet || now() < *last + 10 * SECOND)
		return;
	*last = now();
	fprintf(stderr, "rdma-conform: %" PRIu64 " programs, %u rules broken\n", r->programs,
		r->finding_count);
}

/* Make the finding as short as it gets, and keep program and events of a run that shows it. */
static void finding_shorten(const struct options *o, struct world *world, struct finding *f,
			    const struct program *program)
{
	struct program *shortest = malloc(sizeof(*shortest));
	struct check *check = malloc(sizeof(*check));
	struct trial trial = {};

	if (!shortest || !check)
		abort();
	*shortest = *program;
	if (!o->quiet)
		fprintf(stderr, "rdma-conform: seed %" PRIu64 " breaks rule %u, %s: %s\n", f->seed,
			f->rule->number, f->rule->name, f->text);
	if (!o->no_shrink && !*f->known)
		f->percent = shrink(world, shortest, f->rule, 40 * SECOND);
	f->steps = shortest->count;
	f->program = text_of_program(shortest);
	if (!o->no_shrink && !*f->known && breaks(world, shortest, f->rule, 100, check, &trial))
		f->events = text_of_events(&trial);
	free(shortest);
	free(check);
}

static void note_findings(const struct options *o, struct world *world, struct report *report,
			  const struct program *program, const struct check *check)
{
	/* Shrinking runs other programs, and their check would replace this one. */
	for (unsigned int i = 0; i < check->broken_count; i++) {
		bool new;
		struct finding *f = report_finding(report, check->broken[i].rule, &new);

		f->times++;
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

static void print_events(const struct trial *trial)
{
	char *text = text_of_events(trial);

	program_print(stdout, trial->program);
	fputs(text ?: "", stdout);
	free(text);
}

static int run(const struct options *o, struct report *report)
{
	static struct program program;
	static struct check check;
	static struct world world;
	struct trial trial;
	int64_t start = now(), last = start;

	if (world_start(&world, &o->world) < 0)
		return EXIT_NO_DEVICE;
	offer_least(&world, &report->offer);
	if (o->replay && replay_read(o->replay, &program) < 0)
		return EXIT_USAGE;
	for (uint64_t i = 0; i < o->programs && (!o->time || now() < start + o->time); i++) {
		if (!o->replay)
			generate(o->seed + i, &report->offer, &program);
		if (world_run(&world, &program, &trial) < 0)
			return EXIT_NO_DEVICE;
		if (o->events)
			print_events(&trial);
		check_trial(&check, &trial, report->wanted, report->exercised);
		report->programs++;
		note_findings(o, &world, report, &program, &check);
		progress(o, report, &last);
		if (o->first && report_failures(report))
			break;
	}
	world_stop(&world);
	report->seconds = (double)(now() - start) / SECOND;
	report_print(report);
	return report_failures(report) ? EXIT_BROKEN : EXIT_KEPT;
}

static const char *parse(struct options *o, int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "gid", required_argument, NULL, 'g' },
		{ "port", required_argument, NULL, 'i' },
		{ "seed", required_argument, NULL, 's' },
		{ "programs", required_argument, NULL, 'n' },
		{ "time", required_argument, NULL, 't' },
		{ "rules", required_argument, NULL, 'r' },
		{ "known", required_argument, NULL, 'k' },
		{ "replay", required_argument, NULL, 'R' },
		{ "print", no_argument, NULL, 'p' },
		{ "list", no_argument, NULL, 'l' },
		{ "one-process", no_argument, NULL, '1' },
		{ "user", required_argument, NULL, 'u' },
		{ "serve", no_argument, NULL, 'S' },
		{ "tcp-port", required_argument, NULL, 'P' },
		{ "patience", required_argument, NULL, 'w' },
		{ "events", no_argument, NULL, 'e' },
		{ "first", no_argument, NULL, 'f' },
		{ "no-shrink", no_argument, NULL, 'N' },
		{ "json", no_argument, NULL, 'j' },
		{ "tap", no_argument, NULL, 'T' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:g:i:s:n:t:r:k:R:pl1u:SP:w:efjTqhV", long_options,
				NULL)) != -1) {
		switch (c) {
		case 'd':
			o->world.agent.device = optarg;
			break;
		case 'g':
			o->world.agent.gid_index = atoi(optarg);
			break;
		case 'i':
			o->world.agent.port = atoi(optarg);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			o->programs = strtoull(optarg, NULL, 0);
			break;
		case 't':
			o->time = strtoull(optarg, NULL, 0) * SECOND;
			o->programs = UINT64_MAX;
			break;
		case 'r':
			o->rules = optarg;
			break;
		case 'k':
			if (known_read(optarg) < 0)
				return "--known: the file cannot be read";
			break;
		case 'R':
			o->replay = optarg;
			break;
		case 'p':
			o->print = true;
			break;
		case 'l':
			o->list = true;
			break;
		case '1':
			o->world.one_process = true;
			break;
		case 'u':
			o->world.user = atoi(optarg);
			break;
		case 'S':
			o->serve = true;
			break;
		case 'P':
			o->world.port = optarg;
			break;
		case 'w':
			o->world.agent.patience = atoi(optarg) * SECOND;
			break;
		case 'e':
			o->events = true;
			break;
		case 'f':
			o->first = true;
			break;
		case 'N':
			o->no_shrink = true;
			break;
		case 'j':
			o->format = FORMAT_JSON;
			break;
		case 'T':
			o->format = FORMAT_TAP;
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(EXIT_KEPT);
		case 'V':
			version_print();
			exit(EXIT_KEPT);
		default:
			return "";
		}
	}
	if (optind < argc)
		o->world.peer = argv[optind++];
	return optind < argc ? "there is one PEER only" : NULL;
}

static int print_program(const struct options *o, struct report *report)
{
	static struct program program;
	static struct world world;

	if (world_start(&world, &o->world) < 0)
		return EXIT_NO_DEVICE;
	offer_least(&world, &report->offer);
	generate(o->seed, &report->offer, &program);
	program_print(stdout, &program);
	world_stop(&world);
	return EXIT_KEPT;
}

int main(int argc, char **argv)
{
	static struct report report;
	struct options o = {
		.world = { .agent = { .gid_index = -1, .port = 1, .patience = 20 * SECOND },
			   .user = -1,
			   .port = "18514" },
		.seed = 1,
		.programs = 1000,
	};
	const char *wrong = parse(&o, argc, argv);

	report.exercised = calloc(rule_count(), sizeof(*report.exercised));
	report.wanted = calloc(rule_count(), sizeof(*report.wanted));
	if (!report.exercised || !report.wanted)
		return EXIT_NO_DEVICE;
	if (!wrong)
		wrong = rules_choose(&report, o.rules ? strdup(o.rules) : NULL);
	if (wrong)
		return usage_error(*wrong ? wrong : NULL);
	report.format = o.format;
	report.first_seed = o.seed;
	signal(SIGPIPE, SIG_IGN);
	if (o.list) {
		report_rules(stdout);
		return EXIT_KEPT;
	}
	if (o.serve)
		return world_serve(&o.world) < 0 ? EXIT_NO_DEVICE : EXIT_KEPT;
	return o.print ? print_program(&o, &report) : run(&o, &report);
}
