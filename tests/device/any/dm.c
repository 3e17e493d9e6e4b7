/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory: data goes in and out by the program's copies and by operations of the peer. */
#include "tests/lib/rt.h"

#define SIZE 10000

static struct ibv_dm *dm_open(struct rt_dev *dev, size_t size)
{
	struct ibv_alloc_dm_attr attr = { .length = size, .log_align_req = 6 };
	struct ibv_dm *dm = ibv_alloc_dm(dev->ctx, &attr);

	if (!dm) {
		CHECK_INT(errno, EOPNOTSUPP);
		CHECK_INT(dev->attr.max_dm_size, 0);
		printf("%s has no device memory\n", dev->ctx->device->name);
		exit(RT_SKIP);
	}
	return dm;
}

static void copies(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_dm *dm = dm_open(dev, SIZE);
	uint8_t bytes[SIZE];

	CHECK_OK(ibv_memcpy_from_dm(bytes, dm, 0, SIZE));
	for (int i = 0; i < SIZE; i++)
		CHECK_INT(bytes[i], 0); /* new memory is zero */
	rt_fill(bytes, 600, 4);
	CHECK_OK(ibv_memcpy_to_dm(dm, 5000, bytes, 600));
	memset(bytes, 0, sizeof(bytes));
	CHECK_OK(ibv_memcpy_from_dm(bytes, dm, 5000, 600));
	VERIFY(bytes, 600, 4);
	CHECK(ibv_memcpy_to_dm(dm, SIZE - 4, bytes, 8));
	CHECK(ibv_memcpy_from_dm(bytes, dm, UINT64_MAX - 3, 8));
	CHECK_OK(ibv_free_dm(dm));
	rt_close(dev);
}

/* A peer writes to the memory and reads from it; its addresses count from 0. */
static void remote(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_dm *dm = dm_open(dev, SIZE);
	struct ibv_mr *mr =
		ibv_reg_dm_mr(dev->pd, dm, 1000, 8000, RT_ACCESS | IBV_ACCESS_ZERO_BASED);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 5000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	uint8_t bytes[5000];

	CHECK(mr);
	CHECK_INT(mr->length, 8000);
	CHECK(!mr->addr);
	rt_fill(pair.a.buf.p, 5000, 9);
	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = 3000;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_OK(ibv_memcpy_from_dm(bytes, dm, 4000, 5000));
	VERIFY(bytes, 5000, 9);
	rt_fill(bytes, 300, 12);
	CHECK_OK(ibv_memcpy_to_dm(dm, 1000, bytes, 300));
	sge.length = 300;
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = 0;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_READ);
	VERIFY(pair.a.buf.p, 300, 12);
	/* Access ends with the region, not with the memory. */
	wr.wr.rdma.remote_addr = 7900;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_INT(ibv_free_dm(dm), EBUSY);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_free_dm(dm));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A send and a receive use the memory as their local memory. */
static void local(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_dm *dm = dm_open(dev, SIZE);
	struct ibv_mr *mr =
		ibv_reg_dm_mr(dev->pd, dm, 0, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	struct ibv_sge sge = { 100, 2000, mr ? mr->lkey : 0 };
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad_wr;
	struct ibv_sge from = rt_sge(&pair.a, 0, 2000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &from);
	struct ibv_send_wr back = rt_wr(IBV_WR_SEND, 3, &sge);

	CHECK(mr);
	rt_fill(pair.a.buf.p, 2000, 5);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad_wr));
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_recv(&pair.a, 4, 8192, 2000);
	POST(&pair.b, &back);
	EXPECT(&pair.b, 3, IBV_WC_SEND);
	EXPECT(&pair.a, 4, IBV_WC_RECV);
	VERIFY(pair.a.buf.p + 8192, 2000, 5);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_free_dm(dm));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A region of length 0 gives no access, at any offset in the memory. */
static void no_bytes(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_dm *dm = dm_open(dev, SIZE);
	struct ibv_mr *mr[3];

	for (int i = 0; i < 3; i++) {
		mr[i] = ibv_reg_dm_mr(dev->pd, dm, i * (SIZE / 2), 0,
				      RT_ACCESS | IBV_ACCESS_ZERO_BASED);
		CHECK(mr[i]);
		CHECK_INT(mr[i]->length, 0);
	}
	for (int i = 0; i < 3; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 1);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
		uint8_t byte;

		memset(pair.a.buf.p, 0xff, 1);
		wr.wr.rdma.rkey = mr[i]->rkey;
		POST(&pair.a, &wr);
		EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
		CHECK_OK(ibv_memcpy_from_dm(&byte, dm, i < 2 ? i * (SIZE / 2) : SIZE - 1, 1));
		CHECK_INT(byte, 0);
		rt_qp_state(pair.a.qp, IBV_QPS_RESET);
		rt_qp_state(pair.b.qp, IBV_QPS_RESET);
		rt_pair_connect(&pair);
	}
	CHECK(!ibv_reg_dm_mr(dev->pd, dm, SIZE + 1, 0, IBV_ACCESS_ZERO_BASED));
	CHECK_INT(errno, EINVAL);
	CHECK_INT(ibv_free_dm(dm), EBUSY);
	for (int i = 0; i < 3; i++)
		CHECK_OK(ibv_dereg_mr(mr[i]));
	CHECK_OK(ibv_free_dm(dm));
	rt_pair_close(&pair);
	rt_close(dev);
}

static void refused(struct rt_dev *dev, size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };

	errno = 0;
	CHECK(!ibv_alloc_dm(dev->ctx, &attr));
	CHECK(errno == EINVAL || errno == ENOMEM);
}

static void mistakes(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_dm *dm = dm_open(dev, SIZE);

	refused(dev, 0, 0);
	refused(dev, dev->attr.max_dm_size + 1, 0);
	refused(dev, SIZE_MAX, 0);
	refused(dev, 1, 64);
	refused(dev, 1, UINT32_MAX);
	errno = 0;
	CHECK(!ibv_reg_dm_mr(dev->pd, dm, 0, SIZE, IBV_ACCESS_LOCAL_WRITE));
	CHECK_INT(errno, EINVAL);
	CHECK(!ibv_reg_dm_mr(dev->pd, dm, 1, SIZE, IBV_ACCESS_ZERO_BASED));
	CHECK_INT(errno, EINVAL);
	CHECK_OK(ibv_free_dm(dm));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "copies", copies },	  { "remote", remote },	    { "local", local },
	{ "no_bytes", no_bytes }, { "mistakes", mistakes },
};
RT_MAIN(cases)
