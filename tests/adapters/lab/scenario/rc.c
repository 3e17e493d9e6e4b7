/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RC: every opcode, SGEs, inline data, flags; a ring that is filled, overflowed and goes round;
 * errors; events. */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <stddef.h>

static const struct {
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode completes;
} opcodes[] = {
	{ IBV_WR_SEND, IBV_WC_SEND },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND },
	{ IBV_WR_SEND_WITH_INV, IBV_WC_SEND },
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
	{ IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV },
};

static struct ibv_send_wr request(const struct script *s, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, int sges)
{
	struct ibv_send_wr wr = {
		.wr_id = 0x2000 + s->sends,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = sges,
	};

	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(0x01020304);
	if (opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = SCRIPT_RKEY;
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = SCRIPT_REMOTE;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
	} else if (opcode != IBV_WR_SEND_WITH_INV && opcode != IBV_WR_LOCAL_INV) {
		wr.wr.rdma.remote_addr = SCRIPT_REMOTE;
		wr.wr.rdma.rkey = SCRIPT_RKEY;
	}
	return wr;
}

static void complete_send(struct script *s, enum ibv_wr_opcode opcode, enum ibv_wc_opcode completes)
{
	script_complete(s, false, s->sends - 1, opcode,
			(struct ibv_wc){ .opcode = completes, .byte_len = 8 });
}

static void every_opcode(struct script *s)
{
	static const int counts[] = { 0, 1, 2, 4 };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		enum ibv_wr_opcode opcode = opcodes[i].opcode;
		bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			      opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			struct ibv_sge sge[4];
			struct ibv_send_wr wr = request(s, opcode, sge, counts[k]);

			if ((atomic && counts[k] != 1) || (opcode == IBV_WR_LOCAL_INV && counts[k]))
				continue;
			for (int n = 0; n < counts[k]; n++)
				sge[n] = script_sge(s, 0x40 * n, atomic ? 8 : 0x20 + n);
			if (!script_send(s, &wr))
				complete_send(s, opcode, opcodes[i].completes);
		}
	}
}

static void flags(struct script *s)
{
	static const unsigned all[] = {
		IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		IBV_SEND_SIGNALED | IBV_SEND_INLINE | IBV_SEND_FENCE | IBV_SEND_SOLICITED,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ibv_sge sge[2] = { script_sge(s, 3, 21), script_sge(s, 0x100, 9) };
		struct ibv_send_wr wr = request(s, IBV_WR_SEND, sge, 1 + i % 2);

		if (all[i] & IBV_SEND_INLINE && !s->max_inline)
			continue;
		wr.send_flags = all[i];
		if (!script_send(s, &wr))
			complete_send(s, IBV_WR_SEND, IBV_WC_SEND);
	}
}

/* Post three times as many requests as the queue holds, and each time one too many. */
static void go_round(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (int round = 0; round < 3; round++) {
		struct ibv_send_wr wr = request(s, IBV_WR_RDMA_WRITE, &sge, 1);

		wr.send_flags = 0;
		while (s->sends % 7 != 6 && !script_send(s, &wr))
			;
		wr.send_flags = IBV_SEND_SIGNALED;
		if (!script_send(s, &wr))
			complete_send(s, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE);
	}
	for (struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1); !script_send(s, &wr);)
		;
	complete_send(s, IBV_WR_SEND, IBV_WC_SEND);
}

static void list(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 100);
	struct ibv_send_wr wr[3];

	for (int i = 0; i < 3; i++) {
		wr[i] = request(s, i == 1 ? IBV_WR_RDMA_READ : IBV_WR_SEND, &sge, 1);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	if (!script_send(s, wr))
		complete_send(s, IBV_WR_SEND, IBV_WC_SEND);
	/* The second request has an opcode that no device executes. */
	for (int i = 0; i < 3; i++)
		wr[i] = request(s, IBV_WR_SEND, &sge, i == 1 ? 31 : 1);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	script_send(s, wr);
	complete_send(s, IBV_WR_SEND, IBV_WC_SEND);
}

static void receive(struct script *s)
{
	uint32_t posted = 0;

	while (!script_recv(s, posted % 3, 128))
		posted++;
	script_complete(s, true, 0, 0, (struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 24 });
	script_complete(s, true, 1, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV,
					 .byte_len = 100,
					 .wc_flags = IBV_WC_WITH_IMM,
					 .imm_data = htonl(0xdeadbeef) });
	script_complete(s, true, 2, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
					 .byte_len = 4096,
					 .wc_flags = IBV_WC_WITH_IMM,
					 .imm_data = htonl(7) });
	script_complete(s, true, 3, 0,
			(struct ibv_wc){ .status = IBV_WC_LOC_LEN_ERR, .vendor_err = 0x42 });
	for (uint32_t i = 4; i < posted; i++)
		script_complete(s, true, i, 0, (struct ibv_wc){ .status = IBV_WC_WR_FLUSH_ERR });
}

static void errors(struct script *s)
{
	static const enum ibv_wc_status all[] = {
		IBV_WC_LOC_PROT_ERR,
		IBV_WC_REM_ACCESS_ERR,
		IBV_WC_RETRY_EXC_ERR,
		IBV_WC_RNR_RETRY_EXC_ERR,
	};
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ibv_send_wr wr = request(s, IBV_WR_RDMA_WRITE, &sge, 1);

		script_send(s, &wr);
		script_complete(s, false, s->sends - 1, IBV_WR_RDMA_WRITE,
				(struct ibv_wc){ .status = all[i], .vendor_err = 0x88 });
	}
}

static void arming(struct script *s)
{
	step("arm for all");
	must(!ibv_req_notify_cq(s->send_cq, 0), "arm");
	step("arm for solicited ones");
	must(!ibv_req_notify_cq(s->send_cq, 1), "arm");
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = {
		{ 16, 8, 4, 2, 64 },
		{ 1, 1, 1, 1, 0 },
		{ 100, 33, 3, 3, 300 },
	};
	struct script s = { 0 };

	script_open(&s);
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		script_qp(&s, IBV_QPT_RC, &caps[i]);
		for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
			script_modify(&s, state);
		if (i == 0) {
			every_opcode(&s);
			flags(&s);
			go_round(&s);
			list(&s);
			receive(&s);
			errors(&s);
			arming(&s);
			script_modify(&s, IBV_QPS_RESET);
		}
		script_qp_close(&s);
	}
	script_close(&s);
	return 0;
}
