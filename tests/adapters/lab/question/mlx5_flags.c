/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Create flags of mlx5dv_create_qp() for a queue pair that receives through a table. The trace
 * shows the kernel's request. */
#include "tests/adapters/lab/scenario/script.h"

#include <infiniband/mlx5dv.h>

int main(void)
{
	struct script s = { 0 };
	uint8_t key[40] = { 0 };
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table_init_attr table_attr = { .ind_tbl = &wq };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key,
				  IBV_RX_HASH_SRC_IPV4 },
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_TUNNEL_OFFLOADS |
				MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC,
	};

	script_open(&s);
	wq_attr.pd = s.pd;
	wq_attr.cq = s.recv_cq;
	wq = ibv_create_wq(s.context, &wq_attr);
	must(wq, "wq");
	attr.pd = s.pd;
	attr.rwq_ind_tbl = ibv_create_rwq_ind_table(s.context, &table_attr);
	must(attr.rwq_ind_tbl, "table");
	step("a queue pair with tunnels and loopback");
	s.qp = mlx5dv_create_qp(s.context, &attr, &dv);
	must(s.qp, "qp");
	script_qp_close(&s);
	must(!ibv_destroy_rwq_ind_table(attr.rwq_ind_tbl) && !ibv_destroy_wq(wq), "destroy");
	script_close(&s);
	return 0;
}
