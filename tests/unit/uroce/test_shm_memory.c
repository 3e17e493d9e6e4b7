/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of other processes: whether it can be read, and when copies by the kernel are too slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/base/copy.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_memory.h"

#define KIB 1024u

static void test_readable(void **state)
{
	uint8_t probe[SHM_LINE] = { 1 }, token[SHM_LINE] = { 1 }, other[SHM_LINE] = { 2 };

	assert_true(shm_memory_readable(getpid(), (uintptr_t)probe, token));
	assert_false(shm_memory_readable(getpid(), (uintptr_t)probe, other)); /* another process */
	assert_false(shm_memory_readable(getpid(), 8, token));		      /* nothing there */
	assert_false(shm_memory_readable(0, (uintptr_t)probe, token));
}

static void test_judge(void **state)
{
	/* Figures of a real processor with system calls that cost much, and of an emulated one. */
	assert_false(shm_memory_judge(4200, 600, 32 * KIB));
	assert_true(shm_memory_judge(80000, 10000, 32 * KIB));
	/* Both copies are slow: one copy is better than two. */
	assert_false(shm_memory_judge(80000, 40000, 32 * KIB));
	/* Fast enough, however fast a local copy is. */
	assert_false(shm_memory_judge(16000, 100, 32 * KIB));
	assert_false(shm_memory_judge(0, 600, 32 * KIB)); /* forbidden */
}

/* On every machine a second question has the answer of the first. */
static void test_asked_twice(void **state)
{
	bool slow;

	uroce_copy_init();
	slow = shm_memory_slow();
	assert_int_equal(shm_memory_slow(), slow);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_readable),
	cmocka_unit_test(test_judge),
	cmocka_unit_test(test_asked_twice),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
