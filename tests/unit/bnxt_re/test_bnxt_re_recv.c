/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting receives. */
#include "tests/unit/bnxt_re/fake.h"

static int receive(struct fake *f, uint64_t wr_id)
{
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = wr_id };
	int r = bnxt_re_post_recv(&f->qp.vqp.qp, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

/* The ring has more entries than the queue pair has receives. */
static void test_room(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc;

	f->qp.srq = NULL;
	f->qp.rq.room = 2;
	for (uint32_t i = 0; i < 3 * ENTRIES; i++) {
		assert_int_equal(receive(f, i), 0);
		if (!i)
			continue;
		assert_int_equal(receive(f, 100), ENOMEM);
		fake_entry(f, i - 1, 8, fake_handle(f), 1 << 1, (i - 1) % ENTRIES);
		assert_int_equal(fake_poll(f, &wc, 1), 1);
		assert_int_equal(wc.wr_id, i - 1);
	}
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
