/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "util/spinlock.h"

#define THREADS 4
#define ROUNDS	50000

static struct spinlock lock;
static unsigned long counter; /* protected by lock */

static void *count(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		spinlock_lock(&lock);
		counter++;
		spinlock_unlock(&lock);
	}
	return NULL;
}

static void test_exclusion(void **state)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, THREADS * ROUNDS);
	assert_int_equal(atomic_load(&lock.held), 0);
}

/* Both locks are taken once in any order, also if both are the same lock or one is NULL. */
static void test_both(void **state)
{
	struct spinlock pair[2] = {};
	struct spinlock *const cases[][2] = {
		{ &pair[0], &pair[1] }, { &pair[1], &pair[0] }, { &pair[0], &pair[0] },
		{ &pair[0], NULL },	{ NULL, &pair[1] },	{ NULL, NULL },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spinlock *a = cases[i][0], *b = cases[i][1];

		spinlock_lock_both(a, b);
		for (int n = 0; n < 2; n++)
			assert_int_equal(atomic_load(&pair[n].held),
					 a == &pair[n] || b == &pair[n]);
		spinlock_unlock_both(a, b);
		assert_int_equal(atomic_load(&pair[0].held) | atomic_load(&pair[1].held), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
