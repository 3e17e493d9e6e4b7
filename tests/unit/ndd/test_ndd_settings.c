/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/unit.h"

#include "rdma-ndd/node_desc.h"
#include "rdma-ndd/settings.h"
#include "util/util.h"

static void check(const char *text, const char *expected)
{
	struct settings settings = { .format = "before" };

	settings_parse("test.conf", text, &settings);
	assert_string_equal(settings.format, expected);
}

static void test_lines(void **state)
{
	check("RDMA_NDD_ND_FORMAT=%h\n", "%h");
	check("RDMA_NDD_ND_FORMAT=%h", "%h");
	check("# comment\nIPOIB_LOAD=yes\n\n  RDMA_NDD_ND_FORMAT = %h\n", "before");
	check("  RDMA_NDD_ND_FORMAT=  %h %d \t\r\nOTHER=1\n", "%h %d");
	check("RDMA_NDD_ND_FORMAT=\"%h: %d \"\n", "%h: %d ");
	check("RDMA_NDD_ND_FORMAT='a'\nRDMA_NDD_ND_FORMAT='b'\n", "b");
	check("RDMA_NDD_ND_FORMAT='a\"\n", "'a\"");
	check("RDMA_NDD_ND_FORMAT='\n", "'");
	check("#RDMA_NDD_ND_FORMAT=a\n", "before");
	check("XRDMA_NDD_ND_FORMAT=a\nRDMA_NDD_ND_FORMATX=a\n", "before");
	check("", "before");
	check("\n\n", "before");
}

/* @complaint: what is logged about the line; "": nothing */
static void check_logged(const char *text, const char *expected, const char *complaint)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	check(text, expected);
	said = capture_end(&c);
	if (*complaint)
		assert_contains(said, complaint);
	else
		assert_string_equal(said, "");
	free(said);
}

/* If a line for the setting is ignored or changed, there is a message. */
static void test_complaints(void **state)
{
	check_logged("RDMA_NDD_ND_FORMAT=\"%h %d\" # comment\n", "%h %d", "");
	check_logged("RDMA_NDD_ND_FORMAT='%h'\t#\n", "%h", "");
	check_logged("# RDMA_NDD_ND_FORMAT = x\nXRDMA_NDD_ND_FORMAT=a\n", "before", "");
	check_logged("RDMA_NDD_ND_FORMAT=\"%h\n", "\"%h", "quotes become a part");
	check_logged("RDMA_NDD_ND_FORMAT='%h' %d\n", "'%h' %d", "quotes become a part");
	check_logged("RDMA_NDD_ND_FORMAT = %h\n", "before", "'RDMA_NDD_ND_FORMAT = %h' is ignored");
	check_logged("export RDMA_NDD_ND_FORMAT=%h\n", "before", "is ignored: write RDMA_NDD");
	check_logged("rdma_ndd_nd_format=%h\n", "before", "is ignored: write RDMA_NDD");
}

static void check_refused(const char *text)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	check(text, "before");
	said = capture_end(&c);
	assert_contains(said, "test.conf: RDMA_NDD_ND_FORMAT is ignored");
	free(said);
}

static void test_refused(void **state)
{
	char text[400] = "RDMA_NDD_ND_FORMAT=";
	size_t start = strlen(text);

	check_refused("RDMA_NDD_ND_FORMAT=\n");
	check_refused("RDMA_NDD_ND_FORMAT=''\n");
	memset(text + start, 'x', SETTINGS_FORMAT_SIZE);
	check_refused(text);
	text[start + SETTINGS_FORMAT_SIZE - 1] = '\0';
	check(text, text + start);
}

/* An unknown "%" sequence is kept as it is, with a warning. */
static void test_unknown_percent(void **state)
{
	static const char *const texts[] = { "%x %h", "a%", "%%%", "%h%H" };
	struct capture c;
	char *said;

	for (int i = 0; i <= ARRAY_SIZE(texts); i++) {
		char line[64];

		snprintf(line, sizeof(line), "RDMA_NDD_ND_FORMAT=%s", i ? texts[i - 1] : "%h%%%d");
		capture_begin(&c);
		check(line, i ? texts[i - 1] : "%h%%%d");
		said = capture_end(&c);
		if (i)
			assert_contains(said, "any other % for itself");
		else
			assert_string_equal(said, "");
		free(said);
	}
}

static void test_sources(void **state)
{
	char folder[PATH_MAX], path[PATH_MAX + 16];
	struct settings settings;
	struct capture c;
	char *said;

	folder_make(folder);
	snprintf(path, sizeof(path), "%s/rdma.conf", folder);
	unsetenv("RDMA_NDD_ND_FORMAT");
	settings_load(path, &settings);
	assert_string_equal(settings.format, NODE_DESC_FORMAT);
	file_write(folder, "rdma.conf", "RDMA_NDD_ND_FORMAT=file\n");
	settings_load(path, &settings);
	assert_string_equal(settings.format, "file");
	setenv("RDMA_NDD_ND_FORMAT", "environment", 1);
	settings_load(path, &settings);
	assert_string_equal(settings.format, "environment");
	unsetenv("RDMA_NDD_ND_FORMAT");
	capture_begin(&c);
	settings_load(folder, &settings);
	said = capture_end(&c);
	assert_string_equal(settings.format, NODE_DESC_FORMAT);
	assert_contains(said, "cannot be read: Is a directory");
	free(said);
	folder_remove(folder);
}

/* Any bytes, many times: the resulting format is usable. The seed is fixed. */
static void test_hostile(void **state)
{
	static const char *const words[] = { "RDMA_NDD_ND_FORMAT=", "\n", "\"", "'", " ", "%h" };
	unsigned int seed = 1;
	struct capture c;

	capture_begin(&c);
	for (int round = 0; round < 20000; round++) {
		struct settings settings = { .format = "before" };
		char text[1200] = "";

		while (strlen(text) < sizeof(text) - 300 && rand_r(&seed) % 20) {
			char one[2] = { 1 + rand_r(&seed) % 255, '\0' };

			strcat(text, rand_r(&seed) % 2 ? one : words[rand_r(&seed) % 6]);
		}
		settings_parse("test.conf", text, &settings);
		assert_true(strnlen(settings.format, sizeof(settings.format)) <
			    sizeof(settings.format));
		assert_true(settings.format[0]);
		assert_null(strchr(settings.format, '\n'));
	}
	free(capture_end(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_unknown_percent),
		cmocka_unit_test(test_sources), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
