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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
