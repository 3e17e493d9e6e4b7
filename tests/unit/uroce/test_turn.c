/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that start take turns. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/path/shm/shm.h"

/* Return 0 if another process gets its turn, or the error. */
static int turn_elsewhere(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int turn = uroce_shm_turn_take();

		_exit(turn < 0 ? -turn : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A process that never finishes delays others for a limited time. */
static void test_one_at_a_time(void **state)
{
	int turn = uroce_shm_turn_take();

	assert_true(turn >= 0);
	assert_int_equal(turn_elsewhere(), EADDRINUSE);
	close(turn);
	assert_int_equal(turn_elsewhere(), 0);
}

/* The turn ends with the process, however the process ends. */
static void test_death(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		uroce_shm_turn_take();
		abort();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(turn_elsewhere(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_death),
	};

	/* Leave the network namespace of the other tests, if the machine allows it. */
	if (unshare(CLONE_NEWNET))
		(void)!unshare(CLONE_NEWUSER | CLONE_NEWNET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
