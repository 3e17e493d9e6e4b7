/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include "rdma-ndd/node_desc.h"

static void check(const char *format, const char *host, const char *device, const char *expected)
{
	char text[NODE_DESC_SIZE + 1];

	node_desc_format(format, host, device, text);
	assert_string_equal(text, expected);
}

static void test_wildcards(void **state)
{
	check(NODE_DESC_FORMAT, "node7", "rxe0", "node7 rxe0");
	check("%d on %h", "node7", "rxe0", "rxe0 on node7");
	check("%h", "node7.example.org", "rxe0", "node7");
	check("%h%h", "a", "b", "aa");
	check("fixed", "node7", "rxe0", "fixed");
	check("", "node7", "rxe0", "");
	check("%h %d", "", "rxe0", " rxe0");
	check("%h", ".local", "rxe0", "");
}

static void test_percent(void **state)
{
	check("100%%", "h", "d", "100%");
	check("%%h", "host", "d", "%h");
	check("%x", "h", "d", "%x");
	check("%", "h", "d", "%");
	check("a%", "h", "d", "a%");
	/* Inserted text is not expanded again. */
	check("%h", "%d", "rxe0", "%d");
	check("%s%n%p", "h", "d", "%s%n%p");
}

static void test_control_characters(void **state)
{
	check("%h", "a\nb\033[1m\177", "d", "a_b_[1m_");
	check("a\tb", "h", "d", "a_b");
	check("%d", "h", "m\xc3\xb6", "m\xc3\xb6");
}

static void test_length(void **state)
{
	char long_name[200], text[NODE_DESC_SIZE + 1];

	memset(long_name, 'x', sizeof(long_name));
	long_name[199] = '\0';
	node_desc_format("%h %d", long_name, "rxe0", text);
	assert_int_equal(strlen(text), NODE_DESC_SIZE);
	long_name[NODE_DESC_SIZE] = '\0';
	node_desc_format("%h", long_name, "rxe0", text);
	assert_string_equal(text, long_name);
}

/* Put @character behind @before ASCII bytes and check what is left at the attribute's end. */
static void check_cut(int before, const char *character, size_t expected)
{
	char name[128], text[NODE_DESC_SIZE + 1];

	snprintf(name, sizeof(name), "%.*s%s%s", before,
		 "0123456789012345678901234567890123456789012345678901234567890123", character,
		 "tail");
	node_desc_format("%h", name, "", text);
	assert_int_equal(strlen(text), expected);
	assert_memory_equal(text, name, expected);
}

static void test_cut_between_characters(void **state)
{
	check_cut(62, "\xc3\xa4", 64);
	check_cut(63, "\xc3\xa4", 63);
	check_cut(62, "\xe2\x82\xac", 62);
	check_cut(61, "\xf0\x9f\x90\xa7", 61);
	check_cut(60, "\xf0\x9f\x90\xa7", 64);
	/* Bytes that are not UTF-8 are kept. */
	check_cut(60, "\x80\x80\x80\x80\x80\x80", 64);
}

static void test_read_and_write(void **state)
{
	char folder[PATH_MAX], text[NODE_DESC_SIZE + 1] = "untouched";
	char full[NODE_DESC_SIZE + 2];
	int fd;

	folder_make(folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(node_desc_read(fd, text), -ENOENT);
	assert_int_equal(node_desc_write(fd, "x"), -ENOENT);
	assert_string_equal(text, "untouched");
	file_write(folder, "node_desc", "a longer old one\n");
	assert_int_equal(node_desc_read(fd, text), 0);
	assert_string_equal(text, "a longer old one");
	assert_int_equal(node_desc_write(fd, "new"), 0);
	assert_int_equal(node_desc_read(fd, text), 0);
	assert_string_equal(text, "new");
	memset(full, 'x', NODE_DESC_SIZE);
	full[NODE_DESC_SIZE] = '\n';
	full[NODE_DESC_SIZE + 1] = '\0';
	file_write(folder, "node_desc", full);
	assert_int_equal(node_desc_read(fd, text), 0);
	assert_int_equal(strlen(text), NODE_DESC_SIZE);
	close(fd);
	folder_remove(folder);
}

/* Any bytes, many times: the text fits, and has no control characters. The seed is fixed. */
static void test_hostile(void **state)
{
	unsigned int seed = 1;

	for (int round = 0; round < 20000; round++) {
		char parts[3][300], text[NODE_DESC_SIZE + 1];

		for (int part = 0; part < 3; part++) {
			int length = rand_r(&seed) % sizeof(parts[0]);

			for (int i = 0; i < length; i++)
				parts[part][i] = rand_r(&seed) % 4 ? 1 + rand_r(&seed) % 255
								   : "%hd."[rand_r(&seed) % 4];
			parts[part][length] = '\0';
		}
		node_desc_format(parts[0], parts[1], parts[2], text);
		assert_true(strnlen(text, sizeof(text)) <= NODE_DESC_SIZE);
		for (char *p = text; *p; p++)
			assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wildcards),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_cut_between_characters),
		cmocka_unit_test(test_read_and_write),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
