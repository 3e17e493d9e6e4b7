/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The soft RoCE provider: start reading here. Operations that are not in this folder are plain
 * kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/kit/domain.h"
#include "providers/rxe/rxe.h"

static const struct verbs_ops rxe_ops = {
	.open_context = uverbs_open_context,
	.query_device = uverbs_query_device,
	.query_port = uverbs_query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = uverbs_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,
	.import_pd = uverbs_import_pd,
	.alloc_td = kit_alloc_td,
	.alloc_parent_domain = kit_alloc_parent_domain,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.rereg_mr = uverbs_rereg_mr,
	.dereg_mr = uverbs_dereg_mr,
	.import_mr = uverbs_import_mr,
	.advise_mr = uverbs_advise_mr,

	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,
	.bind_mw = rxe_bind_mw,

	.create_cq = rxe_create_cq,
	.resize_cq = rxe_resize_cq,
	.destroy_cq = rxe_destroy_cq,
	.req_notify_cq = uverbs_req_notify_cq,
	.poll_cq = rxe_poll_cq,

	.create_srq = rxe_create_srq,
	.modify_srq = rxe_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = rxe_destroy_srq,
	.post_srq_recv = rxe_post_srq_recv,

	.create_qp = rxe_create_qp,
	.modify_qp = uverbs_modify_qp,
	.query_qp = uverbs_query_qp,
	.destroy_qp = rxe_destroy_qp,
	.post_send = rxe_post_send,
	.post_recv = rxe_post_recv,

	.create_ah = rxe_create_ah,
	.destroy_ah = uverbs_destroy_ah,

	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};

static const struct verbs_provider rxe_provider = {
	.size = sizeof(rxe_provider),
	.name = "rxe",
	.driver_id = RDMA_DRIVER_RXE,
	/* ABI 1 has other padding in 32-bit processes. */
	.min_abi = sizeof(void *) == 8 ? 1 : 2,
	.max_abi = 2,
	.sizes = {
		.cq = sizeof(struct rxe_cq),
		.srq = sizeof(struct rxe_srq),
		.qp = sizeof(struct rxe_qp),
		.ah = sizeof(struct rxe_ah),
	},
	.ops = &rxe_ops,
};

VERBS_PROVIDER(rxe_provider);
