/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Create and destroy the objects of mlx5's direct verbs one by one. No object is left after the
 * failure of any command. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	COMMAND = 64,
	CREATE_OBJECT = 0xa00,
};

static char buffer[8192] __attribute__((aligned(4096)));

/* Return: @made */
static void *said(const char *what, void *made)
{
	if (!made)
		printf("%s: %s\n", what, strerror(errno));
	return made;
}

static void objects(struct ibv_context *context)
{
	uint32_t in[COMMAND / 4] = { htobe32(CREATE_OBJECT << 16), htobe32(0x2c) };
	uint32_t out[COMMAND / 4];
	struct mlx5dv_devx_event_channel *channel =
		said("channel", mlx5dv_devx_create_event_channel(context, 1));
	struct mlx5dv_devx_cmd_comp *comp = said("answers", mlx5dv_devx_create_cmd_comp(context));
	struct mlx5dv_devx_obj *object =
		said("object", mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)));
	uint16_t event = 0x13;

	if (object && channel && mlx5dv_devx_subscribe_devx_event(channel, object, 2, &event, 1))
		said("subscription", NULL);
	if (object && comp &&
	    mlx5dv_devx_obj_query_async(object, in, sizeof(in), sizeof(out), 1, comp))
		said("query", NULL);
	if (object && mlx5dv_devx_obj_modify(object, in, sizeof(in), out, sizeof(out)))
		said("modify", NULL);
	if (object)
		mlx5dv_devx_obj_destroy(object);
	if (comp)
		mlx5dv_devx_destroy_cmd_comp(comp);
	if (channel)
		mlx5dv_devx_destroy_event_channel(channel);
}

static void pages(struct ibv_context *context)
{
	struct mlx5dv_devx_umem *umem =
		said("umem", mlx5dv_devx_umem_reg(context, buffer, sizeof(buffer), 1));
	struct mlx5dv_devx_uar *uar =
		said("uar", mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_BF));
	struct mlx5dv_devx_uar *uncached = said(
		"uncached uar", mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED));
	struct mlx5dv_var *var = said("var", mlx5dv_alloc_var(context, 0));
	struct mlx5dv_pp *pp = said("pp", mlx5dv_pp_alloc(context, 48, buffer, 0));
	uint32_t eqn;

	if (mlx5dv_devx_query_eqn(context, 0, &eqn))
		said("eqn", NULL);
	if (umem)
		mlx5dv_devx_umem_dereg(umem);
	if (uar)
		mlx5dv_devx_free_uar(uar);
	if (uncached)
		mlx5dv_devx_free_uar(uncached);
	if (var)
		mlx5dv_free_var(var);
	if (pp)
		mlx5dv_pp_free(pp);
}

static void queues(struct ibv_context *context, struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr key = { .pd = pd,
					     .create_flags =
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
						     MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
					     .max_entries = 4 };
	struct mlx5dv_cq_init_attr cq_dv = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					     .cqe_size = 128 };
	struct mlx5dv_qp_init_attr qp_dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST,
	};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 15 };
	struct mlx5dv_mkey *mkey = said("key", mlx5dv_create_mkey(&key));
	struct ibv_cq_ex *cq =
		said("completion queue", mlx5dv_create_cq(context, &cq_attr, &cq_dv));
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq ? ibv_cq_ex_to_cq(cq) : NULL,
		.recv_cq = cq ? ibv_cq_ex_to_cq(cq) : NULL,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
	};
	struct ibv_qp *qp = cq ? mlx5dv_create_qp(context, &attr, &qp_dv) : NULL;

	if (cq)
		said("queue pair", qp);
	if (qp)
		ibv_destroy_qp(qp);
	if (cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	if (mkey)
		mlx5dv_destroy_mkey(mkey);
}

/* Both halves of DC. */
static void dynamic(struct ibv_context *context, struct ibv_pd *pd)
{
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_cq *cq = said("completion queue", ibv_create_cq(context, 7, NULL, NULL, 0));
	struct ibv_srq *srq = said("shared receive queue", ibv_create_srq(pd, &srq_attr));
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_qp *initiator, *target = NULL;

	dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	initiator = cq ? mlx5dv_create_qp(context, &attr, &dv) : NULL;
	dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
	attr.cap.max_send_wr = attr.cap.max_send_sge = 0;
	attr.srq = srq;
	if (cq && srq)
		target = mlx5dv_create_qp(context, &attr, &dv);
	said("initiator", initiator);
	said("target", target);
	if (target)
		ibv_destroy_qp(target);
	if (initiator)
		ibv_destroy_qp(initiator);
	if (srq)
		ibv_destroy_srq(srq);
	if (cq)
		ibv_destroy_cq(cq);
}

/* A tree of scheduling elements, an address bound to a queue pair, and a queue pair that copies. */
static void elements(struct ibv_context *context, struct ibv_pd *pd)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MEMCPY,
	};
	struct ibv_ah_attr address = { .port_num = 1, .is_global = 1, .grh.sgid_index = 1 };
	struct mlx5dv_sched_attr root_attr = { 0 }, leaf_attr = { 0 };
	struct mlx5dv_sched_node *root =
		said("root", mlx5dv_sched_node_create(context, &root_attr));
	struct ibv_cq *cq = said("completion queue", ibv_create_cq(context, 7, NULL, NULL, 0));
	struct ibv_ah *ah = said("address", ibv_create_ah(pd, &address));
	struct mlx5dv_sched_leaf *leaf = NULL;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = cq ? said("copier", mlx5dv_create_qp(context, &attr, &dv)) : NULL;

	leaf_attr.parent = root;
	if (root)
		leaf = said("leaf", mlx5dv_sched_leaf_create(context, &leaf_attr));
	if (ah)
		said("mapping", mlx5dv_map_ah_to_qp(ah, 0x100) ? NULL : ah);
	if (leaf)
		mlx5dv_sched_leaf_destroy(leaf);
	if (root)
		mlx5dv_sched_node_destroy(root);
	if (qp)
		ibv_destroy_qp(qp);
	if (ah)
		ibv_destroy_ah(ah);
	if (cq)
		ibv_destroy_cq(cq);
}

/* Steering by the firmware's formats. */
static void steering(struct ibv_context *context)
{
	struct mlx5dv_flow_match_parameters all = { 0 };
	struct mlx5dv_flow_matcher_attr attr = { .match_mask = &all };
	struct mlx5dv_steering_anchor_attr anchor_attr = { 0 };
	struct mlx5dv_flow_action_attr drop = { .type = MLX5DV_FLOW_ACTION_DROP };
	uint64_t rewrite = 1;
	struct mlx5dv_flow_matcher *matcher =
		said("matcher", mlx5dv_create_flow_matcher(context, &attr));
	struct ibv_flow *flow =
		matcher ? said("rule", mlx5dv_create_flow(matcher, &all, 1, &drop)) : NULL;
	struct ibv_flow_action *modify =
		said("rewrite",
		     mlx5dv_create_flow_action_modify_header(context, sizeof(rewrite), &rewrite,
							     MLX5DV_FLOW_TABLE_TYPE_NIC_RX));
	struct ibv_flow_action *wrap =
		said("wrap",
		     mlx5dv_create_flow_action_packet_reformat(context, sizeof(rewrite), &rewrite,
							       1, MLX5DV_FLOW_TABLE_TYPE_NIC_TX));
	struct mlx5dv_steering_anchor *anchor =
		said("anchor", mlx5dv_create_steering_anchor(context, &anchor_attr));

	if (anchor)
		mlx5dv_destroy_steering_anchor(anchor);
	if (wrap)
		ibv_destroy_flow_action(wrap);
	if (modify)
		ibv_destroy_flow_action(modify);
	if (flow)
		ibv_destroy_flow(flow);
	if (matcher)
		mlx5dv_destroy_flow_matcher(matcher);
}

/* Destroy what was created. If an object still counts a user, it stays, and the test finds the
 * leak. */
static void root_tables(struct ibv_context *context)
{
	struct mlx5dv_flow_match_parameters all = { 0 };
	uint64_t rewrite = 1;
	struct mlx5dv_dr_domain *domain =
		said("domain", mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX));
	struct mlx5dv_dr_table *table =
		domain ? said("table", mlx5dv_dr_table_create(domain, 0)) : NULL;
	struct mlx5dv_dr_matcher *matcher =
		table ? said("dr matcher", mlx5dv_dr_matcher_create(table, 0, 0, &all)) : NULL;
	struct mlx5dv_dr_action *drop = said("drop", mlx5dv_dr_action_create_drop());
	struct mlx5dv_dr_action *modify =
		domain ? said("modify", mlx5dv_dr_action_create_modify_header(
						domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL,
						sizeof(rewrite), (__be64 *)&rewrite))
		       : NULL;
	struct mlx5dv_dr_action *decap =
		domain ? said("decap",
			      mlx5dv_dr_action_create_packet_reformat(
				      domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 0, 0, NULL))
		       : NULL;
	struct mlx5dv_dr_rule *rule =
		matcher && drop ? said("dr rule", mlx5dv_dr_rule_create(matcher, &all, 1, &drop))
				: NULL;

	if ((rule && mlx5dv_dr_rule_destroy(rule)) || (decap && mlx5dv_dr_action_destroy(decap)) ||
	    (modify && mlx5dv_dr_action_destroy(modify)) ||
	    (drop && mlx5dv_dr_action_destroy(drop)) ||
	    (matcher && mlx5dv_dr_matcher_destroy(matcher)) ||
	    (table && mlx5dv_dr_table_destroy(table)) ||
	    (domain && mlx5dv_dr_domain_destroy(domain)))
		said("the end of steering", NULL);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *context = list && list[0] ? mlx5dv_open_device(list[0], &attr) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;

	said("context", context);
	if (context) {
		objects(context);
		pages(context);
		if (pd) {
			queues(context, pd);
			dynamic(context, pd);
			elements(context, pd);
			steering(context);
			root_tables(context);
		} else
			said("pd", NULL);
	}
	if (pd)
		ibv_dealloc_pd(pd);
	if (context)
		ibv_close_device(context);
	if (list)
		ibv_free_device_list(list);
	return 0;
}
