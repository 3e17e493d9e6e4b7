/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of each kind, in parts, and entries that complete no request. */
#include "tests/unit/qedr/fake.h"

enum {
	COUNT = 70000, /* of sends: more than their counters of 16 bits hold */
	RECEIVED = CQE_RECEIVED << CQE_TYPE_SHIFT,
	SHARED = CQE_SHARED << CQE_TYPE_SHIFT,
	REMOTE_ACCESS = 7,
	PROTECTION = 4,
};

static void post(struct fake *f, uint64_t wr_id, unsigned int flags)
{
	assert_int_equal(fake_post(f, wr_id, flags, "", 1), 0);
}

static void test_counters(void **state)
{
	struct fake *f = fake_create();

	adapter_sends_poll(&f->adapter, COUNT);
	/* The doorbells have the numbers of requests and of entries. */
	assert_int_equal(le64toh(f->registers[0]), ICID | (uint32_t)COUNT << 16);
	assert_int_equal(le64toh(f->registers[2]), 7ull | CQ_DB_SET | (uint64_t)COUNT << 32);
	fake_free(f);
}

/* An entry completes more sends than the caller has room for. */
static void test_parts(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < 6; i++)
		post(f, i, i % 3 ? IBV_SEND_SIGNALED : 0);
	fake_sent(f, f->qp.cookie, 6, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 3), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[2].wr_id, 4);
	assert_int_equal(f->send_cq.consumed, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 3), 1);
	assert_int_equal(wc[0].wr_id, 5);
	assert_int_equal(f->send_cq.consumed, 1);
	fake_free(f);
}

static void test_failure(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < 4; i++)
		post(f, i, 0);
	fake_sent(f, f->qp.cookie, 2, REMOTE_ACCESS);
	fake_sent(f, f->qp.cookie, 4, SENT_FLUSHED);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(wc[2].status, IBV_WC_WR_FLUSH_ERR);
	fake_free(f);
}

/* Counts beyond the posted requests, and entries without a queue pair, are consumed and complete no
 * request. */
static void test_wrong(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_SEND_SIGNALED);
	fake_sent(f, f->qp.cookie, 3, 0);
	fake_sent(f, f->qp.cookie, 0, SENT_FLUSHED);
	fake_sent(f, 0, 1, 0);
	fake_sent(f, f->qp.cookie + 1, 1, 0);
	fake_sent(f, UINT64_MAX, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(f->send_cq.consumed, 5);
	fake_sent(f, f->qp.cookie, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	/* Entries of a receive that was not posted, and of a shared receive without an SRQ. */
	fake_received(f, f->qp.cookie, RECEIVED, 1, 0);
	fake_received(f, f->qp.cookie, SHARED, 1, 0);
	fake_received(f, f->qp.cookie, RECEIVED, 3, RECEIVED_FLUSHED);
	fake_received(f, f->qp.cookie, CQE_SENT, 3, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	assert_int_equal(f->recv_cq.consumed, 4);
	fake_free(f);
}

static void test_receives(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < RECEIVES; i++)
		assert_int_equal(adapter_receive(&f->adapter, 10 + i, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 0, 1), ENOMEM);
	fake_received(f, f->qp.cookie, RECEIVED | CQE_INV, 1, 0);
	fake_received(f, f->qp.cookie, RECEIVED | CQE_IMM | CQE_WRITE, 2, 0);
	fake_received(f, f->qp.cookie, RECEIVED, 3, PROTECTION);
	fake_received(f, f->qp.cookie, RECEIVED, 4, RECEIVED_FLUSHED);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 4);
	assert_int_equal(wc[0].wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc[0].invalidated_rkey, 0x11223344);
	assert_int_equal(wc[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(be32toh(wc[1].imm_data), 0x11223344);
	assert_int_equal(wc[1].byte_len, 24);
	assert_int_equal(wc[2].status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc[3].wr_id, 13);
	assert_int_equal(wc[3].status, IBV_WC_WR_FLUSH_ERR);
	fake_free(f);
}

/*
 * Entries of a destroyed queue pair complete no request of a later queue pair with the same number.
 */
static void test_clean(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_SEND_SIGNALED);
	fake_sent(f, f->qp.cookie, 1, 0);
	qedr_cqs_lock(&f->qp);
	qedr_cqs_clean(&f->qp);
	qedr_cqs_unlock(&f->qp);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(f->send_cq.consumed, 1);
	fake_free(f);
}

/* Each doorbell repeats the request for an event until the event has come. */
static void test_arm(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	assert_int_equal(qedr_req_notify_cq(&f->send_cq.vcq.cq, 1), 0);
	assert_int_equal(le64toh(f->registers[2]), 7 | CQ_DB_SET | CQ_DB_ARM_SOLICITED);
	assert_int_equal(qedr_req_notify_cq(&f->send_cq.vcq.cq, 0), 0);
	post(f, 1, IBV_SEND_SIGNALED);
	fake_sent(f, f->qp.cookie, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(le64toh(f->registers[2]), 7 | CQ_DB_SET | CQ_DB_ARM | 1ull << 32);
	assert_int_equal(f->send_cq.doorbell.spare, f->registers[2]);
	qedr_cq_event(&f->send_cq.vcq);
	post(f, 2, IBV_SEND_SIGNALED);
	fake_sent(f, f->qp.cookie, 2, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(le64toh(f->registers[2]), 7 | CQ_DB_SET | 2ull << 32);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_failure),	 cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_receives), cmocka_unit_test(test_clean),
		cmocka_unit_test(test_arm),	 ADAPTER_TESTS(fake_adapter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
