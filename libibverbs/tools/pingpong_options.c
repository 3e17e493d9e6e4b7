/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "pingpong.h"
#include "util/version.h"

/* A row for each option. pp_program.letters lists the options of a program. */
static const struct {
	char letter; /* name in pp_program.letters and on the command line ... */
	const char *name;
	const char *argument; /* NULL: none */
	const char *help;
	size_t offset;
	unsigned long min, max; /* range of a number */
	bool show_default;
	char spelled; /* ... letter on the command line if it is another one */
} rows[] = {
#define AT(member) offsetof(struct pp_options, member)
	{ 'p', "port", "port", "listen on/connect to port <port>", AT(tcp_port), 1, 65535, true },
	{ 'd', "ib-dev", "dev", "use IB device <dev> (default first device found)", AT(device) },
	{ 'i', "ib-port", "port", "use port <port> of IB device", AT(ib_port), 1, 255, true },
	{ 's', "size", "size", "size of message to exchange", AT(size), 1, INT_MAX / 2, true },
	{ 'm', "mtu", "size", "path MTU: 256, 512, 1024, 2048 or 4096 (default 1024)", AT(mtu) },
	{ 'q', "num-qp", "num", "number of QPs to use", AT(num_qp), 1, UINT_MAX, true },
	{ 'r', "rx-depth", "dep", "number of receives to post at a time", AT(rx_depth), 1, INT_MAX,
	  true },
	{ 'n', "iters", "iters", "number of exchanges", AT(iters), 1, INT_MAX, true },
	{ 'l', "sl", "sl", "service level value", AT(sl), 0, 15, true },
	{ 'e', "events", NULL, "sleep on CQ events (default poll)", AT(events) },
	{ 'g', "gid-idx", "index", "local port gid index (default on RoCE: the best one)",
	  AT(gid_index), 0, 255 },
	{ 'o', "odp", NULL, "use on demand paging", AT(odp) },
	{ 'O', "iodp", NULL, "use implicit on demand paging", AT(implicit_odp) },
	{ 'P', "prefetch", NULL, "prefetch an ODP MR", AT(prefetch) },
	{ 't', "ts", NULL, "get CQE with timestamp", AT(timestamps) },
	{ 'c', "chk", NULL, "validate received buffer, on both sides", AT(check) },
	{ 'j', "dm", NULL, "use device memory", AT(dm) },
	{ 'N', "new_send", NULL, "use new post send WR API", AT(new_send) },
	{ 'U', "allow-cc-unprotected", NULL,
	  "use memory that a confidential guest shares with its host", AT(unprotected) },
	{ 'C', "clients", "n", "number of clients (on server only)", AT(num_qp), 1, PP_QP_MAX - 1,
	  true, 'c' },
	{ 'T', "num_tests", "n", "number of tests per client", AT(iters), 1, INT_MAX, true, 'n' },
#undef AT
};

static char row_letter(int row)
{
	return rows[row].spelled ? rows[row].spelled : rows[row].letter;
}

static unsigned int *option_number(struct pp_options *options, int row)
{
	return (unsigned int *)((char *)options + rows[row].offset);
}

static void usage(FILE *to, const struct pp_program *program, const char *name)
{
	struct pp_options defaults = program->defaults;

	fprintf(to, "Usage:\n");
	fprintf(to, "  %s            start a server and wait for connection\n", name);
	fprintf(to, "  %s <host>     connect to server at <host>\n\nOptions:\n", name);
	for (int i = 0; i < ARRAY_SIZE(rows); i++) {
		char spelling[64];

		if (!strchr(program->letters, rows[i].letter))
			continue;
		snprintf(spelling, sizeof(spelling), "-%c, --%s%s%s%s", row_letter(i), rows[i].name,
			 rows[i].argument ? "=<" : "", rows[i].argument ? rows[i].argument : "",
			 rows[i].argument ? ">" : "");
		fprintf(to, "  %-24s %s", spelling, rows[i].help);
		if (rows[i].show_default)
			fprintf(to, " (default %u)", *option_number(&defaults, i));
		fprintf(to, "\n");
	}
	fprintf(to, "  %-24s %s\n", "-h, --help", "print this text");
	fprintf(to, "  %-24s %s\n", "    --version", "print the version");
}

static enum ibv_mtu mtu_parse(const char *text)
{
	static const char *const sizes[] = {
		[IBV_MTU_256] = "256",	 [IBV_MTU_512] = "512",	  [IBV_MTU_1024] = "1024",
		[IBV_MTU_2048] = "2048", [IBV_MTU_4096] = "4096",
	};

	for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (!strcmp(text, sizes[mtu]))
			return mtu;
	return 0;
}

static bool number_parse(int row, const char *text, unsigned int *ret_number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || strchr(text, '-') || value < rows[row].min ||
	    value > rows[row].max) {
		fprintf(stderr, "--%s=%s: a number from %lu to %lu is expected\n", rows[row].name,
			text, rows[row].min, rows[row].max);
		return false;
	}
	*ret_number = value;
	return true;
}

static bool option_set(struct pp_options *options, int row, const char *text)
{
	char *member = (char *)options + rows[row].offset;

	switch (rows[row].letter) {
	case 'd':
		options->device = text;
		return true;
	case 'm':
		options->mtu = mtu_parse(text);
		if (!options->mtu)
			fprintf(stderr, "--mtu=%s: 256, 512, 1024, 2048 or 4096 is expected\n",
				text);
		return options->mtu;
	default:
		if (rows[row].argument)
			return number_parse(row, text, (unsigned int *)member);
		*(bool *)member = true;
		return true;
	}
}

/* Fill in the two tables of getopt_long(). */
static void getopt_fill(const struct pp_program *program, char *letters, struct option *names)
{
	for (int i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strchr(program->letters, rows[i].letter))
			continue;
		*letters++ = row_letter(i);
		if (rows[i].argument)
			*letters++ = ':';
		*names++ = (struct option){ .name = rows[i].name,
					    .has_arg = rows[i].argument ? required_argument
									: no_argument,
					    .val = row_letter(i) };
	}
	*letters++ = 'h';
	*letters = 0;
	names[0] = (struct option){ .name = "help", .val = 'h' };
	names[1] = (struct option){ .name = "version", .val = 'V' };
	names[2] = (struct option){};
}

static int row_of(const struct pp_program *program, int letter)
{
	for (int i = 0; i < ARRAY_SIZE(rows); i++)
		if (row_letter(i) == letter && strchr(program->letters, rows[i].letter))
			return i;
	return -1;
}

/* Return why options contradict each other, or NULL. */
static const char *options_clash(const struct pp_program *program, const struct pp_options *options)
{
	bool odp = options->odp || options->implicit_odp;

	if (options->dm && odp)
		return "DM memory region can't be on demand";
	if (options->unprotected && (options->dm || odp))
		return "unprotected memory can't be device memory or on demand";
	if (options->prefetch && !odp)
		return "prefetch is valid only with on-demand memory region";
	if (!program->many_qps)
		return NULL;
	if (options->num_qp > options->rx_depth) {
		fprintf(stderr,
			"rx_depth %u is too small for %u QPs -- must have at least one receive per QP.\n",
			options->rx_depth, options->num_qp);
		return "give a larger -r or a smaller -q";
	}
	if (options->num_qp >= PP_QP_MAX) {
		fprintf(stderr, "num_qp %u must be less than %u\n", options->num_qp, PP_QP_MAX);
		return "give a smaller -q";
	}
	return NULL;
}

void pp_options_parse(const struct pp_program *program, int argc, char **argv,
		      struct pp_options *ret_options)
{
	struct option names[ARRAY_SIZE(rows) + 3];
	char letters[2 * ARRAY_SIZE(rows) + 2];
	const char *clash;
	int letter, row;

	*ret_options = program->defaults;
	getopt_fill(program, letters, names);
	while ((letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		if (letter == 'h') {
			usage(stdout, program, argv[0]);
			exit(0);
		}
		if (letter == 'V') {
			version_print();
			exit(0);
		}
		row = row_of(program, letter);
		if (row < 0 || !option_set(ret_options, row, optarg)) {
			usage(stderr, program, argv[0]);
			exit(1);
		}
	}
	if (optind == argc - 1)
		ret_options->host = argv[optind];
	else if (optind < argc) {
		usage(stderr, program, argv[0]);
		exit(1);
	}
	clash = options_clash(program, ret_options);
	if (clash) {
		fprintf(stderr, "%s\n", clash);
		exit(1);
	}
}
