/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unread event records of an object that is about to be destroyed. */
#include <sys/resource.h>
#include <unistd.h>

#include "providers/uroce/base/pipe.h"
#include "tests/unit/unit.h"
#include "util/util.h"

static void purged(unsigned int descriptors)
{
	const uint64_t records[] = { 1, 2, 1, 3, 1 }, left[] = { 2, 3 };
	struct uroce_pipe pipe;
	struct rlimit old, few;
	unsigned int none, some;
	uint64_t found[8];

	assert_int_equal(uroce_pipe_open(&pipe), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(uroce_pipe_put(&pipe, &records[i], sizeof(records[i])), 0);
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = min_of(old.rlim_cur, (rlim_t)descriptors);
	setrlimit(RLIMIT_NOFILE, &few);
	none = uroce_pipe_purge(&pipe, 4, sizeof(records[0]));
	some = uroce_pipe_purge(&pipe, 1, sizeof(records[0]));
	none += uroce_pipe_purge(&pipe, 1, sizeof(records[0]));
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(none, 0);
	assert_int_equal(some, 3);
	assert_int_equal(read(pipe.read_fd, found, sizeof(found)), sizeof(left));
	assert_memory_equal(found, left, sizeof(left));
	/* Without any record left, the reader would sleep. */
	setrlimit(RLIMIT_NOFILE, &few);
	none = uroce_pipe_purge(&pipe, 1, sizeof(records[0]));
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(none, 0);
	close(pipe.read_fd);
	close(pipe.write_fd);
}

static void test_purge(void **state)
{
	purged(1024);
}

/* A process without free descriptors destroys an object: the purge must not wait for a reader. */
static void test_without_descriptors(void **state)
{
	purged(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_purge),
		cmocka_unit_test(test_without_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
