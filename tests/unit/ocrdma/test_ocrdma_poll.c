/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of each kind, requests that the library flushes, and entries that complete nothing.
 */
#include "tests/unit/ocrdma/fake.h"

enum {
	RETRIES = 0x0c,
};

static void post(struct fake *f, uint64_t wr_id, unsigned int flags)
{
	assert_int_equal(adapter_send(&f->adapter, wr_id, flags, "", 1), 0);
}

/* Each poll announces the entries that it has consumed. */
static void test_announced(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, true);

	adapter_sends_poll(&f->adapter, 1);
	assert_int_equal(adapter_word_32(f->registers, 3), 1 << CQ_POPPED_SHIFT | 5);
	fake_free(f);
}

/* An entry completes more sends than the caller has room for. */
static void test_parts(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	for (int i = 0; i < 6; i++)
		post(f, i, i % 3 ? IBV_SEND_SIGNALED : 0);
	fake_sent(f, QP_ID, 5, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 3), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[2].wr_id, 4);
	assert_int_equal(f->send_cq.at, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 3), 1);
	assert_int_equal(wc[0].wr_id, 5);
	assert_int_equal(f->send_cq.at, 1);
	fake_free(f);
}

/* The adapter reports one failure. The library completes the other requests of both queues, and
 * later ones. */
static void test_flush(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++)
		post(f, i, 0);
	assert_int_equal(adapter_receive(&f->adapter, 10, 1), 0);
	fake_sent(f, QP_ID, 0, RETRIES);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), 2);
	assert_int_equal(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc[1].wr_id, 1);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 10);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	f->registers[0] = 0;
	post(f, 4, 0);
	assert_int_equal(f->registers[0], 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 4);
	/* An entry that the adapter wrote late does not complete a request. */
	fake_sent(f, QP_ID, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	oc_recover(&f->qp);
	assert_int_equal(atomic_load(&f->send_cq.failed), 0);
	assert_int_equal(adapter_send(&f->adapter, 5, 0, "", 1), EINVAL);
	fake_free(f);
}

/* Entries for requests that were not posted, and entries without a queue pair, are consumed and
 * complete no request. */
static void test_wrong(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	post(f, 1, IBV_SEND_SIGNALED);
	fake_sent(f, QP_ID, 3, 0);
	fake_sent(f, QP_ID, 0xffff, 0);
	fake_sent(f, 0, 0, 0);
	fake_sent(f, 0xffff, 0, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(adapter_word_32(f->registers, 3), 4 << CQ_POPPED_SHIFT | 5);
	fake_sent(f, QP_ID, 0, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	fake_received(f, QP_ID, 0, 0);
	fake_received(f, QP_ID, 3, RETRIES << CQE_STATUS_SHIFT);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	fake_free(f);
}

/* An entry of a send in the queue of receives, and the reverse, complete nothing: another lock
 * protects that ring. */
static void test_other_direction(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	for (int i = 0; i < 2; i++) {
		post(f, 1 + i, IBV_SEND_SIGNALED);
		assert_int_equal(adapter_receive(&f->adapter, 10 + i, 1), 0);
	}
	/* The queue pair of the first entry is known when the second one is polled. */
	fake_sent(f, QP_ID, 0, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 1), 1);
	assert_int_equal(wc[0].wr_id, 1);
	f->sent_cqes[1] = (struct oc_cqe){ .number = htole32(QP_ID),
					   .flags = htole32(CQE_VALID | CQE_RECEIVE) };
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	fake_received(f, QP_ID, 0, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 1), 1);
	assert_int_equal(wc[0].wr_id, 10);
	f->received_cqes[1] = (struct oc_cqe){ .index_imm = htole32(1),
					       .number = htole32(QP_ID),
					       .flags = htole32(CQE_VALID) };
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	assert_int_equal(atomic_load(&f->qp.sq.tail), 1);
	assert_int_equal(atomic_load(&f->qp.rq.tail), 1);
	fake_free(f);
}

static void test_receives(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++)
		assert_int_equal(adapter_receive(&f->adapter, 10 + i, 1), 0);
	fake_received(f, QP_ID, 0, CQE_IMM);
	fake_received(f, QP_ID, 0, CQE_WRITE_IMM);
	fake_received(f, QP_ID, 0, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 3);
	assert_int_equal(wc[0].opcode, IBV_WC_RECV);
	assert_int_equal(be32toh(wc[0].imm_data), 0x11223344);
	assert_int_equal(wc[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc[2].wr_id, 12);
	assert_int_equal(wc[2].byte_len, 24);
	assert_int_equal(wc[2].wc_flags, 0);
	fake_free(f);
}

/* Shared receives complete in any order. A tag that is not posted completes no request. */
static void test_shared(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc[4];

	fake_share(f);
	for (int i = 0; i < 3; i++)
		assert_int_equal(adapter_receive(&f->adapter, 10 + i, 1), 0);
	fake_received(f, QP_ID, 2, 0);
	fake_received(f, QP_ID, 2, 0);
	fake_received(f, QP_ID, 0, 0);
	fake_received(f, QP_ID, SLOTS + 1, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 11);
	assert_int_equal(f->srq.posted, 2);
	/* A failed receive keeps its wr_id. */
	fake_received(f, QP_ID, 1, RETRIES << CQE_STATUS_SHIFT);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 10);
	assert_int_equal(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	/* The receive of a destroyed queue pair is free again. */
	fake_received(f, QP_ID, 3, 0);
	oc_cqs_lock(&f->qp);
	oc_cqs_clean(&f->qp);
	oc_cqs_unlock(&f->qp);
	assert_int_equal(f->srq.posted, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_announced),	cmocka_unit_test(test_parts),
		cmocka_unit_test(test_flush),		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_other_direction), cmocka_unit_test(test_receives),
		cmocka_unit_test(test_shared),		ADAPTER_TESTS(fake_clearing),
		ADAPTER_TESTS(fake_changing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
