/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static char folder[PATH_MAX], vendor[PATH_MAX];
static bool installed;

const struct disc_paths *disc_paths(void)
{
	static struct disc_paths paths;

	paths = (struct disc_paths){ .config = folder,
				     .vendor = installed ? vendor : NULL,
				     .providers = folder };
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
	folder_make(vendor);
	installed = true;
	return 0;
}

static int teardown(void **state)
{
	folder_remove(folder);
	folder_remove(vendor);
	return 0;
}

/* By default there is no device, except in a build tree. */
static void test_default(void **state)
{
	expect(false, false);
	installed = false;
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

/* An invalid policy is ignored: the next source decides. */
static void test_environment_bad(void **state)
{
	setenv("UROCE", "once", 1);
	expect(false, false);
	setenv("UROCE", "", 1);
	expect(false, false);
	file_write(folder, "uroce.conf", "policy on\n");
	expect(true, true);
}

static void test_file(void **state)
{
	file_write(folder, "uroce.conf", "# comment\nmtu 4096\n policy = on # here\n");
	expect(true, true);
	file_write(folder, "uroce.conf", "policy auto\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "policy off\n");
	expect(false, false);
	file_write(folder, "uroce.conf", "policyholder on\n");
	expect(false, false);
	file_write(folder, "uroce.conf", "policy = perhaps\n");
	expect(false, false);
	file_write(folder, "uroce.conf", "policy");
	expect(false, false);
	file_write(folder, "uroce.conf", "# policy on\n");
	expect(false, false);
}

static void expect_complaint(const char *complaint)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	disc_userspace_enabled(false);
	said = capture_end(&c);
	if (*complaint)
		assert_contains(said, complaint);
	else
		assert_string_equal(said, "");
	free(said);
}

/* Unknown lines of the file are logged, as well as a wrong policy. */
static void test_complaints(void **state)
{
	char path[PATH_MAX + 16];

	file_write(folder, "uroce.conf", "# comment\n\n \t\npolicy auto # here\r\n");
	expect_complaint("");
	file_write(folder, "uroce.conf", "polcy auto\n");
	expect_complaint("'polcy auto': known are 'policy off'");
	file_write(folder, "uroce.conf", "POLICY AUTO # loud\n");
	expect_complaint("'POLICY AUTO ': known are");
	file_write(folder, "uroce.conf", "policy Auto\n");
	expect_complaint("policy 'Auto' is not off, auto or on");
	snprintf(path, sizeof(path), "%s/uroce.conf", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	expect_complaint("uroce.conf cannot be read: Is a directory");
}

/* The package switches the device on. The administrator overrides the package, and the user
 * both. */
static void test_order(void **state)
{
	file_write(vendor, "uroce.conf", "policy auto\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "mtu 4096\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "policy off\n");
	expect(false, false);
	setenv("UROCE", "on", 1);
	expect(true, true);
	setenv("UROCE", "off", 1);
	file_write(folder, "uroce.conf", "policy on\n");
	expect(false, false);
}

/* A build tree has a file of its own: installed files are ignored. */
static void test_build_tree(void **state)
{
	installed = false;
	file_write(vendor, "uroce.conf", "policy on\n");
	expect(true, false);
	file_write(folder, "uroce.conf", "policy off\n");
	expect(false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_default, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_complaints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_build_tree, setup, teardown),
	};

	setenv("VERBS_LOG_LEVEL", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
