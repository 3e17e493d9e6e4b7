/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions: failures, the requests behind them, and invalid entries. */
#include "tests/unit/bnxt_re/fake.h"

/* The device reports one failure, and the library completes the requests behind it. */
static void test_flush(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	fake_entry(f, 0, fake_handle(f), 1, 10 << 8, 0);
	assert_int_equal(fake_poll(f, wc, 4), 3);
	assert_int_equal(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc[0].vendor_err, 10);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[2].wr_id, 2);
	assert_int_equal(wc[2].opcode, IBV_WC_SEND);
	assert_int_equal(fake_post(f, 3, 1), 0);
	assert_int_equal(fake_poll(f, wc, 4), 1);
	assert_int_equal(fake_poll(f, wc, 4), 0);
	fake_free(f);
}

/* One entry reports the failure of the third send. Those before it have succeeded. */
static void test_fails_behind(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	fake_entry(f, 0, fake_handle(f), 3, 7 << 8, 0);
	assert_int_equal(fake_poll(f, wc, 1), 1);
	assert_int_equal(wc[0].wr_id, 0);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(fake_poll(f, wc, 4), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(wc[1].vendor_err, 7);
	assert_int_equal(wc[2].wr_id, 3);
	assert_int_equal(wc[2].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fake_poll(f, wc, 4), 0);
	fake_free(f);
}

/* A success that the device wrote before the queue pair was stopped is not flushed. */
static void test_success_before_flush(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc[4];

	for (int i = 0; i < 2; i++)
		assert_int_equal(fake_post(f, i, 1), 0);
	bnxt_re_flush(&f->qp, true, false);
	fake_entry(f, 0, fake_handle(f), 1, 0, 0);
	assert_int_equal(fake_poll(f, wc, 1), 1);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(fake_poll(f, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	fake_free(f);
}

/* Entries that a device should not write. */
static void test_attacks(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	const struct {
		uint64_t a, b;
		uint32_t info, tag;
	} attacks[] = {
		{ 0, 1, 0, 0 },	 /* of no queue pair */
		{ 99, 1, 0, 0 }, /* of none with this number */
		{ UINT64_MAX, 1, 0, 0 },
		{ fake_handle(f), 0xffff, 0, 0 }, /* an index that is not there */
		{ fake_handle(f), 3, 0, 0 },	  /* more sends than were posted */
		{ fake_handle(f), 0, 0, 0 },
		{ fake_handle(f), 1, 63 << 8, 0 }, /* a failure without a send */
		{ 8, fake_handle(f), 1 << 1, 0 },  /* a receive that was not posted */
		{ 8, fake_handle(f), 2 << 1, 0 },
		{ 8, fake_handle(f), 3 << 1, 0 },
		{ 8, fake_handle(f), 1 << 1 | 1 << 16, 0 },
		{ 8, fake_handle(f), 1 << 1 | 8 << 8, 0 },
		{ fake_handle(f), 0, 14 << 1, 0 }, /* an end */
		{ fake_handle(f), 0, 15 << 1, 0 }, /* of a ring that was not resized */
		{ 8, fake_handle(f), 9 << 1, 0 },
	};
	struct ibv_wc wc[4];

	assert_int_equal(fake_post(f, 0, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		fake_entry(f, i, attacks[i].a, attacks[i].b, attacks[i].info, attacks[i].tag);
		assert_in_range(fake_poll(f, wc, 4), 0, 1);
		assert_in_range(f->qp.sq.posted_here - atomic_load(&f->qp.sq.released), 0, SLOTS);
	}
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_fails_behind),
		cmocka_unit_test(test_success_before_flush),
		cmocka_unit_test(test_attacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
