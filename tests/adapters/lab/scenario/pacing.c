/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rate limits of queue pairs: rates by both calls, bursts, and refusals by value, by the queue
 * pair's state and by its type. */
#include "tests/adapters/lab/scenario/script.h"

enum {
	MBIT = 1000, /* kbit/s */
};

static void rate(struct script *s, struct ibv_qp_rate_limit_attr attr)
{
	step("rate %u, burst %u, packet %u, comp_mask 0x%x", attr.rate_limit, attr.max_burst_sz,
	     attr.typical_pkt_sz, attr.comp_mask);
	step("-> %d", ibv_modify_qp_rate_limit(s->qp, &attr));
}

static void rates(struct script *s)
{
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 500 * MBIT });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 40 * MBIT,
						 .max_burst_sz = 0x12345,
						 .typical_pkt_sz = 0x678 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = MBIT, .max_burst_sz = 3000 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = MBIT, .typical_pkt_sz = 1500 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 0 });
	step("beyond");
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 1 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = ~0u });
	rate(s, (struct ibv_qp_rate_limit_attr){ .max_burst_sz = 3000 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .typical_pkt_sz = 1500 });
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = MBIT, .comp_mask = 1 });
}

static void raw_modify(struct script *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = state == IBV_QPS_INIT };

	step("modify to %d", state);
	must(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)),
	     "modify");
}

/* The rate alone, and with a transition. */
static void plain(struct script *s, int mask)
{
	struct ibv_qp_attr attr = { .rate_limit = 7 * MBIT };

	if (mask & IBV_QP_STATE)
		attr.qp_state = IBV_QPS_RTS;
	step("modify, mask 0x%x", mask);
	step("-> %d", ibv_modify_qp(s->qp, &attr, mask));
}

static void packets(struct script *s)
{
	static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };

	script_qp(s, IBV_QPT_RAW_PACKET, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTR; state++) {
		rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 500 * MBIT });
		raw_modify(s, state);
	}
	plain(s, IBV_QP_STATE | IBV_QP_RATE_LIMIT);
	raw_modify(s, IBV_QPS_RESET);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		raw_modify(s, state);
	rates(s);
	plain(s, IBV_QP_RATE_LIMIT);
	script_qp_close(s);
}

static void connected(struct script *s)
{
	static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };

	step("a connection");
	script_qp(s, IBV_QPT_RC, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	rate(s, (struct ibv_qp_rate_limit_attr){ .rate_limit = 500 * MBIT });
	script_qp_close(s);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	packets(&s);
	connected(&s);
	script_close(&s);
	return 0;
}
