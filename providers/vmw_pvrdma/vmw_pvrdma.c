/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The provider of VMware's paravirtual adapter: start reading here. Operations that are not in this
 * folder are plain kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/qp.h"
#include "providers/vmw_pvrdma/pvrdma.h"

static const struct verbs_ops pvrdma_ops = {
	.open_context = pvrdma_open_context,
	.close_context = pvrdma_close_context,
	.query_device = pvrdma_query_device,
	.query_port = uverbs_query_port,
	.query_port_speed = uverbs_query_port_speed,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = pvrdma_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.reg_mr = uverbs_reg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.create_cq = pvrdma_create_cq,
	.destroy_cq = pvrdma_destroy_cq,
	.req_notify_cq = pvrdma_req_notify_cq,
	.poll_cq = pvrdma_poll_cq,

	.create_srq = pvrdma_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = pvrdma_destroy_srq,
	.post_srq_recv = pvrdma_post_srq_recv,

	.create_qp = pvrdma_create_qp,
	.modify_qp = pvrdma_modify_qp,
	.query_qp = kit_query_qp,
	.destroy_qp = pvrdma_destroy_qp,
	.post_send = pvrdma_post_send,
	.post_recv = pvrdma_post_recv,

	.create_ah = pvrdma_create_ah,
	.destroy_ah = pvrdma_destroy_ah,
};

static const struct verbs_provider pvrdma_provider = {
	.size = sizeof(pvrdma_provider),
	.name = "vmw_pvrdma",
	.driver_id = RDMA_DRIVER_VMW_PVRDMA,
	.min_abi = PVRDMA_UVERBS_ABI_VERSION,
	.max_abi = PVRDMA_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct pvrdma_context),
		.pd = sizeof(struct pvrdma_pd),
		.cq = sizeof(struct pvrdma_cq),
		.srq = sizeof(struct pvrdma_srq),
		.qp = sizeof(struct pvrdma_qp),
		.ah = sizeof(struct pvrdma_ah),
	},
	.ops = &pvrdma_ops,
};

VERBS_PROVIDER(pvrdma_provider);
