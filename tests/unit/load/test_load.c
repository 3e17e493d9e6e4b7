/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

const struct disc_paths *disc_paths(void)
{
	static const struct disc_paths paths = { .config = FOLDER, .providers = FOLDER };

	return &paths;
}

/* Take the text of dlerror() away, as programs do that intercept a call and search the real one. */
int access(const char *path, int mode)
{
	dlerror();
	return faccessat(AT_FDCWD, path, mode, 0);
}

static int load(struct disc_driver *driver, const struct verbs_provider **provider, char **said)
{
	struct capture c;
	int r;

	*provider = NULL;
	capture_begin(&c);
	r = disc_load(driver, provider);
	*said = capture_end(&c);
	return r;
}

static void test_good(void **state)
{
	struct disc_driver driver = { .name = (char *)"good" };
	const struct verbs_provider *first, *second;
	char *said;

	assert_true(disc_load_exists(&driver));
	assert_true(disc_load_can_wait(&driver));
	assert_int_equal(load(&driver, &first, &said), 0);
	assert_string_equal(said, "");
	assert_int_equal(first->driver_id, 77);
	free(said);
	assert_int_equal(load(&driver, &second, &said), 0);
	assert_ptr_equal(first, second);
	free(said);
}

static void test_absolute_path(void **state)
{
	struct disc_driver driver = { .name = (char *)FOLDER "/libgood" };
	const struct verbs_provider *provider;
	char *said;

	assert_int_equal(load(&driver, &provider, &said), 0);
	assert_string_equal(provider->name, "fixture");
	free(said);
}

/* Check that the plug-in is refused with one message, logged once, and without a provider. */
static void refused(const char *name, int expected, const char *const *parts)
{
	struct disc_driver driver = { .name = (char *)name };
	const struct verbs_provider *provider;
	char *said;

	assert_int_equal(load(&driver, &provider, &said), expected);
	assert_null(provider);
	assert_int_equal(strncmp(said, "libibverbs: Warning: couldn't load driver '", 43), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	for (; *parts; parts++)
		assert_contains(said, *parts);
	free(said);

	assert_int_equal(load(&driver, &provider, &said), expected);
	assert_null(provider);
	assert_string_equal(said, "");
	free(said);
}

#define REFUSED(name, expected, ...) \
	refused(name, expected, (const char *const[]){ __VA_ARGS__, NULL })

static void test_wrong_abi(void **state)
{
	REFUSED("wrongabi", -EPROTO, "libwrongabi-rdmav101.so", "interface 100", "needs 101");
}

static void test_wrong_size(void **state)
{
	REFUSED("wrongsize", -EPROTO, "libwrongsize-rdmav101.so", "rebuild");
}

static void test_no_ops(void **state)
{
	REFUSED("noops", -EPROTO, "libnoops-rdmav101.so", "rebuild");
}

static void test_no_entry(void **state)
{
	REFUSED("noentry", -ELIBBAD, "verbs_provider_entry");
}

static void test_undefined_symbol(void **state)
{
	REFUSED("undefined", -ELIBBAD, "verbs_function_of_another_release", "reinstall");
}

static void test_no_library(void **state)
{
	REFUSED("text", -ELIBBAD, "libtext-rdmav101.so", "reinstall");
}

/* A process without free descriptors gets the provider once it has one. */
static void test_no_descriptor_at_first(void **state)
{
	struct disc_driver driver = { .name = (char *)"late" };
	const struct verbs_provider *provider = NULL;
	struct rlimit limit, none;
	struct capture c;
	char *said;
	int r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	capture_begin(&c);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = disc_load(&driver, &provider);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	said = capture_end(&c);
	assert_int_equal(r, -EMFILE);
	assert_contains(said, "tries again");
	free(said);
	assert_int_equal(load(&driver, &provider, &said), 0);
	assert_string_equal(said, "");
	free(said);
}

static void test_missing(void **state)
{
	struct disc_driver driver = { .name = (char *)"missing" };

	assert_false(disc_load_exists(&driver));
	assert_false(disc_load_can_wait(&driver));
	REFUSED("missing", -ENOENT, "libmissing-rdmav101.so", "not installed");
	REFUSED("/nowhere/libmissing", -ENOENT, "/nowhere/libmissing-rdmav101.so");
}

static void test_other_release(void **state)
{
	REFUSED("otherrelease", -ENOENT, "libotherrelease-rdmav101.so",
		"libotherrelease-rdmav34.so", "needs provider interface 101");
}

static void test_link_without_target(void **state)
{
	REFUSED("dangling", -ENOENT, "libdangling-rdmav101.so", "it is a link to 'nowhere.so'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_absolute_path),
		cmocka_unit_test(test_wrong_abi),
		cmocka_unit_test(test_wrong_size),
		cmocka_unit_test(test_no_ops),
		cmocka_unit_test(test_no_entry),
		cmocka_unit_test(test_undefined_symbol),
		cmocka_unit_test(test_no_library),
		cmocka_unit_test(test_no_descriptor_at_first),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_other_release),
		cmocka_unit_test(test_link_without_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
