/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the unit tests: cmocka with its headers in order, temporary folders, captured
 * stderr. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Redirect stderr to a memory file from begin to end. Return the text; the caller frees it. */
struct capture {
	int memory;
	int saved;
};

static inline void capture_begin(struct capture *c)
{
	fflush(stderr);
	c->memory = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(c->memory >= 0);
	c->saved = dup(STDERR_FILENO);
	assert_int_equal(dup2(c->memory, STDERR_FILENO), STDERR_FILENO);
}

static inline char *capture_end(struct capture *c)
{
	off_t length;
	char *text;

	fflush(stderr);
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	length = lseek(c->memory, 0, SEEK_END);
	text = calloc(1, length + 1);
	assert_int_equal(pread(c->memory, text, length, 0), length);
	close(c->memory);
	return text;
}

#define assert_contains(text, part)                                  \
	do {                                                         \
		if (!strstr(text, part))                             \
			fail_msg("'%s' is not in '%s'", part, text); \
	} while (0)

/* A folder of the test's own, removed with everything in it by folder_remove(). */
static inline void folder_make(char path[PATH_MAX])
{
	const char *parent = getenv("TMPDIR");

	snprintf(path, PATH_MAX, "%.4000s/rdma-unit.XXXXXX", parent ? parent : "/tmp");
	assert_non_null(mkdtemp(path));
}

static inline int folder_remove_entry(const char *path, const struct stat *st, int type,
				      struct FTW *ftw)
{
	return remove(path);
}

static inline void folder_remove(const char *path)
{
	nftw(path, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write <folder>/<name>, making the folders in between. */
static inline void file_write(const char *folder, const char *name, const char *text)
{
	char *path;
	FILE *f;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	for (char *slash = path + strlen(folder); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static inline void file_remove(const char *folder, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	assert_int_equal(unlink(path), 0);
	free(path);
}

#endif
