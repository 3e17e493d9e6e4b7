/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of each kind, requests that the library flushes, and entries that complete nothing.
 */
#include "tests/unit/mana/fake.h"

enum {
	ROUNDS = 700, /* more than eight rounds of the ring, after which its phases repeat */
	RETRIES = 0x1c6,
};

static void post(struct fake *f, uint64_t wr_id, unsigned int flags)
{
	assert_int_equal(fake_send(f, wr_id, IBV_WR_SEND, flags, 1), 0);
}

/* Each round of the ring has its own phase. The device learns in time how far the ring was read. */
static void test_phases(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[2];
	uint32_t told = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		post(f, i, IBV_SEND_SIGNALED);
		assert_int_equal(fake_poll(&f->send_cq, wc, 2), 0);
		fake_acknowledge(f, FIRST_PSN + i);
		f->registers[DB_CQ / 8] = 0;
		assert_int_equal(fake_poll(&f->send_cq, wc, 2), 1);
		assert_int_equal(wc[0].wr_id, i);
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		if (!fake_register(f, DB_CQ))
			continue;
		told++;
		assert_int_equal(fake_register(f, DB_CQ),
				 CQ | (uint64_t)((ENTRIES + i) % (8 * ENTRIES)) << 32);
	}
	assert_int_equal(told, ROUNDS / (4 * ENTRIES - 1));
	fake_free(f);
}

/* A packet completes all sends up to it, and only signaled ones are reported. The next poll reports
 * those for which there was no room, and then asks for the next completion. */
static void test_parts(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < 6; i++)
		post(f, i, i % 3 ? IBV_SEND_SIGNALED : 0);
	fake_acknowledge(f, FIRST_PSN + 4);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), 2);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(fake_register(f, DB_ARM), 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), 1);
	assert_int_equal(wc[0].wr_id, 4);
	assert_int_equal(fake_register(f, DB_ARM), READS | 1 << 24 | (uint64_t)3 << 32);
	fake_acknowledge(f, FIRST_PSN + 5);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), 1);
	assert_int_equal(wc[0].wr_id, 5);
	assert_int_equal(fake_register(f, DB_ARM), READS | 1 << 24 | (uint64_t)4 << 32);
	fake_free(f);
}

/* A failed send completes those before it, and then both queues are flushed. */
static void test_failed(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[8];

	for (int i = 0; i < 4; i++)
		post(f, i, 0);
	assert_int_equal(fake_receive(f, 10), 0);
	assert_int_equal(fake_receive(f, 11), 0);
	fake_fail(f, 0, FIRST_PSN + 1, RETRIES);
	assert_int_equal(fake_poll(&f->send_cq, wc, 8), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc[0].vendor_err, RETRIES);
	assert_int_equal(wc[2].wr_id, 3);
	assert_int_equal(wc[2].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 1), 1);
	assert_int_equal(wc[0].wr_id, 10);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 8), 1);
	assert_int_equal(wc[0].wr_id, 11);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 8), 0);
	assert_int_equal(fake_send(f, 5, IBV_WR_SEND, 0, 1), EINVAL);
	assert_int_equal(fake_receive(f, 12), EINVAL);
	/* The device reports the flush late. */
	fake_fail(f, 0, FIRST_PSN + 2, 0x1c7);
	fake_fail(f, 1, 0, 0x1c7);
	assert_int_equal(fake_poll(&f->send_cq, wc, 8), 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 8), 0);
	fake_free(f);
}

/* Packets that were never sent, negative acknowledgements, other rings and unknown queues. */
static void test_wrong(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_SEND_SIGNALED);
	assert_int_equal(fake_receive(f, 2), 0);
	fake_acknowledge(f, FIRST_PSN + 1);
	fake_acknowledge(f, FIRST_PSN - 1);
	fake_entry(f, 0,
		   (struct mana_cqe){ htole32(CQE_ACKNOWLEDGED), htole32(0x60u << 24),
				      htole32(FIRST_PSN) },
		   READS);
	fake_entry(f, 0, (struct mana_cqe){ htole32(CQE_ACKNOWLEDGED), .psn = htole32(FIRST_PSN) },
		   0x100);
	fake_entry(f, 1, (struct mana_cqe){ htole32(CQE_ACKNOWLEDGED), .psn = htole32(FIRST_PSN) },
		   READS);
	fake_entry(f, 0, (struct mana_cqe){ htole32(CQE_RC_SEND) }, RQ);
	fake_message(f, CQE_RC_SEND, 32, 1, 0);
	fake_message(f, 0, 0, 1, 0);
	fake_message(f, 9, 0, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	fake_acknowledge(f, FIRST_PSN);
	fake_message(f, CQE_RC_SEND, 0, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	fake_free(f);
}

static void test_receives(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < RECEIVES; i++)
		assert_int_equal(fake_receive(f, i), 0);
	assert_int_equal(fake_receive(f, 0), ENOMEM);
	fake_message(f, CQE_RC_SEND, 0, 7, 0);
	fake_message(f, CQE_RC_SEND_IMM, 32, 8, 0x01020304);
	fake_message(f, CQE_RC_WRITE_IMM, 64, 9, 0x01020304);
	fake_message(f, CQE_RC_SEND_INV, 96, 10, 0x01020304);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 4);
	assert_int_equal(wc[0].opcode, IBV_WC_RECV);
	assert_int_equal(wc[0].byte_len, 7);
	assert_int_equal(wc[0].wc_flags, 0);
	assert_int_equal(wc[1].wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc[1].imm_data, htobe32(0x01020304));
	assert_int_equal(wc[2].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc[3].wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc[3].invalidated_rkey, 0x01020304);
	assert_int_equal(fake_receive(f, 20), 0);
	fake_free(f);
}

/* The device wrote over entries that were not polled. */
static void test_overrun(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[1];

	f->places[0] = 2 * ENTRIES;
	fake_acknowledge(f, FIRST_PSN);
	assert_int_equal(fake_poll(&f->send_cq, wc, 1), -EOVERFLOW);
	assert_int_equal(fake_poll(&f->send_cq, wc, 1), -EOVERFLOW);
	fake_free(f);
}

/*
 * A reset discards unread completions, and completions that did not fit into the array of a poll.
 */
static void test_clean(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++)
		post(f, i, IBV_SEND_SIGNALED);
	assert_int_equal(fake_receive(f, 2), 0);
	fake_acknowledge(f, FIRST_PSN + 2);
	fake_message(f, CQE_RC_SEND, 0, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 1), 1);
	fake_acknowledge(f, FIRST_PSN + 2);
	mana_cqs_clean(&f->qp);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	fake_free(f);
}

/* An index that the device has seen before would not arm the queue. */
static void test_arm(void **state)
{
	struct fake *f = fake_create();

	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(mana_req_notify_cq(&f->send_cq.vcq.cq, 0), 0);
		assert_int_equal(fake_register(f, DB_CQ),
				 CQ | (ENTRIES + i) << 32 | 0x8000000000000000);
	}
	assert_int_equal(mana_req_notify_cq(&f->send_cq.vcq.cq, 1), EOPNOTSUPP);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),	 cmocka_unit_test(test_parts),
		cmocka_unit_test(test_failed),	 cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_receives), cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_clean),	 cmocka_unit_test(test_arm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
