/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: polls for none, for fewer and for more completions than there are, and
 * completions of a destroyed queue pair among those of another one. */
#include "tests/adapters/lab/scenario/script.h"

enum {
	MANY = 8,
};

static void post(struct script *s, int count)
{
	struct ibv_sge sge = script_sge(s, 0, 32);

	for (int i = 0; i < count; i++) {
		struct ibv_send_wr wr = {
			.wr_id = 0x2000 + s->sends,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
		};

		script_send(s, &wr);
	}
}

static void complete(const struct script *s, uint32_t index)
{
	const struct lab_completion completion = {
		.cq = s->send_cq->handle,
		.qp = s->qp->handle,
		.sent_as = IBV_WR_SEND,
		.index = index,
		.wc = { .opcode = IBV_WC_SEND, .byte_len = 8 },
	};

	must(lab_complete && !lab_complete(&completion), "complete");
}

static void poll(const struct script *s, int count)
{
	struct ibv_wc wc[MANY];
	int n = ibv_poll_cq(s->send_cq, count, wc);

	step("poll %d -> %d", count, n);
	for (int i = 0; i < n; i++)
		step("-> qp=0x%x wr_id=0x%llx", wc[i].qp_num, (unsigned long long)wc[i].wr_id);
}

static void modify_to_rts(struct script *s)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
}

int main(void)
{
	static const struct ibv_qp_cap cap = { 16, 4, 1, 1, 0 };
	struct script s = { 0 }, other;

	script_open(&s);
	other = s;
	script_qp(&s, IBV_QPT_RC, &cap);
	modify_to_rts(&s);
	script_qp(&other, IBV_QPT_RC, &cap);
	modify_to_rts(&other);
	poll(&s, 1);
	post(&s, 8);
	post(&other, 4);
	for (uint32_t i = 0; i < 3; i++)
		complete(&s, i);
	poll(&s, MANY);
	for (uint32_t i = 0; i < 4; i++) {
		complete(&s, 3 + i);
		complete(&other, i);
	}
	poll(&s, 2);
	script_modify(&s, IBV_QPS_RESET);
	poll(&s, MANY);
	modify_to_rts(&s);
	post(&s, 2);
	complete(&s, 0);
	script_qp_close(&s);
	poll(&s, 1);
	script_qp_close(&other);
	script_close(&s);
	return 0;
}
