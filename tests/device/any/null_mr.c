/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The null region: writes to it are dropped, and reads return zero, at any address. */
#include "tests/lib/rt.h"

static struct ibv_mr *null_open(struct rt_dev *dev)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(dev->pd);

	if (!mr) {
		CHECK_INT(errno, EOPNOTSUPP);
		printf("%s has no null region\n", dev->ctx->device->name);
		exit(RT_SKIP);
	}
	return mr;
}

static bool all_are(const uint8_t *p, size_t size, uint8_t byte)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != byte)
			return false;
	return true;
}

static void sends_zeros(void)
{
	static const uint32_t lengths[] = { 1, 100, 4096, 65536 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *null = null_open(dev);

	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_sge sge = { 0x123456789a, lengths[i], null->lkey };
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);

		memset(pair.b.buf.p, 0xff, pair.b.buf.size);
		rt_wr_remote(&wr, &pair.b, 0);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		CHECK(all_are(pair.b.buf.p, lengths[i], 0));
		CHECK(all_are(pair.b.buf.p + lengths[i], pair.b.buf.size - lengths[i], 0xff));
	}
	CHECK_OK(ibv_dereg_mr(null));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Keep header and trailer and drop the middle, which is the purpose of a null region. */
static void swallows(void)
{
	struct rt_options options = { .sge = 3 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_mr *null = null_open(dev);
	struct ibv_sge out = rt_sge(&pair.a, 0, 10000);
	struct ibv_sge in[] = { rt_sge(&pair.b, 0, 100),
				{ UINT64_MAX - 9000, 9000, null->lkey },
				rt_sge(&pair.b, 100, 900) };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = in, .num_sge = 3 }, *bad_wr;
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &out);
	uint8_t whole[10000];

	rt_fill(pair.a.buf.p, 10000, 3);
	rt_fill(whole, 10000, 3);
	memset(pair.b.buf.p, 0xff, pair.b.buf.size);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad_wr));
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair.b, 7, IBV_WC_RECV).byte_len, 10000);
	CHECK(!memcmp(pair.b.buf.p, whole, 100));
	CHECK(!memcmp(pair.b.buf.p + 100, whole + 9100, 900));
	CHECK(all_are(pair.b.buf.p + 1000, pair.b.buf.size - 1000, 0xff));
	CHECK_OK(ibv_dereg_mr(null));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Written bytes are not read back. */
static void forgets(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *null = null_open(dev);
	struct ibv_sge sge = { 0, 5000, null->lkey };
	struct ibv_send_wr read = rt_wr(IBV_WR_RDMA_READ, 1, &sge);
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 2, &sge);

	memset(pair.b.buf.p, 0x77, pair.b.buf.size);
	rt_wr_remote(&read, &pair.b, 0);
	POST(&pair.a, &read);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_READ);
	rt_wr_remote(&write, &pair.b, 0);
	POST(&pair.a, &write);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	CHECK(all_are(pair.b.buf.p, 5000, 0));
	CHECK_OK(ibv_dereg_mr(null));
	/* The region's key becomes invalid with the region. */
	POST(&pair.a, &write);
	EXPECT_STATUS(&pair.a, 2, IBV_WC_LOC_PROT_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Neither a peer nor a queue pair of another protection domain can use it. */
static void protected(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *null = null_open(dev);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey = null->lkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_OK(ibv_dereg_mr(null));
	rt_pair_close(&pair);
	rt_close(dev);
}

static void other_domain(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_pd *pd = dev->pd;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *null;

	dev->pd = ibv_alloc_pd(dev->ctx);
	null = null_open(dev);
	sge = (struct ibv_sge){ 0, 100, null->lkey };
	wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_OK(ibv_dereg_mr(null));
	CHECK_OK(ibv_dealloc_pd(dev->pd));
	dev->pd = pd;
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "sends_zeros", sends_zeros }, { "swallows", swallows },	  { "forgets", forgets },
	{ "protected", protected },	{ "other_domain", other_domain },
};
RT_MAIN(cases)
