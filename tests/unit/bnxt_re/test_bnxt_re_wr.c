/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_wr_*(): several requests of a batch, what ends a batch, and what an aborted batch leaves. */
#include "tests/unit/bnxt_re/fake.h"

static struct ibv_qp_ex *begin(struct fake *f)
{
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;

	bnxt_re_wr_set_slots(&f->qp, ~0ull);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	return ex;
}

/* Each request of a batch has its header, its packet numbers and its own slots. */
static void test_batch(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct ibv_qp_ex *ex = begin(f);
	struct ibv_wc wc[4];
	char bytes[17];

	memset(bytes, 0x5a, sizeof(bytes));
	ibv_wr_send_imm(ex, htobe32(0x01020304));
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	ibv_wr_rdma_write(ex, 0x77, 0x2000);
	ibv_wr_set_sge(ex, 0x22, 0x1000, 5000);
	ibv_wr_atomic_fetch_add(ex, 0x78, 0x3000, 5);
	ibv_wr_set_sge(ex, 0x22, 0x1000, 8);
	/* The number of a batch is not announced before its end. */
	assert_int_equal(fake_doorbell(f), 0);
	assert_int_equal(fake_number(f->psns), 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_number(f->ring), 0x0102030400041101);
	assert_memory_equal(f->ring + 2 * SLOT, bytes, sizeof(bytes));
	assert_int_equal(fake_number(f->ring + 128), 0x00030104);
	assert_int_equal(fake_number(f->ring + 128 + SLOT), 0x2000);
	assert_int_equal(fake_number(f->ring + 128 + 2 * SLOT + 8), 5000ull << 32 | 0x22);
	assert_int_equal(fake_number(f->ring + 256), 0x000000780003010b);
	assert_int_equal(fake_number(f->ring + 256 + 8), 0x3000);
	assert_int_equal(fake_number(f->ring + 256 + SLOT), 5);
	assert_int_equal(fake_number(f->psns), 0x1100000010);
	assert_int_equal(fake_number(f->psns + 16), 0x1601000011);
	assert_int_equal(fake_number(f->psns + 24), 8);
	assert_int_equal(fake_number(f->psns + 32), 0x1704000016);
	assert_int_equal(fake_doorbell(f), 0x0400002100000003);
	fake_entry(f, 0, fake_handle(f), 3, 0, 0);
	assert_int_equal(fake_poll(f, wc, 4), 3);
	assert_int_equal(wc[2].opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc[2].wr_id, 7);
	fake_free(f);
}

/* An aborted batch does not change the queue. */
static void test_abort(void **state)
{
	struct fake *f = fake_create(true, BNXT_RE_PSN_MESSAGES);
	struct ibv_qp_ex *ex = begin(f);

	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0x22, 0x1000, 5000);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	assert_int_equal(fake_doorbell(f), 0);
	assert_int_equal(fake_post(f, 0, 1), 0);
	assert_int_equal(fake_doorbell(f), 0x0400002100000003);
	assert_int_equal(fake_number(f->psns), 0x0000000015000010);
	assert_int_equal(f->qp.sq.posted_here, 3);
	fake_free(f);
}

/* Requests of several sizes go round the end of the ring. */
static void test_wraps(void **state)
{
	struct fake *f = fake_create(true, BNXT_RE_PSN_MESSAGES);
	struct ibv_wc wc[4];
	char bytes[96];
	uint32_t index = 0;

	memset(bytes, 0x5a, sizeof(bytes));
	for (uint32_t i = 0; i < 20; i++) {
		struct ibv_qp_ex *ex = begin(f);

		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, bytes, 1 + 19 * (i % 6));
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
		assert_int_equal(ibv_wr_complete(ex), 0);
		index += 2;
		fake_entry(f, i, fake_handle(f), index % SLOTS, 0, 0);
		assert_int_equal(fake_poll(f, wc, 4), 2);
		assert_int_equal(f->qp.sq.posted_here, atomic_load(&f->qp.sq.released));
	}
	fake_free(f);
}

enum cause {
	FULL,
	TOO_LONG,
	READ_INLINE,
	TOO_MANY,
	NO_BUILDER,
	FLAGS,
	ATOMIC_ADDRESS,
	ATOMIC_LIST,
	ATOMIC_NO_LIST,
	STATE,
	CAUSES,
};

static void refused(struct fake *f, struct ibv_qp_ex *ex, enum cause cause)
{
	struct ibv_sge sge[8] = { { 0x1000, 8, 0x22 } };
	char bytes[97] = { 0 };

	switch (cause) {
	case FULL:
		for (int i = 0; i < SLOTS / STATIC_SLOTS; i++)
			ibv_wr_send(ex);
		return;
	case TOO_LONG:
		ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
		return;
	case READ_INLINE:
		ibv_wr_rdma_read(ex, 0x77, 0x2000);
		ibv_wr_set_inline_data(ex, bytes, 1);
		return;
	case TOO_MANY:
		ibv_wr_set_sge_list(ex, 7, sge);
		return;
	case NO_BUILDER:
		ibv_wr_abort(ex);
		ibv_wr_start(ex);
		ibv_wr_set_sge(ex, 0x22, 0x1000, 8);
		return;
	case FLAGS:
		ex->wr_flags = IBV_SEND_IP_CSUM;
		ibv_wr_send(ex);
		return;
	case ATOMIC_ADDRESS:
		ibv_wr_atomic_fetch_add(ex, 0x77, 0x2004, 1);
		return;
	case ATOMIC_LIST:
		ibv_wr_atomic_fetch_add(ex, 0x77, 0x2000, 1);
		ibv_wr_set_sge_list(ex, 2, sge);
		return;
	case ATOMIC_NO_LIST:
		ibv_wr_atomic_fetch_add(ex, 0x77, 0x2000, 1);
		return;
	default:
		ibv_wr_abort(ex);
		f->qp.sq.max_sge = -1;
		ibv_wr_start(ex);
		ibv_wr_send(ex);
	}
}

/* An impossible request ends the batch, of which no request is announced. The next batch is
 * good. */
static void test_refused(void **state)
{
	for (enum cause cause = 0; cause < CAUSES; cause++) {
		struct fake *f = fake_create(false, BNXT_RE_PSN_16);
		struct ibv_qp_ex *ex = begin(f);
		int expected = cause == FULL				? ENOMEM
			       : cause >= TOO_LONG && cause <= TOO_MANY ? ENOSPC
									: EINVAL;

		ibv_wr_send(ex);
		refused(f, ex, cause);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), expected);
		assert_int_equal(fake_doorbell(f), 0);
		f->qp.sq.max_sge = 6;
		ex = begin(f);
		ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(fake_doorbell(f), 0x0400002100000001);
		assert_int_equal(fake_number(f->psns), 0x1100000010);
		fake_free(f);
	}
}

/* Datagrams need an address, have no packet numbers, and a raw queue pair only sends. */
static void test_unconnected(void **state)
{
	struct fake *f = fake_create(false, BNXT_RE_PSN_16);
	struct bnxt_re_ah ah = { .number = 9 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ };
	struct ibv_qp_ex *ex;

	f->qp.sq.connected = false;
	f->qp.sq.datagrams = true;
	ex = begin(f);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0x22, 0x1000, 5000);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ex = begin(f);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, &ah.ah, 0x33, 0x44);
	ibv_wr_set_sge(ex, 0x22, 0x1000, 5000);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_number(f->ring + 8), 0x44ull << 32 | 5000);
	assert_int_equal(fake_number(f->ring + SLOT), 9ull << 32 | 0x33);
	assert_int_equal(fake_number(f->psns), 0);
	f->qp.sq.datagrams = false;
	assert_int_equal(bnxt_re_wr_ops(&f->ctx, IBV_QPT_RAW_PACKET), IBV_QP_EX_WITH_SEND);
	f->qp.vqp.qp.qp_type = IBV_QPT_RAW_PACKET;
	assert_int_equal(bnxt_re_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(bnxt_re_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	assert_int_equal(bnxt_re_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(bnxt_re_post_send(&f->qp.vqp.qp, &wr, &bad), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),	    cmocka_unit_test(test_abort),
		cmocka_unit_test(test_wraps),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unconnected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
