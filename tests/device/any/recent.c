/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of the versions 1.15 to 1.18, and moderation: each works or reports that the device does
 * not support it. */
#include "tests/lib/rt.h"

/* Check that @p, registered as @mr, is written to side b and arrives. */
static void data_arrives(struct rt_pair *pair, uint8_t *p, struct ibv_mr *mr, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)p, length, mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(p, length, 7);
	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair->b.buf.p, length, 7);
}

static void buffer(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_buf *buf;
	uint8_t *p = ibv_alloc_buf(dev->pd, 20000, &buf);
	struct ibv_mr *mr = ibv_reg_buf_mr(dev->pd, buf, p + 100, 19900, IBV_ACCESS_LOCAL_WRITE);

	CHECK(p && mr);
	CHECK_INT((uintptr_t)p % 4096, 0);
	data_arrives(&pair, p + 100, mr, 19900);
	CHECK(!ibv_reg_buf_mr(dev->pd, buf, p + 101, 19900, IBV_ACCESS_LOCAL_WRITE));
	CHECK_INT(errno, EINVAL);
	CHECK_OK(ibv_dereg_mr(mr));
	ibv_free_buf(buf);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void region(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	uint8_t *p = aligned_alloc(4096, 8192);
	struct ibv_mr_init_attr attr = { .length = 8192,
					 .access = IBV_ACCESS_LOCAL_WRITE,
					 .comp_mask = IBV_REG_MR_MASK_ADDR,
					 .addr = p };
	struct ibv_mr *mr = ibv_reg_mr_ex(dev->pd, &attr);

	CHECK(mr);
	CHECK(mr->addr == p);
	CHECK_INT(mr->length, 8192);
	data_arrives(&pair, p, mr, 8192);
	CHECK_OK(ibv_dereg_mr(mr));
	attr.comp_mask |= 1ull << 30;
	CHECK(!ibv_reg_mr_ex(dev->pd, &attr));
	CHECK_INT(errno, EOPNOTSUPP);
	free(p);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void port_speed(void)
{
	struct rt_dev *dev = rt_open();
	uint64_t speed = 0;
	int r = ibv_query_port_speed(dev->ctx, dev->port_num, &speed);

	if (r == 0) {
		CHECK(speed >= 25); /* in units of 100 Mbit/s: one lane at the lowest speed */
		CHECK_INT(ibv_query_port_speed(dev->ctx, 200, &speed), EINVAL);
	} else {
		CHECK_INT(r, EOPNOTSUPP);
	}
	rt_close(dev);
}

static void moderation(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { .cq_count = 16, .cq_period = 10 } };
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	int r = ibv_modify_cq(pair.a.cq, &attr);

	if (r)
		CHECK_INT(r, EOPNOTSUPP);
	data_arrives(&pair, pair.a.buf.p, pair.a.buf.mr, 1000);
	attr.attr_mask = 1 << 7;
	CHECK_INT(ibv_modify_cq(pair.a.cq, &attr), r ? EOPNOTSUPP : EINVAL);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void what_hardware_has(void)
{
	struct ibv_dmah_init_attr dmah_attr = { .comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID };
	struct ibv_comp_cntr_init_attr cntr_attr = {};
	struct rt_dev *dev = rt_open();
	struct ibv_comp_cntr_caps caps;
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(dev->ctx, &cntr_attr);
	struct ibv_dmah *dmah;

	CHECK(cntr || errno == EOPNOTSUPP);
	CHECK_INT(ibv_query_comp_cntr_caps(dev->ctx, &caps), cntr ? 0 : EOPNOTSUPP);
	if (cntr)
		CHECK_OK(ibv_destroy_comp_cntr(cntr));
	dmah = ibv_alloc_dmah(dev->ctx, &dmah_attr);
	CHECK(dmah || errno == EOPNOTSUPP);
	if (dmah)
		CHECK_OK(ibv_dealloc_dmah(dmah));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "buffer", buffer },
	{ "region", region },
	{ "port_speed", port_speed },
	{ "moderation", moderation },
	{ "what_hardware_has", what_hardware_has },
};
RT_MAIN(cases)
