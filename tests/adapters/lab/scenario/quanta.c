/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC on a device whose requests take one to eight quanta of 32 bytes and do not cross a chunk of
 * the ring. The scenario posts each opcode by entries and by inline bytes, lets all rings go round
 * and fills them. It completes sends and receives with each cause of a failure, and the provider
 * then completes the requests behind them. It resizes a completion queue with unread completions,
 * binds memory windows, and destroys a queue pair with unread completions.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	SGES = 7,
	ROUNDS = 600, /* requests that let the ring of sends go round */
	RECEIVES = 40,
};

static const enum ibv_wr_opcode lists[] = {
	IBV_WR_SEND,	   IBV_WR_SEND_WITH_IMM,       IBV_WR_SEND_WITH_INV,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
};

static const enum ibv_wc_status causes[] = {
	IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,	 IBV_WC_WR_FLUSH_ERR,
	IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,  IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR,
	IBV_WC_REM_OP_ERR,  IBV_WC_RETRY_EXC_ERR, IBV_WC_FATAL_ERR,
};

static int max_sge;

static struct ibv_qp_cap cap_of(uint32_t sends, uint32_t receives)
{
	return (struct ibv_qp_cap){ sends, receives, max_sge < SGES ? max_sge : SGES, 2,
				    max_sge < SGES ? 48 : 101 };
}

static void complete_as(struct script *s, enum ibv_wr_opcode opcode)
{
	script_complete(s, false, s->sends - 1, opcode, (struct ibv_wc){});
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
	if (opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = SCRIPT_RKEY;
	return wr;
}

static void send_one(struct script *s, enum ibv_wr_opcode opcode, uint32_t length, unsigned flags)
{
	struct ibv_sge sge = script_sge(s, 5, length);
	struct ibv_send_wr wr = request(s, opcode, &sge, 1, flags);

	if (!script_send(s, &wr) && flags & IBV_SEND_SIGNALED)
		complete_as(s, opcode);
}

/* An X722 has chunks of two quanta. Other releases let three entries and immediate data cross their
 * end. */
static bool is_whole(enum ibv_wr_opcode opcode, int count)
{
	return max_sge >= SGES || opcode != IBV_WR_RDMA_WRITE_WITH_IMM || count != max_sge;
}

static void every_list(struct script *s)
{
	int most = max_sge < SGES ? max_sge : SGES;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (int count = 0; count <= most + 1; count++) {
			struct ibv_sge sge[SGES + 1] = { 0 };
			struct ibv_send_wr wr = request(s, lists[i], sge, count, IBV_SEND_SIGNALED);

			for (int n = 0; n < count; n++)
				sge[n] = script_sge(s, 0x40 * n, 0x20 + n);
			if (is_whole(lists[i], count) && !script_send(s, &wr))
				complete_as(s, lists[i]);
		}
	}
}

static void every_inline(struct script *s)
{
	static const uint32_t lengths[] = { 0, 1, 8, 9, 16, 17, 39, 40, 48, 70, 101, 102 };
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	for (size_t i = 0; i < 4 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t length = lengths[i / 4], first = length / 3;
		struct ibv_sge sge[2] = { script_sge(s, 3, i % 2 ? first : length),
					  script_sge(s, 0x200, length - first) };
		struct ibv_send_wr wr = request(s, opcodes[i % 4], sge, 1 + i % 2,
						IBV_SEND_SIGNALED | IBV_SEND_INLINE);

		if (!script_send(s, &wr))
			complete_as(s, wr.opcode);
	}
}

static void every_flag(struct script *s)
{
	for (unsigned flags = 0; flags < 16; flags++)
		for (size_t i = 0; i < 4; i++)
			send_one(s, lists[i], 6, flags);
}

/* Lists with one doorbell, and an opcode in the middle that no device executes. */
static void several(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	for (int bad = 0; bad < 2; bad++) {
		for (int i = 0; i < 3; i++) {
			wr[i] = request(s, IBV_WR_SEND, &sge, 1, i == 1 ? 0 : IBV_SEND_SIGNALED);
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		if (bad)
			wr[1].opcode = IBV_WR_TSO;
		script_send(s, wr);
		complete_as(s, IBV_WR_SEND);
	}
	send_one(s, IBV_WR_LOCAL_INV, 0, IBV_SEND_SIGNALED);
}

/* Requests of one and of several quanta, so that chunks are filled at each place. */
static void wraps(struct script *s)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned flags = i % 8 == 7 ? IBV_SEND_SIGNALED : 0;

		send_one(s, IBV_WR_SEND, i % 48, flags | (i % 3 ? IBV_SEND_INLINE : 0));
	}
	send_one(s, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
}

static void full(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr = request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

	while (!script_send(s, &wr))
		;
	complete_as(s, IBV_WR_SEND);
}

/* Completions with immediate data take two entries, and so they wrap at each place of the ring. */
static void receives(struct script *s)
{
	uint32_t posted = 0;

	for (int round = 0; round < RECEIVES; round++) {
		for (; posted < 7u * (round + 1); posted++)
			script_recv(s, 1 + posted % 2, 128);
		for (uint32_t i = posted - 7; i < posted; i++)
			script_complete(s, true, i, 0,
					(struct ibv_wc){ .opcode = IBV_WC_RECV,
							 .byte_len = 24 + i,
							 .wc_flags = i % 3 ? IBV_WC_WITH_IMM : 0,
							 .imm_data = htonl(0xdeadbeef) });
	}
	script_recv(s, 3, 128);
	while (!script_recv(s, 1, 64))
		;
}

static void make(struct script *s, uint32_t sends, uint32_t receives)
{
	struct ibv_qp_cap cap = cap_of(sends, receives);

	script_connect(s, &cap);
}

/* Each cause, in front of two requests that polls complete. The request behind them is flushed
 * on demand. */
static void failures(struct script *s)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		const struct ibv_wc failed = { .status = causes[i] };

		make(s, 20, 8);
		for (int n = 0; n < 3; n++) {
			send_one(s, IBV_WR_SEND, 64, 0);
			script_recv(s, 1, 64);
		}
		script_complete(s, false, 0, IBV_WR_SEND, failed);
		script_complete(s, true, 0, 0, failed);
		for (int n = 0; n < 3; n++) {
			script_poll(s->send_cq);
			script_poll(s->recv_cq);
		}
		script_modify(s, IBV_QPS_ERR);
		send_one(s, IBV_WR_SEND, 64, 0);
		script_recv(s, 1, 64);
		script_qp_close(s);
	}
}

static void arming(struct script *s)
{
	for (int i = 0; i < 5; i++) {
		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		send_one(s, IBV_WR_SEND, 64, IBV_SEND_SIGNALED);
	}
}

static void windows(struct script *s)
{
	struct ibv_mr *mr =
		ibv_reg_mr(s->pd, s->mr->addr, 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_1);
	static const unsigned rights[] = { IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, 0 };

	must(mr && mw, "window");
	for (size_t i = 0; i < 2; i++) {
		struct ibv_mw_bind bind = {
			.wr_id = 0x2000 + s->sends,
			.send_flags = IBV_SEND_SIGNALED,
			.bind_info = { mr, SCRIPT_BUFFER + 0x100, 0x200 + i, rights[i] },
		};

		step("bind");
		must(!ibv_bind_mw(s->qp, mw, &bind), "bind");
		s->sends++;
		complete_as(s, IBV_WR_BIND_MW);
	}
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr), "window");
}

/* Leave completions that the program has not polled. */
static void unread(struct script *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct lab_completion completion = { .cq = s->send_cq->handle,
						     .qp = s->qp->handle,
						     .sent_as = IBV_WR_SEND,
						     .index = s->sends };

		send_one(s, IBV_WR_SEND, 64, 0);
		must(lab_complete && !lab_complete(&completion), "complete");
	}
}

static void resize(struct script *s, int cqe)
{
	int r;

	step("resize to %d", cqe);
	r = ibv_resize_cq(s->send_cq, cqe);
	step("-> %s, %d", r ? "refused" : "done", s->send_cq->cqe);
}

/* Completions of two earlier rings and of the present one. */
static void resizes(struct script *s)
{
	unread(s, 3);
	resize(s, 200);
	resize(s, 200);
	unread(s, 2);
	script_poll(s->send_cq);
	resize(s, 50);
	unread(s, 2);
	for (int i = 0; i < 7; i++)
		script_poll(s->send_cq);
	send_one(s, IBV_WR_SEND, 64, IBV_SEND_SIGNALED);
}

int main(void)
{
	struct ibv_device_attr attr;
	struct script s = { 0 };

	script_open(&s);
	must(!ibv_query_device(s.context, &attr), "query");
	max_sge = attr.max_sge;
	make(&s, 16, 8);
	every_list(&s);
	every_inline(&s);
	every_flag(&s);
	several(&s);
	receives(&s);
	arming(&s);
	windows(&s);
	script_qp_close(&s);
	make(&s, 40, 8);
	wraps(&s);
	full(&s);
	script_qp_close(&s);
	failures(&s);
	make(&s, 30, 1);
	resizes(&s);
	unread(&s, 2);
	script_modify(&s, IBV_QPS_RESET);
	script_qp_close(&s);
	script_poll(s.send_cq);
	script_close(&s);
	return 0;
}
