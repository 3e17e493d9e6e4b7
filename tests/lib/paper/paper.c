/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device without hardware. It has every object of the API, but does not move data. Tests use it
 * for mistakes with objects that no device of this machine can create. The library must find these
 * mistakes before it calls a provider. */
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"

enum {
	MOST = 1024, /* of entries and requests of a queue */
};

static atomic_uint handles;

static uint32_t handle_next(void)
{
	return atomic_fetch_add(&handles, 1) + 1;
}

static int open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	ctx->context.num_comp_vectors = 1;
	ctx->context.cmd_fd = -1;
	return 0;
}

static int query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *attr)
{
	*attr = (struct ibv_device_attr_ex){
		.orig_attr = { .fw_ver = "paper",
			       .max_cqe = MOST,
			       .max_qp_wr = MOST,
			       .max_srq_wr = MOST,
			       .max_sge = 4,
			       .max_srq_sge = 4,
			       .max_mr_size = UINT64_MAX,
			       .phys_port_cnt = 1 },
		.phys_port_cnt_ex = 1,
		.max_dm_size = 1 << 20,
	};
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	if (port_num != 1)
		return -EINVAL;
	*attr = (struct ibv_port_attr){
		.state = IBV_PORT_ACTIVE,
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.active_mtu = IBV_MTU_1024,
	};
	return 0;
}

static int query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	if (port_num != 1 || index)
		return -EINVAL;
	*entry = (struct ibv_gid_entry){ .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2 };
	entry->gid.raw[15] = 1;
	return 0;
}

static ssize_t query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries,
			       size_t max_entries)
{
	return max_entries ? query_gid(ctx, 1, 0, entries) + 1 : -EINVAL;
}

static int create_comp_channel(struct ibv_comp_channel *channel)
{
	channel->fd = -1;
	return 0;
}

static void destroy_comp_channel(struct ibv_comp_channel *channel)
{
}

static int alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	pd->handle = handle_next();
	return 0;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

static int open_xrcd(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in)
{
	xrcd->handle = handle_next();
	return 0;
}

static int close_xrcd(struct verbs_xrcd *xrcd)
{
	return 0;
}

static int mr_make(struct verbs_mr *mr)
{
	mr->ibv_mr.handle = mr->ibv_mr.lkey = mr->ibv_mr.rkey = handle_next();
	return 0;
}

static int reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	return mr_make(mr);
}

static int reg_mr_ex(struct verbs_mr *mr, const struct verbs_reg_mr_ex *in)
{
	return mr_make(mr);
}

static int reg_dm_mr(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in)
{
	if (in->offset > in->dm->length || in->length > in->dm->length - in->offset)
		return -EINVAL;
	return mr_make(mr);
}

static int rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	return 0;
}

static int dereg_mr(struct verbs_mr *mr)
{
	return 0;
}

static int alloc_dm(struct verbs_dm *dm, const struct verbs_alloc_dm *in)
{
	dm->dm.handle = handle_next();
	return 0;
}

static int free_dm(struct verbs_dm *dm)
{
	return 0;
}

/* No process has exported device memory, so every import fails. */
static int import_dm(struct verbs_dm *dm, uint32_t handle)
{
	return -ENOENT;
}

static int alloc_dmah(struct verbs_dmah *dmah, const struct verbs_alloc_dmah *in)
{
	dmah->handle = handle_next();
	return 0;
}

static int dealloc_dmah(struct verbs_dmah *dmah)
{
	return 0;
}

static int size_check(uint32_t size)
{
	return size && size <= MOST ? 0 : -EINVAL;
}

static int create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in)
{
	cq->cq.handle = handle_next();
	cq->cq.cqe = in->attr->cqe;
	return size_check(in->attr->cqe);
}

static int destroy_cq(struct verbs_cq *cq)
{
	return 0;
}

static int create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	srq->srq.handle = handle_next();
	return size_check(in->attr->attr.max_wr);
}

static int destroy_srq(struct verbs_srq *srq)
{
	return 0;
}

static int create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in)
{
	qp->qp.handle = qp->qp.qp_num = handle_next();
	return in->attr->cap.max_send_wr > MOST || in->attr->cap.max_recv_wr > MOST ? -EINVAL : 0;
}

static int destroy_qp(struct verbs_qp *qp)
{
	return 0;
}

static int create_wq(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	wq->wq.handle = wq->wq.wq_num = handle_next();
	return size_check(in->attr->max_wr);
}

static int modify_wq(struct verbs_wq *wq, const struct verbs_modify_wq *in)
{
	return 0;
}

static int destroy_wq(struct verbs_wq *wq)
{
	return 0;
}

static int create_rwq_ind_table(struct ibv_rwq_ind_table *table,
				const struct verbs_create_rwq_ind_table *in)
{
	table->ind_tbl_handle = table->ind_tbl_num = handle_next();
	return 0;
}

static int destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	return 0;
}

/* The kernel knows two flags, and this device has one port. */
static int create_flow(struct ibv_flow *flow, const struct verbs_create_flow *in)
{
	if (in->attr->flags >> 3 || in->attr->port != 1)
		return -EINVAL;
	flow->handle = handle_next();
	return 0;
}

static int destroy_flow(struct ibv_flow *flow)
{
	return 0;
}

static int create_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in)
{
	action->handle = handle_next();
	return 0;
}

static int modify_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in)
{
	return 0;
}

static int destroy_flow_action(struct verbs_flow_action *action)
{
	return 0;
}

static int create_counters(struct verbs_counters *counters, const struct verbs_create_counters *in)
{
	counters->handle = handle_next();
	return 0;
}

static int destroy_counters(struct verbs_counters *counters)
{
	return 0;
}

static int attach_counters_point_flow(struct verbs_counters *counters,
				      const struct ibv_counter_attach_attr *attr,
				      struct ibv_flow *flow)
{
	return 0;
}

static int create_comp_cntr(struct ibv_comp_cntr *cntr, const struct verbs_create_comp_cntr *in)
{
	return 0;
}

static int destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	return 0;
}

static int qp_attach_comp_cntr(struct verbs_qp *qp, struct ibv_comp_cntr *cntr,
			       const struct ibv_qp_attach_comp_cntr_attr *attr)
{
	return 0;
}

static int create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	return in->attr->port_num == 1 ? 0 : -EINVAL;
}

static int destroy_ah(struct ibv_ah *ah)
{
	return 0;
}

static int list_devices(struct verbs_device_list *list)
{
	struct verbs_device *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	strcpy(device->device.name, "paper0");
	strcpy(device->device.dev_name, "paper0");
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	device->index = -1;
	verbs_device_add(list, device);
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = open_context,
	.query_device = query_device,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_gid_table = query_gid_table,
	.create_comp_channel = create_comp_channel,
	.destroy_comp_channel = destroy_comp_channel,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.open_xrcd = open_xrcd,
	.close_xrcd = close_xrcd,
	.reg_mr = reg_mr,
	.reg_mr_ex = reg_mr_ex,
	.reg_dm_mr = reg_dm_mr,
	.rereg_mr = rereg_mr,
	.dereg_mr = dereg_mr,
	.alloc_dm = alloc_dm,
	.free_dm = free_dm,
	.import_dm = import_dm,
	.alloc_dmah = alloc_dmah,
	.dealloc_dmah = dealloc_dmah,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.create_srq = create_srq,
	.destroy_srq = destroy_srq,
	.create_qp = create_qp,
	.destroy_qp = destroy_qp,
	.create_wq = create_wq,
	.modify_wq = modify_wq,
	.destroy_wq = destroy_wq,
	.create_rwq_ind_table = create_rwq_ind_table,
	.destroy_rwq_ind_table = destroy_rwq_ind_table,
	.create_flow = create_flow,
	.destroy_flow = destroy_flow,
	.create_flow_action_esp = create_flow_action_esp,
	.modify_flow_action_esp = modify_flow_action_esp,
	.destroy_flow_action = destroy_flow_action,
	.create_counters = create_counters,
	.destroy_counters = destroy_counters,
	.attach_counters_point_flow = attach_counters_point_flow,
	.create_comp_cntr = create_comp_cntr,
	.destroy_comp_cntr = destroy_comp_cntr,
	.qp_attach_comp_cntr = qp_attach_comp_cntr,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
};

static const struct verbs_provider paper_provider = {
	.size = sizeof(paper_provider),
	.name = "paper",
	.ops = &ops,
	.list_devices = list_devices,
};
VERBS_PROVIDER(paper_provider);
