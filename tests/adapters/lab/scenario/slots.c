/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC on a device whose requests consist of slots of 16 bytes, and which writes one completion for
 * all sends up to an index. The scenario posts each opcode by entries and by inline bytes, fills
 * both rings and lets them go round. It completes several sends at once, and sends and receives
 * with each cause of a failure. Then polls complete what was posted behind them. In the end a queue
 * pair is reset and destroyed with unread completions.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	SGES = 6,
	RING = 256, /* sends of the largest queue pair */
};

static const enum ibv_wr_opcode lists[] = {
	IBV_WR_SEND,	   IBV_WR_SEND_WITH_IMM,       IBV_WR_RDMA_READ,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_INV,
};

static const struct ibv_qp_cap caps[] = {
	{ 16, 8, SGES, 2, 96 },
	{ 1, 1, 1, 1, 0 },
	{ 100, 33, 3, 3, 40 },
};

static void complete(struct script *s)
{
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
}

static struct ibv_send_wr request(const struct script *s, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, int sges, unsigned flags)
{
	struct ibv_send_wr wr = {
		.wr_id = 0x2000 + s->sends,
		.opcode = opcode,
		.send_flags = flags,
		.sg_list = sge,
		.num_sge = sges,
		.wr.rdma = { 0x100000000 + SCRIPT_REMOTE, SCRIPT_RKEY },
	};

	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(0x01020304);
	return wr;
}

/* Post a send of @length bytes. */
static void send_one(struct script *s, uint32_t length, unsigned flags)
{
	struct ibv_sge sge = script_sge(s, 0, length);
	struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1, flags);

	script_send(s, &wr);
}

static void every_list(struct script *s)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (int count = 0; count <= SGES + 1; count++) {
			struct ibv_sge sge[SGES + 1];
			struct ibv_send_wr wr = request(s, lists[i], sge, count, IBV_SEND_SIGNALED);

			for (int n = 0; n < count; n++)
				sge[n] = script_sge(s, 0x40 * n, 0x20 + n);
			if (!script_send(s, &wr))
				complete(s);
		}
	}
}

static void every_inline(struct script *s)
{
	static const uint32_t lengths[] = { 0, 1, 16, 17, 63, 64, 95, 96 };
	const unsigned flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;

	for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		enum ibv_wr_opcode opcode = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		struct ibv_sge sge = script_sge(s, 3, lengths[i / 2]);
		struct ibv_send_wr wr = request(s, opcode, &sge, 1, flags);

		if (!script_send(s, &wr))
			complete(s);
	}
}

static void every_flag(struct script *s)
{
	for (unsigned flags = 0; flags < 16; flags++) {
		send_one(s, 24, flags);
		if (flags & IBV_SEND_SIGNALED)
			complete(s);
	}
	/* Packets of a message: none, one, two. */
	for (uint32_t length = 1023; length < 1026; length++)
		send_one(s, length, IBV_SEND_SIGNALED);
	complete(s);
}

static void atomics(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0x80, 8);

	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr wr =
			request(s, i ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
				&sge, 1, IBV_SEND_SIGNALED);

		wr.wr.atomic.remote_addr = 0x200000000 + SCRIPT_REMOTE;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
		if (!script_send(s, &wr))
			complete(s);
	}
}

/* One completion for three of which two are signaled, and lists with one doorbell. */
static void several(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	for (int i = 0; i < 3; i++)
		wr[i] = request(s, IBV_WR_SEND, &sge, 1, i == 1 ? 0 : IBV_SEND_SIGNALED);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	script_send(s, wr);
	s->sends += 2;
	complete(s);
	for (int i = 0; i < RING; i++) {
		send_one(s, 16, i % 8 == 7 ? IBV_SEND_SIGNALED : 0);
		if (i % 8 == 7)
			complete(s);
	}
}

/* Each cause, in front of two requests that polls complete. */
static void causes(struct script *s)
{
	for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_REM_OP_ERR + 2; status++) {
		script_connect(s, &caps[2]);
		for (int i = 0; i < 3; i++) {
			send_one(s, 64, IBV_SEND_SIGNALED);
			script_recv(s, 1, 64);
		}
		script_complete(s, false, 0, IBV_WR_SEND, (struct ibv_wc){ .status = status });
		script_complete(s, true, 0, 0, (struct ibv_wc){ .status = status });
		script_poll(s->send_cq);
		script_poll(s->recv_cq);
		script_qp_close(s);
	}
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		send_one(s, 64, IBV_SEND_SIGNALED);
		complete(s);
	}
}

/* Leave completions that the program has not polled. */
static void unread(struct script *s)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct lab_completion completion = { .cq = s->send_cq->handle,
							   .qp = s->qp->handle,
							   .index = s->sends };

		send_one(s, 64, IBV_SEND_SIGNALED);
		must(lab_complete && !lab_complete(&completion), "complete");
	}
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &caps[0]);
	every_list(&s);
	every_inline(&s);
	every_flag(&s);
	atomics(&s);
	script_receives(&s, 3, 3, 3);
	arming(&s);
	script_qp_close(&s);
	script_connect(&s, &caps[0]);
	several(&s);
	script_qp_close(&s);
	causes(&s);
	script_connect(&s, &caps[1]);
	unread(&s);
	script_modify(&s, IBV_QPS_ERR);
	script_qp_close(&s);
	script_poll(s.send_cq);
	script_close(&s);
	return 0;
}
