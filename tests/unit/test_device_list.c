/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device list from a sysfs that the test writes. Netlink, device nodes and loading are
 * replaced. The kernel ABI is checked once in a process, therefore each case with another ABI
 * runs in its own process. */
#include <endian.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/library.h"
#include "util/cdev.h"

static char sysfs[PATH_MAX], config[PATH_MAX];
static const char *missing_node; /* /dev/infiniband lacks it */
static const struct verbs_ops ops;
static const struct verbs_provider provider = {
	.name = "fixture",
	.min_abi = 2,
	.max_abi = 3,
	.ops = &ops,
};

static bool netlink_answers;

int disc_nldev_list(struct verbs_device_list *list)
{
	struct verbs_device *device;

	if (!netlink_answers)
		return -EOPNOTSUPP;
	device = disc_device_new(list, sizeof(*device));
	assert_non_null(device);
	device->index = 7;
	device->cdev = makedev(231, 192);
	device->abi_version = 2;
	assert_int_equal(disc_device_name(device, "rxe0"), 0);
	assert_int_equal(disc_device_cdev_name(device, "uverbs0"), 0);
	return 0;
}

const struct disc_paths *disc_paths(void)
{
	static struct disc_paths paths;

	paths = (struct disc_paths){ .config = config, .providers = config };
	return &paths;
}

static unsigned int loads; /* calls of disc_load() */
static bool installed = true;
static int load_result;

bool disc_load_exists(const struct disc_driver *driver)
{
	return installed;
}

bool disc_load_can_wait(const struct disc_driver *driver)
{
	return installed;
}

int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider)
{
	loads++;
	*ret_provider = &provider;
	return installed ? load_result : -ENOENT;
}

bool cdev_exists(const char *name)
{
	return !missing_node || strcmp(name, missing_node);
}

int cdev_open(const char *name, dev_t number)
{
	return -ENOENT;
}

static void device_write(unsigned int n, const char *name, const char *abi, const char *type)
{
	char folder[2 * PATH_MAX], dev[32];

	snprintf(folder, sizeof(folder), "%s/class/infiniband_verbs/uverbs%u", sysfs, n);
	mkdir(folder, 0755);
	snprintf(dev, sizeof(dev), "231:%u\n", 192 + n);
	file_write(folder, "dev", dev);
	file_write(folder, "ibdev", name);
	file_write(folder, "abi_version", abi);
	snprintf(folder, sizeof(folder), "%s/class/infiniband/%s", sysfs, name);
	*strchrnul(folder, '\n') = '\0';
	mkdir(folder, 0755);
	file_write(folder, "node_type", type);
	file_write(folder, "node_guid", "0002:c903:0000:0001\n");
}

static void device_remove(unsigned int n)
{
	char folder[2 * PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/class/infiniband_verbs/uverbs%u", sysfs, n);
	folder_remove(folder);
}

static int setup(void **state)
{
	missing_node = NULL;
	file_write(sysfs, "class/infiniband_verbs/abi_version", "6\n");
	file_write(sysfs, "class/infiniband/x", "");
	device_write(10, "rxe1\n", "2\n", "1: CA\n");
	device_write(2, "iw0\n", "3\n", "4: RNIC\n");
	return 0;
}

static int teardown(void **state)
{
	char class[2 * PATH_MAX];

	snprintf(class, sizeof(class), "%s/class", sysfs);
	folder_remove(class);
	return 0;
}

static struct ibv_device **list_get(int expected)
{
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);

	assert_non_null(list);
	assert_int_equal(count, expected);
	assert_null(list[count]);
	return list;
}

static void test_facts(void **state)
{
	struct ibv_device **list = list_get(2);
	char path[2 * PATH_MAX];

	assert_string_equal(ibv_get_device_name(list[0]), "iw0");
	assert_null(ibv_get_device_name(NULL));
	assert_string_equal(list[0]->dev_name, "uverbs2");
	assert_int_equal(list[0]->node_type, IBV_NODE_RNIC);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IWARP);
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs2", sysfs);
	assert_string_equal(list[0]->dev_path, path);
	snprintf(path, sizeof(path), "%s/class/infiniband/iw0", sysfs);
	assert_string_equal(list[0]->ibdev_path, path);

	assert_string_equal(ibv_get_device_name(list[1]), "rxe1");
	assert_int_equal(list[1]->node_type, IBV_NODE_CA);
	assert_int_equal(list[1]->transport_type, IBV_TRANSPORT_IB);
	assert_int_equal(ibv_get_device_index(list[1]), -1);
	assert_true(ibv_get_device_guid(list[1]) == htobe64(0x0002c90300000001));
	assert_true(to_vdev(list[1])->cdev == makedev(231, 202));
	assert_int_equal(to_vdev(list[1])->abi_version, 2);
	ibv_free_device_list(list);
}

static void test_same_pointers(void **state)
{
	struct ibv_device **first = list_get(2), **second = list_get(2), **third;

	assert_ptr_equal(first[0], second[0]);
	assert_ptr_equal(first[1], second[1]);
	ibv_free_device_list(first);
	ibv_free_device_list(second);
	third = list_get(2);
	ibv_free_device_list(third);
}

/* A held device outlives its removal. A later device with the same name is another one. */
static void test_removed_and_new(void **state)
{
	struct ibv_device **before = list_get(2), **after, **again;

	device_remove(2);
	after = list_get(1);
	assert_ptr_equal(after[0], before[1]);
	assert_string_equal(before[0]->name, "iw0");
	device_write(2, "iw0\n", "2\n", "4: RNIC\n");
	again = list_get(2);
	assert_ptr_not_equal(again[0], before[0]);
	assert_ptr_equal(again[1], before[1]);
	ibv_free_device_list(before);
	ibv_free_device_list(after);
	ibv_free_device_list(again);
}

static void test_count_is_optional(void **state)
{
	ibv_free_device_list(ibv_get_device_list(NULL));
	ibv_free_device_list(NULL);
}

static void test_node_missing(void **state)
{
	struct ibv_device **list;

	missing_node = "uverbs2";
	list = list_get(1);
	assert_string_equal(list[0]->name, "rxe1");
	ibv_free_device_list(list);
}

static void test_unreadable_device(void **state)
{
	struct ibv_device **list;

	file_remove(sysfs, "class/infiniband_verbs/uverbs2/dev");
	list = list_get(1);
	assert_string_equal(list[0]->name, "rxe1");
	ibv_free_device_list(list);
	file_write(sysfs, "class/infiniband_verbs/uverbs10/ibdev", "../../evil\n");
	ibv_free_device_list(list_get(0));
}

/* A list loads no provider. The first use of a device loads its provider, once. */
static void test_provider_late(void **state)
{
	struct ibv_device **list;

	device_write(3, "late0\n", "2\n", "1: CA\n");
	loads = 0;
	list = list_get(3);
	assert_int_equal(loads, 0);
	assert_string_equal(list[1]->name, "late0");
	assert_true(verbs_device_is(list[1], "fixture"));
	assert_false(verbs_device_is(list[1], "other"));
	assert_int_equal(loads, 1);
	ibv_free_device_list(list);
}

/* A damaged provider is noticed when the device is used. */
static void test_provider_damaged(void **state)
{
	struct ibv_device **list;

	device_write(4, "damaged0\n", "2\n", "1: CA\n");
	list = list_get(3);
	assert_string_equal(list[1]->name, "damaged0");
	load_result = -ELIBBAD;
	assert_false(verbs_device_is(list[1], "fixture"));
	assert_int_equal(verbs_device_load(to_vdev(list[1])), -ELIBBAD);
	load_result = 0;
	assert_int_equal(verbs_device_load(to_vdev(list[1])), 0);
	ibv_free_device_list(list);
}

/* A provider that is not installed is loaded at once, which logs the cause. Its device is not
 * listed. */
static void test_provider_missing(void **state)
{
	device_write(5, "missing0\n", "2\n", "1: CA\n");
	loads = 0;
	installed = false;
	ibv_free_device_list(list_get(2));
	installed = true;
	assert_int_equal(loads, 1);
}

static void test_device_abi_refused(void **state)
{
	struct ibv_device **list;
	struct capture c;
	char *said;

	device_write(2, "iw0\n", "4\n", "4: RNIC\n");
	list = list_get(2);
	assert_string_equal(list[0]->name, "iw0");
	capture_begin(&c);
	assert_int_equal(verbs_device_load(to_vdev(list[0])), -ENOSYS);
	said = capture_end(&c);
	assert_contains(said, "libibverbs: Warning: Driver fixture does not support the kernel ABI "
			      "of 4 (supports 2 to 3) for device iw0");
	ibv_free_device_list(list);
	free(said);
}

/* In a child, with this text in the class's abi_version (NULL: no file): ENOSYS and the message. */
static void refused(const char *abi, const char *message)
{
	struct capture c;
	int status;
	char *said;
	pid_t pid;

	if (abi)
		file_write(sysfs, "class/infiniband_verbs/abi_version", abi);
	else
		file_remove(sysfs, "class/infiniband_verbs/abi_version");
	capture_begin(&c);
	pid = fork();
	if (!pid) {
		int count = -1;

		errno = 0;
		_exit(ibv_get_device_list(&count) || errno != ENOSYS || count);
	}
	waitpid(pid, &status, 0);
	said = capture_end(&c);
	assert_int_equal(status, 0);
	assert_contains(said, message);
	free(said);
}

/* A container may have no sysfs. Netlink reports everything needed. */
static void test_netlink_without_sysfs(void **state)
{
	struct ibv_device **list;

	teardown(state);
	netlink_answers = true;
	list = list_get(1);
	assert_string_equal(list[0]->name, "rxe0");
	assert_int_equal(ibv_get_device_index(list[0]), 7);
	ibv_free_device_list(list);
	netlink_answers = false;
}

static void test_kernel_abi(void **state)
{
	refused(NULL, "libibverbs: Fatal: couldn't read uverbs abi version");
	refused("rubbish\n", "libibverbs: Fatal: couldn't read uverbs abi version");
	refused("7\n", "libibverbs: Fatal: kernel ABI version 7 doesn't match library version 6");
	refused("5\n", "libibverbs: Fatal: kernel ABI version 5 doesn't match library version 6");
}

/* Ask for a list, which must fail with ENOSYS; return the messages that are logged at the
 * default level. */
static char *unsupported(void)
{
	struct capture c;
	int count = -1;

	capture_begin(&c);
	errno = 0;
	assert_null(ibv_get_device_list(&count));
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(count, 0);
	return capture_end(&c);
}

/* A host without RDMA is not broken: log nothing. */
static void test_no_class(void **state)
{
	char *said;

	teardown(state);
	said = unsupported();
	assert_string_equal(said, "");
	free(said);
}

/* A device without a node is reported once. */
static void test_no_uverbs(void **state)
{
	char class[2 * PATH_MAX], *said;

	snprintf(class, sizeof(class), "%s/class/infiniband_verbs", sysfs);
	folder_remove(class);
	said = unsupported();
	assert_contains(said, "libibverbs: Fatal: couldn't read uverbs abi version");
	assert_contains(said, "modprobe ib_uverbs");
	free(said);
	said = unsupported();
	assert_string_equal(said, "");
	free(said);
}

static void test_no_device(void **state)
{
	device_remove(2);
	device_remove(10);
	ibv_free_device_list(list_get(0));
}

static void test_open_fails(void **state)
{
	struct ibv_device **list = list_get(2);

	errno = 0;
	assert_null(ibv_open_device(list[0]));
	assert_int_equal(errno, ENOENT);
	ibv_free_device_list(list);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_netlink_without_sysfs),
		CASE(test_kernel_abi), /* the first test, because a supported ABI is cached */
		CASE(test_facts),
		CASE(test_same_pointers),
		CASE(test_removed_and_new),
		CASE(test_count_is_optional),
		CASE(test_node_missing),
		CASE(test_unreadable_device),
		CASE(test_device_abi_refused),
		CASE(test_provider_late),
		CASE(test_provider_damaged),
		CASE(test_provider_missing),
		CASE(test_no_class),
		CASE(test_no_uverbs),
		CASE(test_no_device),
		CASE(test_open_fails),
	};
	int failed;

	folder_make(sysfs);
	folder_make(config);
	file_write(config, "fixture.driver", "driver fixture\nmatch name *\n");
	setenv("SYSFS_PATH", sysfs, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	folder_remove(sysfs);
	folder_remove(config);
	return failed;
}
