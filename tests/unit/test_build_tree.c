/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program may contain the shared library's objects, as this one does: a build tree beside it
 * is not used. (Beside a library: tests/programs/beside.) */
#include <libgen.h>

#include "tests/unit/unit.h"

#include "libibverbs/discovery/discovery.h"

static void test_beside_program(void **state)
{
	char program[PATH_MAX] = "", marker[PATH_MAX + 32], *folder;
	struct disc_paths paths;
	int r;

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	folder = dirname(program);
	file_write(folder, "libibverbs.d/.build-tree", "");
	r = disc_build_tree(test_beside_program, &paths);
	file_remove(folder, "libibverbs.d/.build-tree");
	snprintf(marker, sizeof(marker), "%s/libibverbs.d", folder);
	rmdir(marker);
	assert_int_equal(r, -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
