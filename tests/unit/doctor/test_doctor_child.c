/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>

#include "tests/unit/unit.h"

#include "rdma-doctor/child.h"

static void works(const void *arg, void *result)
{
	*(int *)result = *(const int *)arg + 1;
}

static void dies(const void *arg, void *result)
{
	*(int *)result = 99;
	raise(*(const int *)arg);
}

static void exits(const void *arg, void *result)
{
	_exit(3);
}

static int ended_by;

static int run(child_job_fn job, int arg, int *result)
{
	*result = -1;
	return child_run(job, &arg, result, sizeof(*result), &ended_by);
}

static void test_child(void **state)
{
	int result;

	assert_int_equal(run(works, 41, &result), 0);
	assert_int_equal(result, 42);
	assert_int_equal(ended_by, 0);
	assert_int_equal(run(dies, SIGKILL, &result), -EFAULT);
	assert_int_equal(ended_by, SIGKILL);
	assert_int_equal(result, -1);
	assert_int_equal(run(dies, SIGSYS, &result), -EFAULT);
	assert_int_equal(ended_by, SIGSYS);
	assert_int_equal(run(dies, SIGALRM, &result), -ETIMEDOUT);
	assert_int_equal(result, -1);
	assert_int_equal(run(exits, 0, &result), -EFAULT);
	assert_int_equal(ended_by, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
