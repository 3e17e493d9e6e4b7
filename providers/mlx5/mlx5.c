/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ConnectX provider: start reading here. Operations that are not in this folder are plain
 * kernel commands.
 */
#include <rdma/ib_user_ioctl_verbs.h>

#include "providers/mlx5/ah.h"
#include "providers/mlx5/clock.h"
#include "providers/mlx5/cq.h"
#include "providers/mlx5/dm.h"
#include "providers/mlx5/flow.h"
#include "providers/mlx5/import.h"
#include "providers/mlx5/mr.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/tag.h"
#include "providers/mlx5/wq.h"
#include "providers/mlx5/wr.h"

static const struct verbs_ops mlx5_ops = {
	.open_context = mlx5_open_context,
	.close_context = mlx5_close_context,
	.query_device = mlx5_query_device,
	.query_port = uverbs_query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
	.query_port_speed = uverbs_query_port_speed,
	.query_rt_values = mlx5_query_rt_values,
	.create_comp_channel = uverbs_create_comp_channel,

	.alloc_pd = mlx5_alloc_pd,
	.dealloc_pd = mlx5_dealloc_pd,
	.import_pd = mlx5_import_pd,
	.unimport_pd = mlx5_unimport_pd,
	.alloc_td = mlx5_alloc_td,
	.dealloc_td = mlx5_dealloc_td,
	.alloc_parent_domain = mlx5_alloc_parent_domain,

	.open_xrcd = uverbs_open_xrcd,
	.close_xrcd = uverbs_close_xrcd,

	.reg_mr = uverbs_reg_mr,
	.reg_dmabuf_mr = uverbs_reg_dmabuf_mr,
	.rereg_mr = uverbs_rereg_mr,
	.reg_mr_ex = uverbs_reg_mr_ex,
	.dereg_mr = mlx5_dereg_mr,
	.import_mr = uverbs_import_mr,
	.advise_mr = uverbs_advise_mr,
	.alloc_null_mr = mlx5_alloc_null_mr,
	.reg_dm_mr = uverbs_reg_dm_mr,
	.alloc_dm = mlx5_alloc_dm,
	.free_dm = mlx5_free_dm,
	.dm_export_dmabuf_fd = mlx5_dm_export_dmabuf_fd,
	.import_dm = mlx5_import_dm,
	.unimport_dm = mlx5_unimport_dm,
	.alloc_dmah = uverbs_alloc_dmah,
	.dealloc_dmah = uverbs_dealloc_dmah,

	.alloc_mw = uverbs_alloc_mw,
	.dealloc_mw = uverbs_dealloc_mw,
	.bind_mw = mlx5_bind_mw,

	.create_cq = mlx5_create_cq,
	.resize_cq = mlx5_resize_cq,
	.modify_cq = uverbs_modify_cq,
	.destroy_cq = mlx_destroy_cq,
	.req_notify_cq = mlx5_req_notify_cq,
	.cq_event = mlx5_cq_event,
	.poll_cq = mlx5_poll_cq,

	.create_srq = mlx5_create_srq,
	.modify_srq = uverbs_modify_srq,
	.query_srq = uverbs_query_srq,
	.destroy_srq = mlx5_destroy_srq,
	.post_srq_recv = mlx_post_srq_recv,
	.post_srq_ops = mlx5_post_srq_ops,

	.create_qp = mlx5_create_qp,
	.open_qp = mlx5_open_qp,
	.modify_qp = mlx5_modify_qp,
	.modify_qp_rate_limit = mlx5_modify_qp_rate_limit,
	.query_qp = mlx5_query_qp,
	.query_qp_data_in_order = mlx5_query_qp_data_in_order,
	.destroy_qp = mlx5_destroy_qp,
	.set_ece = mlx5_set_ece,
	.query_ece = mlx5_query_ece,
	.post_send = mlx5_post_send,
	.post_recv = mlx5_post_recv,

	.create_ah = mlx5_create_ah,
	.destroy_ah = mlx5_destroy_ah,

	.create_wq = mlx5_create_wq,
	.modify_wq = mlx5_modify_wq,
	.destroy_wq = mlx5_destroy_wq,
	.create_rwq_ind_table = mlx5_create_rwq_ind_table,
	.destroy_rwq_ind_table = uverbs_destroy_rwq_ind_table,

	.create_flow = mlx5_create_flow,
	.destroy_flow = mlx5_destroy_flow,
	.create_flow_action_esp = mlx5_create_flow_action_esp,
	.modify_flow_action_esp = uverbs_modify_flow_action_esp,
	.destroy_flow_action = uverbs_destroy_flow_action,
	.create_counters = mlx5_create_counters,
	.destroy_counters = mlx5_destroy_counters,
	.attach_counters_point_flow = mlx5_attach_counters,
	.read_counters = uverbs_read_counters,

	.attach_mcast = uverbs_attach_mcast,
	.detach_mcast = uverbs_detach_mcast,
};

static const struct verbs_provider mlx5_provider = {
	.size = sizeof(mlx5_provider),
	.name = "mlx5",
	.driver_id = RDMA_DRIVER_MLX5,
	.min_abi = MLX5_IB_UVERBS_ABI_VERSION,
	.max_abi = MLX5_IB_UVERBS_ABI_VERSION,
	.sizes = {
		.context = sizeof(struct mlx5_context),
		.pd = sizeof(struct mlx5_pd),
		.td = sizeof(struct mlx5_td),
		.dm = sizeof(struct mlx5_dm),
		.cq = sizeof(struct mlx_cq),
		.srq = sizeof(struct mlx5_srq),
		.qp = sizeof(struct mlx5_qp),
		.wq = sizeof(struct mlx5_wq),
		.flow = sizeof(struct mlx5_flow),
		.counters = sizeof(struct mlx5_counters),
		.ah = sizeof(struct mlx5_ah),
	},
	.ops = &mlx5_ops,
};

VERBS_PROVIDER(mlx5_provider);
