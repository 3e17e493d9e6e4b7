/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doorbells of completion queues. */
#include "tests/unit/bnxt_re/fake.h"

/* Polls ring one doorbell for each half of the ring. The doorbell carries the epoch of the phase.
 */
static void test_cq(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_wc wc;

	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(fake_post(f, i, 1), 0);
		f->doorbell = 0;
		fake_entry(f, i, fake_handle(f), (i + 1) % 4, 0, 0);
		assert_int_equal(fake_poll(f, &wc, 1), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(fake_doorbell(f), i == 1   ? 0x4400000300000002
						   : i == 3 ? 0x4400000301000000
						   : i == 5 ? 0x4400000301000002
							    : 0);
	}
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	bnxt_re_req_notify_cq(&f->cq.kit.vcq.cq, 0);
	assert_int_equal(fake_doorbell(f), 0x6400000301000002);
	bnxt_re_req_notify_cq(&f->cq.kit.vcq.cq, 1);
	assert_int_equal(fake_doorbell(f), 0x5400000301000002);
	fake_free(f);
}

/* A queue that was armed before its register exists is armed when the register exists. */
static void test_early(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct bnxt_re_cq *cq = &f->cq;
	struct bnxt_re_qp other = f->qp;

	cq->doorbell = NULL;
	bnxt_re_req_notify_cq(&cq->kit.vcq.cq, 0);
	assert_int_equal(fake_doorbell(f), 0);
	bnxt_re_cqs_attach(&other);
	assert_int_equal(fake_doorbell(f), 0x6400000300000000);
	fake_free(f);
}

/* Poll by the functions of an extended queue, which read several completions of one entry. */
static void test_extended(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_cq_ex *ex = &f->cq.kit.vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	bnxt_re_cq_ex_set_slots(&f->cq, IBV_WC_STANDARD_FLAGS);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_post(f, 7 + i, 1), 0);
	f->doorbell = 0;
	fake_entry(f, 0, fake_handle(f), 2, 0, 0);
	fake_entry(f, 1, fake_handle(f), 3, 10 << 8, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(i ? ibv_next_poll(ex) : ibv_start_poll(ex, &attr), 0);
		assert_int_equal(ex->wr_id, 7 + i);
		assert_int_equal(ex->status, i < 2 ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
		assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_SEND);
		assert_int_equal(ibv_wc_read_qp_num(ex), QPN);
		assert_int_equal(ibv_wc_read_vendor_err(ex), i < 2 ? 0 : 10);
		assert_int_equal(ibv_wc_read_wc_flags(ex), 0);
	}
	/* The last completion stays readable. */
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	assert_int_equal(ex->wr_id, 9);
	assert_int_equal(ibv_wc_read_vendor_err(ex), 10);
	ibv_end_poll(ex);
	assert_int_equal(fake_doorbell(f), 0x4400000300000002);
	/* Requests behind the failure are flushed. */
	assert_int_equal(fake_post(f, 10, 1), 0);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 10);
	assert_int_equal(ex->status, IBV_WC_WR_FLUSH_ERR);
	ibv_end_poll(ex);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(ex, &attr), EINVAL);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cq),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
