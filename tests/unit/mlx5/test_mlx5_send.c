/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Send requests, byte by byte as the adapter reads them, by both ways of posting. */
#include "providers/mlx5/ah.h"
#include "providers/mlx5/wr.h"
#include "tests/unit/mlx/plain.h"
#include "tests/unit/mlx5/fake.h"

static struct ibv_sge two_sges[] = {
	{ .addr = 0x7f0011223344, .length = 0x100, .lkey = 0x8001 },
	{ .addr = 0x7f0055667788, .length = 0x40, .lkey = 0x8002 },
};

static void post(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, wr, &bad), 0);
}

static char *slot(struct fake *f, unsigned int n)
{
	return f->sq + 64 * n;
}

static void start_at(struct fake *f, uint32_t cur_post)
{
	f->qp.sq.cur_post = cur_post;
}

static void test_send(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = two_sges,
				  .num_sge = 2 };

	start_at(f, 3);
	post(f, &wr);
	ASSERT_WORDS(slot(f, 3), 0x0000030a, 0x00123403, 0x00000008, 0x00000000, 0x00000100,
		     0x00008001, 0x00007f00, 0x11223344, 0x00000040, 0x00008002, 0x00007f00,
		     0x55667788);
	assert_int_equal(f->qp.sq.cur_post, 4);
	ASSERT_WORDS(f->record, 0, 4);
	/* The register holds the first two words. */
	ASSERT_WORDS(f->uar + 0x800, 0x0000030a, 0x00123403, 0);
	assert_int_equal(f->bfreg.offset, 256);
	fake_free(f);
}

static void test_write_imm_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { .addr = (uintptr_t) "hello", .length = 5 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .send_flags =
					  IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
				  .imm_data = htobe32(0x01020304),
				  .wr.rdma = { .remote_addr = 0x10000000, .rkey = 0xabcd },
				  .sg_list = &sge,
				  .num_sge = 1 };

	start_at(f, 0x10002);
	f->bfreg.blueflame = true;
	f->bfreg.bf_ds = f->bfreg.size / MLX_SEGMENT;
	post(f, &wr);
	ASSERT_WORDS(slot(f, 2), 0x00000209, 0x00123403, 0x00000082, 0x01020304, 0x00000000,
		     0x10000000, 0x0000abcd, 0x00000000, 0x80000005, 0x68656c6c, 0x6f000000,
		     0x00000000);
	ASSERT_WORDS(f->record + 1, 3);
	/* The register holds the whole request. */
	assert_memory_equal(f->uar + 0x800, slot(f, 2), 64);
	fake_free(f);
}

static struct ibv_send_wr compare_and_swap(struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = 0x20000008,
			       .rkey = 0x77,
			       .compare_add = 0x99aabbccddeeff00,
			       .swap = 0x1122334455667788 },
		.sg_list = sge,
		.num_sge = 1,
	};
}

static void test_atomic(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { .addr = 0x7f0000001000, .length = 64, .lkey = 0x8001 };
	struct ibv_send_wr wr = compare_and_swap(&sge), *bad;

	start_at(f, 7);
	post(f, &wr);
	ASSERT_WORDS(slot(f, 7), 0x00000711, 0x00123404, 0x00000008, 0x00000000, 0x00000000,
		     0x20000008, 0x00000077, 0x00000000, 0x11223344, 0x55667788, 0x99aabbcc,
		     0xddeeff00, 0x00000008, 0x00008001, 0x00007f00, 0x00001000);
	/* A buffer shorter than 8 bytes is not extended. */
	sge.length = 4;
	post(f, &wr);
	ASSERT_WORDS(slot(f, 8) + 48, 4, 0x00008001);
	f->qp.sq.ops &= ~(1u << IBV_WR_ATOMIC_CMP_AND_SWP);
	f->ctx->atomics = false;
	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, &wr, &bad), EOPNOTSUPP);
	assert_ptr_equal(bad, &wr);
	fake_free(f);
}

static struct mlx5_ah ah_v2(struct fake *f)
{
	static const uint8_t dgid[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
	struct mlx5_ah ah = {
		.ah.context = &f->ctx->vctx.context,
		.av = { .stat_rate_sl = 6,
			.rlid = htobe16(0xe341),
			.tclass = 0x20,
			.hop_limit = 64,
			.grh_gid_fl = htobe32(0x00312345),
			.rmac = { 0x0c, 0x42, 0xa1, 0, 1, 2 } },
	};

	memcpy(ah.av.rgid, dgid, sizeof(dgid));
	return ah;
}

static void assert_ud(const char *wqe)
{
	ASSERT_WORDS(wqe, 0x0000000a, 0x00008805, 0x00000008, 0x00000000, 0x11111111, 0x00000000,
		     0x80000055, 0x0600e341, 0x00000000, 0x0c42a100, 0x01022040, 0x00312345,
		     0x00000000, 0x00000000, 0x0000ffff, 0x0a000002, 0x00000040, 0x00009000,
		     0x00007f00, 0x00002000);
}

static void test_ud(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct ibv_sge sge = { .addr = 0x7f0000002000, .length = 64, .lkey = 0x9000 };
	struct mlx5_ah ah = ah_v2(f);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = &ah.ah, .remote_qpn = 0x55, .remote_qkey = 0x11111111 },
		.sg_list = &sge,
		.num_sge = 1
	};

	f->qp.vqp.qp.qp_num = 0x88;
	post(f, &wr);
	assert_ud(slot(f, 0));
	assert_int_equal(f->qp.sq.cur_post, 2);
	fake_free(f);
}

/* A request without its address or its data is not posted, and the batch returns an error. */
static void test_setter_missing(void **state)
{
	for (int with_data = 0; with_data < 2; with_data++) {
		struct fake *f = fake_create(IBV_QPT_XRC_SEND);
		struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;

		mlx5_wr_set_slots(&f->qp, IBV_QP_EX_WITH_SEND);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		if (with_data)
			ibv_wr_set_sge(ex, 0x9000, 0x7f0000002000, 64);
		else
			ibv_wr_set_xrc_srqn(ex, 0x55);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		assert_int_equal(f->qp.sq.cur_post, 0);
		ASSERT_WORDS(f->record + 1, 0);
		fake_free(f);
	}
}

/* Address and data in either order are the same request. */
static void test_ud_extended(void **state)
{
	for (int data_first = 0; data_first < 2; data_first++) {
		struct fake *f = fake_create(IBV_QPT_UD);
		struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;
		struct mlx5_ah ah = ah_v2(f);

		mlx5_wr_set_slots(&f->qp, IBV_QP_EX_WITH_SEND);
		f->qp.vqp.qp.qp_num = 0x88;
		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		if (data_first)
			ibv_wr_set_sge(ex, 0x9000, 0x7f0000002000, 64);
		ibv_wr_set_ud_addr(ex, &ah.ah, 0x55, 0x11111111);
		if (!data_first)
			ibv_wr_set_sge(ex, 0x9000, 0x7f0000002000, 64);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_ud(slot(f, 0));
		ASSERT_WORDS(f->record + 1, 2);
		assert_int_equal(f->qp.sq.head, 1);
		fake_free(f);
	}
}

static void assert_zero(const char *from, size_t length)
{
	while (length--)
		assert_int_equal(*from++, 0);
}

static void test_bind_and_invalidate(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct verbs_mr mr = { .ibv_mr.lkey = 0x8003 };
	struct ibv_mw mw = { .rkey = 0xbeef42, .type = IBV_MW_TYPE_2 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = &mw,
			     .rkey = 0xbeef43,
			     .bind_info = { .mr = &mr.ibv_mr,
					    .addr = 0x7f0000003000,
					    .length = 0x2000,
					    .mw_access_flags = IBV_ACCESS_REMOTE_READ |
							       IBV_ACCESS_REMOTE_WRITE } },
	};

	memset(f->sq, 0x5a, FAKE_PAGE);
	start_at(f, 16);
	post(f, &wr);
	ASSERT_WORDS(slot(f, 16), 0x00001025, 0x0012340c, 0x00000008, 0x00beef42, 0xb0000000,
		     0x00040000, 0x00000000, 0x203c6041);
	assert_zero(slot(f, 16) + 0x20, 0x20);
	ASSERT_WORDS(slot(f, 17), 0x00003000, 0x00123443, 0, 0, 0x00007f00, 0x00003000, 0,
		     0x00002000);
	assert_zero(slot(f, 17) + 0x20, 0x20);
	ASSERT_WORDS(slot(f, 18), 0x00002000, 0x00008003, 0x00007f00, 0x00003000);
	assert_zero(slot(f, 18) + 0x10, 0x30);
	assert_int_equal(f->qp.sq.cur_post, 19);

	start_at(f, 20);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
				   .send_flags = IBV_SEND_SIGNALED,
				   .invalidate_rkey = 0xbeef43 };
	post(f, &wr);
	ASSERT_WORDS(slot(f, 20), 0x00001425, 0x00123408, 0x00000028, 0x00beef43, 0x98000000, 0, 0,
		     0x20006000);
	ASSERT_WORDS(slot(f, 21), 0x40000000, 0xffffff00, 0, 0);
	/* The opcode of a completion does not tell the two apart. */
	assert_int_equal(f->qp.sq.slots[16].opcode, IBV_WC_BIND_MW);
	assert_int_equal(f->qp.sq.slots[20].opcode, IBV_WC_LOCAL_INV);
	fake_free(f);
}

/* Requests whose data and key wrap around the ring's end. */
static void test_wrap(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	char text[180];
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = sizeof(text) };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE, .sg_list = &sge, .num_sge = 1
	};
	struct ibv_send_wr invalidate = { .opcode = IBV_WR_LOCAL_INV };

	for (unsigned int i = 0; i < sizeof(text); i++)
		text[i] = i;
	start_at(f, 63);
	f->bfreg.blueflame = true;
	f->bfreg.bf_ds = f->bfreg.size / MLX_SEGMENT;
	post(f, &wr);
	assert_memory_equal(slot(f, 63) + 20, text, 44);
	assert_memory_equal(f->sq, text + 44, sizeof(text) - 44);
	assert_memory_equal(f->uar + 0x800, slot(f, 63), 64);
	assert_memory_equal(f->uar + 0x840, f->sq, 128);
	assert_int_equal(f->qp.sq.cur_post, 63 + 4);
	start_at(f, 127);
	post(f, &invalidate);
	ASSERT_WORDS(f->sq, 0x40000000, 0xffffff00);
	fake_free(f);
}

/* The doorbell is rung for requests before a mistake in ibv_post_send(), but not in a batch. */
static void test_mistakes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND, .sg_list = two_sges, .num_sge = 5 };
	struct ibv_send_wr first = {
		.opcode = IBV_WR_SEND, .sg_list = two_sges, .num_sge = 1, .next = &second
	};
	struct ibv_send_wr *bad;

	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, &first, &bad), EINVAL);
	assert_ptr_equal(bad, &second);
	ASSERT_WORDS(f->record + 1, 1);
	ASSERT_WORDS(f->uar + 0x800, 0x0000000a, 0x00123402);

	mlx5_wr_set_slots(&f->qp, IBV_QP_EX_WITH_SEND);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 2, 3);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 5, two_sges);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), ENOSPC);
	ASSERT_WORDS(f->record + 1, 1);
	assert_int_equal(f->qp.sq.cur_post, 1);
	assert_int_equal(f->qp.sq.head, 1);
	fake_free(f);
}

/* The ring is full until completions free it. */
static void test_full(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	for (int i = 0; i < 16; i++)
		post(f, &wr);
	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, &wr, &bad), ENOMEM);
	atomic_store(&f->qp.sq.tail, 1);
	post(f, &wr);
	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, &wr, &bad), ENOMEM);
	/* Programs poll after ENOMEM, and post a second time. */
	mlx5_wr_set_slots(&f->qp, IBV_QP_EX_WITH_SEND);
	ibv_wr_start(&f->qp.vqp.qp_ex);
	ibv_wr_send(&f->qp.vqp.qp_ex);
	assert_int_equal(ibv_wr_complete(&f->qp.vqp.qp_ex), ENOMEM);
	/* A device that is not hostile never moves the tail beyond the head. */
	atomic_store(&f->qp.sq.tail, 1000);
	assert_int_equal(mlx5_post_send(&f->qp.vqp.qp, &wr, &bad), ENOMEM);
	fake_free(f);
}

static void test_recv(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sges[] = { { 0x7f0000005000, 0x1000, 0x8001 },
				  { 0x7f0000006000, 0, 0x8001 },
				  { 0x7f0000007000, 0x800, 0x8002 } };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = sges, .num_sge = 3 }, *bad;

	assert_int_equal(mlx5_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
	ASSERT_WORDS(f->rq, 0x00001000, 0x00008001, 0x00007f00, 0x00005000, 0x00000800, 0x00008002,
		     0x00007f00, 0x00007000, 0x00000000, 0x00000100, 0x00000000, 0x00000000);
	ASSERT_WORDS(f->record, 1);
	fake_free(f);
}

static void test_srq_recv(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { 0x7f0000009000, 0x200, 0x8001 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	fake_srq(f);
	f->srq.head = 5;
	assert_int_equal(mlx_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	ASSERT_WORDS(f->srqes + 5 * 32, 0x00000006, 0, 0, 0, 0x00000200, 0x00008001, 0x00007f00,
		     0x00009000);
	ASSERT_WORDS(f->srq_record, 1);
	assert_int_equal(f->srq.head, 6);
	fake_free(f);
}

/* The sizes equal those of other libraries, because tools compare the granted numbers. */
static void test_sizes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx5_qp_size size;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 100,
			 .max_send_sge = 1,
			 .max_recv_wr = 33,
			 .max_recv_sge = 3 },
	};

	f->ctx->info.max_sq_desc_sz = 1024;
	f->ctx->info.max_rq_desc_sz = 512;
	f->ctx->info.max_send_wqebb = 32768;
	f->ctx->info.max_recv_wr = 32768;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), 0);
	assert_int_equal(size.sq_bytes, 32768);
	assert_int_equal(size.sq_blocks, 512);
	assert_int_equal(size.sq_max_post, 128);
	assert_int_equal(size.max_inline, 60);
	assert_int_equal(size.rq_count, 64);
	assert_int_equal(size.rq_max_sge, 4);
	attr.cap.max_inline_data = UINT32_MAX;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), -EINVAL);
	attr.cap.max_inline_data = 0;
	attr.cap.max_send_sge = UINT32_MAX;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), -EINVAL);
	/* The part before the data ends with a block: no room behind it. */
	attr.cap.max_send_sge = 0;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), 0);
	assert_int_equal(size.max_inline, 0);
	attr.qp_type = IBV_QPT_UD;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), 0);
	assert_int_equal(size.max_inline, 0);
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_sge = 1;
	attr.cap.max_send_wr = UINT32_MAX;
	assert_int_equal(mlx5_qp_size(f->ctx, &attr, false, &size), -EINVAL);
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
	for (uint32_t i = 0; i <= f[0]->qp.sq.mask; i++) {
		assert_int_equal(f[0]->qp.sq.slots[i].wr_id, f[1]->qp.sq.slots[i].wr_id);
		assert_int_equal(f[0]->qp.sq.slots[i].head, f[1]->qp.sq.slots[i].head);
	}
}

static void plain_test(enum ibv_qp_type type)
{
	struct fake *f[] = { fake_create(type), fake_create(type) };
	struct mlx5_ah ah = { .av.rgid = { 0xfe, 0x80 } };

	for (int i = 0; i < 2; i++) {
		f[i]->bfreg.blueflame = true;
		f[i]->bfreg.bf_ds = f[i]->bfreg.size / MLX_SEGMENT;
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
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_write_imm_inline),
		cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_ud),
		cmocka_unit_test(test_ud_extended),
		cmocka_unit_test(test_setter_missing),
		cmocka_unit_test(test_bind_and_invalidate),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_recv),
		cmocka_unit_test(test_srq_recv),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
