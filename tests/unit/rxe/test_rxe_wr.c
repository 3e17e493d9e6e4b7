/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_wr_*(): the bytes that each builder and setter writes to the ring, and that a failed batch
 * posts no request. */
#include "tests/unit/rxe/fake.h"

#define STALE	 0xa5
#define ALL_OPS	 0x1bff /* every operation but TSO */
#define SIGNALED IBV_SEND_SIGNALED

static struct fake *wr_create(enum ibv_qp_type type)
{
	struct fake *f = fake_create(type, STALE);

	rxe_wr_set_slots(&f->qp, ALL_OPS);
	f->qp.vqp.qp_ex.wr_id = 0x77;
	f->qp.vqp.qp_ex.wr_flags = SIGNALED;
	return f;
}

static uint32_t u32(struct fake *f, uint32_t index, size_t offset)
{
	return fake_u32(&f->qp.sq, index, offset);
}

static uint64_t u64(struct fake *f, uint32_t index, size_t offset)
{
	return fake_u64(&f->qp.sq, index, offset);
}

static void expect_head(struct fake *f, uint32_t index, uint32_t opcode, uint32_t flags,
			uint32_t length, uint32_t num_sge)
{
	assert_int_equal(u64(f, index, 0), 0x77);
	assert_int_equal(u32(f, index, 12), opcode);
	assert_int_equal(u32(f, index, 16), flags);
	assert_int_equal(u64(f, index, 144), 0);
	assert_int_equal(u32(f, index, 180), 0);
	assert_int_equal(u32(f, index, 184), length);
	assert_int_equal(u32(f, index, 188), length);
	assert_int_equal(u32(f, index, 192), 0);
	assert_int_equal(u32(f, index, 196), num_sge);
	assert_int_equal(u32(f, index, 200), 0);
}

static void test_rdma_and_send(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	struct ibv_sge list[] = { { 0x10, 1, 2 }, { 0x20, 3, 4 } };

	ibv_wr_start(qp);
	ibv_wr_rdma_write(qp, 7, 0x3000);
	ibv_wr_set_sge(qp, 5, 0x8000, 16);
	ibv_wr_rdma_write_imm(qp, 7, 0x3000, htobe32(0x01020304));
	ibv_wr_set_sge_list(qp, 2, list);
	ibv_wr_rdma_read(qp, 8, 0x4000);
	ibv_wr_set_sge(qp, 5, 0x8000, 0);
	ibv_wr_send(qp);
	ibv_wr_send_imm(qp, htobe32(5));
	ibv_wr_send_inv(qp, 0x55);
	ibv_wr_local_inv(qp, 0x66);
	assert_int_equal(f->qp.sq.buf->producer_index, 0);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(f->qp.sq.buf->producer_index, 7);

	expect_head(f, 0, IBV_WR_RDMA_WRITE, SIGNALED, 16, 1);
	assert_int_equal(u64(f, 0, 24), 0x3000);
	assert_int_equal(u32(f, 0, 32), 7);
	assert_int_equal(u64(f, 0, 152), 0x3000);
	assert_int_equal(u64(f, 0, 208), 0x8000);
	assert_int_equal(u32(f, 0, 216), 16);
	assert_int_equal(u32(f, 0, 220), 5);
	expect_head(f, 1, IBV_WR_RDMA_WRITE_WITH_IMM, SIGNALED, 4, 2);
	assert_int_equal(u32(f, 1, 20), htobe32(0x01020304));
	assert_memory_equal(fake_slot(&f->qp.sq, 1, 208), list, sizeof(list));
	expect_head(f, 2, IBV_WR_RDMA_READ, SIGNALED, 0, 0);
	expect_head(f, 3, IBV_WR_SEND, SIGNALED, 0, 0);
	expect_head(f, 4, IBV_WR_SEND_WITH_IMM, SIGNALED, 0, 0);
	expect_head(f, 5, IBV_WR_SEND_WITH_INV, SIGNALED, 0, 0);
	assert_int_equal(u32(f, 5, 20), 0x55);
	expect_head(f, 6, IBV_WR_LOCAL_INV, SIGNALED, 0, 0);
	assert_int_equal(u32(f, 6, 20), 0x66);
	fake_free(f);
}

static void test_atomics(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;

	ibv_wr_start(qp);
	ibv_wr_atomic_cmp_swp(qp, 7, 0x3000, 1, 2);
	ibv_wr_set_sge(qp, 5, 0x8000, 8);
	ibv_wr_atomic_fetch_add(qp, 7, 0x3008, 3);
	ibv_wr_atomic_write(qp, 7, 0x3010, "12345678");
	ibv_wr_flush(qp, 7, 0x3018, 100, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	assert_int_equal(ibv_wr_complete(qp), 0);

	expect_head(f, 0, IBV_WR_ATOMIC_CMP_AND_SWP, SIGNALED, 8, 1);
	assert_int_equal(u64(f, 0, 24), 0x3000);
	assert_int_equal(u64(f, 0, 32), 1);
	assert_int_equal(u64(f, 0, 40), 2);
	assert_int_equal(u32(f, 0, 48), 7);
	assert_int_equal(u64(f, 0, 152), 0x3000);
	expect_head(f, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, SIGNALED, 0, 0);
	assert_int_equal(u64(f, 1, 32), 3);
	expect_head(f, 2, IBV_WR_ATOMIC_WRITE, SIGNALED, 8, 0);
	assert_memory_equal(fake_slot(&f->qp.sq, 2, 208), "12345678", 8);
	assert_int_equal(u64(f, 2, 152), 0x3010);
	expect_head(f, 3, IBV_WR_FLUSH, SIGNALED, 100, 0);
	assert_int_equal(u64(f, 3, 24), 0x3018);
	assert_int_equal(u32(f, 3, 36), 7);
	assert_int_equal(*fake_slot(&f->qp.sq, 3, 40), IBV_FLUSH_GLOBAL);
	assert_int_equal(*fake_slot(&f->qp.sq, 3, 41), IBV_FLUSH_RANGE);
	assert_int_equal(u64(f, 3, 152), 0x3018);
	fake_free(f);
}

static void test_inline(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	char abc[] = "abc", de[] = "de";
	struct ibv_data_buf list[] = { { abc, 3 }, { NULL, 0 }, { de, 2 } };

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, abc, 3);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data_list(qp, 3, list);
	qp->wr_flags = SIGNALED | IBV_SEND_INLINE;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 1, 0x10, 4);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_head(f, 0, IBV_WR_SEND, SIGNALED | IBV_SEND_INLINE, 3, 0);
	assert_memory_equal(fake_slot(&f->qp.sq, 0, 208), "abc\xa5", 4);
	expect_head(f, 1, IBV_WR_SEND, SIGNALED | IBV_SEND_INLINE, 5, 0);
	assert_memory_equal(fake_slot(&f->qp.sq, 1, 208), "abcde\xa5", 6);
	expect_head(f, 2, IBV_WR_SEND, SIGNALED, 4, 1);
	fake_free(f);
}

static void test_ud(void **state)
{
	struct fake *f = wr_create(IBV_QPT_UD);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	struct rxe_ah ah = { .ah_num = 5 };

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, &ah.ah, 0x12, 0x11111111);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_head(f, 0, IBV_WR_SEND, SIGNALED, 0, 0);
	assert_memory_equal(fake_slot(&f->qp.sq, 0, 24),
			    "\x12\0\0\0\x11\x11\x11\x11\0\0\0\0\5\0\0\0", 16);

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, NULL, 0x12, 0);
	assert_int_equal(ibv_wr_complete(qp), EINVAL);
	fake_free(f);
}

static void test_bind(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	struct ibv_mr mr = { .lkey = 0x21 };
	struct ibv_mw mw = { .rkey = 0x1234ff };
	struct ibv_mw_bind_info info = {
		.mr = &mr,
		.addr = 0x5000,
		.length = 0x1000,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	ibv_wr_start(qp);
	ibv_wr_bind_mw(qp, &mw, 0x123400, &info);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_head(f, 0, IBV_WR_BIND_MW, SIGNALED, 0, 0);
	assert_int_equal(u64(f, 0, 0x18), 0x5000);
	assert_memory_equal(fake_slot(&f->qp.sq, 0, 0x28),
			    "\x21\0\0\0\xff\x34\x12\0\0\x34\x12\0\2\0\0\0", 16);
	fake_free(f);
}

/* End a batch with one mistake: check its errno, that no request is posted, that no doorbell is
 * rung, and that the lock is released. */
static void expect_failed(struct fake *f, int expected)
{
	uint32_t producer = f->qp.sq.buf->producer_index;
	uint8_t bytes[32];

	assert_int_equal(ibv_wr_complete(&f->qp.vqp.qp_ex), expected);
	assert_int_equal(f->qp.sq.buf->producer_index, producer);
	assert_int_equal(fake_doorbells(f, bytes), 0);
	assert_int_equal(atomic_load(&f->qp.sq_lock.held), 0);
}

static void test_mistakes(void **state)
{
	static char data[100];
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	struct ibv_sge huge[] = { { 0, UINT32_MAX, 0 }, { 0, UINT32_MAX, 0 } };
	struct ibv_data_buf list[] = { { data, 40 }, { data, 25 }, { data, SIZE_MAX - 10 } };

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, data, 65);
	ibv_wr_send(qp);
	expect_failed(f, ENOSPC);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data_list(qp, 2, list);
	expect_failed(f, ENOSPC);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data_list(qp, 1, &list[2]);
	expect_failed(f, ENOSPC);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 5, huge);
	expect_failed(f, ENOSPC);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 2, huge);
	expect_failed(f, EINVAL);
	ibv_wr_start(qp);
	ibv_wr_atomic_fetch_add(qp, 7, 0x3001, 3);
	expect_failed(f, EINVAL);
	ibv_wr_start(qp);
	ibv_wr_atomic_write(qp, 7, 0x3004, data);
	expect_failed(f, EINVAL);
#if SIZE_MAX > UINT32_MAX
	ibv_wr_start(qp);
	ibv_wr_flush(qp, 7, 0x3000, 1ULL << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_failed(f, EINVAL);
#endif
	ibv_wr_start(qp);
	ibv_wr_set_sge(qp, 1, 0x10, 4);
	expect_failed(f, EINVAL);
	f->qp.vqp.qp.state = IBV_QPS_INIT;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	expect_failed(f, EINVAL);
	fake_free(f);
}

static void test_full(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;

	f->qp.sq.buf->producer_index = f->qp.sq.buf->consumer_index = 6;
	ibv_wr_start(qp);
	for (int i = 0; i < 8; i++)
		ibv_wr_send(qp);
	expect_failed(f, ENOSPC);
	ibv_wr_start(qp);
	for (int i = 0; i < 7; i++)
		ibv_wr_send(qp);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(f->qp.sq.buf->producer_index, 5);
	fake_free(f);
}

static void test_abort(void **state)
{
	struct fake *f = wr_create(IBV_QPT_RC);
	struct ibv_qp_ex *qp = &f->qp.vqp.qp_ex;
	uint8_t bytes[32];

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_abort(qp);
	assert_int_equal(f->qp.sq.buf->producer_index, 0);
	assert_int_equal(fake_doorbells(f, bytes), 0);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(f->qp.sq.buf->producer_index, 1);
	fake_free(f);
}

/* Only requested functions are set, and no QP type gets a function that it cannot perform. */
static void test_slots(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct ibv_context *ctx = &f->vctx.context;

	rxe_wr_set_slots(&f->qp, IBV_QP_EX_WITH_SEND);
	assert_non_null(f->qp.vqp.qp_ex.wr_send);
	assert_null(f->qp.vqp.qp_ex.wr_send_imm);
	assert_null(f->qp.vqp.qp_ex.wr_flush);
	assert_non_null(f->qp.vqp.qp_ex.wr_set_sge);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_RC, ALL_OPS), 0);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_RC, IBV_QP_EX_WITH_TSO), -EOPNOTSUPP);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ), -EOPNOTSUPP);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UC, IBV_QP_EX_WITH_LOCAL_INV), -EOPNOTSUPP);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV), 0);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UC, IBV_QP_EX_WITH_BIND_MW), 0);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UD, IBV_QP_EX_WITH_SEND), 0);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), -EOPNOTSUPP);
	assert_int_equal(rxe_wr_check(ctx, IBV_QPT_RAW_PACKET, 1), -EOPNOTSUPP);
	assert_int_equal(rxe_wr_check(ctx, 0x200, 1), -EOPNOTSUPP);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rdma_and_send), cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_inline),	      cmocka_unit_test(test_ud),
		cmocka_unit_test(test_bind),	      cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_full),	      cmocka_unit_test(test_abort),
		cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
