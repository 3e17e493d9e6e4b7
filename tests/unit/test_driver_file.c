/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>

#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static int parse(const char *text, struct disc_driver **driver, char **said)
{
	struct capture c;
	int r;

	*driver = NULL;
	capture_begin(&c);
	r = disc_driver_parse("x.driver", text, driver);
	*said = capture_end(&c);
	return r;
}

static struct disc_driver *parse_good(const char *text)
{
	struct disc_driver *driver;
	char *said;

	assert_int_equal(parse(text, &driver, &said), 0);
	assert_string_equal(said, "");
	free(said);
	return driver;
}

static void test_all_lines(void **state)
{
	struct disc_driver *d = parse_good("# which devices\n"
					   "driver rxe\n"
					   "\n"
					   "  match\tdriver_id   14   # RDMA_DRIVER_RXE\r\n"
					   "match modalias pci:v000015B3d*\n"
					   "match name rxe*\n"
					   "match userspace");
	struct disc_match *m = STAILQ_FIRST(&d->matches);

	assert_string_equal(d->name, "rxe");
	assert_string_equal(d->file, "x.driver");
	assert_int_equal(m->kind, DISC_MATCH_DRIVER_ID);
	assert_int_equal(m->driver_id, 14);
	m = STAILQ_NEXT(m, entry);
	assert_int_equal(m->kind, DISC_MATCH_MODALIAS);
	assert_string_equal(m->pattern, "pci:v000015B3d*");
	m = STAILQ_NEXT(m, entry);
	assert_int_equal(m->kind, DISC_MATCH_NAME);
	assert_string_equal(m->pattern, "rxe*");
	m = STAILQ_NEXT(m, entry);
	assert_int_equal(m->kind, DISC_MATCH_USERSPACE);
	assert_null(STAILQ_NEXT(m, entry));
	disc_driver_free(d);
}

static void test_older_package(void **state)
{
	struct disc_driver *d = parse_good("driver mlx5\n");

	assert_string_equal(d->name, "mlx5");
	assert_true(STAILQ_EMPTY(&d->matches));
	disc_driver_free(d);
}

static void test_absolute_path(void **state)
{
	struct disc_driver *d = parse_good("driver /opt/x/libfoo\n");

	assert_string_equal(d->name, "/opt/x/libfoo");
	disc_driver_free(d);
}

/* A bad line is reported and ignored; the rest of the file is used. */
static void test_bad_lines(void **state)
{
	static const char *const bad[] = {
		"drivers rxe",
		"driver",
		"driver a b",
		"driver ../evil",
		"driver sub/evil",
		"driver second", /* there is one already */
		"match",
		"match driver_id",
		"match driver_id 0",
		"match driver_id -1",
		"match driver_id 14x",
		"match driver_id 99999999999",
		"match driver_id 14 15",
		"match modalias",
		"match modalias a b",
		"match name",
		"match userspace yes",
		"match pci 15b3",
		"\x01\x02",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		struct disc_driver *d;
		char text[128], *said;

		snprintf(text, sizeof(text), "driver good\n%s\nmatch driver_id 3\n", bad[i]);
		assert_int_equal(parse(text, &d, &said), 0);
		assert_contains(said, "libibverbs: Warning: ignoring bad config directive '");
		assert_contains(said, bad[i]);
		assert_contains(said, "'x.driver' line 2");
		assert_string_equal(d->name, "good");
		assert_int_equal(STAILQ_FIRST(&d->matches)->driver_id, 3);
		assert_null(STAILQ_NEXT(STAILQ_FIRST(&d->matches), entry));
		disc_driver_free(d);
		free(said);
	}
}

static void test_no_driver_line(void **state)
{
	struct disc_driver *d;
	char *said;

	assert_int_equal(parse("match driver_id 3\n", &d, &said), -EINVAL);
	assert_contains(said, "no line 'driver NAME'");
	free(said);
	assert_int_equal(parse("", &d, &said), -EINVAL);
	assert_contains(said, "no line 'driver NAME'");
	free(said);
}

static unsigned int reads;

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

static int no_folder(struct dirent ***ret_entries)
{
	errno = ENOMEM;
	if (!reads++)
		return -1;
	*ret_entries = NULL;
	return 0;
}

int __wrap_scandir(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		   compare_fn *compare);
int __wrap_scandir(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		   compare_fn *compare)
{
	return no_folder(ret_entries);
}

/* The name of the same function with file offsets of 64 bits. */
int __wrap_scandir64(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		     compare_fn *compare);
int __wrap_scandir64(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		     compare_fn *compare)
{
	return no_folder(ret_entries);
}

/* A list of devices that lacked memory does not leave the process without providers. */
static void test_no_memory_at_first(void **state)
{
	unsigned int folders = disc_paths()->vendor ? 2 : 1;
	struct capture c;
	char *said;

	capture_begin(&c);
	disc_driver_files();
	said = capture_end(&c);
	assert_int_equal(reads, folders);
	assert_null(strstr(said, "config directory"));
	free(said);
	disc_driver_files();
	assert_int_equal(reads, 2 * folders);
	disc_driver_files();
	assert_int_equal(reads, 2 * folders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lines),      cmocka_unit_test(test_older_package),
		cmocka_unit_test(test_absolute_path),  cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_no_driver_line), cmocka_unit_test(test_no_memory_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
