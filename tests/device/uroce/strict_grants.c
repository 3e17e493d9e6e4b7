/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strict mode: queues have exactly the entries that were asked for. */
#include <errno.h>

#include "tests/device/uroce/strict.h"

enum {
	ENTRIES = 3, /* no power of two */
};

static const struct rt_options small = {
	.send_wr = ENTRIES, .recv_wr = ENTRIES, .cqe = ENTRIES, .inline_data = 8
};

/* --- what is granted --- */

static void cap_check(const struct ibv_qp_cap *cap)
{
	CHECK_INT(cap->max_send_wr, ENTRIES);
	CHECK_INT(cap->max_recv_wr, ENTRIES);
	CHECK_INT(cap->max_send_sge, 1);
	CHECK_INT(cap->max_recv_sge, 1);
	CHECK_INT(cap->max_inline_data, 8);
}

static void numbers(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &small);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = ENTRIES, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(dev->pd, &init);
	struct ibv_qp_init_attr attrs;
	struct ibv_srq_attr srq_attr;
	struct ibv_qp_attr attr;

	CHECK_INT(pair.a.cq->cqe, ENTRIES);
	CHECK_OK(ibv_query_qp(pair.a.qp, &attr, IBV_QP_CAP, &attrs));
	cap_check(&attr.cap);
	cap_check(&attrs.cap);
	CHECK(srq);
	CHECK_INT(init.attr.max_wr, ENTRIES);
	CHECK_OK(ibv_query_srq(srq, &srq_attr));
	CHECK_INT(srq_attr.max_wr, ENTRIES);
	CHECK_OK(ibv_destroy_srq(srq));
	CHECK_OK(ibv_resize_cq(pair.a.cq, ENTRIES + 2));
	CHECK_INT(pair.a.cq->cqe, ENTRIES + 2);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* --- more than that --- */

static void send_more(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &small);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 9);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge), *bad;

	rt_wr_remote(&wr, &pair.b, 0);
	wr.send_flags |= IBV_SEND_INLINE;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad), EINVAL);
	EXPECT_LINE("9 bytes inline, the QP's max_inline_data is 8");
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.num_sge = 2;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad), EINVAL);
	wr.num_sge = 1;
	for (int i = 0; i < ENTRIES; i++)
		POST(&pair.a, &wr);
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad), ENOMEM);
	EXPECT_LINE("ibv_post_send: send queue full: all 3 entries wait");
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	POST(&pair.a, &wr);
	for (int i = 0; i < ENTRIES; i++)
		EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* An entry is free when the program has the completion, not when the message has come. */
static void receive_more(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &small);
	struct ibv_sge from = rt_sge(&pair.a, 0, 8), to = rt_sge(&pair.b, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &from);
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &to, .num_sge = 1 }, *bad;

	for (int i = 0; i < ENTRIES; i++)
		CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_INT(ibv_post_recv(pair.b.qp, &recv, &bad), ENOMEM);
	CHECK(bad == &recv);
	EXPECT_LINE("ibv_post_recv: receive queue full: all 3 entries wait");
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* The ibv_wr_* family writes behind the ring when the queue is full. */
static void build_more(void)
{
	struct rt_options options = small;
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair;

	options.send_ops = IBV_QP_EX_WITH_RDMA_WRITE;
	pair = rt_pair_open(dev, &options);
	for (int n = ENTRIES + 1; n >= ENTRIES; n--) {
		ibv_wr_start(pair.a.qpx);
		for (int i = 0; i < n; i++) {
			pair.a.qpx->wr_id = i;
			pair.a.qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, (uintptr_t)pair.b.buf.p);
			ibv_wr_set_sge(pair.a.qpx, pair.a.buf.mr->lkey, (uintptr_t)pair.a.buf.p, 8);
		}
		CHECK_INT(ibv_wr_complete(pair.a.qpx), n > ENTRIES ? ENOMEM : 0);
	}
	for (int i = 0; i < ENTRIES; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* The program destroys a completion queue that has lost completions, and never polls it. */
static void complete_more(void)
{
	struct rt_options options = { .send_wr = 2 * ENTRIES, .cqe = ENTRIES };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	struct ibv_async_event event;

	rt_wr_remote(&wr, &pair.b, 0);
	for (int i = 0; i < ENTRIES; i++)
		POST(&pair.a, &wr);
	for (int i = 0; i < ENTRIES; i++)
		EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	expect_clean();
	for (int i = 0; i < ENTRIES + 1; i++)
		POST(&pair.a, &wr);
	for (int i = 0; i < 2; i++) { /* of the completion queue, and of the queue pair */
		CHECK_OK(ibv_get_async_event(dev->ctx, &event));
		ibv_ack_async_event(&event);
	}
	rt_pair_close(&pair);
	EXPECT_LINE("ibv_destroy_cq: completions are lost because more than 3 waited");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static const struct rt_case cases[] = {
	{ "numbers", numbers },
	{ "send more", send_more },
	{ "receive more", receive_more },
	{ "build more", build_more },
	{ "complete more", complete_more },
};
RT_MAIN(cases)
