/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes in creating a queue pair and in taking it through its states. */
#include "tests/lib/rt_mistake.h"

/* ---- QP: creation ---- */

static struct ibv_qp_init_attr_ex qp_init(struct rt_dev *dev)
{
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 10, NULL, NULL, 0);

	CHECK(cq);
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = dev->pd,
	};
}

/* Create a queue pair, and free the CQ of qp_init(). */
static int qp_create(struct rt_dev *dev, struct ibv_qp_init_attr_ex *attr)
{
	int r = RT_ERRNO_OF(ibv_create_qp_ex(dev->ctx, attr));

	CHECK_OK(ibv_destroy_cq(attr->send_cq));
	return r;
}

static int qp_no_cq(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.recv_cq = NULL;
	return qp_create(dev, &attr);
}

static int qp_send_wr(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.cap.max_send_wr = dev->attr.orig_attr.max_qp_wr + 1;
	return qp_create(dev, &attr);
}

static int qp_recv_sge(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.cap.max_recv_sge = dev->attr.orig_attr.max_sge + 1;
	return qp_create(dev, &attr);
}

static int qp_inline(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.cap.max_inline_data = 1 << 20;
	return qp_create(dev, &attr);
}

static int qp_type(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.qp_type = 77;
	return qp_create(dev, &attr);
}

static int qp_comp_mask(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.comp_mask |= 1u << 31;
	return qp_create(dev, &attr);
}

static int qp_send_ops(struct rt_dev *dev)
{
	struct ibv_qp_init_attr_ex attr = qp_init(dev);

	attr.qp_type = IBV_QPT_UD;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	return qp_create(dev, &attr);
}

/* ---- QP: states ---- */

/* Return the index of an empty GID table entry below 256. */
static uint8_t empty_gid(struct rt_dev *dev)
{
	for (int i = 0; i < 256 && i < dev->port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(dev->ctx, dev->port_num, i, &entry, 0))
			return i;
	}
	rt_skip("the GID table has no empty entry");
}

#define RTR_MASK                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* Move from INIT to RTR with one mistake. */
static int to_rtr(struct rt_dev *dev, void (*spoil)(struct rt_dev *dev, struct ibv_qp_attr *attr),
		  int mask)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = rt_ah_attr(dev, &self),
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = self.qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
	};

	rt_side_init(&side);
	if (spoil)
		spoil(dev, &attr);
	return ibv_modify_qp(side.qp, &attr, mask);
}

static int rtr_missing(struct rt_dev *dev)
{
	return to_rtr(dev, NULL, RTR_MASK & ~IBV_QP_DEST_QPN);
}

static int rtr_extra(struct rt_dev *dev)
{
	return to_rtr(dev, NULL, RTR_MASK | IBV_QP_SQ_PSN);
}

static int rtr_unknown(struct rt_dev *dev)
{
	return to_rtr(dev, NULL, RTR_MASK | 1 << 30);
}

static void spoil_mtu_value(struct rt_dev *dev, struct ibv_qp_attr *attr)
{
	attr->path_mtu = 1024;
}

static int rtr_mtu_value(struct rt_dev *dev)
{
	return to_rtr(dev, spoil_mtu_value, RTR_MASK);
}

static void spoil_mtu_zero(struct rt_dev *dev, struct ibv_qp_attr *attr)
{
	if (rt_is_kernel(dev))
		rt_skip("the kernel lets its devices judge, and soft-RoCE takes it");
	attr->path_mtu = 0;
}

static int rtr_mtu_zero(struct rt_dev *dev)
{
	return to_rtr(dev, spoil_mtu_zero, RTR_MASK);
}

static void spoil_grh(struct rt_dev *dev, struct ibv_qp_attr *attr)
{
	if (dev->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		rt_skip("the port is not RoCE");
	attr->ah_attr.is_global = 0;
}

static int rtr_no_grh(struct rt_dev *dev)
{
	return to_rtr(dev, spoil_grh, RTR_MASK);
}

static void spoil_sgid_empty(struct rt_dev *dev, struct ibv_qp_attr *attr)
{
	attr->ah_attr.grh.sgid_index = empty_gid(dev);
}

static int rtr_sgid_empty(struct rt_dev *dev)
{
	return to_rtr(dev, spoil_sgid_empty, RTR_MASK);
}

static void spoil_ah_port(struct rt_dev *dev, struct ibv_qp_attr *attr)
{
	attr->ah_attr.port_num = dev->port_num + 1;
}

static int rtr_ah_port(struct rt_dev *dev)
{
	return to_rtr(dev, spoil_ah_port, RTR_MASK);
}

static int to_init(struct rt_dev *dev, struct ibv_qp_attr attr)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);

	attr.qp_state = IBV_QPS_INIT;
	return ibv_modify_qp(side.qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int init_port(struct rt_dev *dev)
{
	return to_init(dev, (struct ibv_qp_attr){ .port_num = 77 });
}

static int wrong_transition(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(side.qp, &attr, IBV_QP_STATE);
}

static int rts_timeout(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 32, .max_rd_atomic = 1 };

	rt_side_init(&side);
	rt_side_rtr(&side, &self);
	return ibv_modify_qp(side.qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static const struct rt_mistake mistakes[] = {
	{ "qp_no_cq", qp_no_cq, EINVAL, "recv_cq is NULL" },
	{ "qp_send_wr", qp_send_wr, EINVAL, "is above the device's max_qp_wr" },
	{ "qp_recv_sge", qp_recv_sge, EINVAL, "is above the device's max_sge" },
	{ "qp_inline", qp_inline, EINVAL, "max_inline_data 1048576 too large" },
	{ "qp_type", qp_type, EINVAL, "qp_type is none of" },
	{ "qp_comp_mask", qp_comp_mask, EOPNOTSUPP, "comp_mask has unknown bits" },
	{ "qp_send_ops", qp_send_ops, EOPNOTSUPP, "send_ops_flags 0x10" },
	{ "rtr_missing", rtr_missing, EINVAL, "missing IBV_QP_DEST_QPN" },
	{ "rtr_extra", rtr_extra, EINVAL, "not allowed here IBV_QP_SQ_PSN" },
	{ "rtr_unknown", rtr_unknown, EOPNOTSUPP, "unknown bits 0x40000000" },
	{ "rtr_mtu_value", rtr_mtu_value, EINVAL, "path_mtu 1024 is no enum ibv_mtu" },
	{ "rtr_mtu_zero", rtr_mtu_zero, EINVAL, "path_mtu 0 is no enum ibv_mtu" },
	{ "rtr_no_grh", rtr_no_grh, EINVAL, "RoCE requires ah_attr.is_global = 1" },
	{ "rtr_sgid_empty", rtr_sgid_empty, ENODATA, "is empty" },
	{ "rtr_ah_port", rtr_ah_port, EINVAL, "the queue pair is on port" },
	{ "init_port", init_port, EINVAL, "port_num 77: the device has ports" },
	{ "wrong_transition", wrong_transition, EINVAL, "from RESET a queue pair goes to" },
	{ "rts_timeout", rts_timeout, EINVAL, "timeout 32: 0 to 31" },
};
RT_MISTAKES(mistakes)
