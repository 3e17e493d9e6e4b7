/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device whose requests are words of 32 bits in a ring of the kernel, each with a doorbell of its
 * own. The scenario posts each opcode of RC and UC with lists and inline data of each length. The
 * ring goes round and becomes full. The device completes several requests by one entry, with each
 * status, with an unknown number, and for queue pairs that were stopped. Queue pairs are reset and
 * destroyed with completions in the ring.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>

enum {
	SGES = 4,
	ROOM = 15, /* requests that a ring for 10 requests takes */
	ROUNDS = 300,
	RECEIVE = 1 << 29,
	STATUS_SHIFT = 16,
	STATUS_MOST = 0x16,
};

static const struct ibv_qp_cap cap_of_ring = { 10, 10, SGES, 2, 64 };

static void list(struct script *s, enum ibv_wr_opcode opcode, int count, unsigned flags)
{
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = script_request(s, opcode, sge, count, flags);

	for (int n = 0; n < count; n++)
		sge[n] = script_sge(s, 0x40 * n + 3, 9 + n);
	script_post(s, &wr);
}

static void every_opcode(struct script *s)
{
	for (enum ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE; opcode <= IBV_WR_RDMA_READ; opcode++) {
		bool is_read = opcode == IBV_WR_RDMA_READ;

		if (is_read && s->qp->qp_type != IBV_QPT_RC)
			continue;
		for (int count = 0; count <= SGES; count++)
			list(s, opcode, count, IBV_SEND_SIGNALED);
		for (int count = 1; count < 4 && !is_read; count++)
			list(s, opcode, count, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	}
	for (unsigned flags = 0; flags < 16; flags++)
		list(s, IBV_WR_SEND, 1, flags | IBV_SEND_SIGNALED);
}

/* Inline data of these lengths, which do not always fill the last word. */
static void inline_lengths(struct script *s)
{
	static const uint32_t lengths[] = { 1, 4, 15, 16, 17, 64 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ibv_sge sge = script_sge(s, 0, lengths[i]);
		struct ibv_send_wr wr =
			script_request(s, i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, &sge, 1,
				       IBV_SEND_SIGNALED | IBV_SEND_INLINE);

		script_post(s, &wr);
	}
}

/* Post @count sends. Every other one asks for a completion, and so does the last one. */
static void several(struct script *s, int count)
{
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (int i = 0; i < count; i++) {
		struct ibv_send_wr wr = script_request(
			s, IBV_WR_SEND, &sge, 1, i % 2 || i == count - 1 ? IBV_SEND_SIGNALED : 0);

		script_send(s, &wr);
	}
}

static void drain(const struct script *s, struct ibv_cq *cq, int room)
{
	struct ibv_wc wc[8] = { 0 };
	int n;

	do {
		n = ibv_poll_cq(cq, room, wc);
		step("poll %s -> %d", cq == s->send_cq ? "sends" : "receives", n);
		for (int i = 0; i < n; i++)
			step("-> wr_id=0x%llx status=%d", (unsigned long long)wc[i].wr_id,
			     wc[i].status);
	} while (n);
}

/* Put an entry of the device's format into a queue. */
static void entry(struct ibv_cq *cq, uint32_t first, uint32_t id, uint32_t flags)
{
	uint32_t cqe[4] = { first, 64, id, flags };

	step("entry of the device");
	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
}

/* One entry completes several requests, and a poll has less room than that. */
static void together(struct script *s)
{
	several(s, 7);
	entry(s->send_cq, (s->sends - 1) % (ROOM + 1), s->qp->qp_num, 0);
	drain(s, s->send_cq, 2);
	several(s, 5);
	entry(s->send_cq, (s->sends - 1) % (ROOM + 1), s->qp->qp_num, 0);
	drain(s, s->send_cq, 8);
}

/* Fill the ring, and post one request more. */
static void full(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 16);

	for (int i = 0; i <= ROOM; i++) {
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

		must(!script_send(s, &wr) == (i < ROOM), "room for sends");
	}
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
	drain(s, s->send_cq, 8);
}

/* Go round the completion ring. */
static void wraps(struct script *s)
{
	for (int i = 0; i < ROUNDS; i++)
		list(s, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
}

/* Each status of a send and of a receive. The queue pair has no other requests. */
static void statuses(struct script *s)
{
	for (uint32_t status = 1; status <= STATUS_MOST; status++) {
		bool receive = status % 2;

		script_connect(s, &cap_of_ring);
		if (receive)
			script_recv(s, 1, 64);
		else
			several(s, 1);
		entry(receive ? s->recv_cq : s->send_cq, 0, s->qp->qp_num,
		      (receive ? RECEIVE : 0) | status << STATUS_SHIFT);
		drain(s, receive ? s->recv_cq : s->send_cq, 8);
		script_qp_close(s);
	}
}

/* A send fails in front of others, then the program stops a queue pair with requests. */
static void failures(struct script *s)
{
	script_connect(s, &cap_of_ring);
	several(s, 4);
	entry(s->send_cq, 0, s->qp->qp_num, 0xc << STATUS_SHIFT);
	drain(s, s->send_cq, 8);
	script_qp_close(s);
	script_connect(s, &cap_of_ring);
	several(s, 3);
	script_recv(s, 1, 64);
	script_modify(s, IBV_QPS_ERR);
	drain(s, s->send_cq, 1);
	drain(s, s->recv_cq, 8);
	script_qp_close(s);
}

/* Completions of an unknown queue pair, of one that is destroyed and of one that is reset. */
static void strangers(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr;

	script_connect(s, &cap_of_ring);
	several(s, 2);
	entry(s->send_cq, 0, 0x7f, 0);
	entry(s->send_cq, 0, s->qp->qp_num, 0);
	drain(s, s->send_cq, 8);
	entry(s->send_cq, 1, s->qp->qp_num, 0);
	script_modify(s, IBV_QPS_RESET);
	drain(s, s->send_cq, 8);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	script_send(s, &wr);
	entry(s->send_cq, 0, s->qp->qp_num, 0);
	script_qp_close(s);
	drain(s, s->send_cq, 8);
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		list(s, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
	}
}

static void refused(struct script *s)
{
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, sge, 1, IBV_SEND_INLINE);

	for (int n = 0; n < 8; n++)
		sge[n] = script_sge(s, 0, 200);
	must(script_send(s, &wr), "too much inline data");
	wr.num_sge = 8;
	wr.send_flags = 0;
	must(script_send(s, &wr), "too many entries");
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND_WITH_INV;
	must(script_send(s, &wr), "an opcode");
	must(script_recv(s, 8, 64), "too many entries of a receive");
	list(s, IBV_WR_SEND, 1, IBV_SEND_SIGNALED);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &cap_of_ring);
	every_opcode(&s);
	inline_lengths(&s);
	arming(&s);
	together(&s);
	full(&s);
	script_receives(&s, 3, 3, 3);
	refused(&s);
	script_qp_close(&s);
	script_qp(&s, IBV_QPT_UC, &cap_of_ring);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	every_opcode(&s);
	wraps(&s);
	script_qp_close(&s);
	step("resize to 200");
	must(!ibv_resize_cq(s.send_cq, 200), "resize");
	statuses(&s);
	failures(&s);
	strangers(&s);
	script_close(&s);
	return 0;
}
