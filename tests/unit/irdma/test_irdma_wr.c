/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_wr_*(): several requests of a batch, what ends a batch, and what an aborted batch leaves. */
#include "tests/unit/irdma/fake.h"

static struct ibv_qp_ex *begin(struct fake *f)
{
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;

	irdma_wr_set_slots(&f->qp, ~0ull);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

/* The device sees no request before the end of the batch. */
static void test_batch(void **state)
{
	struct fake *f = fake_create(3);
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
	ibv_wr_local_inv(ex, 0x33);
	for (int i = 0; i < 16; i++)
		assert_false(fake_word(f->ring, 4 * i + 3) >> 62 & 1);
	assert_int_equal(fake_doorbell(f), 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_doorbell(f), QPN);
	assert_int_equal(fake_word(f->ring, 0), 0x01020304);
	assert_int_equal(fake_word(f->ring, 3), 0xc228800300000000);
	assert_int_equal(fake_word(f->ring, 4 * 3), 0x1000);
	assert_int_equal(fake_word(f->ring, 4 * 3 + 2), 0x9000);
	assert_int_equal(fake_word(f->ring, 4 * 3 + 3), 0xc000000000000077);
	assert_int_equal(fake_word(f->ring, 4 * 4 + 3), 0xc000004f00000078);
	assert_int_equal(fake_word(f->ring, 4 * 5), 5);
	assert_int_equal(fake_word(f->ring, 4 * 6 + 1), 0x33);
	assert_int_equal(fake_word(f->ring, 4 * 6 + 3), 0xc000000a00000000);
	fake_entry(f, 0, 3, CQE_SEND);
	assert_int_equal(fake_poll_one(f).wr_id, 8);
	fake_free(f);
}

/* Check that the quanta of an aborted batch look stale. */
static void look_stale(const struct fake *f)
{
	for (int i = 0; i < QUANTA; i++)
		assert_int_equal(fake_word(f->ring, 4 * i + 3) & IRDMA_VALID, 0);
	assert_int_equal(f->qp.sq.head, 0);
	assert_int_equal(fake_doorbell(f), 0);
}

static void test_abort(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_qp_ex *ex = begin(f);
	char bytes[101] = { 0 };

	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	ibv_wr_abort(ex);
	look_stale(f);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(fake_word(f->ring, 3), 0xc000000300000000);
	assert_int_equal(fake_word(f->ring, 7) & IRDMA_VALID, 0);
	fake_free(f);
}

/* The data of a request are set twice. */
static void test_twice(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_qp_ex *ex = begin(f);
	char bytes[101] = { 0 };

	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
	ibv_wr_set_sge(ex, 0x11, 0x1000, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(f->qp.sq.head, 1);
	assert_int_equal(fake_word(f->ring, 3), 0xc000000300000000);
	assert_int_equal(fake_word(f->ring, 7) & IRDMA_VALID, 0);
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
	ATOMIC_LENGTH,
	ATOMIC_NO_LIST,
	AFTER_INVALIDATE,
	BIND,
	STATE,
	CAUSES,
};

static void refused(struct fake *f, struct ibv_qp_ex *ex, enum cause cause)
{
	struct ibv_sge sge[14] = { { 0x1000, 8, 0x22 } };
	struct ibv_mw mw = { .rkey = 1 };
	char bytes[102] = { 0 };

	switch (cause) {
	case FULL:
		for (int i = 0; i < QUANTA - SQ_SPARE + 1; i++)
			ibv_wr_send(ex);
		break;
	case TOO_LONG:
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, bytes, sizeof(bytes));
		break;
	case READ_INLINE:
		ibv_wr_rdma_read(ex, 1, 2);
		ibv_wr_set_inline_data(ex, bytes, 1);
		break;
	case TOO_MANY:
		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, 14, sge);
		break;
	case NO_BUILDER:
		ibv_wr_set_sge(ex, 1, 2, 3);
		break;
	case FLAGS:
		ex->wr_flags = IBV_SEND_IP_CSUM;
		ibv_wr_send(ex);
		break;
	case ATOMIC_ADDRESS:
		ibv_wr_atomic_fetch_add(ex, 1, 4, 5);
		break;
	case ATOMIC_LENGTH:
		ibv_wr_atomic_fetch_add(ex, 1, 8, 5);
		ibv_wr_set_sge(ex, 1, 2, 4);
		break;
	case ATOMIC_NO_LIST:
		ibv_wr_atomic_fetch_add(ex, 1, 8, 5);
		break;
	case AFTER_INVALIDATE:
		ibv_wr_local_inv(ex, 1);
		ibv_wr_set_sge(ex, 1, 2, 3);
		break;
	case BIND:
		ibv_wr_bind_mw(ex, &mw, 1, &(struct ibv_mw_bind_info){ .length = 1 });
		break;
	default:
		f->qp.sq.max_sge = -1;
		ibv_wr_send(ex);
	}
}

static void test_refused(void **state)
{
	for (enum cause cause = 0; cause < CAUSES; cause++) {
		struct fake *f = fake_create(3);
		struct ibv_qp_ex *ex = begin(f);
		int r;

		if (cause != NO_BUILDER) {
			ibv_wr_send(ex);
			ibv_wr_set_sge(ex, 0x11, 0x1000, 8);
		}
		refused(f, ex, cause);
		ibv_wr_send(ex);
		r = ibv_wr_complete(ex);
		assert_int_equal(r, cause == FULL ? ENOMEM
				    : cause == TOO_LONG || cause == READ_INLINE || cause == TOO_MANY
					    ? ENOSPC
					    : EINVAL);
		look_stale(f);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
