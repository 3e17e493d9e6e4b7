/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steer by root tables: domains of each type, rules of each action, users of objects, and refused
 * arguments. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	MATCH = 64,
	TOO_LONG = 452,
	COUNTERS = 0x939,
	TIR = 0x900,
	WORDS = 64,
	UNKNOWN_FLAG = 2,
};

union match {
	struct mlx5dv_flow_match_parameters p;
	uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + TOO_LONG];
};

static union match match;

static void *told(const char *what, void *made)
{
	step("%s: %s, errno %d", what, made ? "made" : "none", made ? 0 : errno);
	return made;
}

static void gone(const char *what, int r)
{
	step("%s: %d", what, r);
}

static struct mlx5dv_devx_obj *object(struct script *s, unsigned opcode)
{
	uint32_t in[WORDS] = { htobe32(opcode << 16) }, out[WORDS] = { 0 };
	struct mlx5dv_devx_obj *made =
		mlx5dv_devx_obj_create(s->context, in, sizeof(in), out, sizeof(out));

	must(made, "object of the firmware");
	return made;
}

static struct ibv_qp *raw_qp(struct script *s, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = { .send_cq = s->send_cq,
					 .recv_cq = s->recv_cq,
					 .qp_type = type,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);

	must(qp, "queue pair");
	return qp;
}

static void rule(struct mlx5dv_dr_matcher *of, const char *what, size_t count,
		 struct mlx5dv_dr_action *actions[])
{
	struct mlx5dv_dr_rule *made;

	errno = 0;
	made = told(what, mlx5dv_dr_rule_create(of, &match.p, count, actions));
	if (!made)
		return;
	if (count)
		gone("action in use", mlx5dv_dr_action_destroy(actions[0]));
	gone("matcher in use", mlx5dv_dr_matcher_destroy(of));
	gone("rule", mlx5dv_dr_rule_destroy(made));
}

/* ---- actions and rules of a domain of received packets */

static void rewriting_rules(struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_matcher *of,
			    struct mlx5dv_dr_action *to)
{
	uint64_t changes[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	char header[24] = "an outer header";
	struct mlx5dv_dr_action *modify, *decap, *list[3];

	modify = told("modify", mlx5dv_dr_action_create_modify_header(
					domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, sizeof(changes),
					(__be64 *)changes));
	decap = told("decap", mlx5dv_dr_action_create_packet_reformat(
				      domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 0, 0, NULL));
	told("modify of 7 bytes",
	     mlx5dv_dr_action_create_modify_header(domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 7,
						   (__be64 *)changes));
	told("modify of no root table",
	     mlx5dv_dr_action_create_modify_header(domain, 0, 8, (__be64 *)changes));
	told("modify with an unknown flag",
	     mlx5dv_dr_action_create_modify_header(domain, UNKNOWN_FLAG, 8, (__be64 *)changes));
	told("encap of what arrives",
	     mlx5dv_dr_action_create_packet_reformat(domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 1,
						     sizeof(header), header));
	told("a size without data", mlx5dv_dr_action_create_packet_reformat(
					    domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 0, 4, NULL));
	told("decap of no root table",
	     mlx5dv_dr_action_create_packet_reformat(domain, 0, 0, 0, NULL));
	told("decap with an unknown flag",
	     mlx5dv_dr_action_create_packet_reformat(domain, UNKNOWN_FLAG, 0, 0, NULL));
	must(modify && decap, "actions");
	list[0] = decap;
	list[1] = modify;
	list[2] = to;
	rule(of, "decap, modify and a destination", 3, list);
	gone("domain in use", mlx5dv_dr_domain_destroy(domain));
	gone("modify", mlx5dv_dr_action_destroy(modify));
	gone("decap", mlx5dv_dr_action_destroy(decap));
}

static void rules(struct script *s, struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_matcher *of)
{
	struct mlx5dv_devx_obj *counters = object(s, COUNTERS), *tir = object(s, TIR);
	struct ibv_qp *raw = raw_qp(s, IBV_QPT_RAW_PACKET), *rc = raw_qp(s, IBV_QPT_RC);
	struct mlx5dv_dr_action *drop = told("drop", mlx5dv_dr_action_create_drop());
	struct mlx5dv_dr_action *miss = told("miss", mlx5dv_dr_action_create_default_miss());
	struct mlx5dv_dr_action *tag = told("tag", mlx5dv_dr_action_create_tag(0x5a123456));
	struct mlx5dv_dr_action *qp = told("qp", mlx5dv_dr_action_create_dest_ibv_qp(raw));
	struct mlx5dv_dr_action *to = told("tir", mlx5dv_dr_action_create_dest_devx_tir(tir));
	struct mlx5dv_dr_action *first =
		told("counter", mlx5dv_dr_action_create_flow_counter(counters, 0));
	struct mlx5dv_dr_action *third =
		told("counter of a range", mlx5dv_dr_action_create_flow_counter(counters, 3));
	struct mlx5dv_dr_action *all[] = { drop, miss, tag, qp, to, first, third };

	told("a queue pair of RC", mlx5dv_dr_action_create_dest_ibv_qp(rc));
	told("a counter as TIR", mlx5dv_dr_action_create_dest_devx_tir(counters));
	told("a TIR as counter", mlx5dv_dr_action_create_flow_counter(tir, 0));
	rule(of, "drop", 1, &drop);
	rule(of, "default miss", 1, &miss);
	rule(of, "tag and queue pair", 2, (struct mlx5dv_dr_action *[]){ tag, qp });
	rule(of, "counter and TIR", 2, (struct mlx5dv_dr_action *[]){ first, to });
	rule(of, "counter of a range, tag and TIR", 3,
	     (struct mlx5dv_dr_action *[]){ third, tag, to });
	rule(of, "no action", 0, all);
	rule(of, "two destinations", 2, (struct mlx5dv_dr_action *[]){ drop, qp });
	rule(of, "two tags", 2, (struct mlx5dv_dr_action *[]){ tag, tag });
	rewriting_rules(domain, of, to);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		gone("action", mlx5dv_dr_action_destroy(all[i]));
	must(!ibv_destroy_qp(raw) && !ibv_destroy_qp(rc), "queue pairs");
	mlx5dv_devx_obj_destroy(tir);
	mlx5dv_devx_obj_destroy(counters);
}

/* Only the kernel checks the mask of a root table. */
static void kernel_decides(const char *what, struct mlx5dv_dr_table *table, uint8_t criteria)
{
	struct mlx5dv_dr_matcher *matcher =
		told(what, mlx5dv_dr_matcher_create(table, 0, criteria, &match.p));

	must(matcher, "matcher");
	gone(what, mlx5dv_dr_matcher_destroy(matcher));
}

static void receiving(struct script *s)
{
	struct mlx5dv_dr_domain *domain =
		told("domain", mlx5dv_dr_domain_create(s->context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX));
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;

	must(domain, "domain");
	table = told("root table", mlx5dv_dr_table_create(domain, 0));
	told("table of level 1", mlx5dv_dr_table_create(domain, 1));
	gone("sync", mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW));
	must(table, "table");
	match.p.match_sz = TOO_LONG;
	kernel_decides("mask of 452 bytes", table, 1);
	match.p.match_sz = MATCH;
	kernel_decides("unknown criteria", table, 0x80);
	matcher = told("matcher", mlx5dv_dr_matcher_create(table, 7, 1, &match.p));
	must(matcher, "matcher");
	gone("domain in use", mlx5dv_dr_domain_destroy(domain));
	gone("table in use", mlx5dv_dr_table_destroy(table));
	rules(s, domain, matcher);
	gone("matcher", mlx5dv_dr_matcher_destroy(matcher));
	gone("table", mlx5dv_dr_table_destroy(table));
	gone("domain", mlx5dv_dr_domain_destroy(domain));
}

/* ---- domains of the other types */

static void other(struct script *s, enum mlx5dv_dr_domain_type type, const char *what)
{
	struct mlx5dv_dr_domain *domain = told(what, mlx5dv_dr_domain_create(s->context, type));
	char header[24] = "an outer header";
	struct mlx5dv_dr_table *table = domain ? mlx5dv_dr_table_create(domain, 0) : NULL;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *encap, *decap;

	must(table, "table");
	matcher = told("matcher", mlx5dv_dr_matcher_create(table, 1, 3, &match.p));
	encap = told("encap",
		     mlx5dv_dr_action_create_packet_reformat(
			     domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 1, sizeof(header), header));
	decap = told("decap", mlx5dv_dr_action_create_packet_reformat(
				      domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 0, 0, NULL));
	must(matcher && encap, "matcher and encap");
	rule(matcher, "encap", 1, &encap);
	gone("encap", mlx5dv_dr_action_destroy(encap));
	if (decap)
		gone("decap", mlx5dv_dr_action_destroy(decap));
	gone("matcher", mlx5dv_dr_matcher_destroy(matcher));
	gone("table", mlx5dv_dr_table_destroy(table));
	gone("domain", mlx5dv_dr_domain_destroy(domain));
}

int main(void)
{
	struct script s = { 0 };

	for (int i = 0; i < MATCH; i++)
		((uint8_t *)match.p.match_buf)[i] = i;
	script_open(&s);
	receiving(&s);
	other(&s, MLX5DV_DR_DOMAIN_TYPE_NIC_TX, "domain of sent packets");
	other(&s, MLX5DV_DR_DOMAIN_TYPE_FDB, "domain of the switch");
	errno = 0;
	told("domain of an unknown type", mlx5dv_dr_domain_create(s.context, 3));
	script_close(&s);
	return 0;
}
