/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions whose pages are looked up at each use: missing at first, replaced, unmapped; and the
 * whole address space. */
#include <sys/mman.h>

#include "tests/lib/rt.h"

#define SIZE	   (64 * 1024)
#define ODP_ACCESS (RT_ACCESS | IBV_ACCESS_ON_DEMAND)

static struct rt_dev *odp_open(uint64_t wanted)
{
	struct rt_dev *dev = rt_open();

	if ((dev->attr.odp_caps.general_caps & wanted) != wanted ||
	    !(dev->attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_WRITE)) {
		rt_close(dev);
		rt_skip("the device does not page on demand");
	}
	return dev;
}

static uint8_t *pages_at(void *at, int protection)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
	uint8_t *p = mmap(at, SIZE, protection, flags, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void write_post(struct rt_pair *pair, const void *at, uint32_t rkey, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(pair->a.buf.p, SIZE, seed);
	wr.wr.rdma.remote_addr = (uintptr_t)at;
	wr.wr.rdma.rkey = rkey;
	POST(&pair->a, &wr);
}

static void write_arrives(struct rt_pair *pair, const uint8_t *at, uint32_t rkey, uint32_t seed)
{
	write_post(pair, at, rkey, seed);
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(at, SIZE, seed);
}

/* The memory is inaccessible when it is registered. */
static void mapped_later(void)
{
	struct rt_dev *dev = odp_open(IBV_ODP_SUPPORT);
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = pages_at(NULL, PROT_NONE);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, SIZE, ODP_ACCESS);

	CHECK(mr);
	pages_at(p, PROT_READ | PROT_WRITE);
	write_arrives(&pair, p, mr->rkey, 1);
	/* Replace the pages. */
	pages_at(p, PROT_READ | PROT_WRITE);
	CHECK_INT(p[0], 0);
	write_arrives(&pair, p, mr->rkey, 2);
	CHECK_OK(madvise(p, SIZE, MADV_DONTNEED));
	write_arrives(&pair, p, mr->rkey, 3);
	CHECK_OK(ibv_dereg_mr(mr));
	munmap(p, SIZE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The peer gets an error, and this process lives. */
static void unmapped(void)
{
	struct rt_dev *dev = odp_open(IBV_ODP_SUPPORT);
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = pages_at(NULL, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, SIZE, ODP_ACCESS);
	struct ibv_wc wc;

	CHECK(mr);
	write_arrives(&pair, p, mr->rkey, 4);
	pages_at(p, PROT_NONE); /* keeps the place occupied */
	write_post(&pair, p, mr->rkey, 5);
	wc = rt_wait(&pair.a);
	CHECK(wc.status == IBV_WC_REM_OP_ERR || wc.status == IBV_WC_REM_ACCESS_ERR);
	CHECK_OK(ibv_dereg_mr(mr));
	munmap(p, SIZE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* One key for all memory, whether it is mapped already or later. */
static void implicit(void)
{
	struct rt_dev *dev = odp_open(IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *all = ibv_reg_mr(dev->pd, NULL, SIZE_MAX, ODP_ACCESS);
	uint8_t *p = pages_at(NULL, PROT_READ | PROT_WRITE);
	uint8_t *from = pages_at(NULL, PROT_READ | PROT_WRITE);
	struct ibv_sge sge = { (uintptr_t)from, SIZE, 0 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 2, &sge);

	CHECK(all);
	write_arrives(&pair, p, all->rkey, 6);
	/* As the source of a request too. */
	sge.lkey = all->lkey;
	rt_fill(from, SIZE, 7);
	rt_recv(&pair.b, 3, 0, SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	EXPECT(&pair.b, 3, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, SIZE, 7);
	CHECK_OK(ibv_dereg_mr(all));
	munmap(p, SIZE);
	munmap(from, SIZE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Without the flag, registering unmapped memory is refused at once. */
static void pinned_is_checked(void)
{
	struct rt_dev *dev = odp_open(IBV_ODP_SUPPORT);
	uint8_t *p = pages_at(NULL, PROT_NONE);

	CHECK(!ibv_reg_mr(dev->pd, p, SIZE, RT_ACCESS));
	CHECK_INT(errno, EFAULT);
	munmap(p, SIZE);
	rt_close(dev);
}

static bool is_there(void *page)
{
	unsigned char vec = 0;

	CHECK_OK(mincore(page, 4096, &vec));
	return vec & 1;
}

/* Advice maps pages before they are used, but only pages of a region. */
static void advised(void)
{
	struct rt_dev *dev = odp_open(IBV_ODP_SUPPORT);
	uint8_t *p = pages_at(NULL, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p, SIZE, ODP_ACCESS);
	struct ibv_sge sge = { (uintptr_t)p, SIZE / 2, mr->lkey };
	uint32_t now = IBV_ADVISE_MR_FLAG_FLUSH;

	madvise(p, SIZE, MADV_NOHUGEPAGE); /* a huge page would load more than the request names */
	CHECK(!is_there(p));
	CHECK_OK(ibv_advise_mr(dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, now, &sge, 1));
	CHECK(!is_there(p));
	CHECK_OK(ibv_advise_mr(dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, now, &sge, 1));
	CHECK(is_there(p) && is_there(p + SIZE / 2 - 4096));
	CHECK(!is_there(p + SIZE / 2));
	sge.length = SIZE + 1;
	CHECK_INT(ibv_advise_mr(dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, now, &sge, 1), EFAULT);
	sge.lkey ^= 0x5a00;
	CHECK_INT(ibv_advise_mr(dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, now, &sge, 1), ENOENT);
	CHECK_OK(ibv_dereg_mr(mr));
	munmap(p, SIZE);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "mapped_later", mapped_later },
	{ "unmapped", unmapped },
	{ "implicit", implicit },
	{ "advised", advised },
	{ "pinned_is_checked", pinned_is_checked },
};
RT_MAIN(cases)
