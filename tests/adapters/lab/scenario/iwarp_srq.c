/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A shared receive queue whose receives complete in order and out of order, while the ring is full
 * of receives that wait for their places; and its limit, which the process watches. */
#include "tests/adapters/lab/scenario/script.h"

static void complete(struct script *s, uint32_t index)
{
	script_complete(s, true, index, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 8 + index });
}

int main(void)
{
	static const struct ibv_qp_cap cap = { 8, 0, 1, 0, 0 };
	static const uint32_t order[] = { 0, 2, 1, 4, 5, 3 };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 12, .max_sge = 4 } };
	struct script s = { 0 };

	script_open(&s);
	step("srq 12/4");
	s.srq = ibv_create_srq(s.pd, &attr);
	must(s.srq, "srq");
	step("-> %u/%u", attr.attr.max_wr, attr.attr.max_sge);
	script_qp(&s, IBV_QPT_RC, &cap);
	for (int i = 0; i < 8; i++)
		script_recv(&s, i % 5, 64);
	for (int i = 0; i < 6; i++) {
		complete(&s, order[i]);
		script_recv(&s, 1 + i % 4, 32);
	}
	step("all places are taken");
	complete(&s, 7);
	while (!script_recv(&s, 1, 16))
		;
	complete(&s, 6);
	script_recv(&s, 1, 16);
	step("limit");
	must(!ibv_modify_srq(s.srq, &(struct ibv_srq_attr){ .srq_limit = 12 }, IBV_SRQ_LIMIT),
	     "limit");
	for (uint32_t i = 8; i < 14; i++)
		complete(&s, i);
	script_modify(&s, IBV_QPS_ERR);
	script_poll(s.recv_cq);
	script_qp_close(&s);
	step("destroy srq");
	must(!ibv_destroy_srq(s.srq), "destroy srq");
	script_close(&s);
	return 0;
}
