/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choice of a driver file for a device. Loading is replaced: a library "is there" if its
 * name is in the list of providers below. Each test has a process of its own, because files are
 * read once. */
#include <sys/wait.h>

#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static char folder[PATH_MAX], vendor[PATH_MAX], sysfs[PATH_MAX];
static char loaded[256]; /* names, in the order of loading */

static const struct verbs_provider providers[] = {
	{ .name = "byid", .driver_id = 14 },
	{ .name = "bymodalias" },
	{ .name = "byname" },
	{ .name = "old", .driver_id = 14 },
	{ .name = "other", .driver_id = 3 },
	{ .name = "user", .driver_id = 14 },
};

const struct disc_paths *disc_paths(void)
{
	static struct disc_paths paths;

	paths = (struct disc_paths){ .config = folder, .providers = folder };
	if (vendor[0])
		paths.vendor = vendor;
	return &paths;
}

static const struct verbs_provider *provider_find(const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(providers); i++)
		if (!strcmp(providers[i].name, name))
			return &providers[i];
	return NULL;
}

bool disc_load_exists(const struct disc_driver *driver)
{
	return provider_find(driver->name);
}

bool disc_load_can_wait(const struct disc_driver *driver)
{
	return provider_find(driver->name);
}

int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider)
{
	strcat(strcat(loaded, driver->name), " ");
	*ret_provider = provider_find(driver->name);
	return *ret_provider ? 0 : -ENOENT;
}

/* Match one device of driver id 14 in a child. @expected: the provider's name; NULL: -ENOENT. */
static void expect(const char *expected, const char *expected_loads)
{
	struct verbs_device device = { .driver_id = 14 };
	const struct verbs_provider *provider;
	struct disc_driver *driver;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		return;
	}
	assert_int_equal(disc_device_name(&device, "rxe0"), 0);
	driver = disc_match_device(&device);
	if (expected) {
		assert_int_equal(disc_load(driver, &provider), 0);
		assert_string_equal(provider->name, expected);
	} else if (driver) {
		assert_int_equal(disc_load(driver, &provider), -ENOENT);
	}
	assert_string_equal(loaded, expected_loads);
	_exit(0);
}

static int setup(void **state)
{
	folder_make(folder);
	file_write(sysfs, "class/infiniband/rxe0/device/modalias", "pci:v000015B3d00001017\n");
	return 0;
}

static int teardown(void **state)
{
	folder_remove(folder);
	return 0;
}

/* The drivers that the environment names are asked first, in its order; RDMAV_DRIVERS wins. */
static void test_environment(void **state)
{
	file_write(folder, "rxe.driver", "driver byid\nmatch driver_id 14\n");
	setenv("IBV_DRIVERS", "old", 1);
	expect("old", "old old ");
	setenv("RDMAV_DRIVERS", "other;:../evil:user", 1);
	expect("user", "other user user ");
	setenv("RDMAV_DRIVERS", "other", 1);
	expect("byid", "other byid ");
	setenv("RDMAV_DRIVERS", "", 1);
	expect("byid", "byid ");
	unsetenv("RDMAV_DRIVERS");
	unsetenv("IBV_DRIVERS");
}

static void test_driver_id_first(void **state)
{
	file_write(folder, "a.driver", "driver byname\nmatch name rxe*\n");
	file_write(folder, "b.driver", "driver bymodalias\nmatch modalias pci:v000015B3*\n");
	file_write(folder, "c.driver", "driver byid\nmatch driver_id 14\n");
	expect("byid", "byid ");
}

static void test_then_modalias(void **state)
{
	file_write(folder, "a.driver", "driver byname\nmatch name rxe*\n");
	file_write(folder, "b.driver", "driver bymodalias\nmatch modalias pci:v000015B3*\n");
	file_write(folder, "c.driver", "driver other\nmatch driver_id 3\n");
	expect("bymodalias", "bymodalias ");
}

static void test_then_name(void **state)
{
	file_write(folder, "a.driver", "driver byname\nmatch name rxe*\n");
	file_write(folder, "b.driver", "driver bymodalias\nmatch modalias pci:v00001000*\n");
	expect("byname", "byname ");
}

/* The usual file is enough: the others are not read, here a file that would be complained about. */
static void test_usual_file(void **state)
{
	struct capture c;
	char *said;

	file_write(folder, "a.driver", "rubbish\n");
	file_write(folder, "rxe.driver", "driver byid\nmatch driver_id 14\n");
	capture_begin(&c);
	expect("byid", "byid ");
	said = capture_end(&c);
	assert_string_equal(said, "");
	free(said);
}

static void test_usual_file_of_another(void **state)
{
	file_write(folder, "rxe.driver", "driver other\nmatch driver_id 3\n");
	file_write(folder, "z.driver", "driver byid\nmatch driver_id 14\n");
	expect("byid", "byid ");
}

/* Driver files of older packages have no match lines. Their provider is asked after all matches. */
static void test_without_matches_last(void **state)
{
	file_write(folder, "a.driver", "driver other\n");
	file_write(folder, "b.driver", "driver old\n");
	file_write(folder, "c.driver", "driver missing\n");
	expect("old", "other old old ");
	file_write(folder, "d.driver", "driver byname\nmatch name rxe0\n");
	expect("byname", "byname ");
}

static void test_userspace_is_no_match(void **state)
{
	file_write(folder, "a.driver", "driver user\nmatch userspace\n");
	expect(NULL, "");
}

static void test_nothing(void **state)
{
	file_write(folder, "a.driver", "driver other\nmatch driver_id 3\n");
	expect(NULL, "");
}

static void test_no_folder(void **state)
{
	struct capture c;
	char *said;

	folder_remove(folder);
	capture_begin(&c);
	expect(NULL, "");
	said = capture_end(&c);
	assert_contains(said, "libibverbs: Warning: couldn't open config directory '");
	assert_contains(said, folder);
	free(said);
}

static int setup_vendor(void **state)
{
	folder_make(vendor);
	return setup(state);
}

static int teardown_vendor(void **state)
{
	folder_remove(vendor);
	vendor[0] = '\0';
	return teardown(state);
}

/* A package's file is used, unless the administrator has one of the same name. */
static void test_vendor(void **state)
{
	file_write(vendor, "a.driver", "driver byid\nmatch driver_id 14\n");
	expect("byid", "byid ");
	file_write(folder, "a.driver", "driver other\nmatch driver_id 3\n");
	expect(NULL, "");
	file_write(vendor, "rxe.driver", "driver byname\nmatch driver_id 14\n");
	expect("byname", "byname ");
}

static void test_vendor_alone(void **state)
{
	struct capture c;
	char *said;

	file_write(vendor, "a.driver", "driver byid\nmatch driver_id 14\n");
	folder_remove(folder);
	capture_begin(&c);
	expect("byid", "byid ");
	said = capture_end(&c);
	assert_string_equal(said, "");
	free(said);
}

/* The target of an entry is in neither folder: this is reported once, with its name. */
static void test_dangling(void **state)
{
	char path[PATH_MAX + 16];
	struct capture c;
	char *said;

	snprintf(path, sizeof(path), "%s/a.driver", folder);
	assert_int_equal(symlink("nowhere", path), 0);
	capture_begin(&c);
	expect(NULL, "");
	said = capture_end(&c);
	assert_contains(said, "couldn't read config file");
	assert_contains(said, path);
	free(said);
}

static void test_refused_once(void **state)
{
	struct capture c;
	char *said;

	file_write(folder, "rxe.driver", "rubbish\n");
	capture_begin(&c);
	expect(NULL, "");
	said = capture_end(&c);
	assert_contains(said, "ignoring config file 'rxe.driver'");
	assert_null(strstr(strstr(said, "ignoring config file") + 1, "ignoring config file"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_driver_id_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_then_modalias, setup, teardown),
		cmocka_unit_test_setup_teardown(test_then_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_usual_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_usual_file_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_matches_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_userspace_is_no_match, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vendor, setup_vendor, teardown_vendor),
		cmocka_unit_test_setup_teardown(test_vendor_alone, setup_vendor, teardown_vendor),
		cmocka_unit_test_setup_teardown(test_dangling, setup_vendor, teardown_vendor),
		cmocka_unit_test_setup_teardown(test_refused_once, setup, teardown),
	};
	int failed;

	folder_make(sysfs);
	setenv("SYSFS_PATH", sysfs, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	folder_remove(sysfs);
	return failed;
}
