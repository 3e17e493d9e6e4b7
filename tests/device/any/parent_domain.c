/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Thread domains and parent domains: data moves in them, and their allocators give memory to
 * queues. */
#include "tests/lib/rt.h"

static int live, asked; /* own allocations that exist, and calls of the allocator */
static enum {
	OURS,
	DEFAULT,
	NOTHING,
	CROOKED
} gives;

static void *allocate(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		      uint64_t resource_type)
{
	void *p = NULL;

	CHECK(pd_context == &live);
	CHECK(size && alignment && resource_type);
	asked++;
	if (gives == DEFAULT)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (gives == NOTHING)
		return NULL;
	CHECK_OK(posix_memalign(&p, alignment, size + alignment));
	live++;
	return gives == CROOKED ? (char *)p + 1 : p;
}

static void release(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	CHECK(pd_context == &live);
	live--;
	free((void *)((uintptr_t)ptr & ~1ul));
}

static struct ibv_pd *parent_open(struct rt_dev *dev, bool allocators, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = dev->pd,
		.td = td,
		.comp_mask = allocators ? IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
						  IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT
					: 0,
		.alloc = allocate,
		.free = release,
		.pd_context = &live,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(dev->ctx, &attr);

	if (!parent) {
		CHECK_INT(errno, EOPNOTSUPP);
		printf("%s has no parent domains%s\n", dev->ctx->device->name,
		       allocators ? " with allocators" : "");
		exit(RT_SKIP);
	}
	return parent;
}

/* Move data between two sides whose objects are all in @parent. */
static void data_moves(struct rt_dev *dev, struct ibv_pd *parent, bool srq)
{
	struct rt_options options = { .srq = srq };
	struct ibv_pd *pd = dev->pd;
	struct rt_pair pair;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	dev->pd = parent;
	pair = rt_pair_open(dev, &options);
	sge = rt_sge(&pair.a, 0, 3000);
	wr = rt_wr(IBV_WR_SEND, 1, &sge);
	rt_fill(pair.a.buf.p, 3000, 6);
	rt_recv(&pair.b, 2, 100, 3000);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p + 100, 3000, 6);
	wr.opcode = IBV_WR_RDMA_WRITE;
	rt_wr_remote(&wr, &pair.b, 8192);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p + 8192, 3000, 6);
	rt_pair_close(&pair);
	dev->pd = pd;
}

static void plain(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_td_init_attr attr = {};
	struct ibv_td *td = ibv_alloc_td(dev->ctx, &attr);
	struct ibv_pd *parent = parent_open(dev, false, td);

	CHECK(td);
	CHECK_INT(parent->handle, dev->pd->handle);
	data_moves(dev, parent, false);
	CHECK_INT(ibv_dealloc_td(td), EBUSY);
	CHECK_OK(ibv_dealloc_pd(parent));
	CHECK_OK(ibv_dealloc_td(td));
	rt_close(dev);
}

/* Regions of the protection domain serve queues of the parent domain, and the other way round. */
static void mixed(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *parent = parent_open(dev, false, NULL), *pd = dev->pd;
	struct rt_buf plain_buf = rt_buf_alloc(dev, 4096, RT_ACCESS), parent_buf;
	struct ibv_send_wr wr;
	struct rt_pair pair;
	struct ibv_sge sge;

	dev->pd = parent;
	parent_buf = rt_buf_alloc(dev, 4096, RT_ACCESS);
	pair = rt_pair_open(dev, NULL);
	rt_fill(plain_buf.p, 4096, 8);
	sge = (struct ibv_sge){ (uintptr_t)plain_buf.p, 4096, plain_buf.mr->lkey };
	wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	wr.wr.rdma.rkey = parent_buf.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)parent_buf.p;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(parent_buf.p, 4096, 8);
	rt_pair_close(&pair);
	dev->pd = pd;
	pair = rt_pair_open(dev, NULL);
	sge = (struct ibv_sge){ (uintptr_t)parent_buf.p, 4096, parent_buf.mr->lkey };
	wr.wr.rdma.rkey = plain_buf.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)plain_buf.p;
	memset(plain_buf.p, 0, 4096);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(plain_buf.p, 4096, 8);
	rt_pair_close(&pair);
	/* Only queues hold a parent domain: a region that was registered with it stays. */
	CHECK_OK(ibv_dealloc_pd(parent));
	CHECK_INT(ibv_dealloc_pd(pd), EBUSY);
	rt_buf_free(&parent_buf);
	rt_buf_free(&plain_buf);
	rt_close(dev);
}

static void allocators(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *parent = parent_open(dev, true, NULL);

	data_moves(dev, parent, false);
	CHECK_INT(asked, 4); /* a send and a receive queue, twice */
	CHECK_INT(live, 0);
	data_moves(dev, parent, true);
	CHECK_INT(asked, 7); /* two send queues and the shared one */
	CHECK_INT(live, 0);
	gives = DEFAULT;
	data_moves(dev, parent, false);
	CHECK_INT(asked, 11);
	CHECK_INT(live, 0);
	CHECK_OK(ibv_dealloc_pd(parent));
	rt_close(dev);
}

static void completion_queue(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *parent = parent_open(dev, true, NULL);
	struct ibv_cq_init_attr_ex attr = { .cqe = 10,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = parent };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(dev->ctx, &attr);
	int own = live; /* a ring, and with some devices a doorbell record */

	CHECK(cq);
	CHECK(own >= 1);
	CHECK_OK(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000));
	CHECK_INT(live, own);
	CHECK_INT(asked, own + 1);
	CHECK_INT(ibv_dealloc_pd(parent), EBUSY);
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	CHECK_INT(live, 0);
	attr.parent_domain = dev->pd;
	CHECK(!ibv_create_cq_ex(dev->ctx, &attr));
	CHECK_INT(errno, EINVAL);
	CHECK_OK(ibv_dealloc_pd(parent));
	rt_close(dev);
}

static void shared_queue_grows(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *parent = parent_open(dev, true, NULL);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(parent, &init);
	struct ibv_srq_attr attr = { .max_wr = 100 };

	CHECK(srq);
	CHECK_OK(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	CHECK_INT(live, 1);
	CHECK_INT(asked, 2);
	gives = NOTHING;
	attr.max_wr = 1000;
	CHECK_INT(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), ENOMEM);
	CHECK_INT(live, 1);
	CHECK_OK(ibv_destroy_srq(srq));
	CHECK_INT(live, 0);
	CHECK_OK(ibv_dealloc_pd(parent));
	rt_close(dev);
}

/* An allocator without suitable memory: no queue is created, and no memory is left. */
static void allocator_fails(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *parent = parent_open(dev, true, NULL);
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1 }, .qp_type = IBV_QPT_RC
	};

	gives = NOTHING;
	CHECK(!ibv_create_qp(parent, &init));
	CHECK_INT(errno, ENOMEM);
	gives = CROOKED;
	CHECK(!ibv_create_qp(parent, &init));
	CHECK_INT(errno, EINVAL);
	CHECK_INT(live, 0);
	CHECK_OK(ibv_destroy_cq(cq));
	CHECK_OK(ibv_dealloc_pd(parent));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "plain", plain },
	{ "mixed", mixed },
	{ "allocators", allocators },
	{ "completion_queue", completion_queue },
	{ "shared_queue_grows", shared_queue_grows },
	{ "allocator_fails", allocator_fails },
};
RT_MAIN(cases)
