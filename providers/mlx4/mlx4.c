/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ConnectX-3 provider: start reading here. Operations that are not in this folder are plain
 * kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/mlx4/mlx4.h"

enum {
	MLX4_ABI_MIN = 2,
};

static const struct verbs_ops mlx4_ops = {
	.open_context = mlx4_open_context,
	.close_context = mlx4_close_context,
	.query_device = mlx4_query_device,
	.query_port = uverbs_query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.query_port_speed = uverbs_query_port_speed,
	.query_rt_values = mlx4_query_rt_values,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = mlx4_alloc_pd,
	.dealloc_pd = uverbs_dealloc_pd,

	.open_xrcd = uverbs_open_xrcd,
	.close_xrcd = uverbs_close_xrcd,

	.reg_mr = uverbs_reg_mr,
	.rereg_mr = uverbs_rereg_mr,
	.dereg_mr = uverbs_dereg_mr,

	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,
	.bind_mw = mlx4_bind_mw,

	.create_cq = mlx4_create_cq,
	.resize_cq = mlx4_resize_cq,
	.modify_cq = uverbs_modify_cq,
	.destroy_cq = mlx_destroy_cq,
	.req_notify_cq = mlx4_req_notify_cq,
	.cq_event = mlx4_cq_event,
	.poll_cq = mlx4_poll_cq,

	.create_srq = mlx4_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = mlx4_destroy_srq,
	.post_srq_recv = mlx_post_srq_recv,

	.create_qp = mlx4_create_qp,
	.open_qp = mlx4_open_qp,
	.modify_qp = mlx4_modify_qp,
	.query_qp = mlx4_query_qp,
	.destroy_qp = mlx4_destroy_qp,
	.post_send = mlx4_post_send,
	.post_recv = mlx4_post_recv,

	.create_ah = mlx4_create_ah,
	.destroy_ah = mlx4_destroy_ah,

	.create_wq = mlx4_create_wq,
	.modify_wq = mlx4_modify_wq,
	.destroy_wq = mlx4_destroy_wq,
	.create_rwq_ind_table = uverbs_create_rwq_ind_table,
	.destroy_rwq_ind_table = uverbs_destroy_rwq_ind_table,

	.create_flow = uverbs_create_flow,
	.destroy_flow = uverbs_destroy_flow,

	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};

static const struct verbs_provider mlx4_provider = {
	.size = sizeof(mlx4_provider),
	.name = "mlx4",
	.driver_id = RDMA_DRIVER_MLX4,
	.min_abi = MLX4_ABI_MIN,
	.max_abi = MLX4_IB_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct mlx4_context),
		.pd = sizeof(struct mlx4_pd),
		.cq = sizeof(struct mlx_cq),
		.srq = sizeof(struct mlx4_srq),
		.qp = sizeof(struct mlx4_qp),
		.wq = sizeof(struct mlx4_wq),
		.ah = sizeof(struct mlx4_ah),
	},
	.ops = &mlx4_ops,
};

VERBS_PROVIDER(mlx4_provider);
