/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues. */
#include "tests/unit/bnxt_re/fake.h"

static void test_srq(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_recv_wr *bad, wr = { .wr_id = 0x70 };
	struct ibv_wc wc;

	f->srq.limit = 1;
	f->srq.arms = true;
	for (int i = 0; i < 3; i++, wr.wr_id++) {
		assert_int_equal(bnxt_re_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
		assert_int_equal(fake_doorbell(f),
				 i == 1 ? 0x3400000500000001 : 0x2400000500000000 + i + 1);
	}
	assert_int_equal(bnxt_re_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), ENOMEM);
	fake_entry(f, 0, 100, fake_handle(f), 1 << 1 | 1 << 16, 1);
	/* The same entry a second time, and tags that do not exist. */
	fake_entry(f, 1, 100, fake_handle(f), 1 << 1 | 1 << 16, 1);
	fake_entry(f, 2, 100, fake_handle(f), 1 << 1 | 1 << 16, 0xfffff);
	assert_int_equal(fake_poll(f, &wc, 1), 1);
	assert_int_equal(wc.wr_id, 0x71);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_int_equal(bnxt_re_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	assert_int_equal(fake_doorbell(f), 0x2400000501000000);
	/* The completion of a queue pair that is destroyed gives its receive back. */
	fake_entry(f, 3, 100, fake_handle(f), 1 << 1 | 1 << 16, 0);
	bnxt_re_cqs_clean(&f->qp, true);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_int_equal(f->srq.waiting, 2);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
