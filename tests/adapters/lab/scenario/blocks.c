/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC on a device whose requests take one to four blocks of 32 bytes. The scenario posts each opcode
 * by entries and by inline bytes, lets requests go round the end of the ring, and fills it. It
 * completes receives, and sends with each cause of a failure. The last queue pair gets the number
 * of a destroyed one with unread completions.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	SGES = 6,
	CAUSES = 18,
	INVALIDATES = 4, /* index of the request that other releases do not know */
};

static const enum ibv_wr_opcode lists[] = {
	IBV_WR_SEND,	      IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND_WITH_INV,
};
static const enum ibv_wc_opcode completes[] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND,
};

static void complete(struct script *s, enum ibv_wr_opcode opcode, enum ibv_wc_opcode as)
{
	script_complete(s, false, s->sends - 1, opcode, (struct ibv_wc){ .opcode = as });
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
	};

	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = SCRIPT_RKEY;
	else if (opcode != IBV_WR_SEND && opcode != IBV_WR_RDMA_WRITE)
		wr.imm_data = htonl(0x01020304);
	wr.wr.rdma.remote_addr = 0x100000000 + SCRIPT_REMOTE;
	wr.wr.rdma.rkey = SCRIPT_RKEY;
	return wr;
}

/* Post the lists from @from to @to. */
static void every_list(struct script *s, size_t from, size_t to)
{
	for (size_t i = from; i <= to; i++) {
		for (int count = 0; count <= SGES; count++) {
			struct ibv_sge sge[SGES];
			struct ibv_send_wr wr = request(s, lists[i], sge, count, IBV_SEND_SIGNALED);

			for (int n = 0; n < count; n++)
				sge[n] = script_sge(s, 0x40 * n, 0x20 + n);
			if (!script_send(s, &wr))
				complete(s, lists[i], completes[i]);
		}
	}
}

static void every_inline(struct script *s)
{
	static const uint32_t lengths[] = { 0, 1, 16, 17, 48, 95, 96, 97 };
	const unsigned flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;

	for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		enum ibv_wr_opcode opcode = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		uint32_t length = lengths[i / 2], first = length / 3;
		struct ibv_sge sge[] = { script_sge(s, 3, first),
					 script_sge(s, 0x105, length - first) };
		struct ibv_send_wr wr = request(s, opcode, sge, 2, flags);

		if (!script_send(s, &wr))
			complete(s, opcode, i % 2 ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
	}
}

static void every_flag(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 24);

	for (unsigned flags = 0; flags < 16; flags++) {
		struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1, flags);

		if (!script_send(s, &wr) && flags & IBV_SEND_SIGNALED)
			complete(s, IBV_WR_SEND, IBV_WC_SEND);
	}
}

static void read_and_atomic(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0x80, 0x100);
	struct ibv_send_wr wr = request(s, IBV_WR_RDMA_READ, &sge, 1, IBV_SEND_SIGNALED);

	if (!script_send(s, &wr))
		complete(s, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ);
	sge.length = 8;
	for (int i = 0; i < 2; i++) {
		wr = request(s, i ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, &sge,
			     1, IBV_SEND_SIGNALED);
		wr.wr.atomic.remote_addr = 0x200000000 + SCRIPT_REMOTE;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
		if (!script_send(s, &wr))
			complete(s, wr.opcode, i ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP);
	}
}

/* Requests of one, two, three and four blocks take turns, so that each kind goes round the end. */
static void go_round(struct script *s)
{
	for (int i = 0; i < 60; i++) {
		struct ibv_sge sge[SGES];
		bool is_inline = i % 3 == 2, is_write = i % 2;
		struct ibv_send_wr wr = request(s, is_write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, sge,
						1 + i % SGES, is_inline ? IBV_SEND_INLINE : 0);

		for (int n = 0; n < SGES; n++)
			sge[n] = script_sge(s, 0x40 * n + i, 16);
		if (i % 5 == 4)
			wr.send_flags |= IBV_SEND_SIGNALED;
		if (!script_send(s, &wr) && i % 5 == 4)
			complete(s, wr.opcode, is_write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
	}
}

static void fill(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	/* The second request of the list has an opcode that no device executes. */
	for (int i = 0; i < 3; i++)
		wr[i] = request(s, i == 1 ? 31 : IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	script_send(s, wr);
	complete(s, IBV_WR_SEND, IBV_WC_SEND);
	do
		wr[0] = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	while (!script_send(s, wr));
	complete(s, IBV_WR_SEND, IBV_WC_SEND);
}

static void receive(struct script *s)
{
	uint32_t posted = 0;

	while (!script_recv(s, posted % 2, 128))
		posted++;
	script_recv(s, 2, 128);
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
	for (int i = 0; i < 3; i++)
		script_recv(s, 1, 64);
	for (uint32_t i = 3; i < posted + 3; i++)
		script_complete(s, true, i, 0, (struct ibv_wc){ .status = IBV_WC_WR_FLUSH_ERR });
}

/* Write an entry of a send as the device would. */
static void entry(const struct script *s, uint32_t syndrome, uint32_t index, uint32_t qpn)
{
	const uint32_t cqe[8] = {
		htonl(2u << 16 | syndrome),
		htonl(index),
		htonl(qpn),
	};

	must(lab_entry && !lab_entry(s->send_cq->handle, cqe, sizeof(cqe)), "entry");
	script_poll(s->send_cq);
}

static void causes(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (uint32_t i = 0; i < CAUSES; i++) {
		struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

		script_send(s, &wr);
		entry(s, i, i, s->qp->qp_num);
	}
	step("the same again, one that cannot be, and one of no queue pair");
	entry(s, 0, CAUSES - 1, s->qp->qp_num);
	entry(s, 0, CAUSES + 200, s->qp->qp_num);
	entry(s, 0, CAUSES, s->qp->qp_num + 1000);
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		const struct lab_completion completion = {
			.cq = s->send_cq->handle,
			.qp = s->qp->handle,
			.event = true,
			.index = s->sends - 1,
		};
		struct ibv_sge sge = script_sge(s, 0, 64);
		struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
		struct lab_completion sent = completion;
		struct ibv_cq *cq;
		void *context;

		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		script_send(s, &wr);
		sent.index = s->sends - 1;
		must(lab_complete && !lab_complete(&sent), "complete");
		must(!ibv_get_cq_event(s->channel, &cq, &context) && cq == s->send_cq, "event");
		ibv_ack_cq_events(cq, 1);
		script_poll(s->send_cq);
	}
}

/* The device gives the number of a destroyed queue pair out again. */
static void same_number(struct script *s, const struct ibv_qp_cap *cap)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr;

	script_connect(s, cap);
	for (int i = 0; i < 2; i++) {
		const struct lab_completion completion = { .cq = s->send_cq->handle,
							   .qp = s->qp->handle,
							   .index = i };

		wr = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
		script_send(s, &wr);
		must(lab_complete && !lab_complete(&completion), "complete");
	}
	script_qp_close(s);
	script_connect(s, cap);
	wr = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	wr.wr_id = 0x3000;
	script_send(s, &wr);
	script_poll(s->send_cq);
	complete(s, IBV_WR_SEND, IBV_WC_SEND);
	script_qp_close(s);
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = {
		{ 16, 8, SGES, 1, 96 },
		{ 1, 1, 1, 1, 0 },
		{ 100, 33, 3, 1, 40 },
	};
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &caps[0]);
	every_list(&s, 0, INVALIDATES - 1);
	every_inline(&s);
	every_flag(&s);
	read_and_atomic(&s);
	go_round(&s);
	fill(&s);
	receive(&s);
	script_qp_close(&s);
	script_connect(&s, &caps[2]);
	causes(&s);
	script_qp_close(&s);
	script_connect(&s, &caps[0]);
	arming(&s);
	script_modify(&s, IBV_QPS_ERR);
	script_qp_close(&s);
	script_connect(&s, &caps[1]);
	script_qp_close(&s);
	same_number(&s, &caps[0]);
	script_connect(&s, &caps[0]);
	every_list(&s, INVALIDATES, INVALIDATES);
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
