/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A shared receive queue: filled, used out of order, filled again. */
#include "tests/adapters/lab/scenario/script.h"

static void make(struct script *s)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 12, .max_sge = 2 } };

	step("srq 12/2");
	s->srq = ibv_create_srq(s->pd, &attr);
	must(s->srq, "srq");
	step("-> %u/%u", attr.attr.max_wr, attr.attr.max_sge);
}

static void complete(struct script *s, uint32_t index)
{
	script_complete(s, true, index, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 8 + index });
}

int main(void)
{
	static const struct ibv_qp_cap cap = { 4, 0, 1, 0, 0 };
	static const uint32_t order[] = { 0, 2, 1, 4, 3 };
	struct script s = { 0 };

	script_open(&s);
	make(&s);
	script_qp(&s, IBV_QPT_RC, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	for (int i = 0; i < 6; i++)
		script_recv(&s, 1 + i % 2, 64);
	for (int i = 0; i < 5; i++)
		complete(&s, order[i]);
	for (int i = 0; i < 4; i++)
		script_recv(&s, 1, 32);
	step("limit");
	must(!ibv_modify_srq(s.srq, &(struct ibv_srq_attr){ .srq_limit = 3 }, IBV_SRQ_LIMIT),
	     "limit");
	script_qp_close(&s);
	step("destroy srq");
	must(!ibv_destroy_srq(s.srq), "destroy srq");
	script_close(&s);
	return 0;
}
