/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/once.h"

#define THREADS 4

static struct once once = ONCE_INIT;
static pthread_barrier_t barrier;
static unsigned int runs; /* only init() writes it */

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

/* Every caller returns after the single run, which any caller may make. */
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

static struct once long_once = ONCE_INIT;
static atomic_bool entered, leave;

static void long_init(void)
{
	atomic_store(&entered, true);
	while (!atomic_load(&leave))
		sched_yield();
}

static void *run_long(void *unused)
{
	once_run(&long_once, long_init);
	return NULL;
}

/* A child does not have the thread that runs the function, and runs it again. */
static void test_fork(void **state)
{
	pthread_t thread;
	int status;
	pid_t pid;

	assert_int_equal(pthread_create(&thread, NULL, run_long, NULL), 0);
	while (!atomic_load(&entered))
		sched_yield();
	pid = fork();
	if (!pid) {
		alarm(60); /* ends a child that waits for the thread */
		atomic_store(&leave, true);
		run_long(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	atomic_store(&leave, true);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&long_once.state), ONCE_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_run),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
