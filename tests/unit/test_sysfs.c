/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>

#include "tests/unit/unit.h"

#include "util/sysfs.h"

static char folder[PATH_MAX];

static int folder_fd(void)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return fd;
}

static void test_root(void **state)
{
	assert_string_equal(sysfs_root(), "/a/sysfs");
}

static void test_read(void **state)
{
	int fd = folder_fd();
	char text[8];

	file_write(folder, "a", "12\n");
	assert_int_equal(sysfs_read(fd, "a", text, sizeof(text)), 2);
	assert_string_equal(text, "12");
	file_write(folder, "a", "0123456789\n");
	assert_int_equal(sysfs_read(fd, "a", text, sizeof(text)), 7);
	assert_string_equal(text, "0123456");
	file_write(folder, "a", "");
	assert_int_equal(sysfs_read(fd, "a", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(sysfs_read(fd, "missing", text, sizeof(text)), -ENOENT);
	assert_int_equal(sysfs_read(fd, ".", text, sizeof(text)), -EISDIR);
	close(fd);
}

static void test_number(void **state)
{
	uint64_t value = 99;
	int fd = folder_fd();

	file_write(folder, "n", "4: active\n");
	assert_int_equal(sysfs_read_u64(fd, "n", 10, &value), 0);
	assert_int_equal(value, 4);
	file_write(folder, "n", "none\n");
	assert_int_equal(sysfs_read_u64(fd, "n", 10, &value), -EINVAL);
	assert_int_equal(value, 4);
	close(fd);
}

static void test_guid(void **state)
{
	__be64 guid = 1;

	assert_int_equal(sysfs_parse_guid("0011:2233:4455:6677", &guid), 0);
	assert_true(guid == htobe64(0x0011223344556677));
	assert_int_equal(sysfs_parse_guid("0011:2233:4455", &guid), -EINVAL);
	assert_int_equal(sysfs_parse_guid("", &guid), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_guid),
	};
	int failed;

	setenv("SYSFS_PATH", "/a/sysfs//", 1);
	folder_make(folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	folder_remove(folder);
	return failed;
}
