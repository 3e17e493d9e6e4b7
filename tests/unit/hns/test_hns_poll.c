/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of each kind, completions without a request, and completions of destroyed queues. */
#include "tests/unit/hns/fake.h"

enum {
	POSTS = 300000,			   /* of a thread, while another one polls */
	FAILED = 0x15 << CQE_STATUS_SHIFT, /* retries exceeded */
	FLUSHED = 0x05 << CQE_STATUS_SHIFT,
};

static void post(struct fake *f, int count)
{
	for (int i = 0; i < count; i++) {
		struct ibv_send_wr wr = adapter_send_wr(IBV_WR_SEND, 1);

		wr.wr_id = 100 + i;
		assert_int_equal(adapter_post(&f->adapter, wr), 0);
	}
}

/* A completion completes all sends up to its index, in each phase of the completion queue. */
static void test_sends(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	post(f, 6);
	fake_entry(f, 0, OP_SEND | 1 << CQE_INDEX_SHIFT);
	fake_entry(f, 1, OP_READ | 4 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll(f, wc, 4), 2);
	assert_int_equal(wc[0].wr_id, 101);
	assert_int_equal(wc[0].opcode, IBV_WC_SEND);
	assert_int_equal(wc[0].vendor_err, 0x1f);
	assert_int_equal(wc[1].wr_id, 104);
	assert_int_equal(wc[1].opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc[1].byte_len, 24);
	assert_int_equal(f->qp.sq.tail, 5);
	assert_int_equal(f->cq_record, 2);
	fake_entry(f, 2, OP_WRITE_IMM | 5 << CQE_INDEX_SHIFT);
	wc[0] = fake_poll_one(f);
	assert_int_equal(wc[0].opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc[0].wc_flags, IBV_WC_WITH_IMM);
	for (uint32_t i = 3; i < 20; i++) {
		post(f, 1);
		assert_int_equal(fake_poll(f, wc, 1), 0);
		fake_entry(f, i, OP_SEND | (i + 3) % SENDS << CQE_INDEX_SHIFT);
		assert_int_equal(fake_poll_one(f).wr_id, 100);
	}
	fake_free(f);
}

/* If each request completes, the index is not valid. */
static void test_each(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	f->qp.sq.index_mask = 0;
	post(f, 2);
	fake_entry(f, 0, OP_SEND | 9 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll_one(f).wr_id, 100);
	fake_entry(f, 1, OP_SEND | 9 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll_one(f).wr_id, 101);
	fake_free(f);
}

static void test_receives(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	for (int i = 0; i < 4; i++)
		assert_int_equal(adapter_receive(&f->adapter, 200 + i, 1), 0);
	fake_entry(f, 0, CQE_RECEIVE | RECV_SEND);
	wc = fake_poll_one(f);
	assert_int_equal(wc.wr_id, 200);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, 0);
	fake_entry(f, 1, CQE_RECEIVE | RECV_SEND_IMM);
	wc = fake_poll_one(f);
	assert_int_equal(be32toh(wc.imm_data), 0x11223344);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	fake_entry(f, 2, CQE_RECEIVE | RECV_SEND_INV);
	wc = fake_poll_one(f);
	assert_int_equal(wc.invalidated_rkey, 0x11223344);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	fake_entry(f, 3, CQE_RECEIVE | RECV_WRITE_IMM);
	assert_int_equal(fake_poll_one(f).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	fake_free(f);
}

static void test_datagrams(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct ibv_wc wc;

	assert_int_equal(adapter_receive(&f->adapter, 200, 1), 0);
	fake_entry(f, 0, CQE_RECEIVE | RECV_SEND);
	wc = fake_poll_one(f);
	assert_int_equal(wc.src_qp, 0x77);
	assert_int_equal(wc.sl, 3);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	fake_free(f);
}

/*
 * Receives of a shared queue complete in any order. A receive that is not posted is not completed.
 */
static void test_shared(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	fake_share(f);
	f->qp.rq.completes = false;
	for (int i = 0; i < RECEIVES; i++)
		assert_int_equal(adapter_receive(&f->adapter, 300 + i, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 304, 1), ENOMEM);
	fake_entry(f, 0, CQE_RECEIVE | RECV_SEND | 2 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll_one(f).wr_id, 302);
	fake_entry(f, 1, CQE_RECEIVE | RECV_SEND | 2 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	fake_entry(f, 2, CQE_RECEIVE | RECV_SEND | 0xffffu << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 305, 1), 0);
	assert_int_equal(le32toh(f->indices[0]), 2);
	assert_int_equal(f->srq_record, 5);
	fake_free(f);
}

/* The queue pair of an XRC receive may belong to another process. */
static void test_xrc(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	idtable_take(&f->ctx.qps, QPN, &f->qp);
	assert_int_equal(idtable_put(&f->ctx.xrc_srqs, SRQN, &f->srq), 0);
	idtable_own(&f->ctx.xrc_srqs, SRQN, &f->cq, NULL);
	fake_share(f);
	assert_int_equal(adapter_receive(&f->adapter, 300, 1), 0);
	fake_entry(f, 0, CQE_RECEIVE | RECV_SEND);
	wc = fake_poll_one(f);
	assert_int_equal(wc.wr_id, 300);
	assert_int_equal(wc.qp_num, QPN);
	assert_int_equal(adapter_receive(&f->adapter, 301, 1), 0);
	fake_entry(f, 1, CQE_RECEIVE | RECV_SEND);
	fake_entry(f, 2, OP_SEND);
	hns_cq_clean_srq(&f->srq);
	assert_int_equal(f->cq_record, 2);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	assert_int_equal(f->cq_record, 3);
	fake_free(f);
}

/*
 * A failure moves the queue pair to the error state. A flushed completion does not move it again.
 */
static void test_failures(void **state)
{
	static const struct {
		uint8_t status, wc;
		bool fails;
	} all[] = {
		{ 0x01, IBV_WC_LOC_LEN_ERR, true },	   { 0x02, IBV_WC_LOC_QP_OP_ERR, true },
		{ 0x04, IBV_WC_LOC_PROT_ERR, true },	   { 0x05, IBV_WC_WR_FLUSH_ERR, false },
		{ 0x06, IBV_WC_MW_BIND_ERR, true },	   { 0x10, IBV_WC_BAD_RESP_ERR, true },
		{ 0x11, IBV_WC_LOC_ACCESS_ERR, true },	   { 0x12, IBV_WC_REM_INV_REQ_ERR, true },
		{ 0x13, IBV_WC_REM_ACCESS_ERR, true },	   { 0x14, IBV_WC_REM_OP_ERR, true },
		{ 0x15, IBV_WC_RETRY_EXC_ERR, true },	   { 0x16, IBV_WC_RNR_RETRY_EXC_ERR, true },
		{ 0x22, IBV_WC_REM_ABORT_ERR, true },	   { 0x23, IBV_WC_GENERAL_ERR, false },
		{ 0x24, IBV_WC_REM_INV_RD_REQ_ERR, true }, { 0x03, IBV_WC_GENERAL_ERR, true },
		{ 0xff, IBV_WC_GENERAL_ERR, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct fake *f = fake_create(IBV_QPT_RC);
		struct ibv_wc wc;

		post(f, 1);
		fake_entry(f, 0, (uint32_t)all[i].status << CQE_STATUS_SHIFT);
		wc = fake_poll_one(f);
		assert_int_equal(wc.status, all[i].wc);
		assert_int_equal(wc.vendor_err, 0x1f);
		assert_int_equal(f->qp.sq.flushes, all[i].fails);
		assert_int_equal(f->qp.state, all[i].fails ? IBV_QPS_ERR : IBV_QPS_RTS);
		fake_free(f);
	}
}

static void *post_always(void *arg)
{
	struct fake *f = arg;

	while (!atomic_load(&f->stop)) {
		if (adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)) == 0)
			atomic_fetch_add(&f->posted, 1);
		atomic_fetch_add(&f->posts, 1);
	}
	return NULL;
}

/* A thread posts to a full queue, while another one polls failures of it. Neither waits for a lock
 * that the other holds. */
static void test_threads(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	pthread_t poster;

	assert_int_equal(pthread_create(&poster, NULL, post_always, f), 0);
	for (uint32_t i = 0; atomic_load(&f->posts) < POSTS; i++) {
		hns_qp_post_limits_set(&f->qp, IBV_QPS_RTS);
		/* A device completes no request before it is posted. */
		while (atomic_load(&f->posted) <= i)
			;
		fake_entry(f, i, FAILED | i << CQE_INDEX_SHIFT);
		assert_int_equal(fake_poll_one(f).status, IBV_WC_RETRY_EXC_ERR);
		assert_int_equal(f->qp.state, IBV_QPS_ERR);
	}
	atomic_store(&f->stop, true);
	pthread_join(poster, NULL);
	fake_free(f);
}

/*
 * A poll skips an entry without a queue pair, and does not lose the completions before the entry.
 */
static void test_unknown(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	post(f, 2);
	fake_entry(f, 0, OP_SEND);
	fake_entry(f, 1, OP_SEND);
	put_32(f->cqes + 64 + CQE_AT_QP, 0x999);
	fake_entry(f, 2, OP_SEND | 1 << CQE_INDEX_SHIFT);
	assert_int_equal(fake_poll(f, wc, 4), 2);
	assert_int_equal(wc[1].wr_id, 101);
	assert_int_equal(f->cq_record, 3);
	fake_free(f);
}

/* The completions of a queue pair are removed, and those of another queue pair keep their order. */
static void test_clean(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];
	struct hns_qp *other = malloc(sizeof(*other));

	*other = f->qp;
	other->number = 0x44;
	assert_int_equal(idtable_put(&f->ctx.qps, 0x44, other), 0);
	idtable_own(&f->ctx.qps, 0x44, &f->cq, &f->cq);
	post(f, 3);
	for (uint32_t i = 0; i < 6; i++)
		fake_entry(f, i, OP_SEND | i / 2 << CQE_INDEX_SHIFT);
	for (int i = 0; i < 6; i += 2)
		put_32(f->cqes + (ptrdiff_t)i * 64 + CQE_AT_QP, 0x44);
	f->cq.recorded = false;
	hns_cqs_lock(&f->qp);
	hns_cqs_clean(other);
	hns_cqs_unlock(&f->qp);
	assert_int_equal(f->doorbell, htole64(0x0200000303000009));
	assert_int_equal(fake_poll(f, wc, 4), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 100 + i);
		assert_int_equal(wc[i].qp_num, QPN);
	}
	assert_int_equal(fake_poll(f, wc, 4), 0);
	free(other);
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	f->cq.consumer = 3;
	assert_int_equal(hns_req_notify_cq(&f->cq.kit.vcq.cq, 0), 0);
	assert_int_equal(f->doorbell, htole64(0x0200000304000009));
	for (int i = 0; i < 4; i++)
		hns_cq_event(&f->cq.kit.vcq);
	f->cq.consumer = 16 + 9;
	assert_int_equal(hns_req_notify_cq(&f->cq.kit.vcq.cq, 1), 0);
	assert_int_equal(f->doorbell, htole64(0x0300000904000009));
	hns_cq_event(&f->cq.kit.vcq);
	assert_int_equal(hns_req_notify_cq(&f->cq.kit.vcq.cq, 0), 0);
	assert_int_equal(f->doorbell, htole64(0x0400000904000009));
	fake_free(f);
}

static void test_extended(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_cq_ex *ex = &f->cq.kit.vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	hns_cq_ex_set_slots(&f->cq, hns_cq_ex_wc_flags);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	post(f, 2);
	fake_entry(f, 0, OP_SEND);
	fake_entry(f, 1, FLUSHED | OP_SEND | 1 << CQE_INDEX_SHIFT);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 100);
	assert_int_equal(ibv_wc_read_cvlan(ex), 5);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	assert_int_equal(f->cq_record, 0);
	ibv_end_poll(ex);
	assert_int_equal(f->cq_record, 2);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(ex, &attr), EINVAL);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends),	 cmocka_unit_test(test_each),
		cmocka_unit_test(test_receives), cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_shared),	 cmocka_unit_test(test_xrc),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_unknown),	 cmocka_unit_test(test_clean),
		cmocka_unit_test(test_arm),	 cmocka_unit_test(test_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
