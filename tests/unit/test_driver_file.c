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

/* A line of the file must not control the terminal that shows the log. */
static void test_control_bytes(void **state)
{
	struct disc_driver *d;
	char *said;

	assert_int_equal(parse("driver good\n\x01\x1b[31m\n", &d, &said), 0);
	assert_contains(said, "'??[31m'");
	disc_driver_free(d);
	free(said);
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

/* --- a folder with one file, both of which cannot be read at first --- */

static int folder_error, file_error;
static unsigned int reads; /* reads of folders */

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

static int folder_list(struct dirent ***ret_entries)
{
	struct dirent **entries = malloc(sizeof(*entries));

	reads++;
	assert_non_null(entries);
	entries[0] = calloc(1, sizeof(**entries));
	assert_non_null(entries[0]);
	strcpy(entries[0]->d_name, "late.driver");
	*ret_entries = entries;
	if (!folder_error)
		return 1;
	free(entries[0]);
	free(entries);
	errno = folder_error;
	return -1;
}

int __wrap_scandir(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		   compare_fn *compare);
int __wrap_scandir(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		   compare_fn *compare)
{
	return folder_list(ret_entries);
}

/* The name of the same function with file offsets of 64 bits. */
int __wrap_scandir64(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		     compare_fn *compare);
int __wrap_scandir64(const char *folder, struct dirent ***ret_entries, filter_fn *filter,
		     compare_fn *compare)
{
	return folder_list(ret_entries);
}

int __wrap_file_read_text(int dirfd, const char *path, char *buf, size_t size);
int __wrap_file_read_text(int dirfd, const char *path, char *buf, size_t size)
{
	if (file_error)
		return -file_error;
	return snprintf(buf, size, "driver late\n");
}

static void lacks(int of_folder, int of_file)
{
	int error = of_folder ?: of_file;
	struct capture c;
	char *said;

	folder_error = of_folder;
	file_error = of_file;
	capture_begin(&c);
	assert_true(STAILQ_EMPTY(disc_driver_files()));
	if (of_file)
		assert_null(disc_driver_file("late"));
	said = capture_end(&c);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	assert_contains(said, strerror(error));
	assert_contains(said, "again");
	free(said);
}

/* If one list of devices fails for lack of a resource, a later list still has the providers. */
static void test_lacks_at_first(void **state)
{
	static const int errors[] = { ENOMEM, EMFILE, ENFILE, EINTR };
	struct disc_driver *driver;
	unsigned int before;

	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		lacks(errors[i], 0);
		lacks(0, errors[i]);
	}
	folder_error = file_error = 0;
	driver = STAILQ_FIRST(disc_driver_files());
	assert_non_null(driver);
	assert_string_equal(driver->name, "late");
	assert_int_equal(driver->load_error, 0);
	before = reads;
	assert_ptr_equal(STAILQ_FIRST(disc_driver_files()), driver);
	assert_int_equal(reads, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lines),      cmocka_unit_test(test_older_package),
		cmocka_unit_test(test_absolute_path),  cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_control_bytes),  cmocka_unit_test(test_no_driver_line),
		cmocka_unit_test(test_lacks_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
