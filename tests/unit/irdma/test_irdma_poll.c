/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions of sends and receives, failures, and entries that no request belongs to. */
#include "tests/unit/fake_kernel.h"
#include "tests/unit/irdma/fake.h"

#define FLUSHED (CQE_ERROR | 1ull << 16)

/* Unsignaled sends are retired by the next completion. The shadow area has the next entry. */
static void test_sends(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_wc wc;

	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_post(f, fake_wr(IBV_WR_RDMA_WRITE, 1)), 0);
	fake_entry(f, 0, 2, CQE_SEND);
	wc = fake_poll_one(f);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.qp_num, QPN);
	assert_int_equal(f->qp.sq.tail, 3);
	assert_int_equal(fake_word(f->shadow, 0), 1);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	fake_free(f);
}

/* Entries for a queue without requests, for a place without a request, for an unknown queue pair,
 * and with another name. */
static void test_strange(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_wc wc[8];

	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	fake_entry(f, 0, 1, CQE_SEND);
	fake_entry(f, 1, 0x7fff, CQE_SEND);
	fake_entry(f, 2, 0, 0);
	fake_entry(f, 3, 0, CQE_SEND);
	word_write(f->cqes + 3 * IRDMA_QUANTUM + AT_SECOND, 0);
	fake_entry(f, 4, 0, CQE_SEND);
	word_write(f->cqes + 4 * IRDMA_QUANTUM + AT_SECOND, irdma_handle(99));
	fake_entry(f, 5, 0, CQE_OF_SRQ);
	assert_int_equal(fake_poll(f, wc, 8), 0);
	assert_int_equal(fake_word(f->shadow, 0), 6);
	assert_int_equal(f->qp.sq.tail, 0);
	fake_entry(f, 6, 0, CQE_SEND);
	assert_int_equal(fake_poll(f, wc, 8), 1);
	fake_free(f);
}

/* One entry stands for all sends. A request that fills a chunk has no completion. */
static void test_flush(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_wc wc;

	f->qp.sq.head = 7;
	atomic_store(&f->qp.sq.posted, 7);
	atomic_store(&f->qp.sq.tail, 7);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_RDMA_READ, 4)), 0);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	fake_entry(f, 0, 8, CQE_SEND | FLUSHED | 8);
	wc = fake_poll_one(f);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.vendor_err, 0x10008);
	assert_int_equal(fake_word(f->shadow, 0), 0);
	wc = fake_poll_one(f);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(fake_word(f->shadow, 0), 1);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	fake_free(f);
}

/* Polls go on behind a failure without a request. */
static void test_flush_nothing(void **state)
{
	struct fake *f = fake_create(2);

	fake_entry(f, 0, 0, CQE_SEND | FLUSHED | 1);
	fake_entry(f, 1, 0, FLUSHED | 1);
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	fake_poll_one(f);
	fake_entry(f, 2, 0, 0);
	assert_int_equal(fake_receive(f, 5, 1), 0);
	assert_int_equal(fake_poll_one(f).wr_id, 5);
	fake_free(f);
}

/* A request behind a failure needs a command, unless an entry is there for it. */
static void test_flush_on_demand(void **state)
{
	struct fake *f = fake_create(2);

	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	fake_entry(f, 0, 0, CQE_SEND | FLUSHED | 3);
	fake_poll_one(f);
	kernel_answers(NULL, 0);
	kernel.in_len = 0;
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	assert_int_not_equal(kernel.in_len, 0);
	kernel.in_len = 0;
	assert_int_equal(fake_post(f, fake_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(kernel.in_len, 0);
	fake_free(f);
}

/* Some failures of datagrams count as success. Completions of their receives name the sender. */
static void test_datagrams(void **state)
{
	struct fake *f = fake_create(2);
	struct ibv_wc wc;

	f->qp.sq.datagrams = true;
	f->qp.sq.plain = false;
	f->sent[0].quanta = 1;
	atomic_store(&f->qp.sq.posted, 1);
	fake_entry(f, 0, 0, CQE_SEND | CQE_ERROR | 0xe123ull << 16);
	assert_int_equal(fake_poll_one(f).status, IBV_WC_SUCCESS);
	assert_int_equal(fake_receive(f, 5, 1), 0);
	fake_entry(f, 1, 0, CQE_STAG);
	word_write(f->cqes + IRDMA_QUANTUM + AT_THIRD, 0x55);
	wc = fake_poll_one(f);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.src_qp, 0x55);
	fake_free(f);
}

/* Immediate data are in the next entry, which may be the first one of the next phase. */
static void test_immediate(void **state)
{
	struct fake *f = fake_create(2);
	char *extension = f->cqes;
	struct ibv_wc wc;

	f->cq.ring.next = f->cqes + (ENTRIES - 1) * IRDMA_QUANTUM;
	assert_int_equal(fake_receive(f, 5, 1), 0);
	fake_entry(f, ENTRIES - 1, 0, CQE_EXTENDED | 0x0bull << CQE_OP_SHIFT);
	word_write(extension + AT_HEADER, IRDMA_VALID | CQE_IMM);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	word_write(extension, 0x01020304);
	word_write(extension + AT_HEADER, CQE_IMM);
	wc = fake_poll_one(f);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, htobe32(0x01020304));
	assert_ptr_equal(f->cq.ring.next, f->cqes + IRDMA_QUANTUM);
	assert_int_equal(f->cq.ring.phase, 0);
	fake_free(f);
}

/* Receives of a shared queue: by number, with an event as the cause, and of a queue pair that is
 * destroyed. */
static void test_shared(void **state)
{
	struct fake *f = fake_create(3);
	struct ibv_sge sge = { 0x5000, 0x100, 0x44 };
	struct ibv_recv_wr *bad, wr = { .wr_id = 0x600, .sg_list = &sge, .num_sge = 1 };
	uint64_t handle = irdma_handle(f->qp.id);
	struct ibv_wc wc;

	f->qp.srq = &f->srq;
	for (int i = 0; i < SRQ_RECEIVES - 1; i++)
		assert_int_equal(irdma_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	assert_int_equal(irdma_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), ENOMEM);
	assert_int_equal(fake_word(f->srq_ring, 2), 0x600);
	assert_int_equal(fake_word(f->srq_shadow, 0), SRQ_RECEIVES - 1);
	for (uint32_t i = 0; i < 3; i++) {
		fake_entry(f, i, 0,
			   CQE_OF_SRQ | CQE_EXTENDED |
				   (i == 1 ? CQE_ERROR | 0xfffeull << 16 | 0x0132
					   : 3ull << CQE_OP_SHIFT));
		word_write(f->cqes + 64 * i + AT_SECOND, 0x600);
		word_write(f->cqes + 64 * i + AT_EXTENSION + AT_SECOND, handle);
		word_write(f->cqes + 64 * i + AT_EXTENSION + AT_HEADER, IRDMA_VALID);
	}
	wc = fake_poll_one(f);
	assert_int_equal(wc.wr_id, 0x600);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(fake_poll_one(f).status, IBV_WC_LOC_LEN_ERR);
	irdma_cqs_clean(&f->qp);
	assert_int_equal(f->srq.tail, 3);
	assert_int_equal(fake_poll(f, &wc, 1), 0);
	fake_free(f);
}

/* A request of a shared queue may have the same number as the handle of a queue pair. */
static void test_clean(void **state)
{
	struct fake *f = fake_create(3);
	uint64_t handle = irdma_handle(f->qp.id);

	fake_entry(f, 0, 0, CQE_OF_SRQ | CQE_EXTENDED);
	word_write(f->cqes + AT_EXTENSION + AT_SECOND, irdma_handle(9));
	fake_entry(f, 1, 0, CQE_SEND);
	irdma_cqs_clean(&f->qp);
	assert_int_equal(fake_word(f->cqes, 1), handle);
	assert_int_equal(fake_word(f->cqes, 9), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends),		cmocka_unit_test(test_strange),
		cmocka_unit_test(test_flush),		cmocka_unit_test(test_flush_nothing),
		cmocka_unit_test(test_flush_on_demand), cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_immediate),	cmocka_unit_test(test_shared),
		cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
