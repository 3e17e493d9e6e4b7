/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of each generation, and requests that no ring takes. */
#include "tests/unit/irdma/fake.h"

/* The words of a send with one entry, and with two. */
static void test_lists(void **state)
{
	struct fake *f = fake_create(2);

	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(fake_word(f->ring, 0), 0x1000);
	assert_int_equal(fake_word(f->ring, 1), 0x8000000800000011);
	assert_int_equal(fake_word(f->ring, 2), 0);
	assert_int_equal(fake_word(f->ring, 3), 0xc000000300000000);
	assert_int_equal(fake_doorbell(f), QPN);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 2)), 0);
	assert_int_equal(fake_word(f->ring, 7), 0xc000008300000000);
	assert_int_equal(fake_word(f->ring, 10), 0);
	assert_int_equal(fake_word(f->ring, 11), IRDMA_VALID);
	fake_free(f);
	/* The third generation does not count the empty fragment. */
	f = fake_create(3);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 2)), 0);
	assert_int_equal(fake_word(f->ring, 3), 0xc000004300000000);
	fake_free(f);
	f = fake_create(1);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(fake_word(f->ring, 1), 0x0000001100000008);
	assert_int_equal(fake_word(f->ring, 7), 0);
	fake_free(f);
}

static void test_atomics(void **state)
{
	struct fake *f = fake_create(3);
	struct ibv_send_wr wr = fake_wr(IBV_WR_ATOMIC_CMP_AND_SWP, 1);

	wr.wr.atomic.remote_addr = 0x2000;
	wr.wr.atomic.rkey = 0x22;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	assert_int_equal(fake_post(f, wr), 0);
	assert_int_equal(fake_word(f->ring, 3), 0xc000005100000022);
	assert_int_equal(fake_word(f->ring, 4), 6);
	assert_int_equal(fake_word(f->ring, 5), 5);
	assert_int_equal(fake_word(f->ring, 7), IRDMA_VALID);
	wr.wr.atomic.remote_addr = 0x2004;
	assert_int_equal(fake_post(f, wr), EINVAL);
	wr.wr.atomic.remote_addr = 0x2000;
	wr.num_sge = 2;
	assert_int_equal(fake_post(f, wr), EINVAL);
	fake_free(f);
	f = fake_create(2);
	wr.num_sge = 1;
	assert_int_equal(fake_post(f, wr), EINVAL);
	fake_free(f);
}

/* Requests without an entry have an empty fragment, and no list is read. */
static void test_nothing(void **state)
{
	const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct fake *f = fake_create(2);

	for (uint32_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct ibv_send_wr wr = fake_wr(opcodes[i], 0);

		wr.sg_list = NULL;
		assert_int_equal(fake_post(f, wr), 0);
		assert_int_equal(fake_word(f->ring, 4 * i), 0);
		assert_int_equal(fake_word(f->ring, 4 * i + 1), IRDMA_VALID);
	}
	fake_free(f);
}

static void test_refused(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_send_wr wr = fake_wr(IBV_WR_SEND, 14);

	assert_int_equal(fake_post(f, wr), EINVAL);
	wr = fake_wr(IBV_WR_TSO, 1);
	assert_int_equal(fake_post(f, wr), EINVAL);
	wr = fake_wr(IBV_WR_RDMA_READ, 1);
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(fake_post(f, wr), EINVAL);
	f->qp.sq.caps = 0;
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND_WITH_IMM, 1)), EINVAL);
	f->qp.sq.datagrams = true;
	f->qp.sq.plain = false;
	wr = fake_wr(IBV_WR_SEND, 1);
	wr.wr.ud.ah = NULL;
	assert_int_equal(fake_post(f, wr), EINVAL);
	/* A queue pair that was reset. */
	f->qp.sq.max_sge = -1;
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), EINVAL);
	assert_int_equal(fake_doorbell(f), 0);
	assert_int_equal(f->qp.sq.head, 0);
	fake_free(f);
}

/* No request crosses the end of a chunk or the end of the ring. */
static void test_chunks(void **state)
{
	struct fake *f = fake_create(2);

	f->qp.sq.head = 6;
	atomic_store(&f->qp.sq.posted, 6);
	atomic_store(&f->qp.sq.tail, 6);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 4)), 0);
	assert_int_equal(fake_word(f->ring, 4 * 6 + 3), 0x8000000c00000000);
	assert_int_equal(fake_word(f->ring, 4 * 7 + 3), 0x8000000c00000000);
	assert_int_equal(fake_word(f->ring, 4 * 8 + 3), 0xc000010300000000);
	assert_int_equal(f->qp.sq.head, 11);
	fake_free(f);
	f = fake_create(1);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_RDMA_WRITE, 3)), 0);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 2)), 0);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 3)), EINVAL);
	fake_free(f);
}

/* A window needs an ordinary region that is not zero-based. */
static void test_windows(void **state)
{
	struct fake *f = fake_create(2);
	struct verbs_mr mr = { .ibv_mr.rkey = 0x1101, .access = IBV_ACCESS_MW_BIND };
	struct ibv_mw mw = { .rkey = 0x2233, .type = IBV_MW_TYPE_2 };
	struct ibv_send_wr wr = fake_wr(IBV_WR_BIND_MW, 0);

	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x44;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ &mr.ibv_mr, 0x7000, 0x100, IBV_ACCESS_REMOTE_WRITE };
	assert_int_equal(fake_post(f, wr), 0);
	assert_int_equal(fake_word(f->ring, 0), 0x7000);
	assert_int_equal(fake_word(f->ring, 1), 0x0000110100002244);
	assert_int_equal(fake_word(f->ring, 2), 0x100);
	assert_int_equal(fake_word(f->ring, 3), 0xc028000800000000);
	mr.access |= IBV_ACCESS_ZERO_BASED;
	assert_int_equal(fake_post(f, wr), EINVAL);
	mr.access = 0;
	mr.mr_type = VERBS_MR_DM;
	assert_int_equal(fake_post(f, wr), EINVAL);
	wr.bind_mw.bind_info.mr = NULL;
	assert_int_equal(fake_post(f, wr), EINVAL);
	fake_free(f);
}

/* Receives without entries have an empty fragment. The last place of the ring stays free. */
static void test_receives(void **state)
{
	struct fake *f = fake_create(2);

	assert_int_equal(fake_receive(f, 1, 0), 0);
	assert_int_equal(fake_word(f->rq, 0), 0);
	assert_int_equal(fake_word(f->rq, 1), IRDMA_VALID);
	assert_int_equal(fake_word(f->rq, 3), IRDMA_VALID);
	assert_int_equal(fake_receive(f, 2, 2), 0);
	assert_int_equal(fake_word(f->rq, 11), IRDMA_VALID | 2ull << 38);
	assert_int_equal(fake_receive(f, 3, 3), EINVAL);
	assert_int_equal(fake_receive(f, 3, 1), 0);
	assert_int_equal(fake_receive(f, 4, 1), ENOMEM);
	f->qp.rq.max_sge = -1;
	assert_int_equal(fake_receive(f, 4, 1), EINVAL);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	 cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_nothing),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_chunks),	 cmocka_unit_test(test_windows),
		cmocka_unit_test(test_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
