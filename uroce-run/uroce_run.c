/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run a program that finds RDMA devices through files of the kernel. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "uroce-run/uroce_run.h"
#include "util/version.h"

static bool verbose;

static const char usage_text[] =
	"Usage: uroce-run [options] PROGRAM [ARGUMENT]...\n"
	"\n"
	"Runs PROGRAM with files in /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband\n"
	"for the devices that the kernel does not know; nobody else sees them.\n"
	"\n"
	"Options:\n"
	"  -w, --way=WAY  namespace: in a mount namespace; preload: by a library that stands in front of\n"
	"                 the others; without this option the first that can be had\n"
	"  -v, --verbose  say which way was taken and what is shown\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n";

enum way {
	WAY_ANY,
	WAY_NAMESPACE,
	WAY_PRELOAD,
};

static void message(const char *fmt, va_list args)
{
	fputs("uroce-run: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (verbose)
		message(fmt, args);
	va_end(args);
}

void complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	message(fmt, args);
	va_end(args);
}

/* Umask for PROGRAM. It is 0 while files are written, because they have the modes of sysfs. */
static mode_t program_umask;

int program_exec(char **argv)
{
	int e;

	umask(program_umask);
	execvp(argv[0], argv);
	e = errno;
	complain("%s: %s", argv[0], strerror(e));
	return e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static int namespace_run(bool user_allowed, char **argv)
{
	struct text why = {};
	int r = view_enter(user_allowed, &why);

	if (r < 0) {
		complain("%s", why.chars);
		return EXIT_LAUNCHER;
	}
	say("files are shown in a mount namespace%s",
	    r ? " of a user namespace: set-uid programs get no privilege there, and root cannot "
		"change to another user"
	      : "");
	if (files_write("") <= 0)
		return EXIT_LAUNCHER;
	return program_exec(argv);
}

/* Do not take a user namespace for root by itself, because services drop their privilege. */
static int run(enum way way, char **argv)
{
	bool user_allowed = way == WAY_NAMESPACE || geteuid();
	struct text why = {};

	if (files_are_shown()) {
		say("another uroce-run shows the files of all devices already");
		return program_exec(argv);
	}
	if (way != WAY_PRELOAD) {
		if (view_possible(user_allowed, &why))
			return namespace_run(user_allowed, argv);
		if (way == WAY_NAMESPACE) {
			complain("no namespace: %s", why.chars);
			return EXIT_LAUNCHER;
		}
		say("no namespace: %s", why.chars);
	}
	say("files are shown by a library in LD_PRELOAD: programs that are linked statically, set-uid or "
	    "make system calls by themselves do not see them");
	return preload_run(argv);
}

static int way_parse(const char *word, enum way *ret)
{
	if (!strcmp(word, "namespace"))
		*ret = WAY_NAMESPACE;
	else if (!strcmp(word, "preload"))
		*ret = WAY_PRELOAD;
	else
		return -EINVAL;
	return 0;
}

static int usage_error(const char *what)
{
	if (what)
		complain("%s", what);
	fputs(usage_text, stderr);
	return EXIT_LAUNCHER;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "way", required_argument, NULL, 'w' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	enum way way = WAY_ANY;
	int option;

	/* The first word that is not an option begins the command line of the program. */
	while ((option = getopt_long(argc, argv, "+w:vhV", names, NULL)) != -1) {
		switch (option) {
		case 'w':
			if (way_parse(optarg, &way))
				return usage_error("--way: 'namespace' or 'preload'");
			break;
		case 'v':
			verbose = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			version_print();
			return 0;
		default:
			return usage_error(NULL);
		}
	}
	if (optind == argc)
		return usage_error("which program?");
	program_umask = umask(022);
	return run(way, argv + optind);
}
