/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of devices in a class folder of the test. */
#include "tests/unit/unit.h"

#include "rdma-ndd/device.h"
#include "rdma-ndd/report.h"

static char folder[PATH_MAX];
static struct devices devices;
static struct devices_state seen;

static int begin(void **state)
{
	folder_make(folder);
	devices_init(&devices);
	seen = (struct devices_state){};
	return 0;
}

static int end(void **state)
{
	devices_free(&devices);
	folder_remove(folder);
	return 0;
}

/* Update the devices. Return the messages, which the caller frees. */
static char *update_as(const char *host)
{
	struct capture c;
	int r;

	capture_begin(&c);
	r = devices_update(&devices, folder, NODE_DESC_FORMAT, host, &seen);
	assert_int_equal(r, 0);
	return capture_end(&c);
}

static void update_says(const char *host, const char *expected)
{
	char *said = update_as(host);

	if (*expected)
		assert_contains(said, expected);
	else
		assert_string_equal(said, "");
	free(said);
}

static void expect_text(const char *name, const char *expected)
{
	char path[PATH_MAX * 2], text[128] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/node_desc", folder, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, expected);
}

static void folder_rename(const char *from, const char *to)
{
	char a[PATH_MAX * 2], b[PATH_MAX * 2];

	snprintf(a, sizeof(a), "%s/%s", folder, from);
	snprintf(b, sizeof(b), "%s/%s", folder, to);
	assert_int_equal(rename(a, b), 0);
}

static void device_remove(const char *name)
{
	char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	folder_remove(path);
}

static void test_set(void **state)
{
	file_write(folder, "rxe0/node_desc", "rxe0\n");
	file_write(folder, "mlx5_0/node_desc", "MT4123\n");
	free(update_as("vm.example.org"));
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.failed, 0);
	expect_text("rxe0", "vm rxe0");
	expect_text("mlx5_0", "vm mlx5_0");
	update_says("vm", "");
	update_says("other", "rxe0: node description 'other rxe0', was 'vm rxe0'");
	expect_text("mlx5_0", "other mlx5_0");
}

static void test_no_devices(void **state)
{
	update_says("vm", "");
	assert_int_equal(seen.count, 0);
	folder_remove(folder);
	update_says("vm", "");
	assert_int_equal(seen.count, 0);
}

static void test_unreadable_class(void **state)
{
	char path[PATH_MAX + 8];

	seen.count = 7;
	file_write(folder, "file", "");
	snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(devices_update(&devices, path, "%h", "vm", &seen), -ENOTDIR);
	assert_int_equal(seen.count, 7);
}

/* The text of a new device is written even if it is already right. Later updates do not write. */
static void test_new_is_written(void **state)
{
	file_write(folder, "rxe0/node_desc", "vm rxe0\n");
	update_says("vm", "rxe0: node description 'vm rxe0', was 'vm rxe0'");
	update_says("vm", "");
	device_remove("rxe0");
	update_says("vm", "");
	assert_int_equal(seen.count, 0);
	file_write(folder, "again/keep", "");
	file_write(folder, "rxe0/node_desc", "vm rxe0\n");
	update_says("vm", "rxe0: node description 'vm rxe0'");
}

static void test_rename(void **state)
{
	file_write(folder, "rxe0/node_desc", "x\n");
	free(update_as("vm"));
	folder_rename("rxe0", "rocep1s0");
	update_says("vm", "rocep1s0: node description 'vm rocep1s0', was 'vm rxe0'");
	folder_rename("rocep1s0", "rxe0");
	update_says("vm", "rxe0: node description 'vm rxe0'");
	assert_int_equal(seen.count, 1);
}

static void test_set_by_others(void **state)
{
	file_write(folder, "rxe0/node_desc", "x\n");
	free(update_as("vm"));
	file_write(folder, "rxe0/node_desc", "somebody's\n");
	update_says("vm", "rxe0: node description 'vm rxe0', was 'somebody's'");
}

/* A device without the attribute is about to disappear. */
static void test_vanishing(void **state)
{
	char path[PATH_MAX * 2];

	file_write(folder, "rxe0/other", "");
	file_write(folder, "rxe1/node_desc", "x\n");
	snprintf(path, sizeof(path), "%s/gone", folder);
	assert_int_equal(symlink("nowhere", path), 0);
	free(update_as("vm"));
	assert_int_equal(seen.failed, 0);
	assert_false(seen.retry);
	expect_text("rxe1", "vm rxe1");
}

/* A refusal is reported once for each device, and other devices are served. */
static void test_refused(void **state)
{
	char path[PATH_MAX * 2];

	file_write(folder, "bad/other", "");
	snprintf(path, sizeof(path), "%s/bad/node_desc", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	file_write(folder, "rxe1/node_desc", "x\n");
	update_says("vm", "bad: the node description cannot be set: Is a directory");
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.failed, 1);
	assert_true(seen.retry);
	assert_string_equal(seen.failure, "bad: Is a directory");
	expect_text("rxe1", "vm rxe1");
	update_says("vm", "");
	assert_int_equal(seen.failed, 1);
	assert_int_equal(rmdir(path), 0);
	file_write(folder, "bad/node_desc", "x\n");
	update_says("vm", "bad: node description 'vm bad'");
	assert_int_equal(seen.failed, 0);
	assert_false(seen.retry);
}

static void test_read_only(void **state)
{
	uid_t user = geteuid();
	char path[PATH_MAX * 2];

	file_write(folder, "rxe0/node_desc", "x\n");
	snprintf(path, sizeof(path), "%s/rxe0/node_desc", folder);
	assert_int_equal(chmod(path, 0444), 0);
	/* root may write everything: become another user for a moment */
	assert_int_equal(chmod(folder, 0755), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	update_says("vm", "rxe0: the node description cannot be set: Permission denied");
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(seen.failed, 1);
	assert_false(seen.retry);
}

/* The kernel chooses the names, but the folder may contain anything. */
static void test_strange_names(void **state)
{
	char name[200], path[PATH_MAX];

	memset(name, 'n', 70);
	strcpy(name + 70, "/node_desc");
	file_write(folder, name, "x\n");
	file_write(folder, "%h%n%s/node_desc", "x\n");
	file_write(folder, "new\nline/node_desc", "x\n");
	file_write(folder, ".hidden/node_desc", "x\n");
	file_write(folder, "file", "x\n");
	free(update_as("vm"));
	assert_int_equal(seen.count, 2);
	expect_text("%h%n%s", "vm %h%n%s");
	expect_text("new\nline", "vm new_line");
	expect_text(".hidden", "x\n");
	snprintf(path, sizeof(path), "%.70s", name);
	expect_text(path, "x\n");
}

static void test_dry_run(void **state)
{
	file_write(folder, "rxe0/node_desc", "x\n");
	devices.dry_run = true;
	update_says("vm", "");
	assert_int_equal(seen.count, 1);
	expect_text("rxe0", "x\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_set),
		TEST(test_no_devices),
		TEST(test_unreadable_class),
		TEST(test_new_is_written),
		TEST(test_rename),
		TEST(test_set_by_others),
		TEST(test_vanishing),
		TEST(test_refused),
		TEST(test_read_only),
		TEST(test_strange_names),
		TEST(test_dry_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
