/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC on a device whose requests have room for two segments. Longer lists and longer inline data go
 * into a ring of segments beside the queue. The scenario posts each opcode with lists of each
 * length, some with entries of no bytes, and each length of inline data around the limits. Both
 * rings go round, and the queue becomes full. The device completes with each cause of a failure.
 * Completions are unread when a queue pair is reset and used again, and when it is destroyed.
 */
#include "tests/adapters/lab/scenario/script.h"

enum {
	SGES = 6,
	RING = 64,
	ROUNDS = 150,
};

static const enum ibv_wr_opcode lists[] = {
	IBV_WR_SEND,	   IBV_WR_SEND_WITH_IMM,       IBV_WR_RDMA_READ,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_INV,
};

static const struct ibv_qp_cap large = { RING, 16, SGES, 3, 64 }, small = { 1, 1, 1, 1, 0 };

/* Post a send of @length bytes without its completion. */
static void send_one(struct script *s, uint32_t length, unsigned flags)
{
	struct ibv_sge sge = script_sge(s, 5, length);
	struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, flags);

	script_send(s, &wr);
}

/* @empty: the entry of no bytes; negative: none */
static void list(struct script *s, enum ibv_wr_opcode opcode, int count, int empty)
{
	struct ibv_sge sge[SGES + 1] = { 0 };
	struct ibv_send_wr wr = script_request(s, opcode, sge, count, IBV_SEND_SIGNALED);

	for (int n = 0; n < count; n++)
		sge[n] = script_sge(s, 0x40 * n, n == empty ? 0 : 0x20 + n);
	script_post(s, &wr);
}

static void every_list(struct script *s)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (int count = 0; count <= SGES; count++)
			list(s, lists[i], count, -1);
	for (int empty = 0; empty < 4; empty++)
		list(s, IBV_WR_RDMA_WRITE, 4, empty);
}

static void every_inline(struct script *s)
{
	static const uint32_t lengths[] = { 0, 1, 16, 31, 32, 33, 48, 63, 64 };

	for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		enum ibv_wr_opcode opcode = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		uint32_t length = lengths[i / 2], first = length / 3;
		bool two = i % 4 > 1;
		struct ibv_sge sge[2] = { script_sge(s, 3, two ? first : length),
					  script_sge(s, 0x200, length - first) };
		struct ibv_send_wr wr = script_request(s, opcode, sge, 1 + two,
						       IBV_SEND_SIGNALED | IBV_SEND_INLINE);

		script_post(s, &wr);
	}
}

/* Invalid requests: too long, a read with inline data, and too many entries. */
static void refused(struct script *s)
{
	struct ibv_sge sge[SGES + 1] = { script_sge(s, 0, 65) };
	struct ibv_send_wr wr =
		script_request(s, IBV_WR_SEND, sge, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);

	script_post(s, &wr);
	sge[0].length = 8;
	wr.opcode = IBV_WR_RDMA_READ;
	script_post(s, &wr);
	list(s, IBV_WR_SEND, SGES + 1, -1);
}

static void every_flag(struct script *s)
{
	for (unsigned flags = 0; flags < 16; flags++) {
		struct ibv_sge sge = script_sge(s, 5, 24);
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, flags);

		script_post(s, &wr);
	}
}

static void atomics(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		struct ibv_sge sge = script_sge(s, 0x80, 8);
		struct ibv_send_wr wr = script_request(
			s, i % 2 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, &sge, 1,
			IBV_SEND_SIGNALED | (i / 2 ? IBV_SEND_FENCE : 0));

		wr.wr.atomic.remote_addr = 0x200000000 + SCRIPT_REMOTE;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
		script_post(s, &wr);
	}
}

/* Lists with one doorbell, one of them with an opcode in the middle that no device executes. */
static void several(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	for (int bad = 0; bad < 2; bad++) {
		for (int i = 0; i < 3; i++) {
			wr[i] = script_request(s, IBV_WR_SEND, &sge, 1,
					       i == 1 ? 0 : IBV_SEND_SIGNALED);
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		if (bad)
			wr[1].opcode = IBV_WR_TSO;
		script_send(s, wr);
		script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
	}
}

/* Let both rings go round. Each eighth request completes those before it. */
static void wraps(struct script *s)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge[5];
		struct ibv_send_wr wr =
			script_request(s, IBV_WR_SEND, sge, 5, i % 8 == 7 ? IBV_SEND_SIGNALED : 0);

		for (int n = 0; n < 5; n++)
			sge[n] = script_sge(s, 0x40 * n, 16);
		script_post(s, &wr);
	}
}

static void full(struct script *s)
{
	for (int i = 0; i <= RING; i++)
		send_one(s, 16, i == RING - 2 ? IBV_SEND_SIGNALED : 0);
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
	send_one(s, 16, IBV_SEND_SIGNALED);
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
}

/* Each cause of a failure, followed by a request that is flushed. */
static void causes(struct script *s)
{
	static const enum ibv_wc_status all[] = {
		IBV_WC_LOC_LEN_ERR,    IBV_WC_LOC_PROT_ERR,	 IBV_WC_WR_FLUSH_ERR,
		IBV_WC_REM_ACCESS_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_GENERAL_ERR,
	};

	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++) {
		script_connect(s, &small);
		for (int i = 0; i < 2; i++) {
			send_one(s, 64, IBV_SEND_SIGNALED);
			script_recv(s, 1, 64);
		}
		script_complete(s, false, 0, IBV_WR_SEND,
				(struct ibv_wc){ .status = all[n], .vendor_err = 0x1f });
		script_complete(s, false, 1, IBV_WR_SEND,
				(struct ibv_wc){ .status = IBV_WC_WR_FLUSH_ERR });
		script_complete(s, true, 0, 0, (struct ibv_wc){ .status = all[n] });
		script_qp_close(s);
	}
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		send_one(s, 64, IBV_SEND_SIGNALED);
		script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
	}
}

/* Completions that the program has not polled. */
static void unread(struct script *s)
{
	for (uint32_t i = 0; i < 3; i++) {
		const struct lab_completion completion = {
			.cq = s->send_cq->handle,
			.qp = s->qp->handle,
			.index = s->sends,
		};

		send_one(s, 64, IBV_SEND_SIGNALED);
		must(lab_complete && !lab_complete(&completion), "complete");
	}
}

/* Use a queue pair again after a reset. One completion was not polled before the reset. */
static void again(struct script *s)
{
	script_connect(s, &small);
	script_recv(s, 1, 64);
	unread(s);
	script_modify(s, IBV_QPS_RESET);
	script_poll(s->send_cq);
	s->sends = s->receives = 0;
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	script_recv(s, 1, 64);
	send_one(s, 64, IBV_SEND_SIGNALED);
	script_complete(s, false, 0, IBV_WR_SEND, (struct ibv_wc){});
	unread(s);
	script_qp_close(s);
	script_poll(s->send_cq);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &large);
	every_list(&s);
	every_inline(&s);
	refused(&s);
	every_flag(&s);
	atomics(&s);
	several(&s);
	wraps(&s);
	arming(&s);
	script_receives(&s, 12, 4, 5);
	script_qp_close(&s);
	script_connect(&s, &large);
	full(&s);
	script_qp_close(&s);
	causes(&s);
	again(&s);
	script_close(&s);
	return 0;
}
