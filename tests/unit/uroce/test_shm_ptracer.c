/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process named by PR_SET_PTRACER, if only one other process may read this one's memory.
 * With the argument "kernel", as an unprivileged user on a kernel with
 * kernel.yama.ptrace_scope=1: check that the choice works there. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_ptracer.h"

/* init 1; a session 10 of a shell 10, its launcher 11 and the launcher's 12, 13, 14 with a child 15
 * of 14; another session 20 with 21. */
static bool query(pid_t pid, struct shm_process *ret)
{
	static const struct shm_process all[] = {
		[1] = { 0, 1 },	   [10] = { 1, 10 },  [11] = { 10, 10 }, [12] = { 11, 10 },
		[13] = { 11, 10 }, [14] = { 11, 10 }, [15] = { 14, 10 }, [16] = { 10, 10 },
		[20] = { 1, 20 },  [21] = { 20, 20 }, [22] = { 20, 20 },
	};

	if (pid < 0 || (size_t)pid >= ARRAY_SIZE(all) || !all[pid].session)
		return false;
	*ret = all[pid];
	return true;
}

static pid_t choose(pid_t now, pid_t peer)
{
	return shm_ptracer_choose(12, now, peer, query);
}

static void test_first(void **state)
{
	assert_int_equal(choose(0, 13), 13);
	assert_int_equal(choose(0, 21), 21);  /* another session, but this process alone */
	assert_int_equal(choose(19, 13), 13); /* the named process has gone */
}

static void test_nothing_to_do(void **state)
{
	assert_int_equal(choose(0, 11), 0); /* parents may */
	assert_int_equal(choose(0, 10), 0);
	assert_int_equal(choose(13, 13), 13);
	assert_int_equal(choose(14, 15), 14);
	assert_int_equal(choose(11, 15), 11);
	assert_int_equal(choose(13, 0), 13); /* not to be seen from here */
}

/* A process that may read already keeps its right. */
static void test_wider(void **state)
{
	assert_int_equal(choose(13, 14), 11);
	assert_int_equal(choose(13, 15), 11);
	assert_int_equal(choose(15, 14), 14);
	assert_int_equal(choose(11, 16), 10);
}

static void test_not_the_world(void **state)
{
	assert_int_equal(choose(13, 21), 13); /* init is the only common ancestor */
	assert_int_equal(choose(21, 22), 21); /* their launcher is in another session */
	assert_int_equal(choose(21, 13), 21);
	assert_int_equal(choose(13, 99), 13); /* ended meanwhile */
}

/* --- the kernel's word --- */

static uint8_t token[SHM_LINE] = "whose memory it is";

/* A process that reads from @in whose turn it is, and answers whether it can read that process's
 * token. */
struct reader {
	pid_t pid;
	int ask[2], answer[2];
};

static void reader_run(struct reader *r, bool stranger)
{
	pid_t whom;

	if (stranger) {
		setsid();
		if (fork())
			_exit(0);
		while (getppid() != 1)
			usleep(1000);
	}
	r->pid = getpid();
	if (write(r->answer[1], &r->pid, sizeof(r->pid)) != sizeof(r->pid))
		_exit(1);
	close(r->ask[1]);
	while (read(r->ask[0], &whom, sizeof(whom)) == sizeof(whom)) {
		bool can = shm_memory_readable(whom, (uintptr_t)token, token);

		if (write(r->answer[1], &can, sizeof(can)) != sizeof(can))
			break;
	}
	_exit(0);
}

static void reader_start(struct reader *r, bool stranger)
{
	assert_int_equal(pipe(r->ask) | pipe(r->answer), 0);
	if (!fork())
		reader_run(r, stranger);
	assert_int_equal(read(r->answer[0], &r->pid, sizeof(r->pid)), sizeof(r->pid));
}

static bool reader_can(const struct reader *r, pid_t whom)
{
	bool can = false;

	if (write(r->ask[1], &whom, sizeof(whom)) != sizeof(whom) ||
	    read(r->answer[0], &can, sizeof(can)) != sizeof(can))
		_exit(2);
	return can;
}

#define REQUIRE(condition)                                           \
	do {                                                         \
		if (!(condition)) {                                  \
			fprintf(stderr, "not so: " #condition "\n"); \
			_exit(3);                                    \
		}                                                    \
	} while (0)

static void owner_run(const struct reader *readers)
{
	const struct reader *one = &readers[0], *two = &readers[1], *stranger = &readers[2];
	pid_t own = getpid();

	REQUIRE(!reader_can(one, own) && !reader_can(two, own) && !reader_can(stranger, own));
	shm_ptracer_allow(one->pid);
	REQUIRE(reader_can(one, own) && !reader_can(two, own) && !reader_can(stranger, own));
	shm_ptracer_allow(two->pid);
	REQUIRE(reader_can(one, own) && reader_can(two, own) && !reader_can(stranger, own));
	shm_ptracer_allow(stranger->pid);
	REQUIRE(reader_can(one, own) && reader_can(two, own) && !reader_can(stranger, own));
	_exit(0);
}

static void test_kernel(void **state)
{
	struct reader readers[3];
	pid_t owner;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		reader_start(&readers[i], i == 2);
	owner = fork();
	if (!owner)
		owner_run(readers);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		kill(readers[i].pid, SIGKILL);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_wider),
		cmocka_unit_test(test_not_the_world),
	};
	static const struct CMUnitTest kernel[] = { cmocka_unit_test(test_kernel) };

	if (argc > 1 && !strcmp(argv[1], "kernel"))
		return cmocka_run_group_tests(kernel, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
