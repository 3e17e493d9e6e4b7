/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples, on an emulated adapter: direct verbs of mlx5,
 * and what only this adapter has of the verbs. */
#include <string.h>
#include <infiniband/mlx5dv.h>

#include "tests/adapters/lab/scenario/script.h"

#include "ibv_modify_qp_rate_limit.h"
#include "ibv_post_srq_ops.h"
#include "mlx5dv_alloc_dm.h"
#include "mlx5dv_create_cq.h"
#include "mlx5dv_create_flow_matcher.h"
#include "mlx5dv_create_mkey.h"
#include "mlx5dv_create_qp.h"
#include "mlx5dv_dek_create.h"
#include "mlx5dv_devx_alloc_uar.h"
#include "mlx5dv_devx_create_event_channel.h"
#include "mlx5dv_devx_obj_create.h"
#include "mlx5dv_devx_umem_reg.h"
#include "mlx5dv_dr_action_create_drop.h"
#include "mlx5dv_dr_domain_create.h"
#include "mlx5dv_init_obj.h"
#include "mlx5dv_modify_qp_lag_port.h"
#include "mlx5dv_open_device.h"
#include "mlx5dv_sched_leaf_create.h"

enum {
	CREATE_COUNTER = 0x939,
	MATCH = 64,
};

static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
static union {
	struct mlx5dv_flow_match_parameters p;
	uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + MATCH];
} match = { .p.match_sz = MATCH };

static void context(struct script *s)
{
	struct mlx5dv_devx_umem *umem = ring(s->context, (void *)(uintptr_t)SCRIPT_BUFFER, 4096);
	struct ibv_dm *dm = on_chip(s->context, 64);
	struct ibv_cq_ex *cq = wide(s->context);

	must(umem && dm && cq, "objects of a context");
	must(number_of(ibv_cq_ex_to_cq(cq)), "number of a queue");
	must(page_of_registers(s->context), "page of registers");
	must(lag_state(s->context) <= 7, "LAG");
	must(!is_logged_in(s->context), "no login");
	step("streams: %d", streams_of(s->context));
	must(!mlx5dv_devx_umem_dereg(umem) && !ibv_free_dm(dm), "free");
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy");
}

static void watched(struct script *s)
{
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		s->context, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	uint32_t in[16] = { htobe32(CREATE_COUNTER << 16) }, out[16] = { 0 };
	struct mlx5dv_devx_obj *object =
		mlx5dv_devx_obj_create(s->context, in, sizeof(in), out, sizeof(out));

	must(channel && object, "object and channel");
	must(!watch(channel, object, 7), "subscription");
	mlx5dv_devx_destroy_event_channel(channel);
	must(!mlx5dv_devx_obj_destroy(object), "destroy");
}

static void queue_pair(struct script *s)
{
	struct mlx5dv_sched_attr attr = { 0 };
	struct mlx5dv_sched_node *root = mlx5dv_sched_node_create(s->context, &attr);
	struct mlx5dv_sched_leaf *leaf;

	script_connect(s, &cap);
	must(!by_another_path(s->qp, 0x123), "source port");
	must(root, "root");
	leaf = limited(s->context, root, 1000);
	must(leaf, "leaf");
	must(!mlx5dv_sched_leaf_destroy(leaf) && !mlx5dv_sched_node_destroy(root), "destroy");
	script_qp_close(s);
}

static void paced(struct script *s)
{
	script_qp(s, IBV_QPT_RAW_PACKET, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr attr = { .qp_state = state, .port_num = state == IBV_QPS_INIT };

		must(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | (attr.port_num ? IBV_QP_PORT : 0)),
		     "state");
	}
	must(!at_most_a_gigabit(s->qp), "rate");
	script_qp_close(s);
}

static void dynamic(struct script *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->pd, &init);
	struct ibv_qp *qp;

	must(srq, "srq");
	qp = target(s->pd, s->recv_cq, srq, 0x1122334455667788);
	must(qp, "target");
	must(!ibv_destroy_qp(qp) && !ibv_destroy_srq(srq), "destroy");
}

static void tags(struct script *s)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 10, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s->context, &cq_attr);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = s->pd,
		.cq = ibv_cq_ex_to_cq(cq),
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};
	struct ibv_srq *srq = ibv_create_srq_ex(s->context, &attr);
	struct ibv_sge sge = script_sge(s, 0, 64);

	must(cq && srq, "srq with tags");
	must(!expect_tag(srq, &sge, 42), "tag");
	must(!ibv_destroy_srq(srq) && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy");
}

static void key_of_pieces(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.pd = s->pd,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { 8, 1, 1, 1, 252 },
	};
	struct mlx5dv_mkey_init_attr key_attr = {
		.pd = s->pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4
	};
	struct mlx5dv_mkey *key = mlx5dv_create_mkey(&key_attr);
	struct ibv_sge pieces[2] = { script_sge(s, 0, 64), script_sge(s, 4096, 64) };

	s->qp = mlx5dv_create_qp(s->context, &attr, &dv);
	must(s->qp && key, "key and queue pair");
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	must(!describe(s->qp, key, pieces, 2), "description");
	script_qp_close(s);
	must(!mlx5dv_destroy_mkey(key), "destroy");
}

static void flows(struct script *s)
{
	struct mlx5dv_flow_matcher_attr attr = { .match_mask = &match.p,
						 .match_criteria_enable = 1 };
	struct mlx5dv_flow_matcher *matcher = mlx5dv_create_flow_matcher(s->context, &attr);
	struct ibv_flow *flow;

	must(matcher, "matcher");
	script_qp(s, IBV_QPT_RAW_PACKET, &cap);
	flow = all_to(matcher, s->qp, &match.p);
	must(flow, "flow");
	must(!ibv_destroy_flow(flow) && !mlx5dv_destroy_flow_matcher(matcher), "destroy");
	script_qp_close(s);
}

static void steering(struct script *s)
{
	struct mlx5dv_dr_domain *domain =
		mlx5dv_dr_domain_create(s->context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;

	must(domain, "domain");
	must(drop_all(domain, &match.p), "rule that drops");
	table = mlx5dv_dr_table_create(domain, 0);
	must(table, "table");
	matcher = mlx5dv_dr_matcher_create(table, 1, 1, &match.p);
	must(matcher, "matcher");
	script_qp(s, IBV_QPT_RAW_PACKET, &cap);
	must(deliver(matcher, &match.p, s->qp), "rule that delivers");
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	context(&s);
	watched(&s);
	queue_pair(&s);
	paced(&s);
	dynamic(&s);
	tags(&s);
	key_of_pieces(&s);
	flows(&s);
	steering(&s);
	return 0;
}
