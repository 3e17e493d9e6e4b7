/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Send and receive on a reliable connection. */
#include <endian.h>

#include "tests/lib/rt.h"

static void send_one(struct rt_pair *pair, uint32_t length, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, seed, &sge);
	struct ibv_wc wc;

	rt_fill(pair->a.buf.p, length, seed);
	memset(pair->b.buf.p, 0, pair->b.buf.size);
	rt_recv(&pair->b, seed + 1, 0, pair->b.buf.size);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, seed, IBV_WC_SEND);
	wc = EXPECT(&pair->b, seed + 1, IBV_WC_RECV);
	CHECK_INT(wc.byte_len, length);
	CHECK_INT(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	VERIFY(pair->b.buf.p, length, seed);
	if (length < pair->b.buf.size)
		CHECK_INT(pair->b.buf.p[length], 0);
}

static void sizes(void)
{
	static const uint32_t lengths[] = { 0,	  1,	7,    64,   1023,  1024,  1025,
					    2048, 4095, 4096, 4097, 10000, 65535, 65536 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < RT_COUNT(lengths); i++)
		send_one(&pair, lengths[i], 10 * i);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void immediate(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_IMM, 1, &sge);
	struct ibv_wc wc;

	rt_skip_iwarp(dev, "this protocol has no immediate data");
	wr.imm_data = htobe32(0xdeadbeef);
	rt_recv(&pair.b, 2, 0, 100);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	wc = EXPECT(&pair.b, 2, IBV_WC_RECV);
	CHECK_INT(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	CHECK_INT(be32toh(wc.imm_data), 0xdeadbeef);
	CHECK_INT(wc.byte_len, 100);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Both sides send at once, until every ring has been used many times and the PSN has wrapped. */
static void ring_wrap(void)
{
	enum {
		MESSAGES = 500,
		LENGTH = 32
	};
	struct rt_options options = { .send_wr = 4, .recv_wr = 4, .cqe = 16 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct ibv_sge from_a = rt_sge(&pair.a, 0, LENGTH);
		struct ibv_sge from_b = rt_sge(&pair.b, 0, LENGTH);
		struct ibv_send_wr to_b = rt_wr(IBV_WR_SEND, i, &from_a);
		struct ibv_send_wr to_a = rt_wr(IBV_WR_SEND, i, &from_b);

		rt_fill(pair.a.buf.p, LENGTH, i);
		rt_fill(pair.b.buf.p, LENGTH, i + 1);
		rt_recv(&pair.a, i, LENGTH, LENGTH);
		rt_recv(&pair.b, i, LENGTH, LENGTH);
		POST(&pair.a, &to_b);
		POST(&pair.b, &to_a);
		for (int k = 0; k < 2; k++) {
			CHECK_INT(rt_wait(&pair.a).wr_id, i);
			CHECK_INT(rt_wait(&pair.b).wr_id, i);
		}
		VERIFY(pair.b.buf.p + LENGTH, LENGTH, i);
		VERIFY(pair.a.buf.p + LENGTH, LENGTH, i + 1);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Return the depth of the largest queues, up to 16500. A device may have less than max_qp_wr,
 * because a request takes several of its places. */
static uint32_t depth_find(const struct rt_dev *dev)
{
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 1, NULL, NULL, 0);
	uint32_t most = dev->attr.orig_attr.max_qp_wr, depth = most < 16500 ? most : 16500;
	struct ibv_qp *qp = NULL;

	CHECK(cq);
	for (; !qp; depth /= qp ? 1 : 2) {
		struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
						 .send_cq = cq,
						 .recv_cq = cq,
						 .cap = { depth, depth, 1, 1, 0 } };

		CHECK(depth);
		qp = ibv_create_qp(dev->pd, &attr);
	}
	CHECK_OK(ibv_destroy_qp(qp));
	CHECK_OK(ibv_destroy_cq(cq));
	return depth;
}

/* Requests go round rings of the largest size. */
static void largest(void)
{
	enum {
		SPARE = 512, /* a ring may have so many requests more than requested */
		COUNT = 1000
	};
	struct rt_dev *dev = rt_open();
	uint32_t depth = depth_find(dev);
	struct rt_options options = { .send_wr = depth, .recv_wr = depth, .cqe = COUNT };
	struct rt_pair pair;
	struct ibv_sge sge;
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 0, &sge);

	if (depth < COUNT)
		rt_skip("the largest queue has %u places, fewer than a list of this case", depth);
	pair = rt_pair_open(dev, &options);
	sge = rt_sge(&pair.a, 0, 8);
	for (uint32_t i = 0; i < depth + SPARE; i += COUNT) {
		for (uint32_t n = i; n < i + COUNT; n++) {
			rt_recv(&pair.b, n, 0, 8);
			wr.wr_id = n;
			wr.send_flags = n == i + COUNT - 1 ? IBV_SEND_SIGNALED : 0;
			POST(&pair.a, &wr);
		}
		EXPECT(&pair.a, i + COUNT - 1, IBV_WC_SEND);
		for (uint32_t n = i; n < i + COUNT; n++)
			EXPECT(&pair.b, n, IBV_WC_RECV);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* One call posts a list; the requests arrive in order. */
static void list(void)
{
	enum {
		COUNT = 16,
		LENGTH = 50
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge[COUNT];
	struct ibv_send_wr wr[COUNT];

	rt_fill(pair.a.buf.p, COUNT * LENGTH, 1);
	for (int i = 0; i < COUNT; i++) {
		rt_recv(&pair.b, 100 + i, i * LENGTH, LENGTH);
		sge[i] = rt_sge(&pair.a, i * LENGTH, LENGTH);
		wr[i] = rt_wr(IBV_WR_SEND, i, &sge[i]);
		wr[i].next = i + 1 < COUNT ? &wr[i + 1] : NULL;
	}
	POST(&pair.a, wr);
	for (int i = 0; i < COUNT; i++)
		EXPECT(&pair.a, i, IBV_WC_SEND);
	for (int i = 0; i < COUNT; i++)
		EXPECT(&pair.b, 100 + i, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, COUNT * LENGTH, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Only the signalled one completes. */
static void unsignalled(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);

	for (int i = 0; i < 8; i++)
		rt_recv(&pair.b, i, 0, 10);
	for (int i = 0; i < 8; i++) {
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		if (i < 7)
			wr.send_flags = 0;
		POST(&pair.a, &wr);
	}
	EXPECT(&pair.a, 7, IBV_WC_SEND);
	EXPECT_NONE(&pair.a);
	for (int i = 0; i < 8; i++)
		EXPECT(&pair.b, i, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void sig_all(void)
{
	struct rt_options options = { .sig_all = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	wr.send_flags = 0;
	rt_recv(&pair.b, 2, 0, 10);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Without a receive the sender waits (RNR, retried for ever) and the message is not lost. */
static void late_receive(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 1000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	if (rt_is_rxe(dev) && !rt_kernel_since(6, 1))
		rt_skip("this kernel's rxe tries again for ever inside the system call");
	rt_skip_iwarp(dev, "a send completes when TCP has it");
	rt_fill(pair.a.buf.p, 1000, 3);
	POST(&pair.a, &wr);
	usleep(20000);
	EXPECT_NONE(&pair.a);
	rt_recv(&pair.b, 2, 0, 1000);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 1000, 3);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A QP connected to itself. */
static void loopback(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);
	struct ibv_sge sge = rt_sge(&side, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_side_connect(&side, &self);
	rt_fill(side.buf.p, 100, 4);
	rt_recv(&side, 2, 1000, 100);
	POST(&side, &wr);
	CHECK_INT(rt_wait(&side).wr_id + rt_wait(&side).wr_id, 3);
	VERIFY(side.buf.p + 1000, 100, 4);
	rt_side_close(&side);
	rt_close(dev);
}

/* A queue pair may be created without a queue that it does not use. */
static void one_way(void)
{
	struct rt_options sender = { .recv_wr = RT_NONE }, receiver = { .send_wr = RT_NONE };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = { rt_side_open(dev, &sender, NULL),
				rt_side_open(dev, &receiver, NULL) };

	rt_pair_connect(&pair);
	for (int i = 0; i < 40; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 5000);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		rt_fill(pair.a.buf.p, 5000, i);
		rt_recv(&pair.b, 100 + i, 0, 5000);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_SEND);
		EXPECT(&pair.b, 100 + i, IBV_WC_RECV);
		VERIFY(pair.b.buf.p, 5000, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sizes", sizes },	    { "immediate", immediate },
	{ "ring_wrap", ring_wrap }, { "largest", largest },
	{ "list", list },	    { "unsignalled", unsignalled },
	{ "sig_all", sig_all },	    { "late_receive", late_receive },
	{ "loopback", loopback },   { "one_way", one_way },
};
RT_MAIN(cases)
