/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Peers choose the names, but not the places in the table: each process has a hash of its own. */
#include <sys/wait.h>

#include "librdmacm/ibcm/table.h"
#include "tests/unit/unit.h"

#include "tests/unit/ibcm/host.h"

enum {
	NAMES = 64,
};

static void hash_all(uint32_t hash[NAMES])
{
	const union ibv_gid gid = host_gid(2);

	for (uint32_t n = 0; n < NAMES; n++)
		hash[n] = ibcm_hash(&gid, HOST_GUID, n);
}

/* Hash as a process does whose random numbers are those of @random; the first use chooses the
 * key. */
static void hash_in_process(uint32_t random, uint32_t hash[NAMES])
{
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		host.random = random;
		hash_all(hash);
		_exit(write(ends[1], hash, NAMES * sizeof(*hash)) != NAMES * sizeof(*hash));
	}
	assert_int_equal(read(ends[0], hash, NAMES * sizeof(*hash)), NAMES * sizeof(*hash));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
}

static void test_each_process_has_another(void **state)
{
	uint32_t one[NAMES], other[NAMES];
	unsigned int same = 0;

	hash_in_process(1, one);
	hash_in_process(2, other);
	for (unsigned int n = 0; n < NAMES; n++)
		same += one[n] == other[n];
	assert_true(same < NAMES / 8);
	/* and keeps the key */
	hash_in_process(1, other);
	assert_memory_equal(one, other, sizeof(one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_process_has_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
