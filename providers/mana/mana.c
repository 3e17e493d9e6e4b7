/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of Azure's adapter: start reading here. Operations that are not in this folder are
 * plain kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/mana/rc.h"

static const struct verbs_ops mana_ops = {
	.open_context = mana_open_context,
	.close_context = mana_close_context,
	.query_device = mana_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,
	.async_event = mana_async_event,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.alloc_parent_domain = mana_alloc_parent_domain,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.reg_dm_mr = uverbs_reg_dm_mr,
	.dereg_mr = uverbs_dereg_mr,

	.alloc_dm = uverbs_alloc_dm,
	.free_dm = uverbs_free_dm,

	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,

	.create_cq = mana_create_cq,
	.destroy_cq = mana_destroy_cq,
	.req_notify_cq = mana_req_notify_cq,
	.poll_cq = mana_poll_cq,

	.create_wq = mana_create_wq,
	.destroy_wq = mana_destroy_wq,
	.create_rwq_ind_table = mana_create_rwq_ind_table,
	.destroy_rwq_ind_table = mana_destroy_rwq_ind_table,

	.create_qp = mana_create_qp,
	.modify_qp = mana_modify_qp,
	.query_qp = mana_query_qp,
	.destroy_qp = mana_destroy_qp,
	.post_send = mana_post_send,
	.post_recv = mana_post_recv,
};

static const struct verbs_provider mana_provider = {
	.size = sizeof(mana_provider),
	.name = "mana",
	.driver_id = RDMA_DRIVER_MANA,
	.min_abi = MANA_IB_UVERBS_ABI_VERSION,
	.max_abi = MANA_IB_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct mana_context),
		.cq = sizeof(struct mana_cq),
		.wq = sizeof(struct mana_wq),
		.rwq_ind_table = sizeof(struct mana_rwq_ind_table),
		.qp = sizeof(union mana_any_qp),
	},
	.ops = &mana_ops,
};

VERBS_PROVIDER(mana_provider);
