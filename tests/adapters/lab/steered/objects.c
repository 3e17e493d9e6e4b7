/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions behind objects of the firmware: arrays, samplers, meters, root tables, contexts of ASO.
 */
#include <arpa/inet.h>
#include "tests/adapters/lab/steered/steered.h"

enum {
	CREATE_OBJECT = 0xa00,
	OBJECT_HIT = 0x25,
	OBJECT_METER = 0x24,
	OBJECT_CT = 0x31,
	LOG_RANGE = 2,
};

static struct mlx5dv_devx_obj *object_make(uint32_t type)
{
	uint32_t in[32] = { htonl(CREATE_OBJECT << 16), htonl(type), 0, htonl(LOG_RANGE << 24) };
	uint32_t out[4] = { 0 };

	return keep(MADE_DEVX, mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)),
		    "object");
}

static void copies(const char *what, unsigned count, uint64_t first, uint64_t second)
{
	must(last_end.copies == count && last_end.copy_at[0] == first &&
		     (count < 2 || last_end.copy_at[1] == second),
	     what);
}

static void ends(const struct frame *f, uint64_t at, const char *what)
{
	uint8_t bytes[FRAME];
	size_t length = frame_build(f, bytes);

	bytes_end_at(bytes, length, NULL, NULL, 0, at, what);
}

/* Two TIRs, and a TIR and a table. */
static void array(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go = act(mlx5dv_dr_action_create_dest_table(second));
	struct mlx5dv_dr_action *counter = counter_make(7);
	struct mlx5dv_dr_action_dest_attr one = { .dest = to[1] }, two = { .dest = to[2] },
					  table = { .dest = go }, count = { .dest = counter };
	struct mlx5dv_dr_action *both = act(mlx5dv_dr_action_create_dest_array(
		domain, 2, (struct mlx5dv_dr_action_dest_attr *[]){ &one, &two }));
	struct mlx5dv_dr_action *mixed = act(mlx5dv_dr_action_create_dest_array(
		domain, 3, (struct mlx5dv_dr_action_dest_attr *[]){ &one, &table, &count }));
	struct mlx5dv_dr_action *lists[][6] = { { both }, { mixed } };
	const size_t lengths[] = { 1, 1 };
	struct match all = { 0 };
	struct frame f = plain;
	uint8_t bytes[FRAME];

	must(end(to[1]) == EBUSY, "a member");
	rule_make(matcher_make(second, 0, 0, &all), &all, 1, &to[3]);
	rules_for(first, lists, lengths, 2);
	frame_build(&f, bytes);
	must(!lab_steer(0, bytes, FRAME, NULL, &last_end), "way of a frame");
	copies("two TIRs", 2, tir_at[1], tir_at[2]);
	f.dmac++;
	frame_build(&f, bytes);
	must(!lab_steer(0, bytes, FRAME, NULL, &last_end), "way of a frame");
	copies("a TIR and a table", 2, tir_at[1], tir_at[3]);
	must(last_end.counter == 0x707, "counter");
	f.dmac++;
	ends(&f, LAB_DROP_RX, "another address");
	errno = 0;
	must(!mlx5dv_dr_action_create_dest_array(domain, 1,
						 (struct mlx5dv_dr_action_dest_attr *[]){ &one }) &&
		     errno == EINVAL,
	     "an array of one");
}

static void sampler(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_flow_sampler_attr attr = {
		.sample_ratio = 2,
		.default_next_table = second,
		.num_sample_actions = 1,
		.sample_actions = &to[2],
	};
	struct mlx5dv_dr_action *sample = act(mlx5dv_dr_action_create_flow_sampler(&attr));
	struct mlx5dv_dr_action *lists[][6] = { { sample } };
	const size_t lengths[] = { 1 };
	struct match all = { 0 };
	struct frame f = plain;

	rule_make(matcher_make(second, 0, 0, &all), &all, 1, &to[3]);
	rules_for(first, lists, lengths, 1);
	ends(&f, tir_at[3], "the table behind a sampler");
	copies("the sample", 1, tir_at[2], 0);
	f.dmac++;
	ends(&f, LAB_DROP_RX, "another address");
	attr.sample_ratio = 0;
	errno = 0;
	must(!mlx5dv_dr_action_create_flow_sampler(&attr) && errno == EINVAL, "ratio 0");
}

static void meter(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	uint8_t parameters[32] = { 1, 2, 3 };
	struct mlx5dv_dr_flow_meter_attr attr = {
		.next_table = second,
		.active = 1,
		.reg_c_index = 2,
		.flow_meter_parameter_sz = sizeof(parameters),
		.flow_meter_parameter = parameters,
	};
	struct mlx5dv_dr_action *metered = act(mlx5dv_dr_action_create_flow_meter(&attr));
	struct mlx5dv_dr_action *lists[][6] = { { metered } };
	const size_t lengths[] = { 1 };
	struct match all = { 0 };
	struct frame f = plain;

	rule_make(matcher_make(second, 0, 0, &all), &all, 1, &to[1]);
	rules_for(first, lists, lengths, 1);
	ends(&f, tir_at[1], "the table behind a meter");
	attr.active = 0;
	must(!mlx5dv_dr_action_modify_flow_meter(metered, &attr, htobe64(1)),
	     "a change of a meter");
	must(mlx5dv_dr_action_modify_flow_meter(drop, &attr, htobe64(1)) == EINVAL, "no meter");
	must(end(second) == EBUSY, "a table in use");
	attr.flow_meter_parameter_sz = 33;
	errno = 0;
	must(!mlx5dv_dr_action_create_flow_meter(&attr) && errno == EINVAL, "33 bytes");
}

/* Contexts that a packet passes. A rule has one of these contexts, because release 44 would encode
 * the last one for all contexts of a rule.
 */
static void contexts(void)
{
	struct mlx5dv_devx_obj *hits = object_make(OBJECT_HIT), *meters = object_make(OBJECT_METER),
			       *connections = object_make(OBJECT_CT);
	struct mlx5dv_dr_action *hit = act(mlx5dv_dr_action_create_aso(
		domain, hits, 513, MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET, 1));
	struct mlx5dv_dr_action *color = act(mlx5dv_dr_action_create_aso(
		domain, meters, 3, MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_GREEN, 3));
	struct mlx5dv_dr_action *connection = act(mlx5dv_dr_action_create_aso(
		domain, connections, 2, MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_RESPONDER, 5));
	struct mlx5dv_dr_action *pop = act(mlx5dv_dr_action_create_pop_vlan());
	struct mlx5dv_dr_action *lists[][6] = {
		{ hit, to[0] },
		{ color, to[1] },
		{ connection, to[2] },
		{ pop, color, to[3] },
	};
	const size_t lengths[] = { 2, 2, 2, 3 };
	struct frame f = plain;

	f.vlan = 3;
	rules_for(table_make(1), lists, lengths, 4);
	ends(&f, tir_at[0], "first hit");
	must(last_end.context == 0x901, "context of a hit");
	f.dmac++;
	ends(&f, tir_at[1], "meter");
	must(last_end.context == 0x911, "context of a meter");
	f.dmac++;
	ends(&f, tir_at[2], "connection");
	must(last_end.context == 0x922, "context of a connection");
	f.dmac++;
	ends(&f, tir_at[3], "meter behind the removal of a tag");
	must(last_end.context == 0x911 && last_end.length == FRAME - 4, "context and length");
	must(!mlx5dv_dr_action_modify_aso(hit, 4, MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET, 3),
	     "another context");
	must(mlx5dv_dr_action_modify_aso(drop, 4, 0, 3) == EINVAL, "no context");
	errno = 0;
	must(!mlx5dv_dr_action_create_aso(domain, hits, 2048, 0, 1) && errno == EINVAL,
	     "a context behind the last one");
	errno = 0;
	must(!mlx5dv_dr_action_create_aso(domain, hits, 0, 0, 2) && errno == EINVAL, "register 2");
}

/* A connection of another domain. Release 44 takes domains of one function for one domain, so it
 * needs no link for them. */
static void crossing(void)
{
	struct mlx5dv_dr_domain *owner =
		mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	struct mlx5dv_devx_obj *connections = object_make(OBJECT_CT),
			       *meters = object_make(OBJECT_METER);
	const uint32_t flags = MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_RESPONDER;
	struct mlx5dv_dr_action *count = counter_make(7), *tag = tag_make(9);
	struct mlx5dv_dr_action *list[4] = { tag, count, to[2] };
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_rule *rule;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	set_mac(&value, dmac_high, dmac_low, plain.dmac);
	matcher = matcher_make(table_make(1), 1, 1, &mask);
	list[3] = mlx5dv_dr_action_create_aso(owner, connections, 2, flags, 5);
	must(owner && list[3], "a domain and a connection");
	must(!mlx5dv_dr_rule_create(matcher, (void *)&value, 4, list) && errno == EINVAL,
	     "no link");
	must(mlx5dv_dr_aso_other_domain_link(meters, owner, domain, flags, 5) == EOPNOTSUPP,
	     "a link of meters");
	must(mlx5dv_dr_aso_other_domain_link(connections, owner, domain, 0, 5) == EINVAL &&
		     mlx5dv_dr_aso_other_domain_link(connections, owner, domain, flags, 2) ==
			     EINVAL,
	     "a link without a direction or a register");
	must(mlx5dv_dr_aso_other_domain_unlink(connections, domain) == EINVAL, "not linked");
	must(!mlx5dv_dr_aso_other_domain_link(connections, owner, domain, flags, 5), "a link");
	must(mlx5dv_dr_domain_destroy(owner) == EBUSY, "the owner is in use");
	list[2] = list[3];
	list[3] = to[2];
	for (int i = 0; i < 2; i++) {
		rule = mlx5dv_dr_rule_create(matcher, (void *)&value, 4, list);
		must(rule, "a rule across domains");
		rules_sync();
		arrives(&plain, 2, 9, "a rule across domains");
		must(last_end.context == 0x902 && last_end.counter == 0x707, "context, counter");
		if (!i)
			must(!mlx5dv_dr_rule_destroy(rule), "end of the rule");
	}
	record();
	errno = 0;
	must(!mlx5dv_dr_rule_create(matcher, (void *)&value, 4, list) && errno == EBUSY,
	     "a context in use");
	must(mlx5dv_dr_aso_other_domain_unlink(connections, domain) == EBUSY, "a link in use");
	must(mlx5dv_dr_action_modify_aso(list[2], 3, flags, 3) == EOPNOTSUPP &&
		     !mlx5dv_dr_action_modify_aso(list[2], 3, flags, 5),
	     "another context");
	must(!mlx5dv_dr_rule_destroy(rule) && !mlx5dv_dr_action_destroy(list[2]) &&
		     !mlx5dv_dr_aso_other_domain_unlink(connections, domain) &&
		     !mlx5dv_dr_domain_destroy(owner),
	     "end of the link");
	rules_sync();
	lost(&plain, "no rule");
}

const struct test object_tests[] = {
	{ "array", array },	  { "sampler", sampler },   { "meter", meter },
	{ "contexts", contexts }, { "crossing", crossing }, { 0 },
};
