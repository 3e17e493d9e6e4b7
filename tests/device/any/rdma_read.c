/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA read. */
#include "tests/lib/rt.h"

static void sizes(void)
{
	static const uint32_t lengths[] = { 0,	  1,	7,    64,    1023,  1024, 1025,
					    2047, 4096, 4097, 10000, 65535, 65536 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, lengths[i]);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, i, &sge);
		struct ibv_wc wc;

		rt_fill(pair.b.buf.p, lengths[i], i);
		memset(pair.a.buf.p, 0, pair.a.buf.size);
		rt_wr_remote(&wr, &pair.b, 0);
		POST(&pair.a, &wr);
		wc = EXPECT(&pair.a, i, IBV_WC_RDMA_READ);
		CHECK_INT(wc.byte_len, lengths[i]);
		VERIFY(pair.a.buf.p, lengths[i], i);
		if (lengths[i] < pair.a.buf.size)
			CHECK_INT(pair.a.buf.p[lengths[i]], 0);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* More reads posted than may be outstanding. */
static void outstanding(uint8_t rd_atomic)
{
	enum {
		COUNT = 16,
		LENGTH = 3000
	};
	struct rt_options options = { .rd_atomic = rd_atomic };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair;

	if (rd_atomic > dev->attr.orig_attr.max_qp_rd_atom)
		rt_skip("the device has at most %d reads outstanding",
			dev->attr.orig_attr.max_qp_rd_atom);
	pair = rt_pair_open(dev, &options);
	rt_fill(pair.b.buf.p, COUNT * LENGTH, 1);
	for (int i = 0; i < COUNT; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, i * LENGTH, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, i, &sge);

		rt_wr_remote(&wr, &pair.b, i * LENGTH);
		POST(&pair.a, &wr);
	}
	for (int i = 0; i < COUNT; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_READ);
	VERIFY(pair.a.buf.p, COUNT * LENGTH, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void outstanding_1(void)
{
	outstanding(1);
}

static void outstanding_4(void)
{
	outstanding(4);
}

static void outstanding_16(void)
{
	outstanding(16);
}

/* The fenced send waits for the read before it, and therefore carries the data that was read. */
static void fence(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 20; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 5000);
		struct ibv_send_wr send = rt_wr(IBV_WR_SEND, 2, &sge);
		struct ibv_send_wr read = rt_wr(IBV_WR_RDMA_READ, 1, &sge);

		rt_fill(pair.b.buf.p, 5000, i);
		rt_recv(&pair.b, 3, 10000, 5000);
		rt_wr_remote(&read, &pair.b, 0);
		read.next = &send;
		send.send_flags |= IBV_SEND_FENCE;
		POST(&pair.a, &read);
		EXPECT(&pair.a, 1, IBV_WC_RDMA_READ);
		EXPECT(&pair.a, 2, IBV_WC_SEND);
		EXPECT(&pair.b, 3, IBV_WC_RECV);
		VERIFY(pair.b.buf.p + 10000, 5000, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sizes", sizes },
	{ "outstanding_1", outstanding_1 },
	{ "outstanding_4", outstanding_4 },
	{ "outstanding_16", outstanding_16 },
	{ "fence", fence },
};
RT_MAIN(cases)
