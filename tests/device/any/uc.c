/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unreliable connections: send and write; nothing is acknowledged. */
#include <endian.h>

#include "tests/lib/rt.h"

static const struct rt_options uc = { .type = IBV_QPT_UC };

static void sizes(void)
{
	static const uint32_t lengths[] = { 0, 1, 1024, 1025, 5000, 65536 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &uc);

	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, lengths[i]);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_IMM, i, &sge);
		struct ibv_wc wc;

		wr.imm_data = htobe32(i);
		rt_fill(pair.a.buf.p, lengths[i], i);
		rt_recv(&pair.b, 100 + i, 0, 65536);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_SEND);
		wc = EXPECT(&pair.b, 100 + i, IBV_WC_RECV);
		CHECK_INT(wc.byte_len, lengths[i]);
		CHECK_INT(be32toh(wc.imm_data), i);
		VERIFY(pair.b.buf.p, lengths[i], i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The immediate data tells the receiver that the write is complete. */
static void write_imm(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &uc);

	for (int i = 0; i < 10; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 6000);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, i, &sge);

		rt_fill(pair.a.buf.p, 6000, i);
		rt_wr_remote(&wr, &pair.b, 10);
		rt_recv(&pair.b, i, 60000, 1);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		EXPECT(&pair.b, i, IBV_WC_RECV_RDMA_WITH_IMM);
		VERIFY(pair.b.buf.p + 10, 6000, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A send succeeds without a receive; the next message with a receive arrives. A write behind the
 * lost message, which needs no receive, shows that the other side has handled both. */
static void lost(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &uc);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100), mark = rt_sge(&pair.a, 1000, 1);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge),
			   write = rt_wr(IBV_WR_RDMA_WRITE, 3, &mark);

	pair.a.buf.p[1000] = 1;
	rt_wr_remote(&write, &pair.b, 1000);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	POST(&pair.a, &write);
	EXPECT(&pair.a, 3, IBV_WC_RDMA_WRITE);
	while (!*(volatile uint8_t *)&pair.b.buf.p[1000])
		usleep(100);
	EXPECT_NONE(&pair.b);
	rt_fill(pair.a.buf.p, 100, 9);
	rt_recv(&pair.b, 2, 0, 100);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 100, 9);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Operations that a UC QP does not have are refused, or complete in error. */
static void no_read(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &uc);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_READ, 1, &sge), *bad_wr;
	int r;

	rt_wr_remote(&wr, &pair.b, 0);
	r = ibv_post_send(pair.a.qp, &wr, &bad_wr);
	if (r)
		CHECK_INT(r, EINVAL);
	else
		CHECK(rt_wait(&pair.a).status != IBV_WC_SUCCESS);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sizes", sizes },
	{ "write_imm", write_imm },
	{ "lost", lost },
	{ "no_read", no_read },
};
RT_MAIN(cases)
