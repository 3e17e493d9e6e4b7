/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The libraries' own threads, in a program whose threads get a small stack. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/unit/unit.h"

#include "util/thread.h"

enum {
	SMALL = 128 << 10, /* bytes that the program's threads get */
#ifdef __SANITIZE_THREAD__
	USED = 40 << 10, /* the sanitizer's own variables of a thread are on its stack, too */
#else
	USED = 300 << 10, /* bytes that a thread of a library uses */
#endif
};

struct seen {
	sigset_t blocked;
	unsigned int sum;
	atomic_bool done;
};

/* Touch each page of the stack. */
static unsigned int stack_use(void)
{
	volatile uint8_t bytes[USED];
	unsigned int sum = 0;

	for (size_t i = sizeof(bytes); i; i -= 1024)
		bytes[i - 1] = 1;
	for (size_t i = 1024; i <= sizeof(bytes); i += 1024)
		sum += bytes[i - 1];
	return sum;
}

static void *run(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
	seen->sum = stack_use();
	atomic_store(&seen->done, true);
	return NULL;
}

static void check(const struct seen *seen)
{
	assert_int_equal(seen->sum, USED / 1024);
	for (int number = 1; number <= SIGSYS; number++) {
		bool open = number == SIGKILL || number == SIGSTOP || number == SIGSEGV ||
			    number == SIGBUS;

		assert_int_equal(sigismember(&seen->blocked, number), !open);
	}
}

static void test_waited_for(void **state)
{
	struct seen seen = {};
	sigset_t before, after;
	pthread_t id;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(thread_run(run, &seen, &id), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	check(&seen);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int number = 1; number <= SIGSYS; number++)
		assert_int_equal(sigismember(&before, number), sigismember(&after, number));
}

static void test_left_alone(void **state)
{
	static struct seen seen;

	assert_int_equal(thread_run(run, &seen, NULL), 0);
	while (!atomic_load(&seen.done))
		usleep(100);
	check(&seen);
}

static void usual_size_set(size_t size)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waited_for),
		cmocka_unit_test(test_left_alone),
	};

	usual_size_set(SMALL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
