/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions as the adapter writes them, and invalid ones. */
#include "tests/unit/mlx4/fake.h"

static char *cqe_at(struct fake *f, uint32_t n)
{
	return f->cqes + FAKE_CQE * (n & f->cq.mask) + FAKE_CQE - sizeof(struct mlx4_cqe);
}

/* Write entry number @n from the words of a dump. */
static void cqe_write(struct fake *f, uint32_t n, const uint32_t words[8])
{
	for (int i = 0; i < 8; i++)
		((__be32 *)cqe_at(f, n))[i] = htobe32(words[i]);
	if (n & (f->cq.mask + 1))
		cqe_at(f, n)[31] |= 0x80;
}

static int poll(struct fake *f, struct ibv_wc *wc)
{
	return mlx4_poll_cq(&f->cq.vcq.cq, 1, wc);
}

static const uint32_t recv_imm[8] = {
	FAKE_QPN, 0xdeadbeef, 0x85000077, 0x40000011, 0, 24, 0x00050000, 0x00234502,
};

static void test_receive(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	f->qp.sl_shift = 13;
	f->qp.rq.wr_ids[0] = 77;
	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(f->cq_record[0], 0);
	cqe_write(f, 0, recv_imm);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(be32toh(wc.imm_data), 0xdeadbeef);
	assert_int_equal(wc.byte_len, 24);
	assert_int_equal(wc.src_qp, 0x77);
	assert_int_equal(wc.qp_num, FAKE_QPN);
	assert_int_equal(wc.sl, 2);
	assert_int_equal(wc.slid, 0x11);
	assert_int_equal(wc.dlid_path_bits, 5);
	ASSERT_WORDS(f->cq_record, 1);
	assert_int_equal(poll(f, &wc), 0);
	/* InfiniBand has one more bit. */
	f->qp.sl_shift = 12;
	cqe_write(f, 1, recv_imm);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.sl, 4);
	fake_free(f);
}

static void test_extended(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	mlx4_cq_ex_set_slots(&f->cq, mlx4_cq_ex_wc_flags);
	f->qp.rq.wr_ids[0] = 77;
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	cqe_write(f, 0, recv_imm);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 77);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(be32toh(ibv_wc_read_imm_data(ex)), 0xdeadbeef);
	assert_int_equal(ibv_wc_read_byte_len(ex), 24);
	assert_int_equal(ibv_wc_read_src_qp(ex), 0x77);
	assert_int_equal(ibv_wc_read_completion_ts(ex), 0x400000112345);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	ASSERT_WORDS(f->cq_record, 1);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(ex, &attr), EINVAL);
	fake_free(f);
}

static void test_send_error(void **state)
{
	static const uint32_t flushed[8] = { [0] = FAKE_QPN, [6] = 0x0003f205, [7] = 0x0000005e };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	f->qp.sq.wr_ids[3] = 5;
	cqe_write(f, 0, flushed);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.vendor_err, 0xf2);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.wr_id, 5);
	/* The request and all before it have completed. */
	assert_int_equal(atomic_load(&f->qp.sq.tail), 4);
	fake_free(f);
}

static void test_syndromes(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum ibv_wc_status status;
	} cases[] = {
		{ 0x01, IBV_WC_LOC_LEN_ERR },	 { 0x02, IBV_WC_LOC_QP_OP_ERR },
		{ 0x04, IBV_WC_LOC_PROT_ERR },	 { 0x05, IBV_WC_WR_FLUSH_ERR },
		{ 0x06, IBV_WC_MW_BIND_ERR },	 { 0x10, IBV_WC_BAD_RESP_ERR },
		{ 0x11, IBV_WC_LOC_ACCESS_ERR }, { 0x12, IBV_WC_REM_INV_REQ_ERR },
		{ 0x13, IBV_WC_REM_ACCESS_ERR }, { 0x14, IBV_WC_REM_OP_ERR },
		{ 0x15, IBV_WC_RETRY_EXC_ERR },	 { 0x16, IBV_WC_RNR_RETRY_EXC_ERR },
		{ 0x22, IBV_WC_REM_ABORT_ERR },	 { 0x00, IBV_WC_GENERAL_ERR },
		{ 0x03, IBV_WC_GENERAL_ERR },	 { 0xff, IBV_WC_GENERAL_ERR },
	};
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t words[8] = { [0] = FAKE_QPN, [6] = cases[i].syndrome, [7] = 0x1e };

		cqe_write(f, i, words);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.status, cases[i].status);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
	}
	fake_free(f);
}

/* The bit of ownership changes with each round of the ring. */
static void test_rounds(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	for (uint32_t n = 0; n < 3 * (f->cq.mask + 1); n++) {
		const uint32_t words[8] = { [0] = FAKE_QPN, [6] = n << 16, [7] = 0x4a };

		assert_int_equal(poll(f, &wc), 0);
		cqe_write(f, n, words);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.opcode, IBV_WC_SEND);
	}
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	f->cq.consumer = 5;
	mlx_cq_publish(&f->cq);
	assert_int_equal(mlx4_req_notify_cq(&f->cq.vcq.cq, 0), 0);
	ASSERT_WORDS(f->cq_record + 1, 0x12000005);
	ASSERT_WORDS(f->uar + 0x20, 0x12000081, 0x00000005);
	mlx4_cq_event(&f->cq.vcq);
	assert_int_equal(mlx4_req_notify_cq(&f->cq.vcq.cq, 1), 0);
	ASSERT_WORDS(f->cq_record + 1, 0x21000005);
	fake_free(f);
}

/* Completions of a destroyed queue pair are removed; the others stay, in order, also across the
 * end of the ring. */
static void test_clean(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx4_qp other = f->qp;
	struct ibv_wc wc;
	uint32_t first = f->cq.mask - 2;

	other.vqp.qp.qp_num = FAKE_QPN + 1;
	assert_int_equal(idtable_put(&f->ctx->qps, FAKE_QPN + 1, &other), 0);
	idtable_own(&f->ctx->qps, FAKE_QPN + 1, &f->cq, NULL);
	/* Later entries belong to the adapter, also in the next round. */
	memset(f->cqes, 0x4c, 8 * FAKE_CQE);
	f->cq.consumer = first;
	mlx_cq_publish(&f->cq);
	for (uint32_t n = first; n < first + 6; n++) {
		const uint32_t words[8] = { [0] = FAKE_QPN + n % 2, [5] = n, [7] = 0x01 };

		cqe_write(f, n, words);
	}
	mlx4_cqs_clean(&f->qp, true);
	ASSERT_WORDS(f->cq_record, first + 3);
	assert_null(idtable_find(&f->ctx->qps, FAKE_QPN));
	for (uint32_t n = first; n < first + 6; n++) {
		if (n % 2 == 0)
			continue;
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, n);
	}
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

/* A ring without room for the waiting completions is refused without a call of the kernel. */
static void test_resize_waiting(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[8] = { [0] = FAKE_QPN, [7] = 0x01 };
	const struct verbs_resize_cq in = { .cqe = 1 };
	uint32_t mask = f->cq.mask;
	struct ibv_wc wc;

	for (uint32_t n = 0; n < 3; n++)
		cqe_write(f, n, words);
	assert_int_equal(mlx4_resize_cq(&f->cq.vcq, &in), -EINVAL);
	assert_int_equal(f->cq.mask, mask);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

static void test_srq(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[8] = { [0] = FAKE_QPN, [6] = 0x00070000, [7] = 0x01 };
	const uint32_t beyond[8] = { [0] = FAKE_QPN, [6] = 0xffff0000, [7] = 0x01 };
	struct ibv_wc wc;

	fake_srq(f);
	f->srq.wr_ids[7] = 70;
	cqe_write(f, 0, words);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 70);
	assert_int_equal(f->srq.tail, 7);
	assert_int_equal(f->srq.next[f->srq.mask], 7);
	cqe_write(f, 1, beyond);
	assert_true(poll(f, &wc) < 0);
	assert_int_equal(f->srq.tail, 7);
	fake_free(f);
}

/* A queue pair that completes in another queue is not accessed, because it may go at any time. */
static void test_elsewhere(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[8] = { [0] = FAKE_QPN + 1, [7] = 0x01 };
	struct mlx_cq other;
	struct ibv_wc wc;

	/* The table points to an inaccessible page. */
	assert_int_equal(idtable_put(&f->ctx->qps, FAKE_QPN + 1, f->uar + FAKE_PAGE), 0);
	idtable_own(&f->ctx->qps, FAKE_QPN + 1, &other, &other);
	cqe_write(f, 0, words);
	assert_true(poll(f, &wc) < 0);
	fake_free(f);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- invalid entries. @polled: the result of ibv_poll_cq() */
static const struct attack {
	const char *what;
	bool with_srq;
	uint32_t words[8];
	int polled;
} attacks[] = {
	{ "a queue pair of nobody", false, { 0xabcdef, [7] = 0x41 }, MLX_POLL_CORRUPT },
	{ "an XRC SRQ of nobody", true, { 0x800048, [7] = 0x01 }, MLX_POLL_CORRUPT },
	{ "the other round's", false, { FAKE_QPN, [7] = 0x81 }, 0 },
	{ "a request beyond the ring", false, { FAKE_QPN, [6] = 0xffff0000, [7] = 0x4a }, 1 },
	{ "an index beyond the SRQ",
	  true,
	  { FAKE_QPN, [6] = 0xffff0000, [7] = 0x01 },
	  MLX_POLL_CORRUPT },
	{ "and that in an error",
	  true,
	  { FAKE_QPN, [6] = 0xffff0000, [7] = 0x1e },
	  MLX_POLL_CORRUPT },
	{ "a receive of opcode 4", false, { FAKE_QPN, [7] = 0x04 }, MLX_POLL_CORRUPT },
	{ "a receive of opcode 15", false, { FAKE_QPN, [7] = 0x0f }, MLX_POLL_CORRUPT },
	{ "the end of a ring that stays", false, { FAKE_QPN, [7] = 0x16 }, MLX_POLL_CORRUPT },
	{ "more bytes than there were", false, { FAKE_QPN, [5] = UINT32_MAX, [7] = 0x01 }, 1 },
	{ "an error of syndrome 0xff", false, { FAKE_QPN, [6] = 0xff, [7] = 0x5e }, 1 },
};

static void test_attacks(void **state)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;

	for (unsigned int i = 0; i < ARRAY_SIZE(attacks); i++) {
		struct fake *f = fake_create(IBV_QPT_RC);
		struct ibv_wc wc;
		int polled, r;

		if (attacks[i].with_srq)
			fake_srq(f);
		cqe_write(f, 0, attacks[i].words);
		polled = poll(f, &wc);
		if (polled != attacks[i].polled)
			print_error("%s: %d, not %d\n", attacks[i].what, polled, attacks[i].polled);
		assert_int_equal(polled, attacks[i].polled);
		/* The words that the device wrote determine the free entries. */
		r = mlx4_post_send(&f->qp.vqp.qp, &send, &bad_send);
		assert_true(!r || r == ENOMEM);
		r = f->qp.srq ? mlx_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad_recv)
			      : mlx4_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);
		assert_true(!r || r == ENOMEM);
		fake_free(f);
	}
}

/* A completion before an invalid entry is not lost. */
static void test_behind_good(void **state)
{
	const uint32_t sent[8] = { FAKE_QPN, [7] = 0x4a }, corrupt[8] = { FAKE_QPN, [7] = 0x0f };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	cqe_write(f, 0, sent);
	cqe_write(f, 1, sent);
	cqe_write(f, 2, corrupt);
	cqe_write(f, 3, sent);
	assert_int_equal(mlx4_poll_cq(&f->cq.vcq.cq, 4, wc), 2);
	assert_int_equal(mlx4_poll_cq(&f->cq.vcq.cq, 4, wc), MLX_POLL_CORRUPT);
	assert_int_equal(mlx4_poll_cq(&f->cq.vcq.cq, 4, wc), 1);
	fake_free(f);
}

/* Poll entries with any contents. No byte is written outside of the queue's memory, which lies
 * between inaccessible pages, and requests can still be posted. */
static void test_hostile(void **state)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;
	uint64_t random = 0x9e3779b97f4a7c15;

	for (int with_srq = 0; with_srq < 2; with_srq++) {
		struct fake *f = fake_create(IBV_QPT_RC);
		int good = 0;

		if (with_srq)
			fake_srq(f);
		for (uint32_t n = 0; n < 200000; n++) {
			char *cqe = cqe_at(f, f->cq.consumer);
			bool owner = f->cq.consumer & (f->cq.mask + 1);
			struct ibv_wc wc;

			for (unsigned int i = 0; i < sizeof(struct mlx4_cqe); i += 8) {
				random_next(&random);
				memcpy(cqe + i, &random, 8);
			}
			/* Half of the entries name an existing queue pair; all belong to this
			 * round. */
			if (random & 1)
				*(__be32 *)cqe = htobe32(FAKE_QPN);
			cqe[31] = (cqe[31] & 0x7f) | (owner ? 0x80 : 0);
			good += poll(f, &wc) == 1;
			/* The same for anything that the adapter could write into a ring of
			 * requests. */
			memcpy(f->sq + (random >> 8) % (FAKE_PAGE - 8), &random, 8);
			mlx4_post_send(&f->qp.vqp.qp, &send, &bad_send);
			if (with_srq)
				mlx_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad_recv);
			else
				mlx4_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);
		}
		assert_true(good > 1000);
		mlx4_cqs_clean(&f->qp, true);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive),	    cmocka_unit_test(test_extended),
		cmocka_unit_test(test_send_error),  cmocka_unit_test(test_syndromes),
		cmocka_unit_test(test_rounds),	    cmocka_unit_test(test_arm),
		cmocka_unit_test(test_clean),	    cmocka_unit_test(test_resize_waiting),
		cmocka_unit_test(test_srq),	    cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_elsewhere),   cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_behind_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
