/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Create queue pairs and completion queues with each flag there could be. A flag is refused, or the
 * trace has it in the kernel's request before the line that says that it is taken.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>

static struct script s;
static int plain; /* queue pairs without flags */

static void queue_pair(enum ibv_qp_type type, uint32_t flag, uint32_t more)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = type,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | more | (flag ? IBV_QP_INIT_ATTR_CREATE_FLAGS : 0),
		.pd = s.pd,
		.create_flags = flag,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(s.context, &attr);

	must(!qp || !more, "a comp_mask that does not exist is refused");
	if (!qp)
		return;
	step("queue pair of type %d has flag 0x%x", type, flag);
	plain += !flag;
	must(!ibv_destroy_qp(qp), "destroy qp");
}

static void completion_queue(uint32_t flag)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 10,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = flag };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s.context, &attr);

	if (!cq)
		return;
	/* The kernel does not see a hint to this library. */
	if (flag != IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		step("completion queue has flag 0x%x", flag);
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy cq");
}

int main(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_RAW_PACKET };

	script_open(&s);
	for (unsigned int i = 0; i < sizeof(types) / sizeof(*types); i++) {
		queue_pair(types[i], 0, 0);
		queue_pair(types[i], 0, 1u << 20);
		for (int bit = 0; bit < 32; bit++)
			queue_pair(types[i], 1u << bit, 0);
	}
	for (int bit = 0; bit < 32; bit++)
		completion_queue(1u << bit);
	must(plain, "a queue pair");
	script_close(&s);
	return 0;
}
