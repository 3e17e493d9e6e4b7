/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Find out why RDMA does not work, and suggest remedies. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "rdma-doctor/child.h"
#include "rdma-doctor/ending.h"
#include "rdma-doctor/peer.h"
#include "util/version.h"

enum {
	EXIT_NO_REPORT = 1,
	EXIT_USAGE = 2,
	WATCH_SECONDS = 10, /* default time */
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
	"  -R, --require=N      fail unless N of the kernel's devices work\n"
	"  -R, --require=DEVICE...\n"
	"                       fail unless these work; separated by commas or spaces\n"
	"  -t, --transfer [DEVICE]\n"
	"                       send data through the first working device, or this one, and compare\n"
	"  -w, --watch [SECONDS]\n"
	"                       which counters move in this time, 10 seconds by default, and what that\n"
	"                       means\n"
	"  -P, --peer=HOST      send data to rdma-doctor --serve on that host and back\n"
	"  -S, --serve          answer rdma-doctor --peer of other hosts\n"
	"  -f, --speed          what makes working devices slow: PCIe, NUMA, interrupts, IOMMU, power\n"
	"  -s, --strict         a note is a failure\n"
	"  -a, --all            show what does not matter here, too\n"
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

/* Set the root. The library's own variable redirects sysfs, and the prefix redirects all else. */
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

static bool all_digits(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/*
 * Parse "8" or "mlx5_0,mlx5_1". @list is split in place. @separate: it is a word of its own, which
 * may be an option that follows --require without a value.
 */
static const char *required_add(struct doctor *d, char *list, bool separate)
{
	char *name;

	if (all_digits(list)) {
		if (d->required_number || d->required_count)
			return "--require: either one number or devices";
		if (strlen(list) > 4 || !atoi(list))
			return "--require: not a number of devices";
		d->required_number = atoi(list);
		return NULL;
	}
	if (d->required_number)
		return "--require: either one number or devices";
	while ((name = strsep(&list, ","))) {
		if (!device_name_usable(name) || all_digits(name + (*name == '-')) ||
		    (separate && *name == '-'))
			return "--require: neither a number nor the name of a device";
		if (d->required_count == ARRAY_SIZE(d->required))
			return "--require: too many devices";
		d->required[d->required_count++] = name;
	}
	return NULL;
}

/* @seconds: NULL: the default */
static const char *watch_set(struct doctor *d, const char *seconds)
{
	d->watch_seconds = WATCH_SECONDS;
	if (!seconds)
		return NULL;
	if (!all_digits(seconds) || strlen(seconds) > 5 || !atoi(seconds) || atoi(seconds) > 86400)
		return "--watch: not a number of seconds from 1 to 86400";
	d->watch_seconds = atoi(seconds);
	return NULL;
}

/* Take an argument that is not an option: what --transfer, --watch and --require permit. */
static const char *argument_take(struct doctor *d, char *argument)
{
	if (d->watch_seconds && all_digits(argument))
		return watch_set(d, argument);
	if (d->required_count)
		return required_add(d, argument, true);
	if (!d->transfer_wanted)
		return "there are no arguments, only options";
	if (d->wanted && strcmp(d->wanted, argument))
		return "one device is examined, and two are named";
	d->wanted = argument;
	return device_name_usable(argument) ? NULL : "--transfer: not the name of a device";
}

/* Return whether options ask for more than the server, which only --device concerns. */
static bool examines(const struct doctor *d)
{
	return d->peer_host || d->transfer_wanted || d->watch_seconds || d->speed_wanted ||
	       d->required_count || d->required_number || d->strict || d->all || !d->live ||
	       strcmp(d->pid, "self");
}

/* A name or an address of a host. */
static bool host_name_usable(const char *name)
{
	return *name && *name != '-' && strlen(name) < 256 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "-._:%") == strlen(name);
}

struct examination {
	struct doctor *doctor;
	unsigned int *place; /* current rung, shared with the parent */
	bool json;
};

/* SIGINT ends the watch, and not the process: clock_wait(). */
static void interrupt_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void examine(const void *arg, void *ret_code)
{
	const struct examination *e = arg;
	struct finding *findings = calloc(rung_count, sizeof(*findings));
	int first;

	*(int *)ret_code = EXIT_NO_REPORT;
	alarm(0);
	if (!findings)
		return;
	ladder_place = e->place;
	if (e->doctor->watch_seconds)
		interrupt_block();
	/* The report includes errors that the library logs, but not its other messages. If the
	 * library logged to a file, the report would lack the errors. */
	setenv("VERBS_LOG_LEVEL", "1", 1);
	unsetenv("VERBS_LOG_FILE");
	ladder_climb(e->doctor, findings);
	if (e->json)
		report_json(e->doctor, findings);
	else
		report_text(e->doctor, findings);
	first = ladder_first_failure(findings);
	free(findings);
	devices_drop(e->doctor);
	if (fflush(stdout) || ferror(stdout))
		perror("rdma-doctor: the report could not be written");
	else
		*(int *)ret_code = first < 0 ? 0 : rungs[first].exit_code;
}

/* Report the death of the checking process as the finding of its current rung. */
static int report_death(const struct examination *e, int signal)
{
	struct finding *findings = calloc(rung_count, sizeof(*findings));
	unsigned int place = *e->place;
	struct text said = {};

	if (!findings || place >= rung_count)
		return EXIT_NO_REPORT;
	ending_say(signal, &said);
	for (unsigned int i = 0; i < rung_count; i++) {
		if (i != place)
			finding_unseen(&findings[i], "rdma-doctor did not live to see it");
	}
	finding_fail(&findings[place], "rdma-doctor's own process, here: %s", said.chars);
	if (!ending_fix(signal, &findings[place]))
		finding_fix(&findings[place], "see the kernel log (dmesg)");
	if (e->json)
		report_json(e->doctor, findings);
	else
		report_text(e->doctor, findings);
	free(findings);
	return fflush(stdout) || ferror(stdout) ? EXIT_NO_REPORT : (int)rungs[place].exit_code;
}

/* Run the checks in a child, so that a seccomp filter that kills it becomes a finding. */
static int examine_apart(struct doctor *d, bool json)
{
	unsigned int *place = mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct examination e = { .doctor = d, .place = place, .json = json };
	int code = EXIT_NO_REPORT, signal, r;

	if (place == MAP_FAILED)
		return EXIT_NO_REPORT;
	r = child_run(examine, &e, &code, sizeof(code), &signal);
	if (r == -EFAULT)
		return report_death(&e, signal);
	if (r < 0)
		fprintf(stderr, "rdma-doctor: no report: %s\n", strerror(-r));
	return code;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "require", required_argument, NULL, 'R' },
		{ "transfer", no_argument, NULL, 't' },
		{ "watch", optional_argument, NULL, 'w' },
		{ "peer", required_argument, NULL, 'P' },
		{ "serve", no_argument, NULL, 'S' },
		{ "speed", no_argument, NULL, 'f' },
		{ "strict", no_argument, NULL, 's' },
		{ "all", no_argument, NULL, 'a' },
		{ "pid", required_argument, NULL, 'p' },
		{ "root", required_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	static struct doctor doctor = { .root = "", .live = true, .pid = "self" };
	const char *wrong = NULL;
	bool json = false, serve = false;
	int c;

	while (!wrong &&
	       (c = getopt_long(argc, argv, "d:R:tw::P:Sfsap:r:jhV", long_options, NULL)) != -1) {
		switch (c) {
		case 'd':
			doctor.wanted = optarg;
			if (!device_name_usable(optarg))
				wrong = "--device: not the name of a device";
			break;
		case 'R':
			wrong = required_add(&doctor, optarg, optarg == argv[optind - 1]);
			break;
		case 't':
			doctor.transfer_wanted = true;
			break;
		case 'w':
			wrong = watch_set(&doctor, optarg);
			break;
		case 'P':
			doctor.peer_host = optarg;
			if (!host_name_usable(optarg))
				wrong = "--peer: not the name of a host";
			break;
		case 'S':
			serve = true;
			break;
		case 'f':
			doctor.speed_wanted = true;
			break;
		case 's':
			doctor.strict = true;
			break;
		case 'a':
			doctor.all = true;
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
			version_print();
			return 0;
		default:
			return usage_error(NULL);
		}
	}
	while (optind < argc && !wrong)
		wrong = argument_take(&doctor, argv[optind++]);
	if (!wrong && doctor.wanted && (doctor.required_count || doctor.required_number))
		wrong = "--require looks at all devices, --device at one: not both";
	if (!wrong && serve && (json || examines(&doctor)))
		wrong = "--serve examines nothing: only --device goes with it";
	if (wrong)
		return usage_error(wrong);
	if (serve)
		return peer_serve(&doctor);
	/* Do not check "self", because it exists even without /proc. */
	if (doctor.live && strcmp(doctor.pid, "self") && !pid_exists(&doctor))
		return usage_error("--pid: there is no such process");
	if (doctor.watch_seconds)
		sigaction(SIGINT, &(struct sigaction){ .sa_handler = child_interrupt }, NULL);
	return examine_apart(&doctor, json);
}
