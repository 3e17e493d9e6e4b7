/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions as the adapter writes them, and invalid ones. */
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/wr.h"
#include "tests/unit/mlx5/fake.h"

/* Write entry number @n from the words of a dump; its last byte holds the owner bit. */
static void cqe_write(struct fake *f, uint32_t n, const uint32_t words[16])
{
	__be32 *cqe = (__be32 *)(f->cqes + 64 * (n & f->cq.mask));

	for (int i = 0; i < 16; i++)
		cqe[i] = htobe32(words[i]);
	cqe[8] = htobe32(f->qp.uidx);
}

static int poll(struct fake *f, struct ibv_wc *wc)
{
	return mlx5_poll_cq(&f->cq.vcq.cq, 1, wc);
}

static const uint32_t recv_imm[16] = {
	[4] = 0x00050000, 0x00000011, 0x12000077, 0, 0, 0xdeadbeef, 0, 0x18, 1,
	0x23456789,	  0x00001234, 0x01050030,
};

static void assert_recv_imm(struct fake *f, const struct ibv_wc *wc)
{
	assert_int_equal(wc->wr_id, 77);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->opcode, IBV_WC_RECV);
	assert_int_equal(wc->wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(be32toh(wc->imm_data), 0xdeadbeef);
	assert_int_equal(wc->byte_len, 24);
	assert_int_equal(wc->src_qp, 0x77);
	assert_int_equal(wc->qp_num, FAKE_QPN);
	assert_int_equal(wc->sl, 2);
	assert_int_equal(wc->slid, 0x11);
	assert_int_equal(wc->dlid_path_bits, 5);
}

static void test_receive(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	f->qp.rq.wr_ids[0x105 & f->qp.rq.mask] = 77;
	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(f->cq_record[0], 0);
	cqe_write(f, 0, recv_imm);
	assert_int_equal(poll(f, &wc), 1);
	assert_recv_imm(f, &wc);
	assert_int_equal(atomic_load(&f->qp.rq.tail), 1);
	ASSERT_WORDS(f->cq_record, 1);
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

/* The entry of an XRC SRQ names the queue pair by which the message came. */
static void test_xrc(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_xrcd domain = {};
	struct ibv_wc wc;

	fake_srq(f);
	f->srq.vsrq.xrcd = &domain;
	f->qp.extras = MLX5_EXTRA_SRQ;
	f->srq.wr_ids[3] = 77;
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t words[16];

		memcpy(words, recv_imm, sizeof(words));
		words[14] = 0x4321 + n;
		words[15] = 0x00030030;
		cqe_write(f, n, words);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.wr_id, 77);
		assert_int_equal(wc.qp_num, 0x4321 + n);
	}
	fake_free(f);
}

static void test_extended(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	mlx5_cq_ex_set_slots(&f->cq, mlx5_cq_ex_wc_flags);
	f->qp.rq.wr_ids[0x105 & f->qp.rq.mask] = 77;
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	cqe_write(f, 0, recv_imm);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 77);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(be32toh(ibv_wc_read_imm_data(ex)), 0xdeadbeef);
	assert_int_equal(ibv_wc_read_byte_len(ex), 24);
	assert_int_equal(ibv_wc_read_src_qp(ex), 0x77);
	assert_int_equal(ibv_wc_read_completion_ts(ex), 0x123456789);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	ASSERT_WORDS(f->cq_record, 1);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(ex, &attr), EINVAL);
	fake_free(f);
}

static void test_send_error(void **state)
{
	static const uint32_t words[16] = { [13] = 0x00008813, 0x08001234, 0x000900d0 };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	f->qp.sq.slots[9] = (struct mlx5_sq_slot){ .wr_id = 5, .head = 6 };
	cqe_write(f, 0, words);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 0x88);
	assert_int_equal(wc.wr_id, 5);
	/* The request and all before it have completed. */
	assert_int_equal(atomic_load(&f->qp.sq.tail), 7);
	fake_free(f);
}

static void test_sent(void **state)
{
	static const struct {
		uint8_t hw;
		enum ibv_wc_opcode opcode;
	} cases[] = {
		{ 0x08, IBV_WC_RDMA_WRITE }, { 0x09, IBV_WC_RDMA_WRITE },
		{ 0x0a, IBV_WC_SEND },	     { 0x0b, IBV_WC_SEND },
		{ 0x01, IBV_WC_SEND },	     { 0x10, IBV_WC_RDMA_READ },
		{ 0x11, IBV_WC_COMP_SWAP },  { 0x12, IBV_WC_FETCH_ADD },
		{ 0x25, IBV_WC_BIND_MW },
	};
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	f->qp.sq.slots[2].opcode = IBV_WC_BIND_MW;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t words[16] = {
			[11] = 100, [14] = cases[i].hw << 24 | FAKE_QPN, [15] = 0x00020000
		};

		cqe_write(f, i, words);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.opcode, cases[i].opcode);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	fake_free(f);
}

/* The bit of ownership changes with each round of the ring. */
static void test_rounds(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	for (uint32_t n = 0; n < 3 * (f->cq.mask + 1); n++) {
		const uint32_t words[16] = {
			[14] = 0x0a001234, [15] = n & (f->cq.mask + 1) ? 0x00000001 : 0
		};

		assert_int_equal(poll(f, &wc), 0);
		cqe_write(f, n, words);
		assert_int_equal(poll(f, &wc), 1);
	}
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	f->cq.consumer = 0x12;
	mlx_cq_publish(&f->cq);
	mlx5_cq_event(&f->cq.vcq);
	assert_int_equal(mlx5_req_notify_cq(&f->cq.vcq.cq, 1), 0);
	ASSERT_WORDS(f->cq_record + 1, 0x11000012);
	ASSERT_WORDS(f->uar + 0x20, 0x11000012, 0x0000004d);
	fake_free(f);
}

/* Completions of a destroyed queue pair are removed; the others stay, in order, also across the
 * end of the ring. */
static void test_clean(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct mlx5_qp other = f->qp;
	struct ibv_wc wc;
	uint32_t first = f->cq.mask - 2;

	assert_int_equal(idtable_add(&f->ctx->users, &other, &other.uidx), 0);
	idtable_own(&f->ctx->users, other.uidx, &f->cq, NULL);
	f->cq.consumer = first;
	mlx_cq_publish(&f->cq);
	for (uint32_t n = first; n < first + 6; n++) {
		const uint32_t words[16] = {
			[11] = n, [14] = 0x00001234, [15] = 0x20 | !!(n & (f->cq.mask + 1))
		};

		cqe_write(f, n, words);
		if (n % 2)
			((__be32 *)(f->cqes + 64 * (n & f->cq.mask)))[8] = htobe32(other.uidx);
	}
	mlx5_cqs_clean(&f->qp, false);
	ASSERT_WORDS(f->cq_record, first + 3);
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

/* A queue pair that completes in another queue is not accessed, because it may go at any time. */
static void test_elsewhere(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[16] = { [15] = 0x20 };
	struct mlx_cq other;
	struct ibv_wc wc;
	uint32_t uidx;

	/* The table points to an inaccessible page. */
	assert_int_equal(idtable_add(&f->ctx->users, f->uar + FAKE_PAGE, &uidx), 0);
	idtable_own(&f->ctx->users, uidx, &other, &other);
	cqe_write(f, 0, words);
	((__be32 *)f->cqes)[8] = htobe32(uidx);
	assert_true(poll(f, &wc) < 0);
	fake_free(f);
}

/* A ring without room for the waiting completions is refused without a call of the kernel. */
static void test_resize_waiting(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[16] = { [14] = 0x00001234, [15] = 0x20 };
	const struct verbs_resize_cq in = { .cqe = 1 };
	uint32_t mask = f->cq.mask;
	struct ibv_wc wc;

	for (uint32_t n = 0; n < 3; n++)
		cqe_write(f, n, words);
	assert_int_equal(mlx5_resize_cq(&f->cq.vcq, &in), -EINVAL);
	assert_int_equal(f->cq.mask, mask);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

static void test_srq(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	const uint32_t words[16] = { [14] = FAKE_QPN, [15] = 0x00070020 };
	const uint32_t beyond[16] = { [14] = FAKE_QPN, [15] = 0xffff0020 };
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

/* ---- entries that a device should not write */

/* Post requests. They may fail for lack of room, because the device's words determine the free
 * entries. */
static void assert_usable(struct fake *f)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;
	int sent = mlx5_post_send(&f->qp.vqp.qp, &send, &bad_send);
	int received = f->qp.srq ? mlx_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad_recv)
				 : mlx5_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);

	assert_true((!sent || sent == ENOMEM) && (!received || received == ENOMEM));
}

/* @polled: the result of ibv_poll_cq(); @uidx: instead of the queue pair's */
static const struct attack {
	const char *what;
	bool with_srq;
	uint32_t uidx, word_13, word_14, last;
	int polled;
} attacks[] = {
	{ "a queue pair of nobody", false, 0xfffff, 0, FAKE_QPN, 0x00000000, MLX_POLL_CORRUPT },
	{ "a number that was given back", false, 1, 0, FAKE_QPN, 0x00000000, MLX_POLL_CORRUPT },
	{ "an XRC SRQ of nobody", true, 0xfff000, 0, FAKE_QPN, 0x00000020, MLX_POLL_CORRUPT },
	{ "the other round's", false, 0, 0, FAKE_QPN, 0x00000021, 0 },
	{ "a request beyond the ring", false, 0, 0, 0x0a001234, 0xffff0000, 1 },
	{ "a receive beyond the ring", false, 0, 0, FAKE_QPN, 0xffff0020, 1 },
	{ "an index beyond the SRQ", true, 0, 0, FAKE_QPN, 0xffff0020, MLX_POLL_CORRUPT },
	{ "and that in an error", true, 0, 0x00008805, FAKE_QPN, 0x100000e0, MLX_POLL_CORRUPT },
	{ "opcode 5, of a ring that is not replaced", false, 0, 0, FAKE_QPN, 0x50,
	  MLX_POLL_CORRUPT },
	{ "opcode 6", false, 0, 0, FAKE_QPN, 0x60, MLX_POLL_CORRUPT },
	{ "opcode 7", false, 0, 0, FAKE_QPN, 0x70, MLX_POLL_CORRUPT },
	{ "opcode 11", false, 0, 0, FAKE_QPN, 0xb0, MLX_POLL_CORRUPT },
	{ "a signature's error of no key", false, 0, 0, FAKE_QPN, 0xc0, 0 },
	{ "a request of opcode 0x3f", false, 0, 0, 0x3f001234, 0x00000000, MLX_POLL_CORRUPT },
	{ "an error of syndrome 0xff", false, 0, 0x000000ff, 0x08001234, 0x000000d0, 1 },
	{ "data in 32 bytes of the entry", false, 0, 0, FAKE_QPN, 0x00000024, 1 },
	{ "data in the 64 bytes before it", false, 0, 0, FAKE_QPN, 0x00000028, MLX_POLL_CORRUPT },
	{ "a title of short entries, of 255", false, 0, 0, FAKE_QPN, 0x00ff002c, MLX_POLL_CORRUPT },
};

static void test_attacks(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(attacks); i++) {
		const struct attack *a = &attacks[i];
		const uint32_t words[16] = {
			[11] = UINT32_MAX, [13] = a->word_13, [14] = a->word_14, [15] = a->last
		};
		struct fake *f = fake_create(IBV_QPT_RC);
		struct ibv_wc wc;
		int polled;

		if (a->with_srq)
			fake_srq(f);
		cqe_write(f, 0, words);
		if (a->uidx)
			((__be32 *)f->cqes)[8] = htobe32(a->uidx);
		polled = poll(f, &wc);
		if (polled != a->polled)
			print_error("%s: %d, not %d\n", a->what, polled, a->polled);
		assert_int_equal(polled, a->polled);
		assert_usable(f);
		fake_free(f);
	}
}

/* A completion before an invalid entry is not lost. */
static void test_behind_good(void **state)
{
	const uint32_t sent[16] = { [14] = 0x0a001234, [15] = 0x00000000 };
	const uint32_t corrupt[16] = { [14] = FAKE_QPN, [15] = 0x60 };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	cqe_write(f, 0, sent);
	cqe_write(f, 1, sent);
	cqe_write(f, 2, corrupt);
	cqe_write(f, 3, sent);
	assert_int_equal(mlx5_poll_cq(&f->cq.vcq.cq, 4, wc), 2);
	assert_int_equal(mlx5_poll_cq(&f->cq.vcq.cq, 4, wc), MLX_POLL_CORRUPT);
	assert_int_equal(mlx5_poll_cq(&f->cq.vcq.cq, 4, wc), 1);
	ASSERT_WORDS(f->cq_record, 4);
	fake_free(f);
}

/* Errors of completed requests, and of requests that were never posted. As soon as the device
 * writes valid entries, there is room again. */
static void test_done_twice(void **state)
{
	static const uint32_t words[16] = { [13] = 0x00008805, 0x0a001234, 0x000000d0 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad;
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;
	int r = mlx5_post_send(&f->qp.vqp.qp, &send, &bad);

	assert_int_equal(r, 0);
	for (uint32_t n = 0; n < 64; n++) {
		uint32_t slot = n == 63 ? (f->qp.sq.cur_post - 1) & f->qp.sq.mask : n * 7 % 64;
		uint32_t entry[16];

		memcpy(entry, words, sizeof(entry));
		entry[15] |= slot << 16;
		cqe_write(f, n, entry);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		r = mlx5_post_send(&f->qp.vqp.qp, &send, &bad);
		assert_true(!r || r == ENOMEM);
	}
	assert_int_equal(r, 0);
	fake_free(f);
}

/* ---- errors of signatures */

static void sig_error_write(struct fake *f, uint32_t n, uint32_t key, uint32_t syndrome)
{
	const uint32_t words[16] = {
		[4] = 0x11111111,
		0x22222222,
		0x33333333,
		0x44444444,
		0,
		key << 8,
		0,
		0x77,
		[15] = 0xc0 | !!(n & (f->cq.mask + 1)),
	};

	cqe_write(f, n, words);
	((__be32 *)(f->cqes + 64 * (n & f->cq.mask)))[8] = htobe32(syndrome << 16);
}

static struct mlx5_sig of_crc(void)
{
	return (struct mlx5_sig){ .block.wire = { .there = true, .type = MLX5DV_SIG_TYPE_CRC } };
}

/* Signature errors are no completions of a queue pair. A ring full of them is given back to the
 * adapter. They stay when a queue pair is destroyed whose number they contain by chance. */
static void test_sig_errors(void **state)
{
	const uint32_t sent[16] = { [14] = 0x0a001234, [15] = 0x00000000 };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	struct mlx5_sig sig = of_crc();
	struct ibv_poll_cq_attr attr = {};
	uint32_t all = f->cq.mask + 1;
	struct ibv_wc wc;

	mlx5_cq_ex_set_slots(&f->cq, mlx5_cq_ex_wc_flags);
	mlx5_sig_errors_publish(f->ctx, &sig.errors, 0x55);
	for (uint32_t n = 0; n < all; n++)
		sig_error_write(f, n, 0x55, 1 << 13);
	assert_int_equal(poll(f, &wc), 0);
	ASSERT_WORDS(f->cq_record, all);
	assert_int_equal(sig.errors.count, all);
	assert_true(sig.errors.waits);
	for (uint32_t n = all; n < 2 * all; n++)
		sig_error_write(f, n, 0x55, 1 << 13);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	ASSERT_WORDS(f->cq_record, 2 * all);
	assert_int_equal(sig.errors.count, 2 * all);
	/* Between two completions of requests. */
	cqe_write(f, 2 * all, sent);
	sig_error_write(f, 2 * all + 1, 0x55, 1 << 13);
	cqe_write(f, 2 * all + 2, sent);
	assert_int_equal(mlx5_poll_cq(&f->cq.vcq.cq, 1, &wc), 1);
	assert_int_equal(mlx5_poll_cq(&f->cq.vcq.cq, 1, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(sig.errors.count, 2 * all + 1);
	sig_error_write(f, 2 * all + 3, 0x55, 0);
	((__be32 *)(f->cqes + 64 * 3))[8] = htobe32(f->qp.uidx);
	mlx5_cqs_clean(&f->qp, false);
	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(sig.errors.count, 2 * all + 2);
	fake_free(f);
}

/* Poll entries with any contents. No byte is written outside of the queue's memory, which lies
 * between inaccessible pages, and requests can still be posted and completed. */
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
			char *cqe = f->cqes + 64 * (f->cq.consumer & f->cq.mask);
			bool owner = f->cq.consumer & (f->cq.mask + 1);
			struct ibv_wc wc;

			for (int i = 0; i < 64; i += 8) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				memcpy(cqe + i, &random, 8);
			}
			/* Half of the entries name an existing queue pair and belong to this
			 * round. */
			if (random & 1)
				*(__be32 *)(cqe + 32) = htobe32(f->qp.uidx);
			cqe[63] = (cqe[63] & ~1) | owner;
			good += poll(f, &wc) == 1;
			if ((uint8_t)cqe[63] >> 4 == 0xf)
				cqe[63] = 0xf0 | !owner;
			mlx5_post_send(&f->qp.vqp.qp, &send, &bad_send);
			if (with_srq)
				mlx_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad_recv);
			else
				mlx5_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);
		}
		assert_true(good > 1000);
		mlx5_cqs_clean(&f->qp, false);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive),
		cmocka_unit_test(test_extended),
		cmocka_unit_test(test_xrc),
		cmocka_unit_test(test_send_error),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_resize_waiting),
		cmocka_unit_test(test_srq),
		cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_behind_good),
		cmocka_unit_test(test_done_twice),
		cmocka_unit_test(test_sig_errors),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
