/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA write, with and without immediate data. */
#include <endian.h>

#include "tests/lib/rt.h"

static void sizes(void)
{
	static const uint32_t lengths[] = { 0,	  1,	3,    8,    64,	   1023,  1024, 1025,
					    2048, 4096, 4097, 9999, 16384, 65535, 65536 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, lengths[i]);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);

		rt_fill(pair.a.buf.p, lengths[i], i);
		memset(pair.b.buf.p, 0, pair.b.buf.size);
		rt_wr_remote(&wr, &pair.b, 0);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		VERIFY(pair.b.buf.p, lengths[i], i);
		if (lengths[i] < pair.b.buf.size)
			CHECK_INT(pair.b.buf.p[lengths[i]], 0);
	}
	EXPECT_NONE(&pair.b);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Every alignment of source and target. */
static void offsets(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 16; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, i, 1500);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);
		int to = 4096 - 700 + 3 * i;

		rt_fill(pair.a.buf.p + i, 1500, i);
		memset(pair.b.buf.p, 0, 8192);
		rt_wr_remote(&wr, &pair.b, to);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		VERIFY(pair.b.buf.p + to, 1500, i);
		CHECK_INT(pair.b.buf.p[to - 1], 0);
		CHECK_INT(pair.b.buf.p[to + 1500], 0);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void immediate(void)
{
	static const uint32_t lengths[] = { 0, 5, 1024, 5000 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	rt_skip_iwarp(dev, "this protocol has no immediate data");
	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, lengths[i]);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, i, &sge);
		struct ibv_wc wc;

		rt_fill(pair.a.buf.p, lengths[i], i);
		rt_wr_remote(&wr, &pair.b, 100);
		wr.imm_data = htobe32(i);
		rt_recv(&pair.b, 50 + i, 60000, 1);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		wc = EXPECT(&pair.b, 50 + i, IBV_WC_RECV_RDMA_WITH_IMM);
		CHECK_INT(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
		CHECK_INT(be32toh(wc.imm_data), i);
		CHECK_INT(wc.byte_len, lengths[i]);
		VERIFY(pair.b.buf.p + 100, lengths[i], i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Writes with immediate data keep their order with earlier requests on any path. */
static void overlapping(void)
{
	static const uint32_t lengths[] = { 100, 40000, 1000, 65536, 32768, 7 };
	struct rt_options options = { .size = 1 << 20 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	rt_skip_iwarp(dev, "this protocol has no immediate data");
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < RT_COUNT(lengths); i++) {
			struct ibv_sge sge = rt_sge(&pair.a, i * 65536, lengths[i]);
			struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, i, &sge);

			rt_fill(pair.a.buf.p + i * 65536, lengths[i], round * 10 + i);
			rt_wr_remote(&wr, &pair.b, 0);
			wr.imm_data = htobe32(i);
			rt_recv(&pair.b, 50 + i, 1 << 19, 1);
			POST(&pair.a, &wr);
		}
		for (int i = 0; i < RT_COUNT(lengths); i++) {
			EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
			CHECK_INT(EXPECT(&pair.b, 50 + i, IBV_WC_RECV_RDMA_WITH_IMM).byte_len,
				  lengths[i]);
		}
		VERIFY(pair.b.buf.p, 7, round * 10 + 5);
		CHECK(!memcmp(pair.b.buf.p + 7, pair.a.buf.p + 4 * 65536 + 7, 32768 - 7));
		CHECK(!memcmp(pair.b.buf.p + 32768, pair.a.buf.p + 3 * 65536 + 32768, 32768));
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A long write whose receive comes late. */
static void late_receive(void)
{
	struct rt_options options = { .size = 1 << 18 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 1 << 17);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &sge);

	rt_skip_iwarp(dev, "this protocol has no immediate data");
	rt_fill(pair.a.buf.p, sge.length, 5);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	usleep(20000);
	EXPECT_NONE(&pair.b);
	rt_recv(&pair.b, 2, 1 << 17, 1);
	CHECK_INT(EXPECT(&pair.b, 2, IBV_WC_RECV_RDMA_WITH_IMM).byte_len, sge.length);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p, sge.length, 5);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A write and the send behind it arrive in order: the send's receiver sees the data. */
static void write_then_send(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 50; i++) {
		struct ibv_sge data = rt_sge(&pair.a, 0, 20000), note = rt_sge(&pair.a, 0, 1);
		struct ibv_send_wr send = rt_wr(IBV_WR_SEND, i, &note);
		struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 99, &data);

		write.send_flags = 0;
		write.next = &send;
		rt_wr_remote(&write, &pair.b, 0);
		rt_fill(pair.a.buf.p, 20000, i);
		rt_recv(&pair.b, i, 60000, 1);
		POST(&pair.a, &write);
		EXPECT(&pair.b, i, IBV_WC_RECV);
		VERIFY(pair.b.buf.p, 20000, i);
		EXPECT(&pair.a, i, IBV_WC_SEND);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void large(void)
{
	struct rt_options options = { .size = 2 << 20 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, options.size);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(pair.a.buf.p, options.size, 6);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p, options.size, 6);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sizes", sizes },
	{ "offsets", offsets },
	{ "immediate", immediate },
	{ "write_then_send", write_then_send },
	{ "large", large },
	{ "overlapping", overlapping },
	{ "late_receive", late_receive },
};
RT_MAIN(cases)
