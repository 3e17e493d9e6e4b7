/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of another context, possibly of another device, and sizes out of range, in the calls
 * that create objects and that mistakes_create.c, mistakes_object.c, mistakes_qp.c and
 * mistakes_queue.c do not cover. */

#include "tests/lib/rt_mistake.h"

static uint8_t memory[8192] __attribute__((aligned(4096)));

/* ---- memory ---- */

static int mr_ex_other_dmah(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_dmah_init_attr init = {};
	struct ibv_mr_init_attr attr = { .comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
					 .addr = memory,
					 .length = 4096 };
	int r;

	attr.dmah = ibv_alloc_dmah(other.ctx, &init);
	if (!attr.dmah)
		return errno;
	r = RT_ERRNO_OF(ibv_reg_mr_ex(dev->pd, &attr));
	CHECK_OK(ibv_dealloc_dmah(attr.dmah));
	return r;
}

static int mr_ex_wraps(struct rt_dev *dev)
{
	struct ibv_mr_init_attr attr = { .comp_mask = IBV_REG_MR_MASK_ADDR,
					 .addr = memory,
					 .length = SIZE_MAX };

	return RT_ERRNO_OF(ibv_reg_mr_ex(dev->pd, &attr));
}

static int iova2_wraps(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr_iova2(dev->pd, memory, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE));
}

static int rereg(struct rt_dev *dev, int flags, void *addr, size_t length)
{
	_cleanup_buf_ struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);

	return ibv_rereg_mr(buf.mr, flags, NULL, addr, length, 0) ? errno : 0;
}

static int rereg_wraps(struct rt_dev *dev)
{
	return rereg(dev, IBV_REREG_MR_CHANGE_TRANSLATION, memory, SIZE_MAX);
}

static int rereg_unknown(struct rt_dev *dev)
{
	return rereg(dev, IBV_REREG_MR_CHANGE_TRANSLATION | 1 << 10, memory, 4096);
}

static int buf_other(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_buf *buf;
	void *p = ibv_alloc_buf(other.pd, 4096, &buf);
	int r;

	CHECK(p);
	r = RT_ERRNO_OF(ibv_reg_buf_mr(dev->pd, buf, p, 4096, 0));
	ibv_free_buf(buf);
	return r;
}

/* More bytes than there are addresses, however the length is rounded. */
static int buf_huge(struct rt_dev *dev)
{
	struct ibv_buf *buf;

	return RT_ERRNO_OF(ibv_alloc_buf(dev->pd, SIZE_MAX, &buf));
}

static int dm_reg_beyond(struct rt_dev *dev)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(dev->ctx, &attr);
	int r;

	if (!dm)
		return errno;
	r = RT_ERRNO_OF(ibv_reg_dm_mr(dev->pd, dm, UINT64_MAX, 4096, IBV_ACCESS_ZERO_BASED));
	CHECK_OK(ibv_free_dm(dm));
	return r;
}

static int import_dm_unknown(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_import_dm(dev->ctx, 0x7ffffff0));
}

/* ---- queues ---- */

static int cq_ex_large(struct rt_dev *dev)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = dev->attr.orig_attr.max_cqe + 1 };

	return RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, &attr));
}

static int cq_ex_other_channel(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };
	int r;

	attr.channel = ibv_create_comp_channel(other.ctx);
	CHECK(attr.channel);
	r = RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, &attr));
	CHECK_OK(ibv_destroy_comp_channel(attr.channel));
	return r;
}

static int srq_zero(struct rt_dev *dev)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 0, .max_sge = 1 } };

	return RT_ERRNO_OF(ibv_create_srq(dev->pd, &attr));
}

static int srq_ex_large(struct rt_dev *dev)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = dev->attr.orig_attr.max_srq_wr + 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = dev->pd,
	};

	return RT_ERRNO_OF(ibv_create_srq_ex(dev->ctx, &attr));
}

/* A queue for tag matching, because a plain queue is created in the domain's own context. */
static int srq_ex_other_pd(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = other.pd,
		.cq = cq,
		.tm_cap = { .max_num_tags = 1, .max_ops = 1 },
	};

	return RT_ERRNO_OF(ibv_create_srq_ex(dev->ctx, &attr));
}

static int srq_ex_other_domain(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = dev->pd,
		.xrcd = rt_xrcd_open(other.ctx),
		.cq = cq,
	};
	int r;

	if (!attr.xrcd)
		return errno;
	r = RT_ERRNO_OF(ibv_create_srq_ex(dev->ctx, &attr));
	CHECK_OK(ibv_close_xrcd(attr.xrcd));
	return r;
}

static int qp_large(struct rt_dev *dev)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, dev->attr.orig_attr.max_qp_wr + 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return RT_ERRNO_OF(ibv_create_qp(dev->pd, &attr));
}

static int qp_other_srq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = ibv_create_srq(other.pd, &init),
		.cap = { 4, 0, 1, 0, 0 },
		.qp_type = IBV_QPT_RC,
	};
	int r;

	if (!attr.srq)
		return errno;
	r = RT_ERRNO_OF(ibv_create_qp(dev->pd, &attr));
	CHECK_OK(ibv_destroy_srq(attr.srq));
	return r;
}

static int qp_ex_other_domain(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = rt_xrcd_open(other.ctx) };
	int r;

	if (!attr.xrcd)
		return errno;
	r = RT_ERRNO_OF(ibv_create_qp_ex(dev->ctx, &attr));
	CHECK_OK(ibv_close_xrcd(attr.xrcd));
	return r;
}

/* ---- work queues, tables ---- */

static struct ibv_wq *wq_create(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq,
				uint32_t max_wr)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = max_wr, .max_sge = 1, .pd = pd, .cq = cq
	};

	return ibv_create_wq(ctx, &attr);
}

static int wq_other_pd(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);

	return RT_ERRNO_OF(wq_create(dev->ctx, other.pd, cq, 4));
}

static int wq_large(struct rt_dev *dev)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);

	return RT_ERRNO_OF(wq_create(dev->ctx, dev->pd, cq, 1u << 30));
}

static int table_other(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_wq *wq = wq_create(other.ctx, other.pd, other.cq, 4);
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &wq };
	int r;

	if (!wq)
		return errno;
	r = RT_ERRNO_OF(ibv_create_rwq_ind_table(dev->ctx, &attr));
	CHECK_OK(ibv_destroy_wq(wq));
	return r;
}

static int qp_ex_other_table(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_wq *wq = wq_create(other.ctx, other.pd, other.cq, 4);
	struct ibv_rwq_ind_table_init_attr init = { .ind_tbl = &wq };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_IND_TABLE,
					    .pd = dev->pd };
	int r;

	if (!wq)
		return errno;
	attr.rwq_ind_tbl = ibv_create_rwq_ind_table(other.ctx, &init);
	CHECK(attr.rwq_ind_tbl);
	r = RT_ERRNO_OF(ibv_create_qp_ex(dev->ctx, &attr));
	CHECK_OK(ibv_destroy_rwq_ind_table(attr.rwq_ind_tbl));
	CHECK_OK(ibv_destroy_wq(wq));
	return r;
}

/* ---- address handles ---- */

static int ah_from_wc_port(struct rt_dev *dev)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = {};

	return RT_ERRNO_OF(ibv_create_ah_from_wc(dev->pd, &wc, &grh, 99));
}

/* ---- counters ---- */

static int attach(struct rt_dev *dev, struct ibv_context *flow_of, uint32_t comp_mask)
{
	struct ibv_counters_init_attr init = {};
	struct ibv_counters *counters = ibv_create_counters(dev->ctx, &init);
	struct ibv_counter_attach_attr attr = { .comp_mask = comp_mask };
	struct ibv_flow flow = { .context = flow_of };
	int r;

	if (!counters)
		return errno;
	r = ibv_attach_counters_point_flow(counters, &attr, &flow);
	CHECK_OK(ibv_destroy_counters(counters));
	return r;
}

/* Create a flow that counts with counters of @ctx; NULL: without counters. */
static int flow_counted(struct rt_dev *dev, struct ibv_context *ctx)
{
	struct rt_options ud = { .type = IBV_QPT_UD };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &ud, NULL);
	struct ibv_counters_init_attr init = {};
	struct ibv_counters *counters = ctx ? ibv_create_counters(ctx, &init) : NULL;
	struct ibv_flow_spec_counter_action count = { .type = IBV_FLOW_SPEC_ACTION_COUNT,
						      .size = sizeof(count),
						      .counters = counters };
	struct ibv_flow_attr rule[3] = { { .num_of_specs = 1, .port = dev->port_num } };
	struct ibv_flow *flow;
	int r;

	if (ctx && !counters)
		return errno;
	memcpy(&rule[1], &count, sizeof(count)); /* directly behind, as specs must be */
	flow = ibv_create_flow(side.qp, rule);
	r = flow ? 0 : errno;
	if (flow)
		CHECK_OK(ibv_destroy_flow(flow));
	if (counters)
		CHECK_OK(ibv_destroy_counters(counters));
	return r;
}

static int flow_other_counters(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return flow_counted(dev, other.ctx);
}

static int flow_no_counters(struct rt_dev *dev)
{
	return flow_counted(dev, NULL);
}

static int attach_comp_mask(struct rt_dev *dev)
{
	return attach(dev, dev->ctx, RT_UNKNOWN_BIT);
}

static int attach_other_flow(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return attach(dev, other.ctx, 0);
}

static int cntr_attach(struct rt_dev *dev, struct ibv_context *of, uint32_t comp_mask)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_comp_cntr_init_attr init = {};
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(of, &init);
	struct ibv_qp_attach_comp_cntr_attr attr = { .comp_mask = comp_mask };
	int r;

	if (!cntr)
		return errno;
	r = ibv_qp_attach_comp_cntr(side.qp, cntr, &attr);
	CHECK_OK(ibv_destroy_comp_cntr(cntr));
	return r;
}

static int cntr_attach_comp_mask(struct rt_dev *dev)
{
	return cntr_attach(dev, dev->ctx, RT_UNKNOWN_BIT);
}

static int cntr_attach_other(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return cntr_attach(dev, other.ctx, 0);
}

static const struct rt_mistake mistakes[] = {
	{ "mr_ex_other_dmah", mr_ex_other_dmah, EINVAL, "the DMA handle belongs to another context",
	  RT_LACKS("ibv_alloc_dmah") },
	{ "mr_ex_wraps", mr_ex_wraps, EINVAL, "beyond the end of the address space" },
	{ "iova2_wraps", iova2_wraps, EINVAL, "beyond the end of the address space" },
	{ "rereg_wraps", rereg_wraps, EINVAL, "beyond the end of the address space",
	  RT_LACKS("ibv_rereg_mr") },
	{ "rereg_unknown", rereg_unknown, EINVAL, "flags must be some of CHANGE_TRANSLATION",
	  RT_LACKS("ibv_rereg_mr") },
	{ "buf_other", buf_other, EINVAL, "the buffer is of another protection domain" },
	{ "buf_huge", buf_huge, ENOMEM, "bytes: " },
	{ "dm_reg_beyond", dm_reg_beyond, EINVAL, "4096 bytes from 18446744073709551615 on",
	  RT_LACKS("ibv_alloc_dm") },
	{ "import_dm_unknown", import_dm_unknown, ENOENT, "ibv_import_dm: handle 2147483632",
	  RT_LACKS("ibv_import_dm") },

	{ "cq_ex_large", cq_ex_large, EINVAL, "is above the device's max_cqe",
	  RT_LACKS("ibv_create_cq_ex") },
	{ "cq_ex_other_channel", cq_ex_other_channel, EBADF, "channel belongs to another context" },
	{ "srq_zero", srq_zero, EINVAL, "max_wr is 0", RT_LACKS("ibv_create_srq") },
	{ "srq_ex_large", srq_ex_large, EINVAL, "is above the device's max_srq_wr",
	  RT_LACKS("ibv_create_srq_ex") },
	{ "srq_ex_other_pd", srq_ex_other_pd, EINVAL, "must all be of this context" },
	{ "srq_ex_other_domain", srq_ex_other_domain, EINVAL, "must all be of this context",
	  RT_LACKS("ibv_open_xrcd") },
	{ "qp_large", qp_large, EINVAL, "is above the device's max_qp_wr" },
	{ "qp_other_srq", qp_other_srq, EINVAL, "must all be of one context",
	  RT_LACKS("ibv_create_srq") },
	{ "qp_ex_other_domain", qp_ex_other_domain, EINVAL,
	  "the XRC domain belongs to another context", RT_LACKS("ibv_open_xrcd") },

	{ "wq_other_pd", wq_other_pd, EINVAL, "must be of this context",
	  RT_LACKS("ibv_create_wq") },
	{ "wq_large", wq_large, EINVAL, "is above the device's max_qp_wr",
	  RT_LACKS("ibv_create_wq") },
	{ "table_other", table_other, EINVAL, "ind_tbl[0] belongs to another context",
	  RT_LACKS("ibv_create_wq") },
	{ "qp_ex_other_table", qp_ex_other_table, EINVAL, "must all be of one context",
	  RT_LACKS("ibv_create_wq") },
	{ "ah_from_wc_port", ah_from_wc_port, EINVAL, "port 99 does not exist" },
	{ "flow_other_counters", flow_other_counters, EINVAL,
	  "spec 1: the counters belong to another context", RT_LACKS("ibv_create_counters") },
	{ "flow_no_counters", flow_no_counters, EINVAL, "spec 1: size 16: no counters",
	  RT_LACKS("ibv_create_flow") },
	{ "attach_comp_mask", attach_comp_mask, EOPNOTSUPP, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_counters") },
	{ "attach_other_flow", attach_other_flow, EINVAL, "the flow belongs to another context",
	  RT_LACKS("ibv_create_counters") },
	{ "cntr_attach_comp_mask", cntr_attach_comp_mask, EOPNOTSUPP, "no bit of comp_mask",
	  RT_LACKS("ibv_create_comp_cntr") },
	{ "cntr_attach_other", cntr_attach_other, EINVAL, "the counter belongs to another context",
	  RT_LACKS("ibv_create_comp_cntr") },
};
RT_MISTAKES(mistakes)
