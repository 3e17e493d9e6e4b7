/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a socket learns of its peer: how long to poll, and whether to let others run first. */
#include "librdmacm/rsocket/rs.h"
#include "tests/unit/unit.h"

#define MANY 1000

const struct rs_defaults *rs_defaults(void)
{
	static const struct rs_defaults defaults = { .spin_us = 10 };

	return &defaults;
}

/* Poll without success until the processor is offered; return the number of polls. */
static int looks_to_offer(struct rs_spin *spin)
{
	for (int i = 1; i <= MANY; i++)
		if (rs_spin_looked(spin, false))
			return i;
	return -1;
}

static void offer_is_learned(void **state)
{
	struct rs_spin spin;
	int at_first;

	rs_spin_init(&spin);
	at_first = looks_to_offer(&spin);
	assert_true(at_first > 1 && at_first < MANY);
	/* The message came while others ran: the processor is offered at once from now on. */
	assert_false(rs_spin_looked(&spin, true));
	assert_int_equal(looks_to_offer(&spin), 1);
	assert_false(rs_spin_looked(&spin, true));
	assert_int_equal(looks_to_offer(&spin), 1);
	/* This lasts until an offer does not help. */
	assert_int_equal(looks_to_offer(&spin), 2);
	assert_int_equal(looks_to_offer(&spin), 4);
	for (int i = 0; i < 20; i++)
		assert_true(looks_to_offer(&spin) <= at_first);
	assert_int_equal(looks_to_offer(&spin), at_first);
}

/* An occasional success restarts the count. */
static void found_starts_again(void **state)
{
	struct rs_spin spin;

	rs_spin_init(&spin);
	for (int i = 0; i < MANY; i++)
		assert_false(rs_spin_looked(&spin, i % 8 == 0));
}

/* Threads other than the peer had the processor for long: waits sleep at once, until polling is
 * tried again. */
static void crowd_is_learned(void **state)
{
	struct rs_spin spin;
	int waits = 0;

	rs_spin_init(&spin);
	looks_to_offer(&spin);
	rs_spin_offered(&spin, 1000, 0);
	assert_true(rs_spin_begin(&spin));
	looks_to_offer(&spin);
	rs_spin_offered(&spin, 10000000, 1);
	/* The message did not come because of the offer. */
	assert_false(rs_spin_looked(&spin, true));
	assert_true(looks_to_offer(&spin) > 1);
	while (waits < MANY && !rs_spin_begin(&spin))
		waits++;
	assert_true(waits > 10 && waits < MANY);
}

/* A peer that streams had the processor for long. */
static void stream_is_no_crowd(void **state)
{
	struct rs_spin spin;

	rs_spin_init(&spin);
	rs_spin_offered(&spin, 10000000, 2);
	assert_true(rs_spin_begin(&spin));
}

/* If no other thread took the offered processor, the next waits end without an offer. A later wait
 * tries an offer again. */
static void vain_offer_is_learned(void **state)
{
	struct rs_spin spin;
	int waits = 0;

	rs_spin_init(&spin);
	rs_spin_offered(&spin, 100000, 0);
	assert_false(rs_spin_is_vain(&spin));
	rs_spin_offered(&spin, 500, 1);
	assert_false(rs_spin_is_vain(&spin));
	rs_spin_offered(&spin, 500, 0);
	while (waits < MANY && rs_spin_is_vain(&spin))
		waits++;
	assert_true(waits > 1 && waits < MANY);
}

static void time_is_learned(void **state)
{
	const uint64_t usual = rs_spin_ns();
	struct rs_spin spin;

	rs_spin_init(&spin);
	assert_int_equal(spin.ns, usual);
	rs_spin_learn(&spin, 3 * usual, true); /* a little longer would have been enough */
	assert_true(spin.ns > 3 * usual);
	rs_spin_learn(&spin, 100 * usual, false);
	assert_true(spin.ns <= 16 * usual);
	for (int i = 0; i < 20; i++)
		rs_spin_learn(&spin, 1000 * usual, true);
	assert_true(spin.ns > 0 && spin.ns < usual / 2);
	rs_spin_learn(&spin, usual / 100, false);
	assert_true(spin.ns >= usual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offer_is_learned),	 cmocka_unit_test(found_starts_again),
		cmocka_unit_test(crowd_is_learned),	 cmocka_unit_test(stream_is_no_crowd),
		cmocka_unit_test(vain_offer_is_learned), cmocka_unit_test(time_is_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
