/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of each kind, out of their order, without a request, and of queue pairs that failed.
 */
#include "tests/unit/cxgb4/fake.h"

enum {
	DB_UPDATE = 7 << 13,
	DB_ARM = 6 << 13,
	DB_SOLICITED = 1 << 12,
};

static void post(struct fake *f, uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_send_wr wr = adapter_send_wr(opcode, 1);

	wr.wr_id = wr_id;
	wr.send_flags = flags;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
}

/* Write the answer of a read of this side. */
static void read_answer(struct fake *f, uint32_t status)
{
	fake_entry(&f->send_cq,
		   (struct fake_cqe){ .opcode = RI_READ_RESPONSE, .status = status, .stag = 7 });
}

/* The device learns of polled entries in parts. */
static void test_reports(void **state)
{
	struct fake *f = fake_create();

	adapter_sends_poll(&f->adapter, 1);
	assert_int_equal(fake_doorbell(f, DB_SEND_CQ), 0);
	post(f, 9, IBV_WR_SEND, IBV_SEND_SIGNALED);
	fake_sent(f, 1, 0);
	assert_int_equal(adapter_poll_one(&f->adapter, f->adapter.send_cq).wr_id, 9);
	assert_int_equal(fake_doorbell(f, DB_SEND_CQ), 9 << 16 | DB_UPDATE | 2);
	assert_int_equal(*f->send_cq.cq.host_index, 2);
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create();

	adapter_sends_poll(&f->adapter, 1);
	assert_int_equal(cx_req_notify_cq(f->adapter.send_cq, 1), 0);
	assert_int_equal(fake_doorbell(f, DB_SEND_CQ), 9 << 16 | DB_ARM | DB_SOLICITED | 1);
	assert_int_equal(cx_req_notify_cq(f->adapter.send_cq, 0), 0);
	assert_int_equal(fake_doorbell(f, DB_SEND_CQ), 9 << 16 | DB_ARM);
	fake_free(f);
}

/* A send behind a read completes after it, although the device reports it first. */
static void test_order(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED);
	post(f, 2, IBV_WR_SEND, IBV_SEND_SIGNALED);
	post(f, 3, IBV_WR_RDMA_READ, 0);
	post(f, 4, IBV_WR_SEND, IBV_SEND_SIGNALED);
	fake_sent(f, 1, 0);
	fake_sent(f, 1, 0); /* a second entry of a send counts once */
	fake_sent(f, 3, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(f->qp.sq.early, 2);
	read_answer(f, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc[0].byte_len, 8);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(wc[1].opcode, IBV_WC_SEND);
	read_answer(f, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 4);
	assert_int_equal(f->qp.sq.early, 0);
	fake_free(f);
}

/* A receive by the operation of its entry. */
static void test_receives(void **state)
{
	static const struct {
		uint32_t opcode;
		enum ibv_wc_opcode wc;
		unsigned int flags;
		enum ibv_wc_status status;
	} all[] = {
		{ RI_SEND, IBV_WC_RECV, 0, IBV_WC_SUCCESS },
		{ RI_SEND_SE, IBV_WC_RECV, 0, IBV_WC_SUCCESS },
		{ RI_SEND_INV, IBV_WC_RECV, IBV_WC_WITH_INV, IBV_WC_SUCCESS },
		{ RI_SEND_SE_INV, IBV_WC_RECV, IBV_WC_WITH_INV, IBV_WC_SUCCESS },
		{ RI_WRITE_IMM, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, IBV_WC_SUCCESS },
		{ 0xe, IBV_WC_RECV, 0, IBV_WC_GENERAL_ERR },
	};
	struct fake *f = fake_create();

	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct ibv_wc wc;

		assert_int_equal(adapter_receive(&f->adapter, i, 1), 0);
		fake_entry(&f->recv_cq, (struct fake_cqe){ .opcode = all[i].opcode,
							   .length = 24,
							   .stag = 0x55667788,
							   .imm = 0x11223344,
							   .msn = i + 1 });
		wc = adapter_poll_one(&f->adapter, f->adapter.recv_cq);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.opcode, all[i].wc);
		assert_int_equal(wc.wc_flags, all[i].flags);
		assert_int_equal(wc.status, all[i].status);
		assert_int_equal(wc.byte_len, 24);
		if (all[i].flags == IBV_WC_WITH_IMM)
			assert_int_equal(be32toh(wc.imm_data), 0x11223344);
		if (all[i].flags == IBV_WC_WITH_INV)
			assert_int_equal(wc.invalidated_rkey, 0x55667788);
	}
	fake_free(f);
}

static void test_statuses(void **state)
{
	static const uint8_t all[] = {
		0,
		IBV_WC_LOC_ACCESS_ERR,
		IBV_WC_LOC_PROT_ERR,
		IBV_WC_LOC_ACCESS_ERR,
		IBV_WC_LOC_ACCESS_ERR,
		IBV_WC_GENERAL_ERR,
		IBV_WC_LOC_LEN_ERR,
		IBV_WC_MW_BIND_ERR,
		IBV_WC_MW_BIND_ERR,
		IBV_WC_FATAL_ERR,
		IBV_WC_FATAL_ERR,
		IBV_WC_FATAL_ERR,
		IBV_WC_WR_FLUSH_ERR,
		IBV_WC_FATAL_ERR,
	};

	for (uint32_t status = 1; status <= CQE_STATUS_MASK; status++) {
		struct fake *f = fake_create();
		struct ibv_wc wc;

		post(f, 1, IBV_WR_SEND, 0);
		fake_sent(f, 0, status);
		wc = adapter_poll_one(&f->adapter, f->adapter.send_cq);
		assert_int_equal(wc.status,
				 status < ARRAY_SIZE(all) ? all[status] : IBV_WC_FATAL_ERR);
		assert_int_equal(wc.vendor_err, status);
		assert_int_equal(adapter_send(&f->adapter, 2, 0, "", 1), EINVAL);
		fake_free(f);
	}
}

/* A failed request also completes earlier ones that had no completion yet. */
static void test_failure(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED);
	post(f, 2, IBV_WR_SEND, 0);
	post(f, 3, IBV_WR_SEND, 0);
	fake_sent(f, 2, 2);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].wr_id, 3);
	assert_int_equal(wc[1].status, IBV_WC_LOC_PROT_ERR);
	fake_free(f);
}

/* Entries without a request or without a queue pair are consumed and complete no request. */
static void test_wrong(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_WR_SEND, IBV_SEND_SIGNALED);
	fake_sent(f, 1, 0);
	fake_sent(f, SENDS, 0);
	fake_sent(f, UINT16_MAX, 0);
	read_answer(f, 0);
	fake_entry(&f->send_cq, (struct fake_cqe){ .number = QPN + 1, .opcode = CQE_SEND });
	fake_entry(&f->send_cq, (struct fake_cqe){ .opcode = RI_TERMINATE });
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(f->send_cq.cq.consumed, 6);
	/* A send in the queue of receives, and a receive in the queue of sends. */
	fake_entry(&f->recv_cq, (struct fake_cqe){ .opcode = RI_SEND | CQE_SEND });
	fake_entry(&f->send_cq, (struct fake_cqe){ .opcode = RI_SEND, .msn = 1 });
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	fake_sent(f, 0, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 1);
	fake_free(f);
}

/* An index behind the ring is not taken for one of requests that go round its end. */
static void test_wrong_index(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc;

	adapter_sends_poll(&f->adapter, SENDS - 1);
	for (int i = 0; i < 3; i++)
		post(f, i, IBV_WR_SEND, IBV_SEND_SIGNALED);
	fake_sent(f, SENDS, 0);
	assert_int_equal(fake_poll(&f->send_cq, &wc, 1), 0);
	assert_int_equal(f->qp.sq.early, 0);
	fake_free(f);
}

/* A receive that was not posted, and a wrong message number, fail the queue pair. */
static void test_broken_receives(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	fake_received(f, 1);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	assert_int_equal(*f->qp.error, 1);
	fake_free(f);
	f = fake_create();
	assert_int_equal(adapter_receive(&f->adapter, 1, 1), 0);
	fake_received(f, 2);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	assert_int_equal(wc[0].status, IBV_WC_FATAL_ERR);
	assert_int_equal(wc[0].vendor_err, STATUS_MSN);
	assert_int_equal(*f->qp.error, 1);
	fake_free(f);
}

/* The kernel sets a byte of each queue. Entries in the ring come before flushed requests. */
static void test_flush(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[8];

	post(f, 1, IBV_WR_SEND, 0);
	post(f, 2, IBV_WR_SEND, IBV_SEND_SIGNALED);
	post(f, 3, IBV_WR_SEND, 0);
	post(f, 4, IBV_WR_RDMA_READ, 0);
	assert_int_equal(adapter_receive(&f->adapter, 10, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 11, 1), 0);
	fake_sent(f, 1, 0);
	fake_received(f, 1);
	*f->qp.error = 1;
	*f->send_cq.cq.flag = *f->recv_cq.cq.flag = 1;
	assert_int_equal(fake_poll(&f->send_cq, wc, 8), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 2 + i);
		assert_int_equal(wc[i].status, i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	}
	assert_int_equal(*f->send_cq.cq.flag, 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 8), 2);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[1].wr_id, 11);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	/* A late entry completes no request. */
	fake_sent(f, 3, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 8), 0);
	fake_free(f);
}

static void shared_complete(struct fake *f, uint32_t place, uint32_t msn)
{
	fake_entry(&f->recv_cq, (struct fake_cqe){ .opcode = RI_SEND,
						   .length = 24,
						   .msn = msn,
						   .share = FIRST_SHARE + place });
}

/* Shared receives complete in any order. A new one waits until the places before it are free. */
static void test_shared(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	fake_share(f);
	for (int i = 0; i < SHARES - 1; i++)
		assert_int_equal(adapter_receive(&f->adapter, 10 + i, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 0, 1), ENOMEM);
	shared_complete(f, 2, 1);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 12);
	assert_int_equal(f->srq.holes, 1);
	f->registers[DB_SRQ] = 0;
	assert_int_equal(adapter_receive(&f->adapter, 14, 1), 0);
	assert_int_equal(f->srq.waiting_count, 1);
	assert_int_equal(fake_doorbell(f, DB_SRQ), 0);
	shared_complete(f, 1, 2);
	shared_complete(f, 0, 3);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 11);
	assert_int_equal(wc[1].wr_id, 10);
	assert_int_equal(f->srq.waiting_count, 0);
	assert_int_equal(fake_doorbell(f, DB_SRQ), 1);
	assert_int_equal(f->srq.entries[4].wr_id, 14);
	fake_free(f);
}

/* Places without a receive, and beyond the ring, complete nothing. */
static void test_shared_wrong(void **state)
{
	static const uint32_t places[] = { 1, SHARES, UINT32_MAX, -(uint32_t)FIRST_SHARE };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct fake *f = fake_create();
		struct ibv_wc wc;

		fake_share(f);
		assert_int_equal(adapter_receive(&f->adapter, 10, 1), 0);
		shared_complete(f, places[i], 1);
		assert_int_equal(fake_poll(&f->recv_cq, &wc, 1), 0);
		assert_int_equal(f->srq.used, 1);
		fake_free(f);
	}
}

/* The completions of a destroyed queue pair complete no request of a later one with the same
 * number. */
static void test_clean(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[4];

	post(f, 1, IBV_WR_SEND, IBV_SEND_SIGNALED);
	assert_int_equal(adapter_receive(&f->adapter, 10, 1), 0);
	fake_sent(f, 0, 0);
	fake_received(f, 1);
	cx_cqs_clean(&f->qp);
	assert_int_equal(fake_poll(&f->send_cq, wc, 4), 0);
	assert_int_equal(fake_poll(&f->recv_cq, wc, 4), 0);
	assert_int_equal(f->send_cq.cq.consumed, 1);
	assert_int_equal(f->recv_cq.cq.consumed, 1);
	fake_free(f);
}

/* The device writes more entries than the ring has. Polls report that completions are lost. */
static void test_overrun(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[2];

	adapter_sends_poll(&f->adapter, 1);
	for (int i = 0; i < ENTRIES; i++)
		fake_sent(f, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), -EOVERFLOW);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), -EOVERFLOW);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_order),		cmocka_unit_test(test_receives),
		cmocka_unit_test(test_statuses),	cmocka_unit_test(test_failure),
		cmocka_unit_test(test_wrong),		cmocka_unit_test(test_wrong_index),
		cmocka_unit_test(test_broken_receives), cmocka_unit_test(test_flush),
		cmocka_unit_test(test_shared),		cmocka_unit_test(test_shared_wrong),
		cmocka_unit_test(test_clean),		cmocka_unit_test(test_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
