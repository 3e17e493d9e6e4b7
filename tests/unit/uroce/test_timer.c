/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The timer wheel: no timer fires early, and uroce_wheel_next() is never later than a timer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "providers/uroce/base/timer.h"

enum {
	TIMERS = 64,
	STEPS = 200000,
};
#define TICK (uint64_t) UROCE_WHEEL_TICK

static struct uroce_wheel wheel;

static int setup(void **state)
{
	uroce_wheel_init(&wheel, 100 * TICK);
	return 0;
}

/* The wheel runs in the middle of a tick that has another deadline to come. */
static void test_same_tick(void **state)
{
	struct uroce_timer first = {}, second = {}, far = {};

	uroce_timer_arm(&wheel, &first, 110 * TICK + 1000);
	uroce_timer_arm(&wheel, &second, 110 * TICK + 5000);
	uroce_timer_arm(&wheel, &far, 900 * TICK);
	assert_ptr_equal(uroce_wheel_expire(&wheel, 110 * TICK + 2000), &first);
	assert_null(uroce_wheel_expire(&wheel, 110 * TICK + 2000));
	assert_int_equal(uroce_wheel_next(&wheel), 110 * TICK + 5000);
	assert_ptr_equal(uroce_wheel_expire(&wheel, 110 * TICK + 5000), &second);
	uroce_timer_cancel(&wheel, &far);
	assert_true(uroce_wheel_next(&wheel) == UINT64_MAX);
}

/* A timer one round later is in the same slot and does not count yet. */
static void test_next_round(void **state)
{
	struct uroce_timer first = {}, soon = {}, round = {};

	uroce_timer_arm(&wheel, &first, 110 * TICK);
	uroce_timer_arm(&wheel, &soon, 150 * TICK);
	uroce_timer_arm(&wheel, &round, (110 + UROCE_WHEEL_SLOTS) * TICK);
	assert_ptr_equal(uroce_wheel_expire(&wheel, 110 * TICK), &first);
	assert_null(uroce_wheel_expire(&wheel, 110 * TICK));
	assert_int_equal(uroce_wheel_next(&wheel), 150 * TICK);
	uroce_timer_cancel(&wheel, &soon);
	uroce_timer_cancel(&wheel, &round);
}

static struct uroce_timer timers[TIMERS];
static uint64_t wanted[TIMERS]; /* as asked for: an expired timer has no deadline any more */

static uint64_t earliest(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TIMERS; i++)
		if (uroce_timer_armed(&timers[i]) && timers[i].deadline < best)
			best = timers[i].deadline;
	return best;
}

static void run_to(uint64_t now)
{
	struct uroce_timer *timer;

	while ((timer = uroce_wheel_expire(&wheel, now)))
		assert_true(wanted[timer - timers] <= now);
}

static void test_random(void **state)
{
	uint64_t now = 100 * TICK;

	srandom(1);
	for (int step = 0; step < STEPS; step++) {
		int i = random() % TIMERS;
		uint64_t span = random() % 8 ? 20 * TICK : 3 * UROCE_WHEEL_SLOTS * TICK;

		wanted[i] = now + random() % span;
		if (random() % 4)
			uroce_timer_arm(&wheel, &timers[i], wanted[i]);
		else
			uroce_timer_cancel(&wheel, &timers[i]);
		now += random() % (random() % 64 ? TICK / 2 : 2 * UROCE_WHEEL_SLOTS * TICK);
		run_to(now);
		assert_true(earliest() > now);
		assert_true(uroce_wheel_next(&wheel) <= earliest());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_same_tick, setup),
		cmocka_unit_test_setup(test_next_round, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
