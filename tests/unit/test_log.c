/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where log lines go. The environment is read once: each case has a process of its own. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

#include "util/log.h"

static char folder[PATH_MAX], file[PATH_MAX];

static void speak(void)
{
	errno = ERANGE;
	log_err("err %d", 1);
	log_warn("warn");
	log_info("info");
	log_debug("debug");
	log_notice("notice\n");
	_exit(errno == ERANGE ? 0 : 1);
}

/* Run speak() with these variables; return what came on stderr. */
static char *run(const char *level, const char *log_file, uid_t uid)
{
	struct capture c;
	int status;
	pid_t pid;

	fflush(stdout);
	capture_begin(&c);
	pid = fork();
	if (!pid) {
		if (level)
			setenv("VERBS_LOG_LEVEL", level, 1);
		if (log_file)
			setenv("VERBS_LOG_FILE", log_file, 1);
		if (uid && setuid(uid))
			_exit(2);
		speak();
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	return capture_end(&c);
}

static char *content(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 4096);

	assert_non_null(f);
	fread(text, 1, 4095, f);
	assert_false(ferror(f));
	fclose(f);
	return text;
}

static void test_levels(void **state)
{
	static const struct {
		const char *level;
		const char *lines;
	} cases[] = {
		{ NULL, "notice\n" },
		{ "0", "notice\n" },
		{ "1", "err 1\nnotice\n" },
		{ "2", "err 1\nwarn\nnotice\n" },
		{ "3", "err 1\nwarn\ninfo\nnotice\n" },
		{ "4", "err 1\nwarn\ninfo\ndebug\nnotice\n" },
		{ "99", "err 1\nwarn\ninfo\ndebug\nnotice\n" },
		{ "0x2", "err 1\nwarn\nnotice\n" },
		{ "01", "err 1\nnotice\n" },
		{ "0x", "notice\n" },
		{ "00", "notice\n" },
		{ "-1", "notice\n" },
		{ "x", "notice\n" },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		char *said = run(cases[i].level, NULL, 0);

		assert_string_equal(said, cases[i].lines);
		free(said);
	}
}

static void test_file(void **state)
{
	char *said = run("1", file, 0), *text = content(file);

	assert_string_equal(said, "");
	assert_string_equal(text, "err 1\nnotice\n");
	free(said);
	free(text);
}

static void test_file_appends(void **state)
{
	char *text;

	file_write(folder, "log", "before\n");
	free(run("1", file, 0));
	text = content(file);
	assert_string_equal(text, "before\nerr 1\nnotice\n");
	free(text);
}

static void test_symlink_refused(void **state)
{
	char target[PATH_MAX + 8], *said, *text;

	file_write(folder, "target", "untouched\n");
	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, file), 0);
	said = run("1", file, 0);
	assert_contains(said, "libibverbs: Warning: couldn't open log file '");
	assert_contains(said, "symbolic link");
	assert_contains(said, "err 1\n");
	text = content(target);
	assert_string_equal(text, "untouched\n");
	free(said);
	free(text);
}

static void test_folder_refused(void **state)
{
	char *said = run("1", folder, 0);

	assert_contains(said, "couldn't open log file");
	assert_contains(said, "err 1\n");
	free(said);
}

/* The file is writable for everyone, but belongs to another user. */
static void test_foreign_owner_refused(void **state)
{
	char *said, *text;

	if (geteuid())
		skip();
	file_write(folder, "log", "untouched\n");
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	said = run("1", file, 65534);
	assert_contains(said, "belongs to another user");
	assert_contains(said, "err 1\n");
	text = content(file);
	assert_string_equal(text, "untouched\n");
	free(said);
	free(text);
}

static void test_long_line_is_cut(void **state)
{
	char big[4096], *said;
	struct capture c;

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	capture_begin(&c);
	log_notice("%s", big);
	said = capture_end(&c);
	assert_true(strlen(said) < 1024);
	assert_int_equal(said[strlen(said) - 1], '\n');
	free(said);
}

/* A user logs to a device file that belongs to root. */
static void test_device(void **state)
{
	char *said = run("1", "/dev/null", geteuid() ? 0 : 65534);

	assert_string_equal(said, "");
	free(said);
}

static void test_standard_streams(void **state)
{
	char *said = run("1", "/dev/stderr", 0);

	assert_string_equal(said, "err 1\nnotice\n");
	free(said);
	said = run("1", "/dev/stdout", 0);
	assert_string_equal(said, "");
	free(said);
}

/* A FIFO whose reader goes away between two lines: the program continues, and its signals are
 * unchanged. */
static void test_reader_gone(void **state)
{
	struct capture c;
	sigset_t set;
	int status;
	pid_t pid;

	assert_int_equal(mkfifo(file, 0600), 0);
	capture_begin(&c);
	pid = fork();
	if (!pid) {
		int reader = open(file, O_RDONLY | O_NONBLOCK);
		char line[16] = "";

		setenv("VERBS_LOG_LEVEL", "1", 1);
		setenv("VERBS_LOG_FILE", file, 1);
		log_err("first");
		if (read(reader, line, sizeof(line) - 1) < 0 || strcmp(line, "first\n"))
			_exit(1);
		close(reader);
		errno = ERANGE;
		log_err("second");
		if (errno != ERANGE)
			_exit(2);
		_exit(sigpending(&set) || sigismember(&set, SIGPIPE) ||
				      sigprocmask(SIG_BLOCK, NULL, &set) ||
				      sigismember(&set, SIGPIPE)
			      ? 3
			      : 0);
	}
	waitpid(pid, &status, 0);
	free(capture_end(&c));
	assert_int_equal(status, 0);
}

/* No line is written, so that no file is opened, created or complained about. */
static void test_silent_at_level_0(void **state)
{
	static const char *const levels[] = { NULL, "0", "0x0", "x" };

	for (unsigned int i = 0; i < ARRAY_SIZE(levels); i++) {
		char *said = run(levels[i], file, 0);

		assert_string_equal(said, "notice\n");
		assert_int_equal(access(file, F_OK), -1);
		free(said);
		said = run(levels[i], folder, 0);
		assert_string_equal(said, "notice\n");
		free(said);
	}
}

static int setup(void **state)
{
	folder_make(folder);
	snprintf(file, sizeof(file), "%.4000s/log", folder);
	return 0;
}

static int teardown(void **state)
{
	folder_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_appends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symlink_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folder_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_owner_refused, setup, teardown),
		cmocka_unit_test(test_device),
		cmocka_unit_test_setup_teardown(test_reader_gone, setup, teardown),
		cmocka_unit_test(test_standard_streams),
		cmocka_unit_test_setup_teardown(test_silent_at_level_0, setup, teardown),
		cmocka_unit_test(test_long_line_is_cut),
	};

	unsetenv("VERBS_LOG_LEVEL");
	unsetenv("VERBS_LOG_FILE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
