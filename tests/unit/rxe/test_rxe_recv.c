/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/rxe/fake.h"

#define STALE 0xa5

static struct ibv_sge one_sge = { .addr = 0x8000, .length = 0x400, .lkey = 0x300 };

static void test_bytes(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &one_sge, .num_sge = 1 };
	struct ibv_recv_wr *bad_wr = &wr;

	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, &wr, &bad_wr), 0);
	assert_null(bad_wr);
	assert_memory_equal(fake_slot(&f->qp.rq.queue, 0, 0), "\x09\0\0\0\0\0\0\0", 8);
	assert_memory_equal(fake_slot(&f->qp.rq.queue, 0, 0x10),
			    "\0\4\0\0\0\4\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 20);
	assert_memory_equal(fake_slot(&f->qp.rq.queue, 0, 0x28),
			    "\0\x80\0\0\0\0\0\0\0\4\0\0\0\3\0\0", 16);
	assert_int_equal(f->qp.rq.queue.buf->producer_index, 1);
	fake_free(f);
}

static void test_full(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_recv_wr wr[4], *bad_wr;

	for (int i = 0; i < 4; i++)
		wr[i] = (struct ibv_recv_wr){ .wr_id = i, .next = i < 3 ? &wr[i + 1] : NULL };
	f->qp.rq.queue.buf->producer_index = f->qp.rq.queue.buf->consumer_index = 2;
	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, wr, &bad_wr), ENOMEM);
	assert_ptr_equal(bad_wr, &wr[3]);
	assert_int_equal(f->qp.rq.queue.buf->producer_index, 1);
	f->qp.rq.queue.buf->consumer_index = 3;
	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, &wr[3], &bad_wr), 0);
	assert_int_equal(f->qp.rq.queue.buf->producer_index, 2);
	fake_free(f);
}

static void recv_refused(struct fake *f, struct ibv_recv_wr *wr, int expected)
{
	struct ibv_recv_wr *bad_wr = NULL;

	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, wr, &bad_wr), expected);
	assert_ptr_equal(bad_wr, wr);
	assert_int_equal(f->qp.rq.queue.buf->producer_index, 0);
}

static void test_refusals(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct ibv_sge sge[3] = {};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 3 }, *bad_wr;
	struct rxe_queue_buf *buf = f->qp.rq.queue.buf;

	recv_refused(f, &wr, EINVAL);
	wr.num_sge = -1;
	recv_refused(f, &wr, EINVAL);
	wr.num_sge = 2;
	sge[0].length = sge[1].length = UINT32_MAX;
	recv_refused(f, &wr, EINVAL);
	wr.sg_list = NULL;
	recv_refused(f, &wr, EINVAL);
	wr.num_sge = 0;
	f->qp.vqp.qp.state = IBV_QPS_RESET;
	recv_refused(f, &wr, EINVAL);
	f->qp.vqp.qp.state = IBV_QPS_INIT;
	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, NULL, &bad_wr), EINVAL);
	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, &wr, NULL), EINVAL);
	/* With an SRQ the QP has no ring of its own. */
	f->qp.rq.queue.buf = NULL;
	assert_int_equal(rxe_post_recv(&f->qp.vqp.qp, &wr, &bad_wr), EINVAL);
	f->qp.rq.queue.buf = buf;
	fake_free(f);
}

static void test_srq(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, STALE);
	struct rxe_srq srq = {
		.vsrq.srq.context = &f->vctx.context,
		.rq = { .max_sge = 1, .queue = fake_queue(2, 7, STALE) },
	};
	struct ibv_recv_wr second = { .wr_id = 10, .sg_list = &one_sge, .num_sge = 1 };
	struct ibv_recv_wr first = { .wr_id = 9, .next = &second }, *bad_wr;

	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, &first, &bad_wr), ENOMEM);
	assert_ptr_equal(bad_wr, &second);
	srq.rq.queue.buf->consumer_index = 1;
	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, &second, &bad_wr), 0);
	assert_int_equal(fake_u64(&srq.rq.queue, 1, 0), 10);
	assert_int_equal(srq.rq.queue.buf->producer_index, 0);
	srq.rq.queue.buf->consumer_index = 0;
	second.num_sge = 2;
	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, &second, &bad_wr), EINVAL);
	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, NULL, &bad_wr), 0);
	assert_null(bad_wr);
	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, NULL, NULL), 0);
	assert_int_equal(rxe_post_srq_recv(&srq.vsrq.srq, &second, NULL), EINVAL);
	free(srq.rq.queue.buf);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
