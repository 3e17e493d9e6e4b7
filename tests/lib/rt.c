/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run cases, and end a case as failed or skipped. */
#include <dirent.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"
#include "tests/lib/rt_stuck.h"

enum {
	STOP_SECONDS = 30,
};

void (*rt_failing)(void);

void rt_fail(const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("  %s:%d: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, text);
	fflush(stdout);
	if (rt_failing)
		rt_failing();
	_exit(1);
}

void rt_skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("  skipped: ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_exit(RT_SKIP);
}

void rt_check_int(const char *file, int line, const char *what, long long value, long long expected)
{
	if (value != expected)
		rt_fail(file, line, "%s is %lld, expected %lld (errno: %m)", what, value, expected);
}

static FILE *log_file;

void rt_log_discard(void)
{
	unlink(getenv("VERBS_LOG_FILE"));
}

void rt_log_capture(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/rt-log-%d-XXXXXX", getpid());
	fd = mkstemp(path);
	CHECK(fd >= 0);
	log_file = fdopen(fd, "r");
	CHECK(log_file);
	CHECK_OK(setenv("VERBS_LOG_LEVEL", "3", 1));
	CHECK_OK(setenv("VERBS_LOG_FILE", path, 1));
}

const char *rt_log_text(void)
{
	static char text[16384];
	size_t n;

	rewind(log_file);
	n = fread(text, 1, sizeof(text) - 1, log_file);
	text[n] = '\0';
	return text;
}

static unsigned int case_seconds(void)
{
	const char *text = getenv("RT_SECONDS");

	return text ? atoi(text) : RT_SECONDS;
}

/* Remove the log files of a case, also after a failure. */
static void case_logs_remove(pid_t pid)
{
	char pattern[64];
	glob_t logs;

	snprintf(pattern, sizeof(pattern), "/tmp/rt-log-%d-*", pid);
	if (!glob(pattern, 0, NULL, &logs))
		for (size_t i = 0; i < logs.gl_pathc; i++)
			unlink(logs.gl_pathv[i]);
	globfree(&logs);
}

/* Wait for the end of the case. Kill the case if it outlives its own alarm by STOP_SECONDS. */
static void case_stop_late(pid_t pid)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (end.fd < 0)
		return;
	if (poll(&end, 1, (case_seconds() + STOP_SECONDS) * 1000) == 0) {
		printf("  still running after %u seconds, and takes no signal\n", case_seconds());
		kill(pid, SIGKILL);
	}
	close(end.fd);
}

static int case_wait(const struct rt_case *c, pid_t pid)
{
	int status;

	case_stop_late(pid);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	case_logs_remove(pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		printf("  still running after %u seconds\n", case_seconds());
	else if (WIFSIGNALED(status))
		printf("  killed by signal %d (%s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	printf("%s %s\n", status == 0 ? "ok" : status == RT_SKIP ? "skip" : "FAIL", c->name);
	return status;
}

static void case_body(const struct rt_case *c)
{
	if (c->run_with)
		c->run_with(c->arg);
	else
		c->run();
}

/* RT_WITHOUT is a list of words PROGRAM:CASE: cases that the device under test is known to fail. */
static bool is_left_out(const char *name)
{
	const char *at = getenv("RT_WITHOUT");
	char word[128];
	size_t length;

	snprintf(word, sizeof(word), "%s:%s", program_invocation_short_name, name);
	for (; at && *at; at += length + strspn(at + length, " \n")) {
		length = strcspn(at, " \n");
		if (length == strlen(word) && !strncmp(at, word, length))
			return true;
	}
	return false;
}

/* Run the case in a process of its own, which is stopped if it hangs. */
static int case_run(const struct rt_case *c)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		FAIL("fork: %m");
	if (pid)
		return case_wait(c, pid);
	rt_stuck_watch(case_seconds());
	case_body(c);
	fflush(stdout);
	exit(0);
}

/* Print the totals. If every case was skipped, the last line is the reason, for the test report. */
static int verdict(int passed, int skipped, int failed)
{
	if (!failed && !passed && skipped) {
		printf("all %d cases were skipped\n", skipped);
		return RT_SKIP;
	}
	printf("%d passed, %d skipped, %d failed\n", passed, skipped, failed);
	return failed ? 1 : 0;
}

int rt_main(const struct rt_case *cases, int count)
{
	const char *only = getenv("RT_CASE");
	int passed = 0, skipped = 0, failed = 0;

	for (int i = 0; i < count; i++) {
		int r;

		if (only) {
			if (!strcmp(only, cases[i].name)) {
				case_body(&cases[i]);
				return 0;
			}
			continue;
		}
		if (is_left_out(cases[i].name)) {
			printf("skip %s: left out by RT_WITHOUT\n", cases[i].name);
			skipped++;
			continue;
		}
		r = case_run(&cases[i]);
		if (r == 0)
			passed++;
		else if (r == RT_SKIP)
			skipped++;
		else
			failed++;
	}
	if (only) {
		fprintf(stderr, "no case is named '%s'\n", only);
		return 2;
	}
	return verdict(passed, skipped, failed);
}

/*
 * A socket that is connected to itself: uroce keeps up to 16 of them, for numbers that peers know.
 */
static bool connected_to_itself(int fd)
{
	struct sockaddr_in own = {}, peer = {};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	return !getsockname(fd, (struct sockaddr *)&own, &own_len) &&
	       !getpeername(fd, (struct sockaddr *)&peer, &peer_len) && own.sin_family == AF_INET &&
	       own_len == peer_len && !memcmp(&own, &peer, own_len);
}

struct rt_use rt_use(void)
{
	struct rt_use use = {};
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	FILE *maps = fopen("/proc/self/maps", "re");
	int c;

	CHECK(dir && maps);
	while ((entry = readdir(dir)))
		use.descriptors += !connected_to_itself(atoi(entry->d_name));
	while ((c = getc(maps)) != EOF)
		use.mappings += c == '\n';
	closedir(dir);
	fclose(maps);
	return use;
}
