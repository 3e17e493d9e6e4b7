/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A holder that runs only when the waiter sleeps, as one of lower priority does. */
#include "tests/unit/unit.h"

#include "providers/uroce/base/base.h"

enum {
	YIELDS_MAX = 100000,
};

static struct uroce_lock lock;
static unsigned int yields, sleeps;

int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	assert_true(++yields < YIELDS_MAX);
	return 0;
}

void __wrap_uroce_call_sleep(long ns);
void __wrap_uroce_call_sleep(long ns)
{
	assert_true(ns > 0);
	if (++sleeps == 3)
		uroce_unlock(&lock);
}

static void test_waiter_sleeps(void **state)
{
	uroce_lock(&lock);
	uroce_lock(&lock);
	assert_int_equal(sleeps, 3);
	assert_true(yields);
	uroce_unlock(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiter_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
