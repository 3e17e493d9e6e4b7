/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/once.h"

#define THREADS 4

static struct once once = ONCE_INIT;
static pthread_barrier_t barrier;
static unsigned int runs; /* written by init() alone */

static void init(void)
{
	for (int i = 0; i < 1000; i++)
		sched_yield(); /* the others arrive meanwhile */
	runs++;
}

static void *run(void *unused)
{
	pthread_barrier_wait(&barrier);
	once_run(&once, init);
	return (void *)(uintptr_t)runs;
}

/* Every caller returns after the single run, whichever caller made it. */
static void test_one_run(void **state)
{
	pthread_t threads[THREADS];
	void *seen;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &seen);
		assert_int_equal((uintptr_t)seen, 1);
	}
	pthread_barrier_destroy(&barrier);
	once_run(&once, init);
	assert_int_equal(runs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
