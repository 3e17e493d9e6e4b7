/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues: several QPs take from one, its limit event, resize. */
#include <poll.h>

#include "tests/lib/rt.h"

static const struct rt_options with_srq = { .srq = true };

static void send_small(struct rt_side *side, uint64_t wr_id)
{
	struct ibv_sge sge = rt_sge(side, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, wr_id, &sge);

	POST(side, &wr);
	EXPECT(side, wr_id, IBV_WC_SEND);
}

/* Each message takes the receive that was posted first. The QP does not matter. */
static void shared(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_srq);

	for (int i = 0; i < 100; i++) {
		struct rt_side *from = i % 3 ? &pair.a : &pair.b;
		struct rt_side *to = i % 3 ? &pair.b : &pair.a;

		rt_fill(from->buf.p, 64, i);
		/* All receives use the buffer of side a, for messages of any QP. */
		rt_recv(&pair.a, i, 1000, 64);
		send_small(from, 1000 + i);
		EXPECT(to, i, IBV_WC_RECV);
		VERIFY(pair.a.buf.p + 1000, 64, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void attributes(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 10, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(dev->pd, &init);
	struct ibv_srq_attr attr = {};

	if (!srq && errno == EOPNOTSUPP)
		rt_skip("the device has no shared receive queues");
	CHECK(srq);
	CHECK(init.attr.max_wr >= 10 && init.attr.max_sge >= 2);
	CHECK_OK(ibv_query_srq(srq, &attr));
	CHECK(attr.max_wr >= init.attr.max_wr && attr.max_sge >= init.attr.max_sge);
	CHECK_INT(attr.srq_limit, 0);
	attr.srq_limit = 5;
	CHECK_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr.srq_limit = 0;
	CHECK_OK(ibv_query_srq(srq, &attr));
	CHECK_INT(attr.srq_limit, 5);
	CHECK_OK(ibv_destroy_srq(srq));
	rt_close(dev);
}

static bool has_event(struct rt_dev *dev)
{
	struct pollfd pfd = { .fd = dev->ctx->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* One event if fewer receives than the limit are left, none before; at most one with siw. */
static void limit(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_srq);
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_async_event event;

	for (int i = 0; i < 5; i++)
		rt_recv(&pair.a, i, 0, 64);
	CHECK_OK(ibv_modify_srq(pair.a.srq, &attr, IBV_SRQ_LIMIT));
	for (int i = 0; i < 3; i++) {
		CHECK(!has_event(dev) || (i == 2 && rt_is_iwarp(dev)));
		send_small(&pair.a, 100 + i);
	}
	event = EXPECT_EVENT(dev, IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == pair.a.srq);
	/* The limit is used up: it is 0 again. siw does not report that. */
	CHECK_OK(ibv_query_srq(pair.a.srq, &attr));
	CHECK(!attr.srq_limit || rt_is_iwarp(dev));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Receives posted before a resize are used after it, and the new room is available. */
static void resize(void)
{
	struct rt_options options = { .srq = true, .recv_wr = 4 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_srq_attr attr = { .max_wr = 64 };
	int r;

	for (int i = 0; i < 3; i++)
		rt_recv(&pair.a, i, 100 * i, 64);
	r = ibv_modify_srq(pair.a.srq, &attr, IBV_SRQ_MAX_WR);
	if (r == EOPNOTSUPP || !(dev->attr.orig_attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		rt_skip("the device does not resize shared receive queues");
	CHECK_OK(r);
	for (int i = 3; i < 60; i++)
		rt_recv(&pair.a, i, 100 * i, 64);
	for (int i = 0; i < 60; i++) {
		rt_fill(pair.b.buf.p, 64, i);
		send_small(&pair.b, i);
		EXPECT(&pair.a, i, IBV_WC_RECV);
		VERIFY(pair.a.buf.p + 100 * i, 64, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void full(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_srq);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad_wr = NULL;
	struct ibv_srq_attr attr;
	uint32_t posted = 0;
	int r;

	CHECK_OK(ibv_query_srq(pair.a.srq, &attr));
	while (!(r = ibv_post_srq_recv(pair.a.srq, &wr, &bad_wr)))
		CHECK(++posted <= 2 * attr.max_wr);
	CHECK_INT(r, ENOMEM);
	CHECK(bad_wr == &wr);
	CHECK(posted >= 16);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A QP with an SRQ has no receive queue of its own. */
static void not_on_qp(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_srq);
	struct ibv_recv_wr wr = {}, *bad_wr = NULL;

	CHECK_INT(ibv_post_recv(pair.a.qp, &wr, &bad_wr), EINVAL);
	CHECK_INT(ibv_destroy_srq(pair.a.srq), EBUSY);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void expect_attr(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr now;

	CHECK_OK(ibv_query_srq(srq, &now));
	CHECK_INT(now.max_wr, max_wr);
	CHECK_INT(now.srq_limit, limit);
}

static void refuse_modify(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	CHECK_INT(ibv_modify_srq(srq, &attr, mask), EINVAL);
}

/* If a change of size or limit is refused, both are unchanged. A limit never exceeds the size. */
static void refused_whole(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_srq *srq;

	if (rt_is_kernel(dev))
		rt_skip("the kernel's devices do as they do");
	srq = ibv_create_srq(dev->pd, &init);
	CHECK(srq);
	refuse_modify(srq, 0, 0, IBV_SRQ_MAX_WR);
	CHECK_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	expect_attr(srq, init.attr.max_wr, 8);
	refuse_modify(srq, 4, 0, IBV_SRQ_MAX_WR);
	refuse_modify(srq, 4, 5, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
	refuse_modify(srq, dev->attr.orig_attr.max_srq_wr + 1, 3, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
	expect_attr(srq, init.attr.max_wr, 8);
	attr = (struct ibv_srq_attr){ .max_wr = 4, .srq_limit = 4 };
	CHECK_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	CHECK_OK(ibv_query_srq(srq, &attr));
	CHECK_INT(attr.srq_limit, 4);
	CHECK_OK(ibv_destroy_srq(srq));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "shared", shared },
	{ "attributes", attributes },
	{ "limit", limit },
	{ "resize", resize },
	{ "full", full },
	{ "not_on_qp", not_on_qp },
	{ "refused_whole", refused_whole },
};
RT_MAIN(cases)
