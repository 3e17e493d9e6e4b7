/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Resizing a completion queue, empty and with completions in it. */
#include "tests/lib/rt.h"

static void complete(struct rt_pair *pair, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		struct ibv_sge sge = rt_sge(&pair->a, 0, 10);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);

		rt_wr_remote(&wr, &pair->b, 0);
		POST(&pair->a, &wr);
	}
}

/* The same, but the completions stay in the queue: each of them raises an event. */
static void fill(struct rt_pair *pair, int from, int to)
{
	for (int i = from; i < to; i++) {
		struct ibv_cq *cq;
		void *context;

		CHECK_OK(ibv_req_notify_cq(pair->a.cq, 0));
		complete(pair, i, i + 1);
		CHECK_OK(ibv_get_cq_event(pair->a.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

static int resize(struct rt_pair *pair, int cqe)
{
	int r = ibv_resize_cq(pair->a.cq, cqe);

	if (r == EOPNOTSUPP || r == ENOSYS)
		rt_skip("the device does not resize completion queues");
	return r;
}

static void grow(void)
{
	struct rt_options options = { .cqe = 8, .send_wr = 64, .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	fill(&pair, 0, 5);
	CHECK_OK(resize(&pair, 100));
	CHECK(pair.a.cq->cqe >= 100);
	complete(&pair, 5, 50);
	for (int i = 0; i < 50; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void shrink(void)
{
	struct rt_options options = { .cqe = 200, .send_wr = 64, .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	fill(&pair, 0, 10);
	for (int i = 0; i < 3; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	CHECK_OK(resize(&pair, 20));
	CHECK(pair.a.cq->cqe >= 20);
	for (int i = 3; i < 10; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	complete(&pair, 10, 20);
	for (int i = 10; i < 20; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The completions in the queue must fit, and a refused resize changes nothing. */
static void too_small(void)
{
	struct rt_options options = { .cqe = 200, .send_wr = 64, .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	fill(&pair, 0, 40);
	CHECK_INT(resize(&pair, 4), EINVAL);
	for (int i = 0; i < 40; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	CHECK(pair.a.cq->cqe >= 200);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The requested size counts, however far the device has rounded it up, and no completion is
 * lost. */
static void below_waiting(void)
{
	struct rt_options options = { .cqe = 8, .send_wr = 64, .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	int cqe = pair.a.cq->cqe;

	if (rt_is_kernel(dev) && !rt_is_rxe(dev))
		rt_skip("an adapter counts the places of its ring");
	fill(&pair, 0, 6);
	CHECK_INT(resize(&pair, 5), EINVAL);
	CHECK_INT(resize(&pair, 1), EINVAL);
	CHECK_INT(pair.a.cq->cqe, cqe);
	EXPECT(&pair.a, 0, IBV_WC_RDMA_WRITE);
	CHECK_OK(resize(&pair, 5));
	for (int i = 1; i < 6; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	EXPECT_NONE(&pair.a);
	CHECK_OK(resize(&pair, 1));
	complete(&pair, 6, 7);
	EXPECT(&pair.a, 6, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void out_of_range(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	CHECK_INT(resize(&pair, 0), EINVAL);
	CHECK_INT(resize(&pair, -1), EINVAL);
	CHECK_INT(resize(&pair, dev->attr.orig_attr.max_cqe + 1), EINVAL);
	complete(&pair, 0, 1);
	EXPECT(&pair.a, 0, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Resize many times while completions arrive. */
static void under_load(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 200; i++) {
		complete(&pair, 2 * i, 2 * i + 2);
		CHECK_OK(resize(&pair, i % 2 ? 30 : 300));
		EXPECT(&pair.a, 2 * i, IBV_WC_RDMA_WRITE);
		EXPECT(&pair.a, 2 * i + 1, IBV_WC_RDMA_WRITE);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "grow", grow },
	{ "shrink", shrink },
	{ "too_small", too_small },
	{ "below_waiting", below_waiting },
	{ "out_of_range", out_of_range },
	{ "under_load", under_load },
};
RT_MAIN(cases)
