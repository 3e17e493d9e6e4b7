/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of an existing queue pair by mlx5's direct verbs, and its scheduling elements; requests
 * that copy memory; and addresses that are bound to a queue pair.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>

static struct mlx5dv_sched_attr sched(struct mlx5dv_sched_node *parent, uint32_t flags)
{
	return (struct mlx5dv_sched_attr){
		.parent = parent, .flags = flags, .bw_share = 7, .max_avg_bw = 1000
	};
}

static void *told(const char *what, void *made)
{
	step("%s: %s, errno %d", what, made ? "made" : "none", made ? 0 : errno);
	return made;
}

static void elements(struct script *s)
{
	const uint32_t both =
		MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE | MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
	struct mlx5dv_sched_attr attr = sched(NULL, 0);
	struct mlx5dv_sched_node *root, *node;
	struct mlx5dv_sched_leaf *leaf, *other;

	root = told("root", mlx5dv_sched_node_create(s->context, &attr));
	must(root, "root");
	attr = sched(root, both);
	node = told("node", mlx5dv_sched_node_create(s->context, &attr));
	must(node, "node");
	attr = sched(node, MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE);
	leaf = told("leaf", mlx5dv_sched_leaf_create(s->context, &attr));
	other = told("other leaf", mlx5dv_sched_leaf_create(s->context, &attr));
	must(leaf && other, "leaf");
	step("for a queue pair: %d", mlx5dv_modify_qp_sched_elem(s->qp, leaf, other));
	step("for requests alone: %d", mlx5dv_modify_qp_sched_elem(s->qp, leaf, NULL));
	step("for none: %d", mlx5dv_modify_qp_sched_elem(s->qp, NULL, NULL));
	attr = sched(node, MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW);
	step("another leaf: %d", mlx5dv_sched_leaf_modify(leaf, &attr));
	attr = sched(root, both);
	step("another node: %d", mlx5dv_sched_node_modify(node, &attr));
	attr = sched(NULL, both);
	told("a root with a share", mlx5dv_sched_node_create(s->context, &attr));
	told("no attributes", mlx5dv_sched_node_create(s->context, NULL));
	attr = sched(NULL, 0);
	told("a leaf of nothing", mlx5dv_sched_leaf_create(s->context, &attr));
	attr = sched(root, 1 << 5);
	told("a flag too many", mlx5dv_sched_node_create(s->context, &attr));
	step("destroy: %d %d %d %d", mlx5dv_sched_leaf_destroy(leaf),
	     mlx5dv_sched_leaf_destroy(other), mlx5dv_sched_node_destroy(node),
	     mlx5dv_sched_node_destroy(root));
}

static void ports(struct script *s)
{
	uint8_t port = 0, active = 0;

	step("source port: %d", mlx5dv_modify_qp_udp_sport(s->qp, 0xc123));
	step("query: %d", mlx5dv_query_qp_lag_port(s->qp, &port, &active));
	step("port %u, which is %u", port, active);
	step("port 2: %d", mlx5dv_modify_qp_lag_port(s->qp, 2));
	step("no stream: %d", mlx5dv_dci_stream_id_reset(s->qp, 1));
}

static void addresses(struct script *s)
{
	struct ibv_ah_attr attr = {
		.port_num = 1,
		.is_global = 1,
		.sl = 3,
		.grh = { .sgid_index = 1, .hop_limit = 64, .dgid.raw = { 0xfe, 0x80, [15] = 9 } }
	};
	struct ibv_ah *ah = ibv_create_ah(s->pd, &attr);

	must(ah, "ah");
	step("map: %d", mlx5dv_map_ah_to_qp(ah, s->qp->qp_num));
	step("again: %d", mlx5dv_map_ah_to_qp(ah, s->qp->qp_num));
	step("destroy: %d", ibv_destroy_ah(ah));
}

static void copies(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MEMCPY | MLX5DV_QP_EX_WITH_RAW_WQE,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.pd = s->pd,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = 8, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	};
	struct mlx5dv_qp_ex *mqp;
	struct ibv_qp_ex *ex;

	step("queue pair that copies");
	s->qp = mlx5dv_create_qp(s->context, &attr, &dv);
	must(s->qp, "mlx5dv_create_qp");
	script_modify(s, IBV_QPS_INIT);
	script_modify(s, IBV_QPS_RTR);
	script_modify(s, IBV_QPS_RTS);
	ex = ibv_qp_to_qp_ex(s->qp);
	mqp = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	ibv_wr_start(ex);
	ex->wr_id = 0x55;
	ex->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_memcpy(mqp, s->mr->lkey, SCRIPT_BUFFER + 0x1000, s->mr->lkey, SCRIPT_BUFFER,
			 4096);
	ex->wr_flags = 0;
	mlx5dv_wr_memcpy(mqp, s->mr->lkey, SCRIPT_BUFFER + 0x2000, s->mr->lkey, SCRIPT_BUFFER, 1);
	step("copies: %d", ibv_wr_complete(ex));
	ibv_wr_start(ex);
	mlx5dv_wr_memcpy(mqp, s->mr->lkey, SCRIPT_BUFFER + 0x1000, s->mr->lkey, SCRIPT_BUFFER, 0);
	step("copy of nothing: %d", ibv_wr_complete(ex));
	ibv_wr_start(ex);
	mlx5dv_wr_memcpy(mqp, s->mr->lkey, SCRIPT_BUFFER + 0x1000, s->mr->lkey, SCRIPT_BUFFER,
			 1ul << 31);
	step("copy of too much: %d", ibv_wr_complete(ex));
	step("destroy: %d", ibv_destroy_qp(s->qp));
}

int main(void)
{
	const struct ibv_qp_cap cap = {
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1
	};
	struct script s = { 0 };

	script_open(&s);
	script_qp(&s, IBV_QPT_RC, &cap);
	step("in reset: %d", mlx5dv_modify_qp_udp_sport(s.qp, 0xc123));
	script_modify(&s, IBV_QPS_INIT);
	script_modify(&s, IBV_QPS_RTR);
	script_modify(&s, IBV_QPS_RTS);
	elements(&s);
	ports(&s);
	addresses(&s);
	script_qp_close(&s);
	copies(&s);
	script_close(&s);
	return 0;
}
