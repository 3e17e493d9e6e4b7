/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC on a device whose requests consist of units of 32 bytes, and which reports the last packet
 * that the peer acknowledged. The scenario posts each opcode with each number of entries, lets
 * requests go round the end of the rings, and fills them. It completes requests one by one and
 * several at once, and with each cause of a failure. The last queue pair gets the number of a
 * destroyed one with unread completions.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

enum {
	SGES = 6,
	PSN = 0x456, /* of script_modify() */
	MTU = 4096,
	IS_SEND = 1 << 24,
	TYPE_ACKNOWLEDGED = 7,
	TYPE_ERROR = 34,
};

static const enum ibv_wr_opcode lists[] = {
	IBV_WR_SEND,	  IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
};

/* Post the lists of each opcode, with messages of one packet and of several. */
static void every_list(struct script *s)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (int count = 0; count <= SGES; count++) {
			struct ibv_sge sge[SGES];
			struct ibv_send_wr wr =
				script_request(s, lists[i], sge, count, IBV_SEND_SIGNALED);

			for (int n = 0; n < count; n++)
				sge[n] = script_sge(s, 0x40 * n, n == 2 ? 2 * MTU + 1 : 0x20 + n);
			script_post(s, &wr);
		}
	}
}

static void every_flag(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 24);

	for (unsigned flags = 0; flags < 8; flags++) {
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, flags);

		script_post(s, &wr);
	}
}

/* Requests of different lengths take turns, so that each kind goes round the end. */
static void go_round(struct script *s)
{
	for (int i = 0; i < 90; i++) {
		struct ibv_sge sge[SGES];
		struct ibv_send_wr wr = script_request(s, lists[i % 5], sge, 1 + i % SGES, 0);

		for (int n = 0; n < SGES; n++)
			sge[n] = script_sge(s, 0x40 * n + i, 16);
		if (i % 4 == 3)
			wr.send_flags |= IBV_SEND_SIGNALED;
		script_post(s, &wr);
	}
}

static void fill(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	/* The second request of the list has an opcode that no device executes. */
	for (int i = 0; i < 3; i++)
		wr[i] = script_request(s, i == 1 ? 31 : IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	script_send(s, wr);
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){ .byte_len = 8 });
	do
		wr[0] = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	while (!script_send(s, wr));
	/* The last packet completes all of them, for which the polls have no room. */
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){ .byte_len = 8 });
	for (int room = 14; room > 0; room -= 13) {
		struct ibv_wc wc[14];

		step("poll %d -> %d", room, ibv_poll_cq(s->send_cq, room, wc));
	}
	script_poll(s->send_cq);
}

/* Write an entry as the device would. */
static void entry(const struct script *s, struct ibv_cq *cq, uint32_t head, uint32_t second,
		  uint32_t psn, uint32_t queue)
{
	const uint32_t cqe[16] = {
		[0] = htole32(head),
		[1] = htole32(second),
		[2] = htole32(psn),
		[15] = htole32(queue),
	};

	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
	script_poll(cq);
}

/* Fail one request of a new queue pair with each cause, with requests before and behind it. The
 * first queue pair has receives as well. */
static void causes(struct script *s, const struct ibv_qp_cap *cap)
{
	static const uint32_t numbers[] = {
		0x003, 0x005, 0x043, 0x083, 0x0c3, 0x102, 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10f,
		0x111, 0x143, 0x145, 0x161, 0x162, 0x163, 0x164, 0x183, 0x185, 0x1c3, 0x1c5, 0x1c6,
		0x1c7, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x207, 0x208, 0x209, 0x20a, 0x20b,
		0x210, 0x211, 0x212, 0x213, 0x214, 0x215, 0x216, 0x217, 0x218, 0x220, 0x227, 0x3ff,
	};
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint32_t head = TYPE_ERROR | numbers[i] << 8;

		script_connect(s, cap);
		for (int n = 0; n < 3; n++) {
			struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, 0);

			script_send(s, &wr);
			if (!i)
				script_recv(s, 1, 64);
		}
		entry(s, s->send_cq, head, 0, PSN + 1, (s->qp->qp_num + 0x4000) | IS_SEND);
		if (!i)
			entry(s, s->recv_cq, head, 0, 0, s->qp->qp_num);
		for (int n = 0; n < 3; n++) {
			script_poll(s->send_cq);
			script_poll(s->recv_cq);
		}
		script_qp_close(s);
	}
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		const struct lab_completion completion = {
			.cq = s->send_cq->handle,
			.qp = s->qp->handle,
			.event = true,
			.index = s->sends,
		};
		struct ibv_sge sge = script_sge(s, 0, 64);
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
		struct ibv_cq *cq;
		void *context;

		step("arm %d times", 1 + i % 2);
		must(!ibv_req_notify_cq(s->send_cq, 0), "arm");
		if (i % 2)
			must(!ibv_req_notify_cq(s->send_cq, 0), "arm");
		script_send(s, &wr);
		must(lab_complete && !lab_complete(&completion), "complete");
		must(!ibv_get_cq_event(s->channel, &cq, &context) && cq == s->send_cq, "event");
		ibv_ack_cq_events(cq, 1);
		script_poll(s->send_cq);
	}
	step("solicited ones -> %s", ibv_req_notify_cq(s->send_cq, 1) ? "refused" : "armed");
}

static void receive(struct script *s)
{
	uint32_t posted = 0;

	while (!script_recv(s, posted % 3, 128))
		posted++;
	script_recv(s, 8, 128);
	for (uint32_t i = 0; i < 4; i++) {
		static const struct ibv_wc each[] = {
			{ .opcode = IBV_WC_RECV, .byte_len = 24 },
			{ .opcode = IBV_WC_RECV, .byte_len = 100, .wc_flags = IBV_WC_WITH_IMM },
			{ .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
			  .byte_len = 4096,
			  .wc_flags = IBV_WC_WITH_IMM },
			{ .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_INV },
		};
		struct ibv_wc wc = each[i];

		if (wc.wc_flags)
			wc.imm_data = htonl(0xdeadbeef);
		script_complete(s, true, i, 0, wc);
	}
	for (uint32_t i = 0; i < 500; i++) {
		script_recv(s, 1 + i % 3, 64);
		script_complete(s, true, 4 + i, 0,
				(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = i });
	}
}

/* A packet that was never sent, a negative acknowledgement, and a queue that does not exist. */
static void wrong_entries(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

	script_send(s, &wr);
	entry(s, s->send_cq, TYPE_ACKNOWLEDGED, 0x60 << 24, PSN, s->qp->qp_num | 1);
	entry(s, s->send_cq, TYPE_ACKNOWLEDGED, 0, PSN - 1, s->qp->qp_num | 1);
	entry(s, s->send_cq, TYPE_ACKNOWLEDGED, 0, PSN, s->qp->qp_num + 0x100);
	entry(s, s->send_cq, TYPE_ACKNOWLEDGED, 0, PSN, s->qp->qp_num | 1);
}

/* The queue pair begins anew. */
static void again(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr = script_request(s, IBV_WR_RDMA_READ, &sge, 1, IBV_SEND_SIGNALED);

	script_send(s, &wr);
	script_recv(s, 1, 64);
	for (enum ibv_qp_state state = IBV_QPS_RESET; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	script_send(s, &wr);
	script_recv(s, 1, 64);
	entry(s, s->send_cq, TYPE_ACKNOWLEDGED, 0, PSN, s->qp->qp_num | 1);
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = {
		{ 16, 8, SGES, 3, 0 },
		{ 1, 1, 1, 1, 0 },
		{ 100, 33, 0, 0, 0 },
	};
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &caps[0]);
	every_list(&s);
	every_flag(&s);
	go_round(&s);
	fill(&s);
	receive(&s);
	arming(&s);
	script_modify(&s, IBV_QPS_ERR);
	script_qp_close(&s);
	for (int i = 1; i < 3; i++) {
		script_connect(&s, &caps[i]);
		script_qp_close(&s);
	}
	causes(&s, &caps[0]);
	script_connect(&s, &caps[0]);
	wrong_entries(&s);
	script_qp_close(&s);
	script_connect(&s, &caps[0]);
	again(&s);
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
