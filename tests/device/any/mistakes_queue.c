/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same mistakes as in mistakes_create.c, with queues, XRC, address handles, work queues, flows
 * and counters. The plain forms are in mistakes_object.c and mistakes_qp.c.
 */
#include <fcntl.h>

#include "tests/lib/rt_mistake.h"

/* ---- SRQs, XRC ---- */

static int srq_ex(struct rt_dev *dev, struct ibv_srq_init_attr_ex attr)
{
	attr.attr.max_wr = attr.attr.max_wr ? attr.attr.max_wr : 4;
	attr.attr.max_sge = 1;
	return RT_ERRNO_OF(ibv_create_srq_ex(dev->ctx, &attr));
}

static int srq_ex_comp_mask(struct rt_dev *dev)
{
	return srq_ex(dev,
		      (struct ibv_srq_init_attr_ex){
			      .comp_mask = IBV_SRQ_INIT_ATTR_PD | RT_UNKNOWN_BIT, .pd = dev->pd });
}

static int srq_ex_type(struct rt_dev *dev)
{
	return srq_ex(dev, (struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_PD |
								       IBV_SRQ_INIT_ATTR_TYPE,
							  .srq_type = 77,
							  .pd = dev->pd });
}

static int srq_ex_no_pd(struct rt_dev *dev)
{
	return srq_ex(dev, (struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_TYPE });
}

#define SRQ_XRC                                                                   \
	(IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | \
	 IBV_SRQ_INIT_ATTR_CQ)

static int srq_ex_no_domain(struct rt_dev *dev)
{
	return srq_ex(dev, (struct ibv_srq_init_attr_ex){
				   .comp_mask = SRQ_XRC, .srq_type = IBV_SRQT_XRC, .pd = dev->pd });
}

static int srq_ex_no_tags(struct rt_dev *dev)
{
	return srq_ex(dev, (struct ibv_srq_init_attr_ex){ .comp_mask = IBV_SRQ_INIT_ATTR_PD |
								       IBV_SRQ_INIT_ATTR_TYPE,
							  .srq_type = IBV_SRQT_TM,
							  .pd = dev->pd });
}

static int srq_ex_other_cq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_xrcd *xrcd = rt_xrcd_open(dev->ctx);
	int r;

	if (!xrcd)
		return errno;
	r = srq_ex(dev, (struct ibv_srq_init_attr_ex){ .comp_mask = SRQ_XRC,
						       .srq_type = IBV_SRQT_XRC,
						       .pd = dev->pd,
						       .xrcd = xrcd,
						       .cq = other.cq });
	CHECK_OK(ibv_close_xrcd(xrcd));
	return r;
}

static int xrcd(struct rt_dev *dev, struct ibv_xrcd_init_attr attr)
{
	return RT_ERRNO_OF(ibv_open_xrcd(dev->ctx, &attr));
}

#define XRCD_ALL (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static int xrcd_comp_mask(struct rt_dev *dev)
{
	return xrcd(dev, (struct ibv_xrcd_init_attr){ .comp_mask = XRCD_ALL | RT_UNKNOWN_BIT,
						      .fd = -1,
						      .oflags = O_CREAT });
}

static int xrcd_no_flags(struct rt_dev *dev)
{
	return xrcd(dev, (struct ibv_xrcd_init_attr){ .comp_mask = IBV_XRCD_INIT_ATTR_FD });
}

static int xrcd_closed_fd(struct rt_dev *dev)
{
	return xrcd(dev, (struct ibv_xrcd_init_attr){ .comp_mask = XRCD_ALL, .fd = 1000 });
}

static int open_qp(struct rt_dev *dev, struct ibv_context *of, uint32_t mask)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = mask,
		.qp_num = 0xfffff0,
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = of ? rt_xrcd_open(of) : NULL,
	};
	int r = of && !attr.xrcd ? errno : RT_ERRNO_OF(ibv_open_qp(dev->ctx, &attr));

	if (attr.xrcd)
		CHECK_OK(ibv_close_xrcd(attr.xrcd));
	return r;
}

#define OPEN_ALL (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE)

static int open_qp_comp_mask(struct rt_dev *dev)
{
	return open_qp(dev, NULL, OPEN_ALL | RT_UNKNOWN_BIT);
}

static int open_qp_no_domain(struct rt_dev *dev)
{
	return open_qp(dev, NULL, OPEN_ALL);
}

static int open_qp_unknown(struct rt_dev *dev)
{
	return open_qp(dev, dev->ctx, OPEN_ALL);
}

static int open_qp_other(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return open_qp(dev, other.ctx, OPEN_ALL);
}

/* ---- QPs ---- */

static int qp_ex(struct rt_dev *dev, struct ibv_qp_init_attr_ex attr)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);

	attr.send_cq = attr.send_cq ? attr.send_cq : cq;
	attr.recv_cq = attr.recv_cq ? attr.recv_cq : cq;
	attr.cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
	attr.qp_type = attr.qp_type ? attr.qp_type : IBV_QPT_RC;
	return RT_ERRNO_OF(ibv_create_qp_ex(dev->ctx, &attr));
}

static int qp_ex_no_pd(struct rt_dev *dev)
{
	return qp_ex(dev, (struct ibv_qp_init_attr_ex){});
}

static int qp_ex_other_pd(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return qp_ex(dev, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD,
							.pd = other.pd });
}

static int qp_ex_other_cq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return qp_ex(dev, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD,
							.pd = dev->pd,
							.recv_cq = other.cq });
}

static int qp_ex_other_srq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(other.pd, &init);
	int r;

	if (!srq)
		return errno;
	r = qp_ex(dev, (struct ibv_qp_init_attr_ex){
			       .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = dev->pd, .srq = srq });
	CHECK_OK(ibv_destroy_srq(srq));
	return r;
}

static int qp_other_cq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_qp_init_attr attr = {
		.send_cq = other.cq,
		.recv_cq = other.cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return RT_ERRNO_OF(ibv_create_qp(dev->pd, &attr));
}

static int qp_ex_null_table(struct rt_dev *dev)
{
	return qp_ex(dev, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD |
								     IBV_QP_INIT_ATTR_IND_TABLE,
							.pd = dev->pd });
}

static int qp_ex_create_flags(struct rt_dev *dev)
{
	return qp_ex(dev, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD |
								     IBV_QP_INIT_ATTR_CREATE_FLAGS,
							.pd = dev->pd,
							.create_flags = RT_UNKNOWN_BIT });
}

static int qp_ex_no_domain(struct rt_dev *dev)
{
	return qp_ex(dev, (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_PD,
							.pd = dev->pd,
							.qp_type = IBV_QPT_XRC_RECV });
}

/* ---- address handles ---- */

static int ah_sgid_large(struct rt_dev *dev)
{
	struct rt_address self = { .gid = dev->gid, .lid = dev->port.lid };
	struct ibv_ah_attr attr = rt_ah_attr(dev, &self);

	if (dev->port.gid_tbl_len > UINT8_MAX)
		rt_skip("every index is one of the table");
	attr.is_global = 1;
	attr.grh.sgid_index = dev->port.gid_tbl_len;
	return RT_ERRNO_OF(ibv_create_ah(dev->pd, &attr));
}

static int ah_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_ah(dev->pd, NULL));
}

/* ---- work queues, tables ---- */

static int wq(struct rt_dev *dev, struct ibv_wq_init_attr attr)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);

	attr.max_wr = attr.max_sge = 1;
	attr.pd = dev->pd;
	attr.cq = attr.cq ? attr.cq : cq;
	return RT_ERRNO_OF(ibv_create_wq(dev->ctx, &attr));
}

static int wq_comp_mask(struct rt_dev *dev)
{
	return wq(dev, (struct ibv_wq_init_attr){ .comp_mask = RT_UNKNOWN_BIT });
}

static int wq_flags(struct rt_dev *dev)
{
	return wq(dev, (struct ibv_wq_init_attr){ .comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
						  .create_flags = RT_UNKNOWN_BIT });
}

static int wq_other_cq(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return wq(dev, (struct ibv_wq_init_attr){ .cq = other.cq });
}

static int table(struct rt_dev *dev, struct ibv_rwq_ind_table_init_attr attr)
{
	return RT_ERRNO_OF(ibv_create_rwq_ind_table(dev->ctx, &attr));
}

static int table_comp_mask(struct rt_dev *dev)
{
	return table(dev, (struct ibv_rwq_ind_table_init_attr){ .comp_mask = RT_UNKNOWN_BIT });
}

static int table_large(struct rt_dev *dev)
{
	return table(dev, (struct ibv_rwq_ind_table_init_attr){ .log_ind_tbl_size = 31 });
}

static int table_null_queue(struct rt_dev *dev)
{
	struct ibv_wq *none[1] = {};

	return table(dev, (struct ibv_rwq_ind_table_init_attr){ .ind_tbl = none });
}

/* ---- flows, counters ---- */

static int flow(struct rt_dev *dev, struct ibv_flow_attr attr, uint16_t spec_size)
{
	struct rt_options ud = { .type = IBV_QPT_UD };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &ud, NULL);
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = { .attr = attr, .eth = { .type = IBV_FLOW_SPEC_ETH, .size = spec_size } };

	rule.attr.port = dev->port_num;
	rule.attr.size = sizeof(rule);
	return RT_ERRNO_OF(ibv_create_flow(side.qp, &rule.attr));
}

static int flow_comp_mask(struct rt_dev *dev)
{
	return flow(dev, (struct ibv_flow_attr){ .comp_mask = RT_UNKNOWN_BIT }, 0);
}

static int flow_empty_spec(struct rt_dev *dev)
{
	return flow(dev, (struct ibv_flow_attr){ .num_of_specs = 1 }, 0);
}

static int action_comp_mask(struct rt_dev *dev)
{
	struct ibv_flow_action_esp_attr attr = { .comp_mask = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_create_flow_action_esp(dev->ctx, &attr));
}

static int counters_comp_mask(struct rt_dev *dev)
{
	struct ibv_counters_init_attr attr = { .comp_mask = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_create_counters(dev->ctx, &attr));
}

static int cntr(struct rt_dev *dev, struct ibv_comp_cntr_init_attr attr)
{
	return RT_ERRNO_OF(ibv_create_comp_cntr(dev->ctx, &attr));
}

static int cntr_comp_mask(struct rt_dev *dev)
{
	return cntr(dev, (struct ibv_comp_cntr_init_attr){ .comp_mask = RT_UNKNOWN_BIT });
}

static int cntr_type(struct rt_dev *dev)
{
	return cntr(dev, (struct ibv_comp_cntr_init_attr){ .type = 77 });
}

static const struct rt_mistake mistakes[] = {
	{ "srq_ex_comp_mask", srq_ex_comp_mask, EOPNOTSUPP, "comp_mask 0x8" },
	{ "srq_ex_type", srq_ex_type, EOPNOTSUPP, "srq_type 77: not known" },
	{ "srq_ex_no_pd", srq_ex_no_pd, EINVAL, "comp_mask needs IBV_SRQ_INIT_ATTR_PD" },
	{ "srq_ex_no_domain", srq_ex_no_domain, EINVAL, "it needs IBV_SRQ_INIT_ATTR_XRCD" },
	{ "srq_ex_no_tags", srq_ex_no_tags, EINVAL, "tag matching: comp_mask" },
	{ "srq_ex_other_cq", srq_ex_other_cq, EINVAL, "must all be of this context",
	  RT_LACKS("ibv_open_xrcd") },
	{ "xrcd_comp_mask", xrcd_comp_mask, EOPNOTSUPP, "are known", RT_LACKS("ibv_open_xrcd") },
	{ "xrcd_no_flags", xrcd_no_flags, EINVAL, "it needs IBV_XRCD_INIT_ATTR_FD",
	  RT_LACKS("ibv_open_xrcd") },
	{ "xrcd_closed_fd", xrcd_closed_fd, EBADF, "no file is open as descriptor 1000",
	  RT_LACKS("ibv_open_xrcd") },
	{ "open_qp_comp_mask", open_qp_comp_mask, EOPNOTSUPP, "are known",
	  RT_LACKS("ibv_open_qp") },
	{ "open_qp_no_domain", open_qp_no_domain, EINVAL, "it needs the number",
	  RT_LACKS("ibv_open_qp") },
	{ "open_qp_unknown", open_qp_unknown, EOPNOTSUPP, "ibv_open_qp: qp 0xfffff0, XRC_RECV",
	  RT_LACKS("ibv_open_xrcd") },
	{ "open_qp_other", open_qp_other, EINVAL, "belongs to another context",
	  RT_LACKS("ibv_open_xrcd") },

	{ "qp_ex_no_pd", qp_ex_no_pd, EINVAL, "comp_mask needs IBV_QP_INIT_ATTR_PD" },
	{ "qp_ex_other_pd", qp_ex_other_pd, EINVAL, "must all be of one context" },
	{ "qp_ex_other_cq", qp_ex_other_cq, EINVAL, "must all be of one context" },
	{ "qp_ex_other_srq", qp_ex_other_srq, EINVAL, "must all be of one context",
	  RT_LACKS("ibv_create_srq") },
	{ "qp_other_cq", qp_other_cq, EINVAL, "must all be of one context" },
	{ "qp_ex_null_table", qp_ex_null_table, EINVAL, "rwq_ind_tbl is NULL" },
	{ "qp_ex_create_flags", qp_ex_create_flags, EOPNOTSUPP, "create_flags", EINVAL },
	{ "qp_ex_no_domain", qp_ex_no_domain, EINVAL, "comp_mask needs IBV_QP_INIT_ATTR_XRCD" },

	{ "ah_null", ah_null, EINVAL, "the ah_attr is NULL" },
	{ "ah_sgid_large", ah_sgid_large, EINVAL, "the GID table has entries 0 to",
	  RT_LACKS("ibv_create_ah") },

	{ "wq_comp_mask", wq_comp_mask, EINVAL, "comp_mask 0x80000000", RT_LACKS("ibv_create_wq") },
	{ "wq_flags", wq_flags, EOPNOTSUPP, "create_flags 0x80000000", RT_LACKS("ibv_create_wq") },
	{ "wq_other_cq", wq_other_cq, EINVAL, "must be of this context",
	  RT_LACKS("ibv_create_wq") },
	{ "table_comp_mask", table_comp_mask, EINVAL, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_rwq_ind_table") },
	{ "table_large", table_large, EINVAL, "a table of 2^31 queues",
	  RT_LACKS("ibv_create_rwq_ind_table") },
	{ "table_null_queue", table_null_queue, EINVAL, "ind_tbl[0] is NULL",
	  RT_LACKS("ibv_create_rwq_ind_table") },
	{ "flow_comp_mask", flow_comp_mask, EINVAL, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_flow") },
	{ "flow_empty_spec", flow_empty_spec, EINVAL, "a spec has at least",
	  RT_LACKS("ibv_create_flow") },
	{ "action_comp_mask", action_comp_mask, EOPNOTSUPP, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_flow_action_esp") },
	{ "counters_comp_mask", counters_comp_mask, EOPNOTSUPP, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_counters") },
	{ "cntr_comp_mask", cntr_comp_mask, EOPNOTSUPP, "comp_mask 0x80000000",
	  RT_LACKS("ibv_create_comp_cntr") },
	{ "cntr_type", cntr_type, EOPNOTSUPP, "type 77", RT_LACKS("ibv_create_comp_cntr") },
};
RT_MISTAKES(mistakes)
