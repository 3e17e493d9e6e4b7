/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_post_send(): the bytes of each request in the ring, the doorbell, and every refusal. */
#include "tests/unit/rxe/fake.h"

#define STALE 0xa5 /* what an earlier request left in the slots */

static struct ibv_sge two_sges[] = {
	{ .addr = 0x1000, .length = 0x10, .lkey = 0x100 },
	{ .addr = 0x2000, .length = 0x20, .lkey = 0x200 },
};

static int post(struct fake *f, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return rxe_post_send(&f->qp.vqp.qp, wr, bad_wr);
}

/* Post one request that must be accepted. */
static void post_ok(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr = (void *)1;
	uint8_t bytes[32];

	assert_int_equal(post(f, wr, &bad_wr), 0);
	assert_null(bad_wr);
	assert_int_equal(fake_doorbells(f, bytes), 1);
}

/* Post one request that must be refused with @expected, and leave the ring as it was. */
static void post_refused(struct fake *f, struct ibv_send_wr *wr, int expected)
{
	uint32_t producer = f->qp.sq.buf->producer_index;
	struct ibv_send_wr *bad_wr = NULL;

	assert_int_equal(post(f, wr, &bad_wr), expected);
	assert_ptr_equal(bad_wr, wr);
	assert_int_equal(f->qp.sq.buf->producer_index, producer);
}

static void expect_bytes(struct fake *f, uint32_t index, size_t offset, const char *bytes,
			 size_t count)
{
	assert_memory_equal(fake_slot(&f->qp.sq, index, offset), bytes, count);
}

/* Check fields that the kernel changed in the slot's last request and expects to be reset. */
static void expect_fresh(struct fake *f, uint32_t index, uint32_t length, uint32_t num_sge)
{
	assert_int_equal(fake_u32(&f->qp.sq, index, 8), 0);
	assert_int_equal(fake_u32(&f->qp.sq, index, 148), 0);
	assert_int_equal(fake_u32(&f->qp.sq, index, 180), 0);
	assert_int_equal(fake_u32(&f->qp.sq, index, 184), length);
	assert_int_equal(fake_u32(&f->qp.sq, index, 188), length);
	assert_int_equal(fake_u32(&f->qp.sq, index, 192), 0);
	assert_int_equal(fake_u32(&f->qp.sq, index, 196), num_sge);
	assert_int_equal(fake_u32(&f->qp.sq, index, 200), 0);
}

/* Check every byte of the slot, in a ring that was never used. */
static void test_send_bytes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct ibv_send_wr wr = {
		.wr_id = 0x11,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = two_sges,
		.num_sge = 2,
	};
	uint8_t expected[512] = {
		[0x00] = 0x11, [0x0c] = 2,    [0x10] = 2,    [0xb8] = 0x30,
		[0xbc] = 0x30, [0xc4] = 2,    [0xd1] = 0x10, [0xd8] = 0x10,
		[0xdd] = 0x01, [0xe1] = 0x20, [0xe8] = 0x20, [0xed] = 0x02,
	};

	f->qp.sq.buf->producer_index = 3;
	f->qp.sq.buf->consumer_index = 3;
	post_ok(f, &wr);
	assert_memory_equal((char *)f->qp.sq.buf + 1920, expected, sizeof(expected));
	assert_int_equal(f->qp.sq.buf->producer_index, 4);
	assert_int_equal(f->qp.sq.buf->consumer_index, 3);
	fake_free(f);
}

static void test_write_imm_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge = { .addr = (uintptr_t) "abcd", .length = 4 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.imm_data = htobe32(0x01020304),
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = 0x7f0000001000, .rkey = 0xabcd },
	};

	post_ok(f, &wr);
	expect_fresh(f, 0, 4, 1);
	expect_bytes(f, 0, 0x0c, "\1\0\0\0\x0a\0\0\0\1\2\3\4", 12);
	expect_bytes(f, 0, 0x18, "\0\x10\0\0\0\x7f\0\0\xcd\xab\0\0\0\0\0\0", 16);
	expect_bytes(f, 0, 0x98, "\0\x10\0\0\0\x7f\0\0", 8);
	expect_bytes(f, 0, 0xd0, "abcd", 4);
	fake_free(f);
}

static void test_inline_gathers(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge[] = {
		{ .addr = (uintptr_t) "ab", .length = 2 },
		{ .addr = 0, .length = 0 },
		{ .addr = (uintptr_t) "cde", .length = 3 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 3,
	};

	post_ok(f, &wr);
	expect_fresh(f, 0, 5, 3);
	expect_bytes(f, 0, 0xd0, "abcde\xa5", 6);
	fake_free(f);
}

static void test_atomics(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge = { .addr = 0x8000, .length = 8, .lkey = 5 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = 0x3000, .compare_add = 1, .swap = 2, .rkey = 7 },
	};

	post_ok(f, &wr);
	expect_fresh(f, 0, 8, 1);
	assert_int_equal(fake_u32(&f->qp.sq, 0, 0x0c), 5);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x18), 0x3000);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x20), 1);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x28), 2);
	assert_int_equal(fake_u32(&f->qp.sq, 0, 0x30), 7);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x98), 0x3000);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	post_ok(f, &wr);
	assert_int_equal(fake_u32(&f->qp.sq, 1, 0x0c), 6);

	sge.length = 7;
	post_refused(f, &wr, EINVAL);
	sge.length = 8;
	wr.wr.atomic.remote_addr = 0x3004;
	post_refused(f, &wr, EINVAL);
	fake_free(f);
}

static void test_ud(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, STALE);
	struct rxe_ah ah = { .ah_num = 5 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = two_sges,
		.num_sge = 1,
		.wr.ud = { .ah = &ah.ah, .remote_qpn = 0x12, .remote_qkey = 0x11111111 },
	};

	post_ok(f, &wr);
	expect_fresh(f, 0, 0x10, 1);
	expect_bytes(f, 0, 0x18, "\x12\0\0\0\x11\x11\x11\x11\0\0\0\0\5\0\0\0", 16);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x98), 0);
	/* A numbered handle needs no address in the request, but a handle of an older kernel
	 * does. */
	assert_int_equal(*fake_slot(&f->qp.sq, 0, 56), STALE);
	ah = (struct rxe_ah){ .av = { .port_num = 1, .network_type = 2, .dmac = { 2, 3 } } };
	post_ok(f, &wr);
	assert_int_equal(fake_u32(&f->qp.sq, 1, 36), 0);
	assert_memory_equal(fake_slot(&f->qp.sq, 1, 56), &ah.av, sizeof(ah.av));

	wr.wr.ud.ah = NULL;
	post_refused(f, &wr, EINVAL);
	fake_free(f);
}

static void test_bind(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_mr mr = { .lkey = 0x21 };
	struct ibv_mw mw = { .rkey = 0x1234ff };
	struct ibv_mw_bind bind = {
		.wr_id = 9,
		.bind_info = { .mr = &mr,
			       .addr = 0x5000,
			       .length = 0x1000,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(rxe_bind_mw(&f->qp.vqp.qp, &mw, &bind), 0);
	assert_int_equal(mw.rkey, 0x123400);
	expect_fresh(f, 0, 0, 0);
	assert_int_equal(fake_u32(&f->qp.sq, 0, 0x0c), 8);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x18), 0x5000);
	assert_int_equal(fake_u64(&f->qp.sq, 0, 0x20), 0x1000);
	expect_bytes(f, 0, 0x28, "\x21\0\0\0\xff\x34\x12\0\0\x34\x12\0\2\0\0\0", 16);

	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	assert_int_equal(rxe_bind_mw(&f->qp.vqp.qp, &mw, &bind), EINVAL);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mw.rkey, 0x123400);
	assert_int_equal(f->qp.sq.buf->producer_index, 1);
	fake_free(f);
}

static void test_bind_refused(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_mw mw = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .bind_mw = { .mw = &mw } };

	post_ok(f, &wr);
	wr.imm_data = 1;
	post_refused(f, &wr, EINVAL);
	wr.imm_data = 0;
	wr.num_sge = 1;
	wr.sg_list = two_sges;
	post_refused(f, &wr, EINVAL);
	wr.num_sge = 0;
	wr.bind_mw.mw = NULL;
	post_refused(f, &wr, EINVAL);
	fake_free(f);
}

static void test_invalidate(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x1234 };

	post_ok(f, &wr);
	expect_fresh(f, 0, 0, 0);
	assert_int_equal(fake_u32(&f->qp.sq, 0, 0x0c), 7);
	assert_int_equal(fake_u32(&f->qp.sq, 0, 0x14), 0x1234);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	post_ok(f, &wr);
	assert_int_equal(fake_u32(&f->qp.sq, 1, 0x0c), 9);
	assert_int_equal(fake_u32(&f->qp.sq, 1, 0x14), 0x1234);
	fake_free(f);
}

static void test_doorbell(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second }, *bad_wr;
	uint64_t response = (uintptr_t)&f->qp.doorbell.resp;
	uint8_t bytes[32], size[4] = { sizeof(struct ibv_send_wr) };

	assert_int_equal(post(f, &first, &bad_wr), 0);
	assert_int_equal(fake_doorbells(f, bytes), 1);
	assert_memory_equal(bytes, "\x1c\0\0\0\x08\0\1\0", 8);
	assert_memory_equal(bytes + 8, &response, 8);
	assert_memory_equal(bytes + 16, "\3\0\0\0\0\0\0\0\0\0\0\0", 12);
	assert_memory_equal(bytes + 28, size, 4);
	assert_int_equal(f->qp.sq.buf->producer_index, 2);

	f->vctx.context.cmd_fd = -1;
	assert_int_equal(post(f, &first, &bad_wr), EBADF);
	assert_null(bad_wr);
	fake_free(f);
}

static void test_full_and_wrap(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_send_wr wr[8], *bad_wr;

	for (int i = 0; i < 8; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = i,
					      .opcode = IBV_WR_SEND,
					      .next = i < 7 ? &wr[i + 1] : NULL };
	f->qp.sq.buf->producer_index = f->qp.sq.buf->consumer_index = 5;
	assert_int_equal(post(f, wr, &bad_wr), ENOMEM);
	assert_ptr_equal(bad_wr, &wr[7]);
	assert_int_equal(f->qp.sq.buf->producer_index, 4);
	for (int i = 0; i < 7; i++)
		assert_int_equal(fake_u64(&f->qp.sq, (5 + i) % 8, 0), i);
	assert_int_equal(*fake_slot(&f->qp.sq, 4, 0), STALE);
	post_refused(f, &wr[7], ENOMEM);
	f->qp.sq.buf->consumer_index = 6;
	assert_int_equal(post(f, &wr[7], &bad_wr), 0);
	assert_int_equal(f->qp.sq.buf->producer_index, 5);
	fake_free(f);
}

static void test_inline_limit(void **state)
{
	static char data[100];
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge[] = {
		{ .addr = (uintptr_t)data, .length = 64 },
		{ .addr = (uintptr_t)data, .length = 0 },
		{ .addr = (uintptr_t)data, .length = 0 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 3,
	};

	post_ok(f, &wr);
	sge[1].length = 1;
	post_refused(f, &wr, EINVAL);
	assert_int_equal(*fake_slot(&f->qp.sq, 1, 208 + 64), STALE);
	/* Lengths that add up to 64 modulo 2^32, at the last step or in between. */
	sge[1].length = sge[2].length = 0x80000000;
	post_refused(f, &wr, EINVAL);
	sge[1].length = UINT32_MAX;
	sge[2].length = 1;
	post_refused(f, &wr, EINVAL);
	fake_free(f);
}

static void test_refusals(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge[5] = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 4 }, *bad_wr;

	post_ok(f, &wr);
	wr.num_sge = 5;
	post_refused(f, &wr, EINVAL);
	wr.num_sge = -1;
	post_refused(f, &wr, EINVAL);
	wr.num_sge = 2;
	sge[0].length = sge[1].length = UINT32_MAX;
	post_refused(f, &wr, EINVAL);
	wr.sg_list = NULL;
	post_refused(f, &wr, EINVAL);
	wr = (struct ibv_send_wr){ .opcode = 32 };
	post_refused(f, &wr, EINVAL);
	wr.opcode = (enum ibv_wr_opcode) - 1;
	post_refused(f, &wr, EINVAL);
	f->qp.send_ops = 1 << IBV_WR_SEND;
	wr.opcode = IBV_WR_RDMA_READ;
	post_refused(f, &wr, EINVAL);
	wr.opcode = IBV_WR_SEND;
	f->qp.vqp.qp.state = IBV_QPS_RTR;
	post_refused(f, &wr, EINVAL);
	assert_int_equal(rxe_post_send(&f->qp.vqp.qp, NULL, &bad_wr), EINVAL);
	assert_int_equal(rxe_post_send(&f->qp.vqp.qp, &wr, NULL), EINVAL);
	fake_free(f);
}

/* A refused request in the middle of a list: those before it are posted and the doorbell is
 * rung. */
static void test_partial_list(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_send_wr third = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND, .num_sge = 99, .next = &third };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second }, *bad_wr;
	uint8_t bytes[32];

	assert_int_equal(post(f, &first, &bad_wr), EINVAL);
	assert_ptr_equal(bad_wr, &second);
	assert_int_equal(f->qp.sq.buf->producer_index, 1);
	assert_int_equal(fake_doorbells(f, bytes), 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_bytes),
		cmocka_unit_test(test_write_imm_inline),
		cmocka_unit_test(test_inline_gathers),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_ud),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_bind_refused),
		cmocka_unit_test(test_invalidate),
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_full_and_wrap),
		cmocka_unit_test(test_inline_limit),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_partial_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
