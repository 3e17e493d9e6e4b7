/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The EFA provider: start reading here. Operations that are not in this folder are plain kernel
 * commands. */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/efa/efa.h"

static int efa_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr)
{
	return 0;
}

static int efa_alloc_parent_domain(struct verbs_pd *parent)
{
	if (!parent->alloc && !parent->free)
		return 0;
	verbs_err(parent->pd.context,
		  "ibv_alloc_parent_domain: allocators: the queues of this device are its own");
	return -EOPNOTSUPP;
}

static const struct verbs_ops efa_ops = {
	.open_context = efa_open_context,
	.close_context = efa_close_context,
	.query_device = efa_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.alloc_td = efa_alloc_td,
	.alloc_parent_domain = efa_alloc_parent_domain,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = efa_create_cq,
	.destroy_cq = efa_destroy_cq,
	.req_notify_cq = efa_req_notify_cq,
	.cq_event = efa_cq_event,
	.poll_cq = efa_poll_cq,

	.create_qp = efa_create_qp,
	.modify_qp = efa_modify_qp,
	.query_qp = efa_query_qp,
	.destroy_qp = efa_destroy_qp,
	.query_qp_data_in_order = efa_query_qp_data_in_order,
	.post_send = efa_post_send,
	.post_recv = efa_post_recv,

	.create_ah = efa_create_ah,
	.destroy_ah = uverbs_destroy_ah,

	.query_comp_cntr_caps = uverbs_query_comp_cntr_caps,
	.create_comp_cntr = efa_create_comp_cntr,
	.destroy_comp_cntr = efa_destroy_comp_cntr,
	.modify_comp_cntr = uverbs_modify_comp_cntr,
	.read_comp_cntr = efa_read_comp_cntr,
	.qp_attach_comp_cntr = uverbs_qp_attach_comp_cntr,
};

static const struct verbs_provider efa_provider = {
	.size = sizeof(efa_provider),
	.name = "efa",
	.driver_id = RDMA_DRIVER_EFA,
	.min_abi = EFA_UVERBS_ABI_VERSION,
	.max_abi = EFA_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct efa_context),
		.cq = sizeof(struct efa_cq),
		.qp = sizeof(struct efa_qp),
		.ah = sizeof(struct efa_ah),
		.comp_cntr = sizeof(struct efa_comp_cntr),
	},
	.ops = &efa_ops,
};

VERBS_PROVIDER(efa_provider);
