/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/env.h"

static void test_table_complete(void **state)
{
	for (int i = 0; i < ENV_COUNT; i++) {
		assert_non_null(env_variables[i].name);
		assert_non_null(env_variables[i].meaning);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(env_variables[i].name, env_variables[j].name);
	}
}

static void test_get(void **state)
{
	setenv("SYSFS_PATH", "/somewhere", 1);
	assert_string_equal(env_get(ENV_SYSFS_PATH), "/somewhere");
	assert_true(env_is_set(ENV_SYSFS_PATH));
}

static void test_unset(void **state)
{
	unsetenv("SYSFS_PATH");
	assert_null(env_get(ENV_SYSFS_PATH));
	assert_false(env_is_set(ENV_SYSFS_PATH));
}

static void test_empty_is_set(void **state)
{
	setenv("RDMAV_FORK_SAFE", "", 1);
	assert_true(env_is_set(ENV_RDMAV_FORK_SAFE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_complete),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_unset),
		cmocka_unit_test(test_empty_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
