/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_wr_*(): batches of several requests, errors that end a batch, and the ring after an aborted
 * batch. */
#include "tests/unit/hns/fake.h"

static struct ibv_qp_ex *begin(struct fake *f)
{
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;

	hns_wr_set_slots(&f->qp, ~0ull);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

static uint32_t first_of(const struct fake *f, int index)
{
	return adapter_word_32(f->sends + (ptrdiff_t)index * WQE, 0);
}

/* The device owns no request before the end of the batch. */
static void test_batch(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_ex *ex = begin(f);
	char bytes[40];

	memset(bytes, 0x5a, sizeof(bytes));
	ibv_wr_send_imm(ex, htobe32(0x01020304));
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	ex->wr_id = 8;
	ibv_wr_rdma_write(ex, 0x77, 0x9000);
	ibv_wr_set_sge(ex, 0x11, 0x1000, 8);
	ibv_wr_atomic_fetch_add(ex, 0x78, 0x3000, 5);
	ibv_wr_set_sge(ex, 0x11, 0x1000, 8);
	ibv_wr_send(ex);
	for (int i = 0; i < 4; i++)
		assert_false(first_of(f, i) & WQE_OWNER);
	assert_int_equal(f->doorbell, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(f->doorbell, htole64(0x400000033));
	assert_int_equal(f->sq_record, 4);
	assert_int_equal(first_of(f, 0), 0x1182);
	assert_int_equal(adapter_word_32(f->sends, 1), 40);
	assert_int_equal(adapter_word_32(f->sends, 2), 0x01020304);
	assert_int_equal(adapter_word_32(f->sends, 3), 0x03000000);
	assert_int_equal(adapter_word_32(f->sends, 4), INLINE_OUT);
	assert_memory_equal(f->segments, bytes, sizeof(bytes));
	assert_int_equal(first_of(f, 1), 0x183);
	assert_int_equal(adapter_word_32(f->sends + WQE, 4), 3);
	assert_int_equal(adapter_word_32(f->sends + WQE, 5), 0x77);
	assert_int_equal(first_of(f, 2), 0x187);
	assert_int_equal(adapter_word_32(f->sends + 2 * WQE, 12), 5);
	assert_int_equal(first_of(f, 3), 0x180);
	assert_int_equal(f->sent[1], 8);
	fake_free(f);
}

/* After ibv_wr_abort() the places of the batch have the owner's bit of the previous phase. */
static void test_abort(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_ex *ex = begin(f);
	char bytes[64] = { 0 };

	for (int i = 0; i < 3; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	}
	ibv_wr_abort(ex);
	for (int i = 0; i < 3; i++)
		assert_false(first_of(f, i) & WQE_OWNER);
	assert_int_equal(f->qp.sq.head, 0);
	assert_int_equal(f->qp.sq.segment, 0);
	assert_int_equal(f->doorbell, 0);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(first_of(f, 0), 0x180);
	fake_free(f);
}

/* Run a batch whose second request is wrong. */
static int refused(struct fake *f, void (*build)(struct ibv_qp_ex *ex))
{
	struct ibv_qp_ex *ex = begin(f);
	int r;

	ibv_wr_send(ex);
	build(ex);
	ibv_wr_send(ex);
	r = ibv_wr_complete(ex);
	assert_int_equal(f->qp.sq.head, 0);
	assert_int_equal(f->sq_record, 0);
	return r;
}

static void too_long(struct ibv_qp_ex *ex)
{
	static char bytes[65];

	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
}

static void inline_read(struct ibv_qp_ex *ex)
{
	static char bytes[8];

	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
}

static void too_many(struct ibv_qp_ex *ex)
{
	static const struct ibv_sge sge[5];

	ibv_wr_set_sge_list(ex, 5, sge);
}

static void crooked(struct ibv_qp_ex *ex)
{
	ibv_wr_atomic_cmp_swp(ex, 1, 3, 4, 5);
}

static void no_result(struct ibv_qp_ex *ex)
{
	ibv_wr_atomic_cmp_swp(ex, 1, 8, 4, 5);
}

static void wide_result(struct ibv_qp_ex *ex)
{
	ibv_wr_atomic_cmp_swp(ex, 1, 8, 4, 5);
	ibv_wr_set_sge(ex, 1, 0x1000, 16);
}

static void bad_flags(struct ibv_qp_ex *ex)
{
	ex->wr_flags = IBV_SEND_IP_CSUM;
}

static void test_refused(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	assert_int_equal(refused(f, too_long), ENOSPC);
	assert_int_equal(refused(f, inline_read), ENOSPC);
	assert_int_equal(refused(f, too_many), ENOSPC);
	assert_int_equal(refused(f, crooked), EINVAL);
	assert_int_equal(refused(f, no_result), EINVAL);
	assert_int_equal(refused(f, wide_result), EINVAL);
	assert_int_equal(refused(f, bad_flags), EINVAL);
	hns_qp_post_limits_set(&f->qp, IBV_QPS_RTR);
	assert_int_equal(refused(f, no_result), EINVAL);
	fake_free(f);
}

static void test_full(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_ex *ex = begin(f);

	for (int i = 0; i <= SENDS; i++)
		ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	assert_int_equal(f->qp.sq.head, 0);
	fake_free(f);
}

/* The address may come before or after the few bytes that share its words. */
static void test_datagram(void **state)
{
	for (int first = 0; first < 2; first++) {
		struct hns_ah ah = { .pd_number = 0x10, .sport = 0xe341, .sl = 5 };
		struct fake *f = fake_create(IBV_QPT_UD);
		struct ibv_qp_ex *ex = begin(f);
		char bytes[] = "abcdefgh";

		ibv_wr_send(ex);
		if (first)
			ibv_wr_set_ud_addr(ex, &ah.ah, 0x321, 0x11111111);
		ibv_wr_set_inline_data(ex, bytes, 8);
		if (!first)
			ibv_wr_set_ud_addr(ex, &ah.ah, 0x321, 0x11111111);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(first_of(f, 0), 0x1180);
		assert_int_equal(adapter_word_32(f->sends, 1), 8 | 0x62610000);
		assert_int_equal(adapter_word_32(f->sends, 3), 0x63000010);
		assert_int_equal(adapter_word_32(f->sends, 4), 0x666564);
		assert_int_equal(adapter_word_32(f->sends, 5), 0xe3416867);
		assert_int_equal(adapter_word_32(f->sends, 7), 0x321);
		assert_int_equal(f->doorbell, htole64(0x0005000100000033));
		fake_free(f);
	}
}

/* Requests lack their address, or their SRQ. */
static void test_missing(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct ibv_qp_ex *ex = begin(f);

	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ex = begin(f);
	ibv_wr_set_sge(ex, 1, 2, 3);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	fake_free(f);
	f = fake_create(IBV_QPT_XRC_SEND);
	ex = begin(f);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ex = begin(f);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0x11, 0x1000, 8);
	ibv_wr_set_xrc_srqn(ex, 0x52);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(adapter_word_32(f->sends, 3), 0x01000052);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),	 cmocka_unit_test(test_abort),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_full),
		cmocka_unit_test(test_datagram), cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
