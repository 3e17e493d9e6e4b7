/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inline data and scatter/gather lists, up to and beyond the limits of the QP. */
#include "tests/lib/rt.h"

static struct ibv_qp_cap caps(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	CHECK_INT(attr.cap.max_inline_data, init.cap.max_inline_data);
	return init.cap;
}

/* Send from memory that is not registered and is overwritten after the call. */
static void send_inline(struct rt_pair *pair, uint32_t length, int seed)
{
	uint8_t *bytes = malloc(length + 1);
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = length };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(bytes, length, seed);
	wr.send_flags |= IBV_SEND_INLINE;
	rt_recv(&pair->b, 2, 0, 65536);
	POST(&pair->a, &wr);
	memset(bytes, 0xff, length);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair->b, 2, IBV_WC_RECV).byte_len, length);
	VERIFY(pair->b.buf.p, length, seed);
	free(bytes);
}

static void inline_sizes(void)
{
	struct rt_options options = { .inline_data = 200 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	uint32_t max = caps(pair.a.qp).max_inline_data;

	CHECK(max >= 200);
	for (uint32_t length = 0; length <= max; length += length < 70 ? 1 : 13)
		send_inline(&pair, length, length);
	send_inline(&pair, max, 5);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void inline_write(void)
{
	struct rt_options options = { .inline_data = 64 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	uint8_t bytes[64];
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = 64 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(bytes, 64, 4);
	wr.send_flags |= IBV_SEND_INLINE;
	rt_wr_remote(&wr, &pair.b, 100);
	POST(&pair.a, &wr);
	memset(bytes, 0, 64);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p + 100, 64, 4);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void inline_gather(void)
{
	struct rt_options options = { .inline_data = 100, .sge = 4 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	uint8_t bytes[100];
	struct ibv_sge list[] = { { (uintptr_t)bytes, 33, 0 },
				  { (uintptr_t)bytes + 33, 0, 0 },
				  { (uintptr_t)bytes + 33, 1, 0 },
				  { (uintptr_t)bytes + 34, 66, 0 } };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, list);

	rt_fill(bytes, 100, 9);
	wr.num_sge = 4;
	wr.send_flags |= IBV_SEND_INLINE;
	rt_recv(&pair.b, 2, 0, 100);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair.b, 2, IBV_WC_RECV).byte_len, 100);
	VERIFY(pair.b.buf.p, 100, 9);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The request is refused at once, and the queue still works. */
static void inline_too_big(void)
{
	struct rt_options options = { .inline_data = 64 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	uint32_t max = caps(pair.a.qp).max_inline_data;
	struct ibv_sge sge = rt_sge(&pair.a, 0, max + 1);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad_wr = NULL;

	wr.send_flags |= IBV_SEND_INLINE;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad_wr), EINVAL);
	CHECK(bad_wr == &wr);
	sge.length = UINT32_MAX;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad_wr), EINVAL);
	send_inline(&pair, max, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Gather from several places, scatter to several others. */
static void lists(void)
{
	struct rt_options options = { .sge = 4 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge from[] = { rt_sge(&pair.a, 0, 1), rt_sge(&pair.a, 1, 2999),
				  rt_sge(&pair.a, 3000, 0), rt_sge(&pair.a, 3000, 5000) };
	struct ibv_sge to[] = { rt_sge(&pair.b, 0, 4000), rt_sge(&pair.b, 4000, 1),
				rt_sge(&pair.b, 4001, 3), rt_sge(&pair.b, 4004, 10000) };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, from);
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = to, .num_sge = 4 }, *bad_wr;

	wr.num_sge = 4;
	rt_fill(pair.a.buf.p, 8000, 6);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad_wr));
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair.b, 2, IBV_WC_RECV).byte_len, 8000);
	VERIFY(pair.b.buf.p, 8000, 6);

	rt_skip_iwarp(dev, "a read has one entry");
	wr.opcode = IBV_WR_RDMA_READ;
	wr.sg_list = (struct ibv_sge[]){ rt_sge(&pair.a, 20000, 10), rt_sge(&pair.a, 20010, 3000),
					 rt_sge(&pair.a, 23010, 4990) };
	wr.num_sge = 3;
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_READ);
	VERIFY(pair.a.buf.p + 20000, 8000, 6);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* As many entries as the device allows. */
static void max_sge(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_options options = { .sge = dev->attr.orig_attr.max_sge };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_qp_cap cap = caps(pair.a.qp);
	int n = cap.max_send_sge < cap.max_recv_sge ? cap.max_send_sge : cap.max_recv_sge;
	struct ibv_sge *from = calloc(n, sizeof(*from)), *to = calloc(n, sizeof(*to));
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, from);
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = to, .num_sge = n }, *bad_wr;

	CHECK(n >= dev->attr.orig_attr.max_sge);
	for (int i = 0; i < n; i++) {
		from[i] = rt_sge(&pair.a, 100 * i, 100);
		to[i] = rt_sge(&pair.b, 100 * i, 100);
	}
	wr.num_sge = n;
	rt_fill(pair.a.buf.p, 100 * n, 7);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad_wr));
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 100 * n, 7);
	free(from);
	free(to);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void too_many(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_qp_cap cap = caps(pair.a.qp);
	struct ibv_sge *list = calloc(1000, sizeof(*list));
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, list), *bad_wr = NULL;
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = list }, *bad_recv = NULL;

	wr.num_sge = cap.max_send_sge + 1;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad_wr), EINVAL);
	CHECK(bad_wr == &wr);
	wr.num_sge = -1;
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad_wr), EINVAL);
	recv.num_sge = cap.max_recv_sge + 1;
	CHECK_INT(ibv_post_recv(pair.a.qp, &recv, &bad_recv), EINVAL);
	CHECK(bad_recv == &recv);
	free(list);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "inline_sizes", inline_sizes },
	{ "inline_write", inline_write },
	{ "inline_gather", inline_gather },
	{ "inline_too_big", inline_too_big },
	{ "lists", lists },
	{ "max_sge", max_sge },
	{ "too_many", too_many },
};
RT_MAIN(cases)
