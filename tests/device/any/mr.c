/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions: any range, another address for the peer, rights, re-registration. */
#include <sys/mman.h>

#include "tests/lib/rt.h"

/* Write 100 bytes of side a's buffer to @addr under @rkey; @at is where they must arrive. */
static void write_to(struct rt_pair *pair, uint64_t addr, uint32_t rkey, uint8_t *at)
{
	static uint32_t seed;
	struct ibv_sge sge = rt_sge(&pair->a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(pair->a.buf.p, 100, ++seed);
	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(at, 100, seed);
}

static void unaligned(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = malloc(20000);

	for (int offset = 0; offset < 5000; offset += 613) {
		struct ibv_mr *mr = ibv_reg_mr(dev->pd, p + offset, 10001, RT_ACCESS);

		CHECK(mr);
		CHECK(mr->addr == p + offset && mr->length == 10001 && mr->pd == dev->pd);
		write_to(&pair, (uintptr_t)p + offset, mr->rkey, p + offset);
		write_to(&pair, (uintptr_t)p + offset + 9901, mr->rkey, p + offset + 9901);
		CHECK_OK(ibv_dereg_mr(mr));
	}
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The peer addresses the region from @iova on. */
static void at_iova(uint64_t iova)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 8192);
	struct ibv_mr *mr = ibv_reg_mr_iova(dev->pd, p, 8192, iova, RT_ACCESS);

	CHECK(mr);
	rt_skip_iwarp(dev, "siw ignores the iova");
	write_to(&pair, iova, mr->rkey, p);
	write_to(&pair, iova + 5000, mr->rkey, p + 5000);
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void iova_zero(void)
{
	at_iova(0);
}

static void iova_high(void)
{
	at_iova(0x7000000000001000);
}

/* Addresses count from the start of the region, by the flag as by ibv_reg_mr_iova() with 0. */
static void zero_based(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 8192);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, 8192, RT_ACCESS | IBV_ACCESS_ZERO_BASED);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	enum ibv_wc_status status;

	if (!mr) { /* of the software devices only rxe may lack it: since Linux 6.2 it says so */
		CHECK_INT(errno, EOPNOTSUPP);
		CHECK(rt_is_kernel(dev) && (!rt_is_rxe(dev) || rt_kernel_since(6, 2)));
		rt_skip("the device has no zero-based regions");
	}
	rt_skip_iwarp(dev, "siw ignores IBV_ACCESS_ZERO_BASED");
	rt_fill(pair.a.buf.p, 100, 1);
	wr.wr.rdma.remote_addr = 100;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	status = rt_wait(&pair.a).status;
	if (rt_is_rxe(dev) && status == IBV_WC_REM_ACCESS_ERR)
		rt_skip("this kernel's rxe ignores IBV_ACCESS_ZERO_BASED");
	CHECK_INT(status, IBV_WC_SUCCESS);
	VERIFY(p + 100, 100, 1);
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void overlapping(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 65536);
	struct ibv_mr *mrs[50];

	for (int i = 0; i < 50; i++) {
		mrs[i] = ibv_reg_mr(dev->pd, p + 10 * i, 60000, RT_ACCESS);
		CHECK(mrs[i]);
		for (int k = 0; k < i; k++)
			CHECK(mrs[k]->rkey != mrs[i]->rkey && mrs[k]->lkey != mrs[i]->lkey);
	}
	for (int i = 0; i < 50; i++) {
		write_to(&pair, (uintptr_t)p + 1000, mrs[i]->rkey, p + 1000);
		CHECK_OK(ibv_dereg_mr(mrs[i]));
	}
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Memory that may only be read can be sent from, nothing more. */
static void read_only_memory(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p, .length = 100 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_mr *mr;

	CHECK(p != MAP_FAILED);
	rt_fill(p, 100, 5);
	CHECK_OK(mprotect(p, 4096, PROT_READ));
	CHECK(!ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE));
	CHECK_INT(errno, EFAULT);
	mr = ibv_reg_mr(dev->pd, p, 4096, 0);
	CHECK(mr);
	sge.lkey = mr->lkey;
	rt_recv(&pair.b, 2, 0, 100);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 100, 5);
	CHECK_OK(ibv_dereg_mr(mr));
	munmap(p, 4096);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void refused(void)
{
	struct rt_dev *dev = rt_open();
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK(!ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_REMOTE_WRITE));
	CHECK_INT(errno, EINVAL);
	CHECK(!ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_REMOTE_ATOMIC));
	CHECK_INT(errno, EINVAL);
	CHECK(!ibv_reg_mr(dev->pd, p, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
	CHECK(errno == EINVAL || errno == EFAULT || errno == ENOMEM);
	CHECK_OK(mprotect(p + 4096, 4096, PROT_NONE)); /* keeps the place occupied */
	CHECK(!ibv_reg_mr(dev->pd, p, 8192, IBV_ACCESS_LOCAL_WRITE));
	CHECK(errno == EFAULT || errno == ENOMEM);
	munmap(p, 8192);
	rt_close(dev);
}

/* Change the rights and the range of a region. If its keys change, the old keys become invalid. */
static void rereg(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 16384);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	int r;

	CHECK(mr);
	r = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RT_ACCESS);
	if (r && errno == EOPNOTSUPP)
		rt_skip("the device does not re-register");
	CHECK_OK(r);
	write_to(&pair, (uintptr_t)p, mr->rkey, p);
	r = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p + 4096, 8192, 0);
	if (r && errno == EOPNOTSUPP)
		rt_skip("the device re-registers rights, not ranges");
	CHECK_OK(r);
	CHECK(mr->addr == p + 4096 && mr->length == 8192);
	write_to(&pair, (uintptr_t)p + 8192, mr->rkey, p + 8192);
	CHECK_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      IBV_ACCESS_LOCAL_WRITE));
	wr.wr.rdma.remote_addr = (uintptr_t)p + 8192;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Connect the pair again as rt_pair_open() did, whatever its state. */
static void pair_again(struct rt_pair *pair)
{
	rt_qp_state(pair->a.qp, IBV_QPS_RESET);
	rt_qp_state(pair->b.qp, IBV_QPS_RESET);
	rt_pair_connect(pair);
}

static void rereg_or_skip(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			  size_t length)
{
	int r = ibv_rereg_mr(mr, flags, pd, addr, length, 0);

	if (r && errno == EOPNOTSUPP)
		rt_skip("the device does not re-register this");
	CHECK_OK(r);
}

static void recv_at(struct rt_side *side, uint64_t wr_id, const struct ibv_mr *mr, uint8_t *at)
{
	struct ibv_sge sge = { (uintptr_t)at, 100, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_recv(side->qp, &wr, &bad));
}

static void send_to(struct rt_pair *pair, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(pair->a.buf.p, 100, seed);
	POST(&pair->a, &wr);
}

static void send_arrives(struct rt_pair *pair, uint64_t recv_id, const uint8_t *at, uint32_t seed)
{
	send_to(pair, seed);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	EXPECT(&pair->b, recv_id, IBV_WC_RECV);
	VERIFY(at, 100, seed);
}

/* A waiting receive at the old place is now outside of the region. Messages go to the new place
 * only. */
static void rereg_addr(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 8192);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, 4096, RT_ACCESS);
	struct ibv_send_wr wr;
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);

	CHECK(mr);
	rt_fill(p, 4096, 77);
	recv_at(&pair.b, 5, mr, p);
	rereg_or_skip(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p + 4096, 4096);
	send_to(&pair, 1);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_OP_ERR);
	EXPECT_STATUS(&pair.b, 5, IBV_WC_LOC_PROT_ERR);
	pair_again(&pair);
	recv_at(&pair.b, 6, mr, p + 4096);
	send_arrives(&pair, 6, p + 4096, 2);
	write_to(&pair, (uintptr_t)p + 8000 - 100, mr->rkey, p + 8000 - 100);
	wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)p;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	VERIFY(p, 4096, 77);
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A region in another domain is closed to queue pairs of this one, both ways; the domains count
 * it. */
static void rereg_pd(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	uint8_t *p = aligned_alloc(4096, 4096);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, 4096, RT_ACCESS);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	CHECK(pd && mr);
	recv_at(&pair.b, 5, mr, p);
	rereg_or_skip(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0);
	CHECK(mr->pd == pd);
	CHECK_INT(ibv_dealloc_pd(pd), EBUSY);
	rt_fill(p, 100, 77);
	send_to(&pair, 1);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_OP_ERR);
	/* soft-RoCE takes the receive for malformed */
	EXPECT_STATUS(&pair.b, 5, rt_is_rxe(dev) ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_LOC_PROT_ERR);
	pair_again(&pair);
	wr.wr.rdma.remote_addr = (uintptr_t)p;
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	VERIFY(p, 100, 77);
	pair_again(&pair);
	CHECK_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, dev->pd, NULL, 0, 0));
	CHECK_OK(ibv_dealloc_pd(pd));
	recv_at(&pair.b, 6, mr, p);
	send_arrives(&pair, 6, p, 2);
	write_to(&pair, (uintptr_t)p, mr->rkey, p);
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void busy_pd(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, 4096, 0);

	CHECK_INT(ibv_dealloc_pd(dev->pd), EBUSY);
	rt_buf_free(&buf);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "unaligned", unaligned },	{ "iova_zero", iova_zero },
	{ "iova_high", iova_high },	{ "zero_based", zero_based },
	{ "overlapping", overlapping }, { "read_only_memory", read_only_memory },
	{ "refused", refused },		{ "rereg", rereg },
	{ "rereg_addr", rereg_addr },	{ "rereg_pd", rereg_pd },
	{ "busy_pd", busy_pd },
};
RT_MAIN(cases)
