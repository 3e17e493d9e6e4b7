/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Containers are distinguished from machines by a /proc that the test writes. */
#include "tests/unit/unit.h"
#include "util/place.h"

#define MACHINE "24 1 254:0 / / rw - ext4 /dev/sda rw\n"
#define IMAGE	"501 400 0:57 / / rw - overlay overlay rw\n"

static char root[PATH_MAX];

static void link_write(const char *name, const char *target)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
	folder_make(root);
	file_write(root, "proc/self/mountinfo", MACHINE);
	file_write(root, "proc/1/mountinfo", MACHINE);
	file_write(root, "proc/self/ns/x", "");
	link_write("proc/self/ns/pid", "pid:[4026531836]");
	return 0;
}

static int teardown(void **state)
{
	folder_remove(root);
	return 0;
}

static void test_no_sign(void **state)
{
	assert_false(place_is_container(root));
}

static void test_leftover(void **state)
{
	file_write(root, ".dockerenv", "");
	file_write(root, "run/.containerenv", "");
	assert_false(place_is_container(root));
}

static void test_other_processes(void **state)
{
	file_write(root, ".dockerenv", "");
	link_write("proc/self/ns/pid", "pid:[4026532999]");
	assert_true(place_is_container(root));
}

static void test_other_root(void **state)
{
	file_write(root, "run/systemd/container", "");
	file_write(root, "proc/self/mountinfo", MACHINE IMAGE);
	assert_true(place_is_container(root));
}

static void test_no_proc(void **state)
{
	file_write(root, ".dockerenv", "");
	file_remove(root, "proc/1/mountinfo");
	assert_true(place_is_container(root));
}

/* The last mount of a point covers those before it. */
static void test_mount(void **state)
{
	struct place_mount mount;

	file_write(root, "proc/77/mountinfo", MACHINE "rubbish\n" IMAGE);
	assert_true(place_mount_read(root, "77", "/", &mount));
	assert_string_equal(mount.type, "overlay");
	assert_string_equal(mount.device, "0:57");
	assert_false(place_mount_read(root, "77", "/dev", &mount));
	assert_false(place_mount_read(root, "78", "/", &mount));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_no_sign),    CASE(test_leftover), CASE(test_other_processes),
		CASE(test_other_root), CASE(test_no_proc),  CASE(test_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
