/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages if there is no device: the cause, and how to get a device. */
#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static char sysfs[PATH_MAX], config[PATH_MAX];
static bool plugin; /* the provider of the user-space device is installed */
static int nldev;   /* what netlink answers */

int disc_nldev_list(struct verbs_device_list *list)
{
	return nldev;
}

const struct disc_paths *disc_paths(void)
{
	static struct disc_paths paths;

	paths = (struct disc_paths){ .config = config, .vendor = config, .providers = config };
	return &paths;
}

bool disc_load_exists(const struct disc_driver *driver)
{
	return plugin;
}

bool disc_load_can_wait(const struct disc_driver *driver)
{
	return plugin;
}

int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider)
{
	return -ENOENT;
}

static int setup(void **state)
{
	nldev = -EOPNOTSUPP;
	plugin = false;
	file_write(sysfs, "class/x", "");
	setenv("UROCE", "off", 1);
	return 0;
}

static int teardown(void **state)
{
	char class[2 * PATH_MAX];

	snprintf(class, sizeof(class), "%s/class", sysfs);
	folder_remove(class);
	return 0;
}

/* Ask for a list without devices; return the messages. @error: the expected errno, 0 for an
 * empty list. */
static char *nothing(int error)
{
	struct ibv_device **list;
	struct capture c;
	int count = -1;

	capture_begin(&c);
	errno = 0;
	list = ibv_get_device_list(&count);
	if (error) {
		assert_null(list);
		assert_int_equal(errno, error);
	} else {
		assert_non_null(list);
	}
	assert_int_equal(count, 0);
	ibv_free_device_list(list);
	return capture_end(&c);
}

static void expect_said(int error, const char *text)
{
	char *said = nothing(error);

	assert_contains(said, text);
	free(said);
}

static void test_no_module(void **state)
{
	expect_said(ENOSYS, "libibverbs: Fatal: couldn't read uverbs abi version");
	expect_said(ENOSYS, "modprobe ib_uverbs");
}

static void test_no_device(void **state)
{
	file_write(sysfs, "class/infiniband_verbs/abi_version", "6\n");
	expect_said(0, "the kernel has none in this network namespace");
}

/* Netlink answers without ib_uverbs too: the list is empty, as always in that case. */
static void test_netlink_without_module(void **state)
{
	nldev = 0;
	expect_said(0, "the kernel has none");
	file_write(sysfs, "class/infiniband/mlx5_0/node_type", "1: CA\n");
	expect_said(0, "libibverbs: Fatal: couldn't read uverbs abi version");
}

/* One line, and only if it would help. */
static void test_userspace(void **state)
{
	char *said;

	plugin = true;
	expect_said(ENOSYS, "UROCE=on in the environment, or 'policy auto' in ");
	file_write(sysfs, "class/infiniband_verbs/abi_version", "6\n");
	said = nothing(0);
	assert_contains(said, "UROCE=on in the environment");
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(said);
	plugin = false;
	said = nothing(0);
	assert_null(strstr(said, "UROCE"));
	free(said);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_no_module),
		CASE(test_no_device),
		CASE(test_netlink_without_module),
		CASE(test_userspace),
	};
	int failed;

	folder_make(sysfs);
	folder_make(config);
	file_write(config, "user.driver", "driver user\nmatch userspace\n");
	setenv("SYSFS_PATH", sysfs, 1);
	setenv("VERBS_LOG_LEVEL", "1", 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	folder_remove(sysfs);
	folder_remove(config);
	return failed;
}
