/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests, byte by byte as the device reads them, by both ways of posting. */
#include <stdio.h>

#include "tests/unit/efa/fake.h"

#define SMALL EFA_WQE_SMALL_SHIFT
#define LARGE EFA_WQE_LARGE_SHIFT

static struct ibv_sge two_sges[] = {
	{ .addr = 0x100002000, .length = 0x100, .lkey = 0xab },
	{ .addr = 0x3000, .length = 0x40, .lkey = 0xff0000cd },
};

static struct ibv_send_wr send_wr(struct fake *f, struct ibv_sge *sge, int num_sge)
{
	return (struct ibv_send_wr){
		.wr_id = 77,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = num_sge,
		.wr.ud = { .ah = &f->ah.ah, .remote_qpn = 0x1234, .remote_qkey = 0x11111111 },
	};
}

static int post(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return efa_post_send(&f->qp.vqp.qp, wr, &bad);
}

static void test_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 1);
	struct ibv_sge sge = { .addr = (uintptr_t) "abcd", .length = 4 };
	struct ibv_send_wr wr = send_wr(f, &sge, 1);

	wr.send_flags |= IBV_SEND_INLINE;
	memset(f->sq, 0x5a, FAKE_PAGE);
	assert_int_equal(post(f, &wr), 0);
	assert_bytes(f->sq,
		     "40 00 a0 1c 34 12 04 00 00 00 00 00 05 00 00 00 11 11 11 11 00 00 00 00"
		     "00 00 00 00 00 00 00 00 61 62 63 64 00 00 00 00 00 00 00 00 00 00 00 00"
		     "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 5a");
	assert_int_equal(le32toh(f->sq_doorbell), 1);
	fake_free(f);
}

/* The second round has the other phase. In a large request zeros follow the data. */
static void test_list(void **state)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, LARGE, EFA_CQE_SMALL, 1);
	struct ibv_send_wr wr = send_wr(f, two_sges, 2);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htobe32(0x01020304);
	f->qp.sq.counter = 2 * (FAKE_PAGE >> LARGE) - 1;
	memset(f->sq, 0x5a, FAKE_PAGE);
	assert_int_equal(post(f, &wr), 0);
	assert_bytes(f->sq + FAKE_PAGE - 128,
		     "20 00 90 1c 34 12 02 00 04 03 02 01 05 00 00 00 11 11 11 11 00 00 00 00"
		     "00 00 00 00 00 00 00 00 00 01 00 00 ab 00 00 00 00 20 00 00 01 00 00 00"
		     "40 00 00 00 cd 00 00 00 00 30 00 00 00 00 00 00 00 00 00 00");
	assert_bytes(f->sq + FAKE_PAGE - 4, "00 00 00 00");
	assert_int_equal(post(f, &wr), 0);
	assert_bytes(f->sq, "21 00 90 1d");
	f->qp.sq.counter = 0xffff;
	assert_int_equal(post(f, &wr), 0);
	assert_int_equal(le32toh(f->sq_doorbell), 0);
	fake_free(f);
}

static void test_rdma(void **state)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, LARGE, EFA_CQE_LARGE, 1);
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;
	char text[] = "xyz";

	efa_wr_set_slots(&f->qp, ~0ull, EFADV_WR_EX_WITH_PROCESSING_HINTS);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(ex, 0x55, 0x7000);
	ibv_wr_set_sge(ex, 0xab, 0x100002000, 0x1000);
	ibv_wr_set_ud_addr(ex, &f->ah.ah, 7, 0);
	ibv_wr_rdma_write_imm(ex, 0x66, 0x8000, htobe32(1));
	ibv_wr_set_ud_addr(ex, &f->ah.ah, 7, 0);
	ibv_wr_set_inline_data(ex, text, 3);
	efadv_wr_set_processing_hints(&f->qp.dv, EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE);
	assert_int_equal(le32toh(f->sq_doorbell), 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_bytes(f->sq, "20 00 81 1c 07 00 01 00 00 00 00 00 05 00 00 00");
	assert_bytes(f->sq + 32, "00 10 00 00 55 00 00 00 00 70 00 00 00 00 00 00"
				 "00 10 00 00 ab 00 00 00 00 20 00 00 01 00 00 00");
	assert_bytes(f->sq + 128, "21 00 b2 1c 07 00 03 00 01 00 00 00 05 00 01 00");
	assert_bytes(f->sq + 160, "03 00 00 00 66 00 00 00 00 80 00 00 00 00 00 00 78 79 7a 00");
	assert_int_equal(le32toh(f->sq_doorbell), 2);
	fake_free(f);
}

/* ibv_post_send() posts the requests before a mistake. A batch with a mistake posts no request. */
static void test_mistakes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, SMALL, EFA_CQE_SMALL, 1);
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;
	struct ibv_send_wr second = send_wr(f, two_sges, 3), first = send_wr(f, two_sges, 1), *bad;

	first.next = &second;
	assert_int_equal(efa_post_send(&f->qp.vqp.qp, &first, &bad), EINVAL);
	assert_ptr_equal(bad, &second);
	assert_int_equal(le32toh(f->sq_doorbell), 1);
	second = send_wr(f, two_sges, 1);
	second.send_flags = 0;
	assert_int_equal(post(f, &second), EINVAL);
	f->qp.sq.flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(f, &second), 0);
	second.send_flags = IBV_SEND_SOLICITED;
	assert_int_equal(post(f, &second), EINVAL);
	second = send_wr(f, two_sges, 1);
	second.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(post(f, &second), EINVAL);
	second = send_wr(f, two_sges, 1);
	second.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(f, &second), EINVAL);

	efa_wr_set_slots(&f->qp, ~0ull, 0);
	ibv_wr_start(ex);
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 2, 3);
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_set_inline_data(ex, f, 1);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(le32toh(f->sq_doorbell), 2);
	assert_int_equal(f->qp.sq.counter, 2);
	assert_int_equal(f->qp.sq.wq.used, 2);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	assert_int_equal(f->qp.sq.wq.used, 2);
	f->qp.sq.flags = EFA_SQ_CLOSED;
	assert_int_equal(post(f, &first), EINVAL);
	fake_free(f);
}

/* Inline data of each length that ends before an inaccessible page; zeros follow it in the
 * request. */
static void test_inline_lengths(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 1);
	uint8_t *page = fake_page(), expected[EFA_INLINE_SMALL];

	for (uint32_t i = 0; i < FAKE_PAGE; i++)
		page[i] = 1 + i % 255;
	for (uint32_t length = 0; length <= EFA_INLINE_SMALL; length++) {
		uint8_t *from = page + FAKE_PAGE - length;
		struct ibv_sge sge = { .addr = (uintptr_t)from, .length = length };
		struct ibv_send_wr wr = send_wr(f, &sge, 1);

		wr.send_flags |= IBV_SEND_INLINE;
		memset(expected, 0, sizeof(expected));
		memcpy(expected, from, length);
		memset(f->sq + (length << SMALL), 0x5a, FAKE_PAGE - (length << SMALL));
		assert_int_equal(post(f, &wr), 0);
		assert_int_equal(f->sq[(length << SMALL) + 6], length);
		assert_memory_equal(f->sq + (length << SMALL) + 8 * WQE_DATA, expected,
				    sizeof(expected));
	}
	fake_page_free(page);
	fake_free(f);
}

/* A list of all kinds has the result of single requests. A queue without buffers accepts none. */
static void test_kinds(void **state)
{
	struct fake *list = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 1);
	struct fake *each = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 1);
	struct ibv_sge text = { .addr = (uintptr_t) "0123456789", .length = 10 };
	struct ibv_send_wr wrs[32], *bad;

	for (uint32_t i = 0; i < ARRAY_SIZE(wrs); i++) {
		bool in = i * 7 % 5 < 2;

		wrs[i] = send_wr(list, in ? &text : two_sges, in ? 1 : i * 3 % 4 % 3);
		wrs[i].send_flags |= in ? IBV_SEND_INLINE : 0;
		wrs[i].opcode = i % 3 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
		wrs[i].imm_data = htobe32(i);
		assert_int_equal(post(each, &wrs[i]), 0);
		wrs[i].next = i + 1 < ARRAY_SIZE(wrs) ? &wrs[i + 1] : NULL;
	}
	assert_int_equal(post(list, wrs), 0);
	assert_memory_equal(list->sq, each->sq, ARRAY_SIZE(wrs) << SMALL);
	assert_int_equal(list->sq_doorbell, each->sq_doorbell);
	list->qp.sq.max_sge = 0;
	list->qp.sq.plain = false;
	wrs[0] = send_wr(list, two_sges, 1);
	assert_int_equal(efa_post_send(&list->qp.vqp.qp, wrs, &bad), EINVAL);
	wrs[0].num_sge = 0;
	assert_int_equal(efa_post_send(&list->qp.vqp.qp, wrs, &bad), 0);
	fake_free(list);
	fake_free(each);
}

/* The device takes a limited number at once. A full ring returns ENOMEM, by both ways of
 * posting. */
static void test_full(void **state)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, SMALL, EFA_CQE_SMALL, 1);
	struct ibv_qp_ex *ex = &f->qp.vqp.qp_ex;
	struct ibv_send_wr wr = send_wr(f, two_sges, 1);

	f->qp.sq.max_batch = 3;
	efa_wr_set_slots(&f->qp, ~0ull, 0);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	for (int i = 0; i < FAKE_PAGE >> SMALL; i++)
		ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(le32toh(f->sq_doorbell), FAKE_PAGE >> SMALL);
	assert_int_equal(post(f, &wr), ENOMEM);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	fake_free(f);
}

static void test_recv(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 16);
	struct ibv_sge sges[] = { { 0x1000, 64, 1 }, { 0x2000, 1 << 20, 2 } };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = sges, .num_sge = 2 }, *bad;

	f->qp.rq.wq.ids[0] = 5;
	assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
	assert_bytes(f->rq, "00 10 00 00 00 00 00 00 35 00 40 00 01 00 00 40"
			    "00 20 00 00 00 00 00 00 00 00 ff ff 02 00 00 80 00");
	assert_int_equal(le32toh(f->rq_doorbell), 2);
	wr.num_sge = 0;
	assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.num_sge = 17;
	assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	wr.num_sge = 1;
	for (int i = 0; i < 15; i++)
		assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
	assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), ENOMEM);
	fake_free(f);
}

/* The granted numbers equal those of other libraries, because programs compare them. No number
 * is too large. */
static void test_sizes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, SMALL, EFA_CQE_SMALL, 1);
	struct ibv_qp_cap cap = { 8, 10, 2, 3, 32 };
	struct efa_qp_size size;

	f->ctx->info.max_llq_size = 65536;
	f->ctx->info.min_sq_wr = 16;
	f->ctx->info.max_tx_batch = 64;
	f->ctx->info.inline_buf_size_ex = 80;
	f->ctx->caps.max_sq_sge = 2;
	f->ctx->caps.max_rq_sge = 3;
	f->ctx->caps.max_rq_wr = 4096;
	assert_int_equal(efa_qp_size(f->ctx, &cap, false, &size), 0);
	assert_int_equal(size.sq_count, 16);
	assert_int_equal(size.sq_shift, SMALL);
	assert_int_equal(size.max_batch, 15);
	assert_int_equal(size.rq_buffers, 32);
	assert_int_equal(size.rq_count, 10);
	assert_int_equal(efa_sq_depth(f->ctx, LARGE), 512);
	cap.max_inline_data = 33;
	assert_int_equal(efa_qp_size(f->ctx, &cap, false, &size), 0);
	assert_int_equal(size.sq_shift, LARGE);
	for (unsigned int i = 0; i < sizeof(cap) / 4; i++) {
		uint32_t before = ((uint32_t *)&cap)[i];

		((uint32_t *)&cap)[i] = UINT32_MAX;
		assert_int_equal(efa_qp_size(f->ctx, &cap, false, &size), -EINVAL);
		((uint32_t *)&cap)[i] = before;
	}
	f->ctx->caps.max_rq_wr = UINT32_MAX;
	f->ctx->info.max_llq_size = UINT32_MAX;
	cap.max_send_wr = cap.max_recv_wr = 65537;
	assert_int_equal(efa_qp_size(f->ctx, &cap, false, &size), -EINVAL);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline), cmocka_unit_test(test_inline_lengths),
		cmocka_unit_test(test_kinds),  cmocka_unit_test(test_list),
		cmocka_unit_test(test_rdma),   cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_full),   cmocka_unit_test(test_recv),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
