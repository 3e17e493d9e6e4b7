/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why RDMA does not work here, and what to do about it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "rdma-doctor/doctor.h"

enum {
	EXIT_NO_REPORT = 1,
	EXIT_USAGE = 2,
};

static const char usage_text[] =
	"Usage: rdma-doctor [options]\n"
	"\n"
	"Looks at everything between a program and RDMA, from the kernel's modules up, and says what\n"
	"is wrong first and how to mend it. Changes nothing. The exit code names the first rung that\n"
	"failed; 0: none did.\n"
	"\n"
	"Options:\n"
	"  -d, --device=DEVICE  only this one: name, network interface, PCI address or uverbsN\n"
	"  -p, --pid=PID        limits of this process instead of the own\n"
	"  -r, --root=DIR       a copy of another machine's files below DIR, nothing of this one\n"
	"  -j, --json           the report as JSON\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n";

static int usage_error(const char *what)
{
	if (what)
		fprintf(stderr, "rdma-doctor: %s\n", what);
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

/* sysfs is found by the library's own variable, everything else by the prefix. */
static const char *root_set(struct doctor *d, const char *root)
{
	char sysfs[128];

	if (getauxval(AT_SECURE))
		return "--root is not for a privileged program";
	if (snprintf(sysfs, sizeof(sysfs), "%s/sys", root) >= sizeof(sysfs))
		return "--root: the path is too long";
	if (access(root, X_OK))
		return "--root: no such folder";
	setenv("SYSFS_PATH", sysfs, 1);
	paths_set_root(root);
	d->root = root;
	d->live = false;
	return NULL;
}

static const char *pid_set(struct doctor *d, const char *pid)
{
	if (!*pid || strlen(pid) > 10 || strspn(pid, "0123456789") != strlen(pid))
		return "--pid: not a process number";
	d->pid = pid;
	return NULL;
}

static bool pid_exists(const struct doctor *d)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%s", d->pid);
	return !access(path, F_OK);
}

static int examine(struct doctor *d, bool json)
{
	struct finding *findings = calloc(rung_count, sizeof(*findings));
	int first;

	if (!findings)
		return EXIT_NO_REPORT;
	/* Why a call of the library fails is part of the report; what else it could say is not. */
	setenv("VERBS_LOG_LEVEL", "1", 1);
	ladder_climb(d, findings);
	if (json)
		report_json(d, findings);
	else
		report_text(d, findings);
	first = ladder_first_failure(findings);
	free(findings);
	devices_drop(d);
	if (fflush(stdout) || ferror(stdout)) {
		perror("rdma-doctor: the report could not be written");
		return EXIT_NO_REPORT;
	}
	return first < 0 ? 0 : rungs[first].exit_code;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "pid", required_argument, NULL, 'p' },
		{ "root", required_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	static struct doctor doctor = { .root = "", .live = true, .pid = "self" };
	const char *wrong = NULL;
	bool json = false;
	int c;

	while (!wrong && (c = getopt_long(argc, argv, "d:p:r:jhV", long_options, NULL)) != -1) {
		switch (c) {
		case 'd':
			doctor.wanted = optarg;
			if (!device_name_usable(optarg))
				wrong = "--device: not the name of a device";
			break;
		case 'p':
			wrong = pid_set(&doctor, optarg);
			break;
		case 'r':
			wrong = root_set(&doctor, optarg);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			puts("rdma-doctor " RDMA_VERSION);
			return 0;
		default:
			return usage_error(NULL);
		}
	}
	if (wrong)
		return usage_error(wrong);
	if (optind < argc)
		return usage_error("there are no arguments, only options");
	if (doctor.live && !pid_exists(&doctor))
		return usage_error("--pid: there is no such process");
	return examine(&doctor, json);
}
