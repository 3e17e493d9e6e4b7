/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static char folder[PATH_MAX];

const struct disc_paths *disc_paths(void)
{
	static struct disc_paths paths;

	paths = (struct disc_paths){ .config = folder, .providers = folder };
	return &paths;
}

/* @alone: without kernel devices. @beside: with some. */
static void expect(bool alone, bool beside)
{
	assert_int_equal(disc_userspace_enabled(false), alone);
	assert_int_equal(disc_userspace_enabled(true), beside);
}

static int setup(void **state)
{
	unsetenv("UROCE");
	folder_make(folder);
	return 0;
}

static int teardown(void **state)
{
	folder_remove(folder);
	return 0;
}

static void test_default_is_auto(void **state)
{
	expect(true, false);
}

static void test_environment(void **state)
{
	setenv("UROCE", "off", 1);
	expect(false, false);
	setenv("UROCE", "auto", 1);
	expect(true, false);
	setenv("UROCE", "on", 1);
	expect(true, true);
	setenv("UROCE", "on:eth0,eth1", 1);
	expect(true, true);
}

static void test_environment_bad(void **state)
{
	setenv("UROCE", "once", 1);
	expect(true, false);
	setenv("UROCE", "", 1);
	expect(true, false);
}

static void test_file(void **state)
{
	file_write(folder, "uroce.conf", "# comment\nmtu 4096\n policy = on # here\n");
	expect(true, true);
	file_write(folder, "uroce.conf", "policy off\n");
	expect(false, false);
	file_write(folder, "uroce.conf", "policyholder on\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "policy = perhaps\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "policy");
	expect(true, false);
}

static void test_environment_wins(void **state)
{
	file_write(folder, "uroce.conf", "policy on\n");
	setenv("UROCE", "off", 1);
	expect(false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_default_is_auto, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment_wins, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
