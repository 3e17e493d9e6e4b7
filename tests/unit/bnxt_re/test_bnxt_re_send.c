/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends and their doorbells, as both sides write them. The device of the lab has requests of a
 * fixed size and no registers. These tests cover the other kinds. */
#include "tests/unit/bnxt_re/fake.h"

static void test_static(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	assert_int_equal(fake_number(f->ring), 0x00030100);
	assert_int_equal(fake_number(f->ring + 2 * SLOT), 0x1000);
	assert_int_equal(fake_number(f->ring + 2 * SLOT + 8), 5000ull << 32 | 0x22);
	/* Five packets. */
	assert_int_equal(fake_number(f->psns), 0x1500000010);
	assert_int_equal(fake_number(f->psns + 16), 0x1a00000015);
	assert_int_equal(fake_number(f->psns + 24), 8);
	assert_int_equal(fake_doorbell(f), 0x0400002100000003);
	assert_int_equal(fake_post(f, 3, 1), 0);
	assert_int_equal(fake_post(f, 4, 1), ENOMEM);
	/* The index has gone round. */
	assert_int_equal(fake_doorbell(f), 0x0400002101000000);
	fake_entry(f, 0, fake_handle(f), 2, 0, 0);
	assert_int_equal(fake_poll(f, wc, 1), 1);
	assert_int_equal(fake_poll(f, wc + 1, 3), 1);
	assert_int_equal(wc[0].wr_id, 0);
	assert_int_equal(wc[1].wr_id, 1);
	assert_int_equal(fake_post(f, 4, 1), 0);
	assert_int_equal(fake_doorbell(f), 0x0400002101000001);
	fake_free(f);
}

/* Requests of 3, 4 and more slots go round the end of the ring. */
static void test_variable(void **state)
{
	struct fake *f = fake_create(true, BNXT_RE_PSN_MESSAGES);
	struct ibv_wc wc[4];
	uint32_t place = 0, count = 0;

	assert_int_equal(fake_post(f, 0, 1), 0);
	assert_int_equal(fake_post(f, 1, 2), 0);
	assert_int_equal(fake_doorbell(f), 0x0400002100000007);
	assert_int_equal(fake_number(f->psns), 0x0000000015000010);
	assert_int_equal(fake_number(f->psns + 8), 0x000300001a000015);
	for (count = 2; count < 40; count++) {
		fake_entry(f, place++, fake_handle(f), count % SLOTS, 0, 0);
		assert_int_equal(fake_poll(f, wc, 4), count == 2 ? 2 : 1);
		assert_int_equal(fake_post(f, count, 1 + count % 6), 0);
	}
	assert_int_equal(f->qp.sq.posted_here - atomic_load(&f->qp.sq.released), 2 + 1 + 39 % 6);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
