/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests, byte by byte as the adapter reads them. */
#include "tests/unit/mlx/plain.h"
#include "tests/unit/mlx4/fake.h"

static void post(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, wr, &bad), 0);
}

static void start_at(struct fake *f, uint32_t head)
{
	f->qp.sq.head = head;
	atomic_store(&f->qp.sq.tail, head);
}

static void test_send(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sges[] = {
		{ .addr = 0x7f0000001000, .length = 256, .lkey = 0x1234 },
		{ .addr = 0x7f0000002000, .length = 64, .lkey = 0x5678 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sges,
				  .num_sge = 2 };

	start_at(f, 3);
	post(f, &wr);
	ASSERT_WORDS(f->sq + 3 * 64, 0x0000000a, 0x00000003, 0x0000000c, 0, 0x00000100, 0x00001234,
		     0x00007f00, 0x00001000, 0x00000040, 0x00005678, 0x00007f00, 0x00002000);
	ASSERT_WORDS(f->uar + 0x14, 0x00004800);
	/* The next time round, the owner bit has the other value. */
	start_at(f, 67);
	sges[1].length = 0;
	post(f, &wr);
	ASSERT_WORDS(f->sq + 3 * 64, 0x8000000a, 0x00000003);
	ASSERT_WORDS(f->sq + 3 * 64 + 32, 0x80000000);
	fake_free(f);
}

static void test_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const char bytes[] = "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc";
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = 12 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = 0x1122334455667788, .rkey = 0xabcd },
		.sg_list = &sge,
		.num_sge = 1,
	};

	start_at(f, 5);
	post(f, &wr);
	ASSERT_WORDS(f->sq + 5 * 64, 0x00000508, 0x00004803, 0x0000000c, 0, 0x11223344, 0x55667788,
		     0x0000abcd, 0, 0x8000000c, 0x01020304, 0x05060708, 0x090a0b0c);
	/* The register holds the whole request, in one half and then in the other; no doorbell
	 * was rung. */
	assert_memory_equal(f->bf, f->sq + 5 * 64, 64);
	ASSERT_WORDS(f->uar + 0x14, 0);
	post(f, &wr);
	assert_memory_equal(f->bf + 256, f->sq + 6 * 64, 64);
	fake_free(f);
}

/* Inline pieces end at each 64 bytes, and a piece without bytes is left out. */
static void test_inline_pieces(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct mlx4_ah ah = { .ah.context = &f->ctx->vctx.context };
	char bytes[96];
	struct ibv_sge sges[] = { { .addr = (uintptr_t)bytes, .length = 30 },
				  { .addr = (uintptr_t)(bytes + 30), .length = 30 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE,
				  .sg_list = sges,
				  .num_sge = 2,
				  .wr.ud = { .ah = &ah.ah } },
			   *bad;

	f->qp.sq.max_inline = 60;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = i + 1;
	memset(f->sq + 128, 0x77, 128);
	post(f, &wr);
	ASSERT_WORDS(f->sq, 0x0000000a, 0x00004808);
	ASSERT_WORDS(f->sq + 64, 0x8000003c);
	assert_memory_equal(f->sq + 68, bytes, 60);
	ASSERT_WORDS(f->sq + 128, 0x77777777);
	sges[1].length++;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	fake_free(f);

	f = fake_create(IBV_QPT_RC);
	free(f->qp.sq.wr_ids);
	fake_sq(f, 7);
	f->qp.sq.max_inline = 88;
	sges[0].length = 40;
	sges[1] = (struct ibv_sge){ .addr = (uintptr_t)(bytes + 40), .length = 48 };
	wr.opcode = IBV_WR_SEND;
	post(f, &wr);
	ASSERT_WORDS(f->sq + 16, 0x8000002c);
	assert_memory_equal(f->sq + 20, bytes, 44);
	ASSERT_WORDS(f->sq + 64, 0x8000002c);
	assert_memory_equal(f->sq + 68, bytes + 44, 44);
	fake_free(f);
}

static void test_atomic(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { .addr = 0x2000, .length = 8, .lkey = 9 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_FENCE,
				  .wr.atomic = { .remote_addr = 0x1000,
						 .rkey = 7,
						 .compare_add = 5 },
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	post(f, &wr);
	ASSERT_WORDS(f->sq, 0x00000012, 0x00000044, 0, 0, 0, 0x00001000, 7, 0, 0, 5, 0, 0, 8, 9, 0,
		     0x00002000);
	wr.wr.atomic.remote_addr = 0x1004;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	fake_free(f);
}

/* The slot of an atomic has no room for the granted number of entries. No byte is written behind
 * the slot, which is the last one of the ring here. */
static void test_atomic_list(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	char bytes[16] = {};
	struct ibv_sge sges[2] = { { .addr = (uintptr_t)bytes, .length = 8, .lkey = 9 },
				   { .addr = (uintptr_t)(bytes + 8), .length = 8, .lkey = 9 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				  .sg_list = sges,
				  .num_sge = 2 },
			   *bad = NULL;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = { 16, 1, 1, 1, 28 } };
	struct mlx4_qp_size size;

	f->ctx->max_qp_wr = f->ctx->max_sge = 64;
	assert_int_equal(mlx4_qp_size(f->ctx, &attr, 0, &size), 0);
	assert_int_equal(size.sq_shift, 6);
	assert_int_equal(size.sq_max_sge, 2);
	f->qp.sq.max_sge = size.sq_max_sge;
	f->qp.sq.max_inline = size.max_inline;
	start_at(f, f->qp.sq.mask);
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.num_sge = 1;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.send_flags = 0;
	post(f, &wr);
	fake_free(f);
}

/* The largest slots have room for one entry more than the size field of a request can hold. */
static void test_atomic_longest(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sges[61];
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = sges },
			   *bad = NULL;

	for (int i = 0; i < 61; i++)
		sges[i] = (struct ibv_sge){ .addr = 0x2000, .length = 8, .lkey = 9 };
	free(f->qp.sq.wr_ids);
	fake_sq(f, 10);
	f->qp.sq.max_sge = 61;
	wr.num_sge = 61;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.num_sge = 60;
	post(f, &wr);
	ASSERT_WORDS(f->sq, 0x00000012, 0x0000003f);
	fake_free(f);
}

static void test_keys(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = 0x55 };
	struct ibv_mr mr = { .lkey = 0x1100 };
	struct ibv_mw mw = { .type = IBV_MW_TYPE_2 };

	post(f, &wr);
	ASSERT_WORDS(f->sq, 0x0000001b, 0x00000003, 0x0000008c, 0, 0, 0, 0x00000055, 0, 0, 0, 0, 0);
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x302;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = &mr,
		.addr = 0x7f0000001000,
		.length = 0x200,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED,
	};
	post(f, &wr);
	ASSERT_WORDS(f->sq + 64, 0x00000018, 0x00000003, 0x0000008c, 0, 0x40000000, 0xc0000000,
		     0x00000302, 0x00001100, 0x00007f00, 0x00001000, 0, 0x00000200);
	/* A window without a region. */
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){};
	post(f, &wr);
	ASSERT_WORDS(f->sq + 128 + 16, 0, 0x80000000, 0x00000302, 0, 0, 0, 0, 0);
	fake_free(f);
}

/* The adapter cannot read the contents of the slots ahead of the requests as a request. */
static void test_stamps(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct mlx4_ah ah = { .ah.context = &f->ctx->vctx.context };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr.ud = { .ah = &ah.ah } };

	mlx4_sq_init(&f->qp.sq);
	ASSERT_WORDS(f->sq + 31 * 128, 0x80000000, 0x00000008);
	ASSERT_WORDS(f->sq + 31 * 128 + 64, 0xffffffff);
	memset(f->sq + 3 * 128 + 64, 0, 64);
	post(f, &wr);
	ASSERT_WORDS(f->sq + 3 * 128 + 64, 0xffffffff, 0);
	/* An impossible length does not lead out of the ring. */
	f->sq[31 * 128 + 7] = 0x3f;
	start_at(f, 28);
	post(f, &wr);
	ASSERT_WORDS(f->sq + 31 * 128 + 64, 0xffffffff);
	fake_free(f);
}

static void test_full(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	for (int i = 0; i < 16; i++)
		post(f, &wr);
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	f->qp.sq.max_sge = -1;
	assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	fake_free(f);
}

static void test_receive(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { .addr = 0x3000, .length = 4096, .lkey = 0x11 };
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(mlx4_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
	ASSERT_WORDS(f->rq, 0x00001000, 0x00000011, 0, 0x00003000, 0, 0x00000100, 0, 0);
	ASSERT_WORDS(&f->record, 1);
	fake_srq(f);
	assert_int_equal(mlx_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	ASSERT_WORDS(f->srqes, 0x00000001, 0, 0, 0, 0x00001000, 0x00000011, 0, 0x00003000);
	ASSERT_WORDS(&f->srq_record, 1);
	fake_free(f);
}

static void test_sizes(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint32_t wr, sge, inlined;
		uint32_t shift, spare, count, max_sge, max_post, max_inline;
	} cases[] = {
		{ IBV_QPT_RC, 100, 1, 0, 6, 33, 256, 2, 223, 28 },
		{ IBV_QPT_RC, 100, 1, 64, 7, 17, 128, 6, 111, 88 },
		{ IBV_QPT_UD, 10, 1, 0, 7, 17, 32, 4, 15, 60 },
	};
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_init_attr_ex attr = {};
	struct mlx4_qp_size size;

	f->ctx->max_qp_wr = 16351;
	f->ctx->max_sge = 64;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		attr.qp_type = cases[i].type;
		attr.cap = (struct ibv_qp_cap){ cases[i].wr, 5, cases[i].sge, 3, cases[i].inlined };
		assert_int_equal(mlx4_qp_size(f->ctx, &attr, 0, &size), 0);
		assert_int_equal(size.sq_shift, cases[i].shift);
		assert_int_equal(size.sq_spare, cases[i].spare);
		assert_int_equal(size.sq_count, cases[i].count);
		assert_int_equal(size.sq_max_sge, cases[i].max_sge);
		assert_int_equal(size.sq_max_post, cases[i].max_post);
		assert_int_equal(size.max_inline, cases[i].max_inline);
		assert_int_equal(size.rq_count, 8);
		assert_int_equal(size.rq_shift, 6);
	}
	/* The size field of a request, in units of 16 bytes, limits the grant. */
	attr.cap.max_send_sge = 40;
	attr.cap.max_inline_data = 800;
	assert_int_equal(mlx4_qp_size(f->ctx, &attr, 0, &size), 0);
	assert_true(4 + size.sq_max_sge <= 63);
	attr.cap.max_send_sge = 64;
	assert_int_equal(mlx4_qp_size(f->ctx, &attr, 0, &size), -EINVAL);
	/* The same is true for receives, with any size that a kernel reports. */
	attr.cap = (struct ibv_qp_cap){ 10, 5, 1, 3, 0 };
	f->ctx->max_inl_recv = UINT32_MAX;
	assert_int_equal(mlx4_qp_size(f->ctx, &attr, 1024, &size), 0);
	assert_int_equal(size.rq_shift, 10);
	assert_int_equal(mlx4_qp_size(f->ctx, &attr, 0x80000001, &size), -EINVAL);
	fake_free(f);
}

/* In the error state requests are accepted and flushed, also on a queue pair that was never
 * ready to send. */
static void test_states(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
	} steps[] = {
		{ IBV_QPS_RESET, EINVAL, EINVAL },
		{ IBV_QPS_INIT, EINVAL, 0 },
		{ IBV_QPS_RTR, EINVAL, 0 },
		{ IBV_QPS_ERR, 0, 0 },
		{ IBV_QPS_RESET, EINVAL, EINVAL },
		{ IBV_QPS_ERR, 0, 0 },
		{ IBV_QPS_RTS, 0, 0 },
	};
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_recv_wr recv = {}, *bad_recv;

	f->qp.vqp.cap.max_send_sge = 4;
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		mlx_post_limits_set(&f->qp.vqp, steps[i].state, &f->qp.sq.max_sge, &f->qp.rq);
		assert_int_equal(mlx4_post_send(&f->qp.vqp.qp, &send, &bad_send), steps[i].send);
		assert_int_equal(mlx4_post_recv(&f->qp.vqp.qp, &recv, &bad_recv), steps[i].recv);
	}
	fake_free(f);
}

/* Both paths write the same bytes. */
static void post_both_ways(struct ibv_send_wr *wr, void *arg)
{
	struct fake **f = arg;

	for (int i = 0; i < 2; i++) {
		post(f[i], wr);
		atomic_store(&f[i]->qp.sq.tail, f[i]->qp.sq.head);
	}
	assert_memory_equal(f[0]->sq, f[1]->sq, FAKE_PAGE);
	assert_memory_equal(f[0]->uar, f[1]->uar, FAKE_PAGE);
	assert_memory_equal(f[0]->bf, f[1]->bf, FAKE_PAGE);
	assert_memory_equal(f[0]->qp.sq.wr_ids, f[1]->qp.sq.wr_ids,
			    (f[0]->qp.sq.mask + 1) * sizeof(uint64_t));
}

static void plain_test(enum ibv_qp_type type)
{
	struct fake *f[] = { fake_create(type), fake_create(type) };
	struct mlx4_ah ah = { .av.dgid = { 0xfe, 0x80 } };

	for (int i = 0; i < 2; i++) {
		free(f[i]->qp.sq.wr_ids);
		fake_sq(f[i], 8);
		f[i]->qp.sq.max_inline = 61;
		mlx4_sq_init(&f[i]->qp.sq);
	}
	f[1]->qp.sq.plain = 0;
	plain_each(type == IBV_QPT_UD ? &ah.ah : NULL, post_both_ways, f);
	fake_free(f[0]);
	fake_free(f[1]);
}

static void test_plain(void **state)
{
	plain_test(IBV_QPT_RC);
	plain_test(IBV_QPT_UD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),	       cmocka_unit_test(test_inline),
		cmocka_unit_test(test_inline_pieces),  cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_keys),	       cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_full),	       cmocka_unit_test(test_receive),
		cmocka_unit_test(test_sizes),	       cmocka_unit_test(test_plain),
		cmocka_unit_test(test_states),	       cmocka_unit_test(test_atomic_list),
		cmocka_unit_test(test_atomic_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
