/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unknown flags, missing parents and null handles, in the calls that create objects and that the
 * other programs of mistakes do not cover. */

#include "tests/lib/rt_mistake.h"

static uint8_t memory[4096] __attribute__((aligned(4096)));

/* ---- memory ---- */

static int mr_ex_no_pd(struct rt_dev *dev)
{
	struct ibv_mr_init_attr attr = { .comp_mask = IBV_REG_MR_MASK_ADDR,
					 .addr = memory,
					 .length = sizeof(memory) };

	return RT_ERRNO_OF(ibv_reg_mr_ex(NULL, &attr));
}

static int iova_access(struct rt_dev *dev)
{
	return RT_ERRNO_OF((ibv_reg_mr_iova)(dev->pd, memory, sizeof(memory), 0, RT_UNKNOWN_BIT));
}

static int iova2_access(struct rt_dev *dev)
{
	return RT_ERRNO_OF(
		ibv_reg_mr_iova2(dev->pd, memory, sizeof(memory), 0, IBV_ACCESS_REMOTE_WRITE));
}

static int dmabuf_closed(struct rt_dev *dev)
{
	return RT_ERRNO_OF(
		ibv_reg_dmabuf_mr(dev->pd, 0, sizeof(memory), 0, 1000, IBV_ACCESS_LOCAL_WRITE));
}

static int dm_access(struct rt_dev *dev)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(dev->ctx, &attr);
	int r;

	if (!dm)
		return errno;
	r = RT_ERRNO_OF(ibv_reg_dm_mr(dev->pd, dm, 0, 4096, IBV_ACCESS_ZERO_BASED | 1 << 15));
	CHECK_OK(ibv_free_dm(dm));
	return r;
}

static int import_pd_unknown(struct rt_dev *dev)
{
	struct ibv_pd *pd = ibv_import_pd(dev->ctx, 0x7ffffff0);

	if (!pd)
		return errno;
	ibv_unimport_pd(pd);
	rt_skip("the kernel looks at the number when the domain is used");
}

/* ---- queues ---- */

static int wq(struct rt_dev *dev, struct ibv_wq_init_attr attr)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);

	attr.max_wr = attr.max_sge = 1;
	attr.cq = attr.pd ? NULL : cq; /* one of the two is there */
	return RT_ERRNO_OF(ibv_create_wq(dev->ctx, &attr));
}

static int wq_no_pd(struct rt_dev *dev)
{
	return wq(dev, (struct ibv_wq_init_attr){});
}

static int wq_no_cq(struct rt_dev *dev)
{
	return wq(dev, (struct ibv_wq_init_attr){ .pd = dev->pd });
}

static int table_null(struct rt_dev *dev)
{
	struct ibv_rwq_ind_table_init_attr attr = {};

	return RT_ERRNO_OF(ibv_create_rwq_ind_table(dev->ctx, &attr));
}

/* ---- flows, counters, handles ---- */

static int flow(struct rt_dev *dev, struct ibv_flow_attr attr)
{
	struct rt_options ud = { .type = IBV_QPT_UD };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &ud, NULL);

	attr.size = sizeof(attr);
	attr.port = attr.port ? attr.port : dev->port_num;
	return RT_ERRNO_OF(ibv_create_flow(side.qp, &attr));
}

static int flow_flags(struct rt_dev *dev)
{
	return flow(dev, (struct ibv_flow_attr){ .flags = RT_UNKNOWN_BIT });
}

static int flow_port(struct rt_dev *dev)
{
	return flow(dev, (struct ibv_flow_attr){ .port = 99 });
}

static int action_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_flow_action_esp(dev->ctx, NULL));
}

static int counters_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_counters(dev->ctx, NULL));
}

static int cntr_flags(struct rt_dev *dev)
{
	struct ibv_comp_cntr_init_attr attr = { .flags = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_create_comp_cntr(dev->ctx, &attr));
}

static int cntr_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_comp_cntr(dev->ctx, NULL));
}

static int dmah_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_alloc_dmah(dev->ctx, NULL));
}

static int td_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_alloc_td(dev->ctx, NULL));
}

static const struct rt_mistake mistakes[] = {
	{ "mr_ex_no_pd", mr_ex_no_pd, EINVAL, "pd is NULL" },
	{ "iova_access", iova_access, EINVAL, "unknown flag" },
	{ "iova2_access", iova2_access, EINVAL, "need LOCAL_WRITE" },
	{ "dmabuf_closed", dmabuf_closed, EBADF, "ibv_reg_dmabuf_mr", EOPNOTSUPP,
	  RT_LACKS("ibv_reg_dmabuf_mr") },
	{ "dm_access", dm_access, EINVAL, "unknown flag", RT_LACKS("ibv_alloc_dm") },
	{ "import_pd_unknown", import_pd_unknown, ENOENT, "ibv_import_pd",
	  RT_LACKS("ibv_import_pd") },

	{ "wq_no_pd", wq_no_pd, EINVAL, "pd", RT_LACKS("ibv_create_wq") },
	{ "wq_no_cq", wq_no_cq, EINVAL, "cq", RT_LACKS("ibv_create_wq") },
	{ "table_null", table_null, EINVAL, "ind_tbl", RT_LACKS("ibv_create_rwq_ind_table") },

	{ "flow_flags", flow_flags, EINVAL, "of the flags 0x6 are known",
	  RT_LACKS("ibv_create_flow") },
	{ "flow_port", flow_port, EINVAL, "the device has ports 1 to",
	  RT_LACKS("ibv_create_flow") },
	{ "action_null", action_null, EINVAL, "is NULL", RT_LACKS("ibv_create_flow_action_esp") },
	{ "counters_null", counters_null, EINVAL, "is NULL", RT_LACKS("ibv_create_counters") },
	{ "cntr_flags", cntr_flags, EOPNOTSUPP, "flags 0x80000000",
	  RT_LACKS("ibv_create_comp_cntr") },
	{ "cntr_null", cntr_null, EINVAL, "is NULL", RT_LACKS("ibv_create_comp_cntr") },
	{ "dmah_null", dmah_null, EINVAL, "is NULL", RT_LACKS("ibv_alloc_dmah") },
	{ "td_null", td_null, EINVAL, "is NULL", RT_LACKS("ibv_alloc_td") },
};
RT_MISTAKES(mistakes)
