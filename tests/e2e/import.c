/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Importing another process's objects: a device of the kernel does, but a context only where its
 * driver answers for one, and rxe does not; a device in user space has nothing to import.
 */
#include "tests/lib/rt.h"

/* What an import answers: an object, or a plain refusal. */
static bool is_imported(const void *object, bool expected)
{
	int error = errno;

	CHECK(!object == !expected);
	if (!expected)
		CHECK_INT(error, EOPNOTSUPP);
	return expected;
}

static void device(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_context *ctx = ibv_import_device(dev->ctx->cmd_fd);

	if (is_imported(ctx, rt_is_kernel(dev) && !rt_is_rxe(dev)))
		CHECK_OK(ibv_close_device(ctx));
	rt_close(dev);
}

/* Data written from @from to @to, whose keys the queue pair takes for its own. */
static void data_moves(struct rt_dev *dev, struct rt_buf *from, uint32_t lkey, struct rt_buf *to,
		       uint32_t rkey)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = { (uintptr_t)from->p, 4096, lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(from->p, 4096, 3);
	wr.wr.rdma.remote_addr = (uintptr_t)to->p;
	wr.wr.rdma.rkey = rkey;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(to->p, 4096, 3);
	rt_pair_close(&pair);
}

/* What is registered in the imported domain is registered in the domain. */
static void pd(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *imported = ibv_import_pd(dev->ctx, dev->pd->handle), *own = dev->pd;
	struct rt_buf from, to;

	if (!is_imported(imported, rt_is_kernel(dev))) {
		rt_close(dev);
		return;
	}
	from = rt_buf_alloc(dev, 4096, RT_ACCESS);
	dev->pd = imported;
	to = rt_buf_alloc(dev, 4096, RT_ACCESS);
	dev->pd = own;
	data_moves(dev, &from, from.mr->lkey, &to, to.mr->rkey);
	rt_buf_free(&from);
	rt_buf_free(&to);
	ibv_unimport_pd(imported);
	rt_close(dev);
}

static void mr(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf from = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct rt_buf to = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct ibv_mr *imported = ibv_import_mr(dev->pd, to.mr->handle);

	if (is_imported(imported, rt_is_kernel(dev))) {
		CHECK_INT(imported->length, 4096);
		CHECK_INT(imported->rkey, to.mr->rkey);
		data_moves(dev, &from, from.mr->lkey, &to, imported->rkey);
		ibv_unimport_mr(imported);
		CHECK(!ibv_import_mr(dev->pd, 0x7ffffff0));
		CHECK_INT(errno, ENOENT);
	}
	rt_buf_free(&from);
	rt_buf_free(&to);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "device", device },
	{ "pd", pd },
	{ "mr", mr },
};
RT_MAIN(cases)
