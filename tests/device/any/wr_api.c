/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every builder and setter of ibv_wr_*(), checked by its effect at the peer. */
#include <endian.h>

#include "tests/lib/rt.h"

/* Bits of device_cap_flags_ex, with the kernel's values. */
#define CAP_FLUSH_GLOBAL (1ULL << 38)
#define CAP_ATOMIC_WRITE (1ULL << 40)

#define BASIC                                                                                   \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
	 IBV_QP_EX_WITH_SEND_WITH_IMM)
#define RC (BASIC | IBV_QP_EX_WITH_RDMA_READ)

static const struct rt_options rc = { .send_ops = RC, .sge = 4, .inline_data = 64 };

static void begin(struct rt_side *side, uint64_t wr_id)
{
	ibv_wr_start(side->qpx);
	side->qpx->wr_id = wr_id;
	side->qpx->wr_flags = IBV_SEND_SIGNALED;
}

static uint64_t remote(struct rt_side *side, size_t offset)
{
	return (uintptr_t)side->buf.p + offset;
}

static void set_sge(struct rt_side *side, size_t offset, uint32_t length)
{
	ibv_wr_set_sge(side->qpx, side->buf.mr->lkey, remote(side, offset), length);
}

static void send(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	struct ibv_wc wc;

	rt_fill(pair.a.buf.p, 2000, 1);
	rt_recv(&pair.b, 10, 0, 2000);
	rt_recv(&pair.b, 11, 2000, 2000);
	begin(&pair.a, 1);
	ibv_wr_send(pair.a.qpx);
	set_sge(&pair.a, 0, 2000);
	pair.a.qpx->wr_id = 2;
	ibv_wr_send_imm(pair.a.qpx, htobe32(0x1234));
	set_sge(&pair.a, 0, 1000);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	EXPECT(&pair.b, 10, IBV_WC_RECV);
	wc = EXPECT(&pair.b, 11, IBV_WC_RECV);
	CHECK_INT(be32toh(wc.imm_data), 0x1234);
	CHECK_INT(wc.byte_len, 1000);
	VERIFY(pair.b.buf.p, 2000, 1);
	VERIFY(pair.b.buf.p + 2000, 1000, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void rdma(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	uint32_t rkey = pair.b.buf.mr->rkey;
	struct ibv_wc wc;

	rt_fill(pair.a.buf.p, 3000, 2);
	rt_recv(&pair.b, 10, 60000, 1);
	begin(&pair.a, 1);
	ibv_wr_rdma_write(pair.a.qpx, rkey, remote(&pair.b, 0));
	set_sge(&pair.a, 0, 3000);
	pair.a.qpx->wr_id = 2;
	ibv_wr_rdma_write_imm(pair.a.qpx, rkey, remote(&pair.b, 5000), htobe32(7));
	set_sge(&pair.a, 0, 100);
	pair.a.qpx->wr_id = 3;
	ibv_wr_rdma_read(pair.a.qpx, rkey, remote(&pair.b, 0));
	set_sge(&pair.a, 10000, 3000);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 3, IBV_WC_RDMA_READ);
	wc = EXPECT(&pair.b, 10, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_INT(be32toh(wc.imm_data), 7);
	VERIFY(pair.b.buf.p, 3000, 2);
	VERIFY(pair.b.buf.p + 5000, 100, 2);
	VERIFY(pair.a.buf.p + 10000, 3000, 2);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void sge_list(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	struct ibv_sge list[] = { rt_sge(&pair.a, 0, 700), rt_sge(&pair.a, 700, 1),
				  rt_sge(&pair.a, 701, 1299) };

	rt_fill(pair.a.buf.p, 2000, 3);
	begin(&pair.a, 1);
	ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0));
	ibv_wr_set_sge_list(pair.a.qpx, 3, list);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair.b.buf.p, 2000, 3);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The bytes are copied during the call; the setter needs no flag. */
static void inline_data(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	uint8_t bytes[64];
	struct ibv_data_buf list[] = { { bytes, 20 }, { bytes + 20, 0 }, { bytes + 20, 44 } };

	rt_fill(bytes, sizeof(bytes), 4);
	rt_recv(&pair.b, 10, 0, 64);
	begin(&pair.a, 1);
	ibv_wr_send(pair.a.qpx);
	ibv_wr_set_inline_data(pair.a.qpx, bytes, 64);
	pair.a.qpx->wr_id = 2;
	ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 1000));
	ibv_wr_set_inline_data_list(pair.a.qpx, 3, list);
	memset(bytes, 0, sizeof(bytes));
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.b, 10, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, 64, 4);
	VERIFY(pair.b.buf.p + 1000, 64, 4);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void atomics(void)
{
	struct rt_options options = {
		.send_ops = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pair;
	uint64_t *result, *target;

	if (!rt_has_atomics())
		rt_skip("the device has no atomics");
	pair = rt_pair_open(dev, &options);
	result = (uint64_t *)pair.a.buf.p;
	target = (uint64_t *)pair.b.buf.p;
	*target = 10;
	begin(&pair.a, 1);
	ibv_wr_atomic_cmp_swp(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0), 10, 20);
	set_sge(&pair.a, 0, 8);
	pair.a.qpx->wr_id = 2;
	ibv_wr_atomic_fetch_add(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0), 5);
	set_sge(&pair.a, 8, 8);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_COMP_SWAP);
	EXPECT(&pair.a, 2, IBV_WC_FETCH_ADD);
	CHECK_INT(result[0], 10);
	CHECK_INT(result[1], 20);
	CHECK_INT(*target, 25);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void windows(void)
{
	struct rt_options options = { .send_ops = RC | IBV_QP_EX_WITH_BIND_MW |
						  IBV_QP_EX_WITH_LOCAL_INV |
						  IBV_QP_EX_WITH_SEND_WITH_INV };
	struct rt_dev *dev = rt_open();
	struct ibv_mw_bind_info info = { .length = 100,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_mw *mw[2];
	struct rt_buf region;
	struct rt_pair pair;

	if (!(dev->attr.orig_attr.device_cap_flags &
	      (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		rt_skip("the device has no memory windows of type 2");
	pair = rt_pair_open(dev, &options);
	region = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	info.mr = region.mr;
	info.addr = (uintptr_t)region.p;
	for (int i = 0; i < 2; i++) {
		mw[i] = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_2);
		CHECK(mw[i]);
		begin(&pair.b, 1);
		ibv_wr_bind_mw(pair.b.qpx, mw[i], ibv_inc_rkey(mw[i]->rkey), &info);
		CHECK_OK(ibv_wr_complete(pair.b.qpx));
		EXPECT(&pair.b, 1, IBV_WC_BIND_MW);
		mw[i]->rkey = ibv_inc_rkey(mw[i]->rkey);
	}
	rt_fill(pair.a.buf.p, 100, 5);
	begin(&pair.a, 2);
	ibv_wr_rdma_write(pair.a.qpx, mw[0]->rkey, info.addr);
	set_sge(&pair.a, 0, 100);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	VERIFY(region.p, 100, 5);

	begin(&pair.b, 3);
	ibv_wr_local_inv(pair.b.qpx, mw[0]->rkey);
	CHECK_OK(ibv_wr_complete(pair.b.qpx));
	EXPECT(&pair.b, 3, IBV_WC_LOCAL_INV);
	rt_recv(&pair.b, 4, 0, 100);
	begin(&pair.a, 5);
	ibv_wr_send_inv(pair.a.qpx, mw[1]->rkey);
	set_sge(&pair.a, 0, 10);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 5, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair.b, 4, IBV_WC_RECV).invalidated_rkey, mw[1]->rkey);
	for (int i = 0; i < 2; i++)
		CHECK_OK(ibv_dealloc_mw(mw[i]));
	rt_buf_free(&region);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void ud(void)
{
	struct rt_options options = {
		.type = IBV_QPT_UD,
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct rt_address address = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &address);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);
	struct ibv_wc wc;

	CHECK(ah);
	rt_fill(pair.a.buf.p, 500, 6);
	rt_recv(&pair.b, 10, 0, 1000);
	rt_recv(&pair.b, 11, 1000, 1000);
	begin(&pair.a, 1);
	ibv_wr_send(pair.a.qpx);
	ibv_wr_set_ud_addr(pair.a.qpx, ah, address.qpn, RT_QKEY);
	set_sge(&pair.a, 0, 500);
	pair.a.qpx->wr_id = 2;
	ibv_wr_send_imm(pair.a.qpx, htobe32(8));
	ibv_wr_set_ud_addr(pair.a.qpx, ah, address.qpn, RT_QKEY);
	set_sge(&pair.a, 0, 100);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	wc = EXPECT(&pair.b, 10, IBV_WC_RECV);
	CHECK_INT(wc.byte_len, 540);
	CHECK_INT(be32toh(EXPECT(&pair.b, 11, IBV_WC_RECV).imm_data), 8);
	VERIFY(pair.b.buf.p + 40, 500, 6);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

static void uc(void)
{
	struct rt_options options = { .type = IBV_QPT_UC, .send_ops = BASIC };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	rt_fill(pair.a.buf.p, 5000, 7);
	rt_recv(&pair.b, 10, 60000, 1);
	begin(&pair.a, 1);
	ibv_wr_rdma_write_imm(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0), 0);
	set_sge(&pair.a, 0, 5000);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.b, 10, IBV_WC_RECV_RDMA_WITH_IMM);
	VERIFY(pair.b.buf.p, 5000, 7);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void atomic_write(void)
{
	struct rt_options options = { .send_ops = RC | IBV_QP_EX_WITH_ATOMIC_WRITE };
	struct rt_dev *dev = rt_open();
	uint64_t value = 0x1122334455667788;
	struct rt_pair pair;

	if (!(dev->attr.device_cap_flags_ex & CAP_ATOMIC_WRITE))
		rt_skip("the device has no atomic write");
	pair = rt_pair_open(dev, &options);
	begin(&pair.a, 1);
	ibv_wr_atomic_write(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 8), &value);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 1, IBV_WC_ATOMIC_WRITE);
	CHECK(((uint64_t *)pair.b.buf.p)[1] == value);
	CHECK(((uint64_t *)pair.b.buf.p)[0] == 0 && ((uint64_t *)pair.b.buf.p)[2] == 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void flush(void)
{
	static const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL;
	struct rt_options options = { .send_ops = RC | IBV_QP_EX_WITH_FLUSH };
	struct rt_dev *dev = rt_open();
	struct ibv_qp_attr attr = { .qp_access_flags = access };
	struct rt_buf region;
	struct rt_pair pair;

	if (!(dev->attr.device_cap_flags_ex & CAP_FLUSH_GLOBAL))
		rt_skip("the device has no flush");
	pair = rt_pair_open(dev, &options);
	region = rt_buf_alloc(dev, 8192, access);
	CHECK_OK(ibv_modify_qp(pair.b.qp, &attr, IBV_QP_ACCESS_FLAGS));
	for (int level = IBV_FLUSH_RANGE; level <= IBV_FLUSH_MR; level++) {
		rt_fill(pair.a.buf.p, 5000, 8 + level);
		begin(&pair.a, 1);
		ibv_wr_rdma_write(pair.a.qpx, region.mr->rkey, (uintptr_t)region.p);
		set_sge(&pair.a, 0, 5000);
		pair.a.qpx->wr_id = 2;
		ibv_wr_flush(pair.a.qpx, region.mr->rkey, (uintptr_t)region.p, 5000,
			     IBV_FLUSH_GLOBAL, level);
		CHECK_OK(ibv_wr_complete(pair.a.qpx));
		EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
		EXPECT(&pair.a, 2, IBV_WC_FLUSH);
		VERIFY(region.p, 5000, 8 + level);
	}
	rt_buf_free(&region);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* An aborted batch has no effect. A batch with a mistake posts no request and returns an error. */
static void abort_and_mistake(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	uint8_t *bytes = calloc(1, 1 << 20);

	begin(&pair.a, 1);
	ibv_wr_send(pair.a.qpx);
	set_sge(&pair.a, 0, 10);
	ibv_wr_abort(pair.a.qpx);
	begin(&pair.a, 2);
	ibv_wr_send(pair.a.qpx);
	set_sge(&pair.a, 0, 10);
	ibv_wr_send(pair.a.qpx);
	ibv_wr_set_inline_data(pair.a.qpx, bytes, 1 << 20);
	CHECK(ibv_wr_complete(pair.a.qpx) != 0);
	rt_recv(&pair.b, 10, 0, 100);
	begin(&pair.a, 3);
	ibv_wr_send(pair.a.qpx);
	set_sge(&pair.a, 0, 20);
	CHECK_OK(ibv_wr_complete(pair.a.qpx));
	EXPECT(&pair.a, 3, IBV_WC_SEND);
	CHECK_INT(EXPECT(&pair.b, 10, IBV_WC_RECV).byte_len, 20);
	EXPECT_NONE(&pair.a);
	free(bytes);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* More requests than the queue holds: no request of the batch is posted. */
static void full(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);
	int r;

	begin(&pair.a, 1);
	for (int i = 0; i < 10000; i++) {
		ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0));
		set_sge(&pair.a, 0, 10);
	}
	r = ibv_wr_complete(pair.a.qpx);
	CHECK(r == ENOSPC || r == ENOMEM);
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The old call and the new ones share the queue. */
static void mixed(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &rc);

	for (int i = 0; i < 50; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);

		rt_wr_remote(&wr, &pair.b, 0);
		POST(&pair.a, &wr);
		begin(&pair.a, 1000 + i);
		ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, remote(&pair.b, 0));
		set_sge(&pair.a, 0, 10);
		CHECK_OK(ibv_wr_complete(pair.a.qpx));
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
		EXPECT(&pair.a, 1000 + i, IBV_WC_RDMA_WRITE);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static void unsupported(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 10, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = dev->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};

	CHECK(cq);
	CHECK(!ibv_create_qp_ex(dev->ctx, &attr));
	CHECK_INT(errno, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.send_ops_flags = 1ULL << 60;
	CHECK(!ibv_create_qp_ex(dev->ctx, &attr));
	CHECK(errno == EOPNOTSUPP || errno == EINVAL);
	CHECK_OK(ibv_destroy_cq(cq));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "send", send },
	{ "rdma", rdma },
	{ "sge_list", sge_list },
	{ "inline_data", inline_data },
	{ "atomics", atomics },
	{ "windows", windows },
	{ "ud", ud },
	{ "uc", uc },
	{ "atomic_write", atomic_write },
	{ "flush", flush },
	{ "abort_and_mistake", abort_and_mistake },
	{ "full", full },
	{ "mixed", mixed },
	{ "unsupported", unsupported },
};
RT_MAIN(cases)
