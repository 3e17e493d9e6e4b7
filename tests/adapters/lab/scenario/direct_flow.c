/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steer by formats of mlx5: matchers, rules of every kind of action, actions that rewrite
 * packets, anchors, and refused arguments. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	MATCH = 64,
	COUNTERS = 0x939,
	TIR = 0x900,
	WORDS = 64,
};

/* As programs of version 44 have it. */
#undef mlx5dv_create_flow
struct action {
	enum mlx5dv_flow_action_type type;
	union {
		const void *object;
		uint32_t tag_value;
	};
};

static union {
	struct mlx5dv_flow_match_parameters p;
	uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + MATCH];
} match;

static void *told(const char *what, void *made)
{
	step("%s: %s, errno %d", what, made ? "made" : "none", made ? 0 : errno);
	return made;
}

static struct mlx5dv_flow_matcher *matcher(struct script *s, const char *what,
					   struct mlx5dv_flow_matcher_attr attr)
{
	attr.match_mask = &match.p;
	errno = 0;
	return told(what, mlx5dv_create_flow_matcher(s->context, &attr));
}

static struct mlx5dv_devx_obj *object(struct script *s, unsigned opcode)
{
	uint32_t in[WORDS] = { htobe32(opcode << 16) }, out[WORDS] = { 0 };

	return mlx5dv_devx_obj_create(s->context, in, sizeof(in), out, sizeof(out));
}

static void rule(struct mlx5dv_flow_matcher *of, const char *what, size_t count,
		 struct action *actions)
{
	struct ibv_flow *flow;

	step("%s", what);
	errno = 0;
	flow = mlx5dv_create_flow(of, &match.p, count, (void *)actions);
	if (!flow)
		step("-> none, errno %d", errno);
	else
		step("destroy: %d", ibv_destroy_flow(flow));
}

static void rules(struct script *s, struct mlx5dv_flow_matcher *of)
{
	struct mlx5dv_devx_obj *counters = object(s, COUNTERS), *tir = object(s, TIR);
	uint64_t rewrite[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	char header[24] = "an outer header";
	struct ibv_flow_action *modify =
		told("rewrite",
		     mlx5dv_create_flow_action_modify_header(s->context, sizeof(rewrite), rewrite,
							     MLX5DV_FLOW_TABLE_TYPE_NIC_RX));
	struct ibv_flow_action *wrap =
		told("wrap", mlx5dv_create_flow_action_packet_reformat(
				     s->context, sizeof(header), header,
				     MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL,
				     MLX5DV_FLOW_TABLE_TYPE_NIC_TX));
	struct ibv_flow_action *unwrap =
		told("unwrap", mlx5dv_create_flow_action_packet_reformat(
				       s->context, 0, NULL,
				       MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2,
				       MLX5DV_FLOW_TABLE_TYPE_NIC_RX));
	struct action to_qp = { .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP, .object = s->qp };
	struct action drop = { .type = MLX5DV_FLOW_ACTION_DROP };
	struct action miss = { .type = MLX5DV_FLOW_ACTION_DEFAULT_MISS };
	struct action tag = { .type = MLX5DV_FLOW_ACTION_TAG, .tag_value = 0x77 };
	struct action to_tir = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX, .object = tir };
	struct action count = { .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX, .object = counters };
	struct action rewrites = { .type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION, .object = modify };
	struct action unwraps = { .type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION, .object = unwrap };
	struct action of_verbs = { .type = MLX5DV_FLOW_ACTION_IBV_COUNTER };
	struct action none = { .type = 42 };

	must(counters && tir, "objects of the firmware");
	rule(of, "to a queue pair, with a tag", 2, (struct action[]){ to_qp, tag });
	rule(of, "rewritten, unwrapped and counted, to the firmware's", 4,
	     (struct action[]){ rewrites, unwraps, count, to_tir });
	rule(of, "dropped and counted", 2, (struct action[]){ drop, count });
	rule(of, "as if there were none", 1, &miss);
	rule(of, "nothing", 0, &miss);
	rule(of, "to two places", 2, (struct action[]){ to_qp, drop });
	rule(of, "two tags", 3, (struct action[]){ to_qp, tag, tag });
	rule(of, "two counts", 3, (struct action[]){ to_qp, count, count });
	rule(of, "counters of verbs", 2, (struct action[]){ to_qp, of_verbs });
	rule(of, "no such action", 1, &none);
	told("no data of some bytes",
	     mlx5dv_create_flow_action_packet_reformat(s->context, 8, NULL, 0,
						       MLX5DV_FLOW_TABLE_TYPE_NIC_TX));
	if (unwrap)
		step("destroy: %d", ibv_destroy_flow_action(unwrap));
	if (wrap)
		step("destroy: %d", ibv_destroy_flow_action(wrap));
	if (modify)
		step("destroy: %d", ibv_destroy_flow_action(modify));
	mlx5dv_devx_obj_destroy(tir);
	mlx5dv_devx_obj_destroy(counters);
}

static void encryption(struct script *s)
{
	struct ibv_flow_action_esp head = { .spi = 0x1234, .seq = 1 };
	struct ibv_flow_action_esp_attr attr = { .esp_attr = &head,
						 .comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN,
						 .esn = 7 };
	struct mlx5dv_flow_action_esp flags = { .comp_mask = MLX5DV_FLOW_ACTION_ESP_MASK_FLAGS,
						.action_flags = 1 };
	struct ibv_flow_action *plain = told("encryption",
					     ibv_create_flow_action_esp(s->context, &attr)),
			       *more = told("with metadata", mlx5dv_create_flow_action_esp(
								     s->context, &attr, &flags));

	if (plain)
		step("destroy: %d", ibv_destroy_flow_action(plain));
	if (more)
		step("destroy: %d", ibv_destroy_flow_action(more));
	flags.action_flags = 2;
	told("with more", mlx5dv_create_flow_action_esp(s->context, &attr, &flags));
}

static void anchors(struct script *s)
{
	struct mlx5dv_steering_anchor_attr attr = { .ft_type = MLX5DV_FLOW_TABLE_TYPE_NIC_RX,
						    .priority = 3 };
	struct mlx5dv_steering_anchor *anchor =
		told("anchor", mlx5dv_create_steering_anchor(s->context, &attr));

	if (anchor) {
		step("table 0x%x", anchor->id);
		step("destroy: %d", mlx5dv_destroy_steering_anchor(anchor));
	}
	attr.comp_mask = 1;
	told("an anchor of more", mlx5dv_create_steering_anchor(s->context, &attr));
}

int main(void)
{
	const struct ibv_qp_cap cap = {
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1
	};
	struct mlx5dv_flow_matcher *plain, *sending;
	struct script s = { 0 };

	for (int i = 0; i < MATCH; i++)
		((uint8_t *)match.p.match_buf)[i] = i;
	match.p.match_sz = MATCH;
	script_open(&s);
	script_qp(&s, IBV_QPT_RC, &cap);
	plain = matcher(
		&s, "matcher",
		(struct mlx5dv_flow_matcher_attr){ .priority = 4, .match_criteria_enable = 1 });
	sending = matcher(
		&s, "matcher of what is sent",
		(struct mlx5dv_flow_matcher_attr){ .priority = 4,
						   .match_criteria_enable = 3,
						   .comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
						   .ft_type = MLX5DV_FLOW_TABLE_TYPE_NIC_TX });
	matcher(&s, "a comp_mask too many",
		(struct mlx5dv_flow_matcher_attr){ .comp_mask = 1 << 9 });
	matcher(&s, "a type that is not normal",
		(struct mlx5dv_flow_matcher_attr){ .type = IBV_FLOW_ATTR_SNIFFER });
	must(plain, "matcher");
	rules(&s, plain);
	anchors(&s);
	encryption(&s);
	if (sending)
		step("destroy: %d", mlx5dv_destroy_flow_matcher(sending));
	step("destroy: %d", mlx5dv_destroy_flow_matcher(plain));
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
