/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switch: packets of the wire are received, and those of functions are sent. */
#include <arpa/inet.h>
#include "tests/adapters/lab/steered/steered.h"

enum {
	FUNCTION_PORT = 5,
	OTHER_PORT = 6,
	TUNNEL = 50,
};

static const struct field source_port = { 17, 15, 0 }, source_queue = { 16, 23, 0 };

static const struct lab_origin wire,
	sent = { .is_sent = true, .function = LAB_FUNCTION(FUNCTION_PORT) },
	other = { .is_sent = true, .function = LAB_FUNCTION(OTHER_PORT) };

static void goes(const struct frame *f, const struct lab_origin *from, uint64_t at,
		 const char *what)
{
	uint8_t bytes[FRAME];
	size_t length = frame_build(f, bytes);

	bytes_end_at(bytes, length, from, NULL, 0, at, what);
}

/* Rules for packets of the wire, and for those of a function. */
static void ports(void)
{
	struct mlx5dv_dr_table *table = table_make(1);
	struct mlx5dv_dr_action *function =
		act(mlx5dv_dr_action_create_dest_vport(domain, FUNCTION_PORT));
	struct mlx5dv_dr_action *uplink = act(mlx5dv_dr_action_create_dest_vport(domain, 0xffff));
	struct mlx5dv_dr_action *strip = act(mlx5dv_dr_action_create_packet_reformat(
		domain, 0, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2, 0, NULL));
	struct mlx5dv_dr_action *counter = counter_make(3);
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;

	set_all(&mask, source_port);
	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(table, 1, 3, &mask);
	set(&value, source_port, 0xffff);
	set_mac(&value, dmac_high, dmac_low, plain.dmac);
	rule_make(matcher, &value, 2, (struct mlx5dv_dr_action *[]){ counter, function });
	set_mac(&value, dmac_high, dmac_low, plain.dmac + 1);
	rule_make(matcher, &value, 2, (struct mlx5dv_dr_action *[]){ strip, function });
	set(&value, source_port, FUNCTION_PORT);
	set_mac(&value, dmac_high, dmac_low, plain.dmac);
	rule_make(matcher, &value, 1, &uplink);
	set_mac(&value, dmac_high, dmac_low, plain.dmac + 1);
	rule_make(matcher, &value, 1, &drop);
	rules_sync();
	goes(&f, &wire, LAB_VPORT_RX(FUNCTION_PORT), "from the wire");
	must(last_end.counter == 0x703, "counter");
	goes(&f, &sent, LAB_UPLINK_TX, "from a function");
	goes(&f, &other, LAB_VPORT_TX(0), "from another function");
	f.dmac++;
	goes(&f, &sent, LAB_SWITCH_DROP_TX, "from a function, and dropped");
	f.dmac++;
	goes(&f, &wire, LAB_VPORT_RX(0), "another address from the wire");
	goes(&f, &sent, LAB_VPORT_TX(0), "another address from a function");
}

/* Rules without a source are in both halves. */
static void both_halves(void)
{
	struct mlx5dv_dr_table *first = table_make(1), *second = table_make(2);
	struct mlx5dv_dr_action *go = act(mlx5dv_dr_action_create_dest_table(second));
	struct mlx5dv_dr_action *function =
		act(mlx5dv_dr_action_create_dest_vport(domain, FUNCTION_PORT));
	struct mlx5dv_dr_action *lists[][6] = { { go }, { drop }, { function } };
	const size_t lengths[] = { 1, 1, 1 };
	struct match mask = { 0 }, value = { 0 };
	struct frame f = plain;

	rules_for(first, lists, lengths, 3);
	set(&mask, ip_version, 4);
	set(&value, ip_version, 4);
	set_all(&mask, dst_0);
	set(&value, dst_0, plain.dst[3]);
	rule_make(matcher_make(second, 0, 1, &mask), &value, 1, &function);
	rules_sync();
	goes(&f, &wire, LAB_VPORT_RX(FUNCTION_PORT), "two tables, from the wire");
	goes(&f, &sent, LAB_VPORT_TX(FUNCTION_PORT), "two tables, from a function");
	f.dst[3]++;
	goes(&f, &wire, LAB_VPORT_RX(0), "another IP address from the wire");
	f.dmac++;
	goes(&f, &wire, LAB_SWITCH_DROP_RX, "drop from the wire");
	goes(&f, &sent, LAB_SWITCH_DROP_TX, "drop from a function");
	f.dmac++;
	goes(&f, &sent, LAB_VPORT_TX(FUNCTION_PORT), "a port");
}

/* A matcher of nothing but the source. */
static void source_alone(void)
{
	struct mlx5dv_dr_action *function =
		act(mlx5dv_dr_action_create_dest_vport(domain, OTHER_PORT));
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct frame f = plain;

	set_all(&mask, source_port);
	matcher = matcher_make(table_make(1), 1, 2, &mask);
	set(&value, source_port, 0xffff);
	rule_make(matcher, &value, 1, &function);
	set(&value, source_port, FUNCTION_PORT);
	rule_make(matcher, &value, 1, &function);
	rules_sync();
	goes(&f, &wire, LAB_VPORT_RX(OTHER_PORT), "from the wire");
	goes(&f, &sent, LAB_VPORT_TX(OTHER_PORT), "from a function");
	goes(&f, &other, LAB_VPORT_TX(0), "from another function");
}

static void refused_ports(void)
{
	struct match mask = { 0 };

	errno = 0;
	must(!mlx5dv_dr_action_create_dest_vport(domain, 0x10000) && errno == EINVAL,
	     "port 0x10000");
	errno = 0;
	must(!mlx5dv_dr_action_create_dest_ib_port(domain, 0) && errno == EINVAL, "IB port 0");
	errno = 0;
	must(!mlx5dv_dr_action_create_dest_ib_port(domain, 9) && errno == EINVAL, "IB port 9");
	set(&mask, source_port, 0xff);
	errno = 0;
	must(!mlx5dv_dr_matcher_create(table_make(1), 0, 2, (void *)&mask) && errno == EOPNOTSUPP,
	     "a part of the source");
}

/* The source of packets that a function receives. */
static void source_received(void)
{
	static const struct lab_origin queue = { .is_sent = true,
						 .function = LAB_FUNCTION(FUNCTION_PORT),
						 .queue = 0x1234 };
	struct match mask = { 0 }, value = { 0 };
	struct lab_origin from = queue;
	struct frame f = plain;

	set_all(&mask, source_port);
	set_all(&mask, source_queue);
	set(&value, source_port, FUNCTION_PORT);
	set(&value, source_queue, 0x1234);
	rule_make(matcher_make(table_make(1), 1, 2, &mask), &value, 1, &to[1]);
	rules_sync();
	goes(&f, &queue, tir_at[1], "a queue of a function");
	from.queue++;
	goes(&f, &from, LAB_DROP_RX, "another queue");
	from = queue;
	from.function++;
	goes(&f, &from, LAB_DROP_RX, "another function");
}

const struct test switch_tests[] = {
	{ "switch-ports", ports, MLX5DV_DR_DOMAIN_TYPE_FDB },
	{ "switch-halves", both_halves, MLX5DV_DR_DOMAIN_TYPE_FDB },
	{ "switch-source", source_alone, MLX5DV_DR_DOMAIN_TYPE_FDB },
	{ "refused-ports", refused_ports, MLX5DV_DR_DOMAIN_TYPE_FDB },
	{ "source-received", source_received },
	{ 0 },
};
