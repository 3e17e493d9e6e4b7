/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device whose requests take elements of 16 bytes, and which may get the first request of an idle
 * queue through its registers. The scenario posts each opcode with lists and inline data of each
 * length, to an idle queue and behind another request, and lists of requests. Rings go round, and
 * the queue of sends becomes full. Entries of the device complete one request or several, with each
 * status. A poll takes them in pieces.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	SGES = 4,
	ENTRY = 32,
	TYPE_SENT = 0,
	TYPE_RECEIVED = 1,
	STATUS_FLUSHED = 11,
	RECEIVE_FLUSHED = 7,
	SENT_CAUSES = 14,
	RECEIVE_CAUSES = 10,
	ROUNDS = 60,
	INVALIDATED = 1 << 3,
	IMMEDIATE = 1 << 4,
	WRITTEN = 1 << 5,
};

static const struct ibv_qp_cap large = { 20, 10, SGES, SGES, 256 };
static bool is_iwarp;
static unsigned int ordinal; /* of the last queue pair, from 1 */

/* ---- queue pairs */

/* With iWARP a process knows no addresses and numbers of packets. */
static void state(struct script *s, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	if (!is_iwarp) {
		script_modify(s, to);
		return;
	}
	step("modify to %d", to);
	must(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE), "modify");
}

static void open_qp(struct script *s, const struct ibv_qp_cap *cap)
{
	script_qp(s, IBV_QPT_RC, cap);
	ordinal++;
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		state(s, to);
}

/* Connect to the port itself. */
static void open_loop(struct script *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x55,
		.ah_attr = { .port_num = 1, .is_global = 1, .grh = { .hop_limit = 64 } },
	};

	script_qp(s, IBV_QPT_RC, &large);
	ordinal++;
	script_modify(s, IBV_QPS_INIT);
	must(!ibv_query_gid(s->context, 1, 0, &attr.ah_attr.grh.dgid), "gid");
	step("to itself");
	must(!ibv_modify_qp(s->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "modify");
	script_modify(s, IBV_QPS_RTS);
}

/* ---- entries of the device */

static void entry(struct ibv_cq *cq, uint32_t first, uint32_t flags, uint32_t status)
{
	uint32_t cqe[ENTRY / 4] = { htole32(first) };

	cqe[2] = htole32(ordinal);
	cqe[7] = htole32(flags << 16 | status << 24);
	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
}

/* Complete the requests up to number @count. */
static void sent(struct script *s, uint32_t count, uint32_t status)
{
	entry(s->send_cq, count & 0xffff, TYPE_SENT << 1, status);
}

/* Complete one receive, or if it is flushed all up to number @count. */
static void received(struct script *s, uint32_t flags, uint32_t status, uint32_t count)
{
	uint32_t cqe[ENTRY / 4] = { 0, 0, htole32(ordinal), 0, htole32(0x01020304), htole32(77) };

	cqe[7] = htole32(count | (TYPE_RECEIVED << 1 | flags) << 16 | status << 24);
	must(lab_entry && !lab_entry(s->recv_cq->handle, cqe, sizeof(cqe)), "entry");
}

/* Poll @count entries at a time, until there are no more. */
static void poll_all(struct ibv_cq *cq, int count)
{
	for (int rounds = 0; rounds < 40; rounds++) {
		struct ibv_wc wc[8] = { 0 };
		int n = ibv_poll_cq(cq, count, wc);

		step("poll of %d -> %d", count, n);
		for (int i = 0; i < n; i++)
			step("-> wr_id=0x%llx status=%d opcode=%d bytes=%u",
			     (unsigned long long)wc[i].wr_id, wc[i].status,
			     wc[i].status ? 0 : wc[i].opcode, wc[i].status ? 0 : wc[i].byte_len);
		if (n <= 0)
			return;
	}
}

/* ---- sends */

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static struct ibv_send_wr request(struct script *s, enum ibv_wr_opcode opcode, struct ibv_sge *sge,
				  int sges, uint32_t length, unsigned flags)
{
	struct ibv_send_wr wr = script_request(s, opcode, sge, sges, flags);

	for (int n = 0; n < sges; n++)
		sge[n] = script_sge(s, 0x140 * n + 3, length);
	if (is_atomic(opcode)) {
		wr.wr.atomic.remote_addr = 0x200000000 + SCRIPT_REMOTE;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
	}
	return wr;
}

static int post(struct script *s, enum ibv_wr_opcode opcode, int sges, uint32_t length,
		unsigned flags)
{
	struct ibv_sge sge[32];
	struct ibv_send_wr wr = request(s, opcode, sge, sges, length, flags);

	return script_send(s, &wr);
}

static void finish(struct script *s)
{
	sent(s, s->sends, 0);
	script_poll(s->send_cq);
}

/* Post a request to an idle queue, or behind another one. */
static void post_and_finish(struct script *s, bool busy, enum ibv_wr_opcode opcode, int sges,
			    uint32_t length, unsigned flags)
{
	if (busy)
		post(s, IBV_WR_SEND, 1, 5, 0);
	post(s, opcode, sges, length, flags | IBV_SEND_SIGNALED);
	finish(s);
}

static void every_list(struct script *s, bool busy)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_SEND_WITH_INV,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		if (is_atomic(opcodes[i])) {
			if (!is_iwarp)
				post_and_finish(s, busy, opcodes[i], 1, 8, 0);
			continue;
		}
		for (int count = 0; count <= SGES; count++)
			post_and_finish(s, busy, opcodes[i], count, 0x20 + count, 0);
	}
	/* More data than a request through registers may have. */
	post_and_finish(s, busy, IBV_WR_SEND, 1, 9000, 0);
}

static void every_inline(struct script *s, bool busy)
{
	static const uint32_t lengths[] = { 0,	1,  7,	8,  9,	15,  16,  17,  24,
					    40, 56, 57, 63, 64, 100, 200, 255, 256 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		post_and_finish(s, busy, IBV_WR_SEND, 1, lengths[i], IBV_SEND_INLINE);
		post_and_finish(s, busy, IBV_WR_RDMA_WRITE, 1, lengths[i], IBV_SEND_INLINE);
	}
	post_and_finish(s, busy, IBV_WR_SEND, 0, 0, IBV_SEND_INLINE);
	post_and_finish(s, busy, IBV_WR_SEND_WITH_IMM, 3, 7, IBV_SEND_INLINE | IBV_SEND_SOLICITED);
	post_and_finish(s, busy, IBV_WR_SEND_WITH_INV, 2, 13, IBV_SEND_INLINE);
	post_and_finish(s, busy, IBV_WR_RDMA_WRITE_WITH_IMM, 4, 33,
			IBV_SEND_INLINE | IBV_SEND_SOLICITED);
}

static void every_flag(struct script *s)
{
	for (unsigned flags = 0; flags < 8; flags++) {
		post(s, IBV_WR_SEND, 1, 24, flags);
		post(s, IBV_WR_RDMA_READ, 1, 24, flags);
	}
	finish(s);
	poll_all(s->send_cq, 8);
}

static void lists(struct script *s)
{
	struct ibv_sge sge[3][SGES];
	struct ibv_send_wr wr[3];

	step("lists");
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++) {
			wr[i] = request(
				s, i == 1 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, sge[i], 1 + i, 40,
				(round ? IBV_SEND_INLINE : 0) | (i == 2 ? IBV_SEND_SIGNALED : 0));
			wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		}
		script_send(s, wr);
		finish(s);
	}
}

/* Requests of all sizes take turns, so that each kind goes round the end. */
static void go_round(struct script *s)
{
	for (int i = 0; i < ROUNDS; i++) {
		bool inlined = i % 4 == 3;

		post(s, i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, inlined ? 1 : i % 5,
		     inlined ? 250 - i : 12,
		     (inlined ? IBV_SEND_INLINE : 0) | (i % 3 == 2 ? IBV_SEND_SIGNALED : 0));
		if (i % 3 == 2)
			finish(s);
	}
}

static void fill(struct script *s)
{
	step("fill");
	for (int i = 0; i < 20; i++)
		must(!post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED), "room");
	post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
	step("one entry for three requests, and one for all");
	sent(s, s->sends - 17, 0);
	poll_all(s->send_cq, 2);
	sent(s, s->sends, 0);
	poll_all(s->send_cq, 8);
}

/* ---- receives */

static void receives(struct script *s)
{
	struct ibv_sge sge[2] = { script_sge(s, 0, 64), script_sge(s, 0x100, 32) };
	struct ibv_recv_wr wr[2], *bad;

	step("receives");
	for (int round = 0; round < 28; round++) {
		for (int i = 0; i < 5; i++)
			script_recv(s, (round + i) % 5, 128);
		for (int i = 0; i < 5; i++) {
			received(s, i == 1 ? IMMEDIATE : i == 2 ? IMMEDIATE | WRITTEN : 0, 0, 0);
			script_poll(s->recv_cq);
		}
	}
	for (int i = 0; i < 2; i++)
		wr[i] = (struct ibv_recv_wr){
			.wr_id = i, .sg_list = sge, .num_sge = 1 + i, .next = i ? NULL : &wr[1]
		};
	step("a list of receives");
	must(!ibv_post_recv(s->qp, wr, &bad), "receives");
	s->receives += 2;
	script_recv(s, 5, 1);
	step("flushed receives");
	received(s, 0, RECEIVE_FLUSHED, s->receives & 0xffff);
	poll_all(s->recv_cq, 1);
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		struct ibv_cq *cq;
		void *context;
		struct lab_completion done = { .cq = s->send_cq->handle,
					       .qp = s->qp->handle,
					       .event = true };

		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
		finish(s);
		post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
		done.index = s->sends - 1;
		must(lab_complete && !lab_complete(&done), "complete");
		must(!ibv_get_cq_event(s->channel, &cq, &context) && cq == s->send_cq, "event");
		ibv_ack_cq_events(cq, 1);
		script_poll(s->send_cq);
	}
}

/* ---- failures */

/* A queue pair works again after a failure. */
static void again(struct script *s)
{
	step("a failed request, and those behind it");
	for (int i = 0; i < 5; i++)
		post(s, IBV_WR_SEND, 1, 64, i % 2 ? 0 : IBV_SEND_SIGNALED);
	script_recv(s, 1, 64);
	script_recv(s, 2, 64);
	sent(s, s->sends - 2, 7);
	poll_all(s->send_cq, 1);
	post(s, IBV_WR_SEND, 1, 64, 0);
	sent(s, s->sends, STATUS_FLUSHED);
	poll_all(s->send_cq, 2);
	received(s, 0, RECEIVE_FLUSHED, s->receives & 0xffff);
	poll_all(s->recv_cq, 8);
	if (is_iwarp) /* the kernel makes no second connection */
		return;
	state(s, IBV_QPS_ERR);
	state(s, IBV_QPS_RESET);
	s->sends = s->receives = 0;
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		state(s, to);
	script_recv(s, 1, 64);
	received(s, 0, 0, 0);
	script_poll(s->recv_cq);
	post_and_finish(s, false, IBV_WR_SEND, 2, 64, 0);
	post_and_finish(s, true, IBV_WR_RDMA_WRITE, 1, 20, IBV_SEND_INLINE);
}

/* Each status of a send, and of a receive. */
static void causes(struct script *s)
{
	for (uint32_t status = 1; status < SENT_CAUSES; status++) {
		open_qp(s, &large);
		post(s, IBV_WR_RDMA_READ, 1, 64, IBV_SEND_SIGNALED);
		script_recv(s, 1, 64);
		sent(s, 1, status);
		script_poll(s->send_cq);
		if (status < RECEIVE_CAUSES) {
			received(s, 0, status, 1);
			script_poll(s->recv_cq);
		}
		script_qp_close(s);
	}
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = { { 1, 1, 1, 1, 0 }, { 100, 33, 3, 2, 40 } };
	struct script s = { 0 };

	script_open(&s);
	is_iwarp = s.context->device->node_type == IBV_NODE_RNIC;
	open_qp(&s, &large);
	for (int busy = 0; busy < 2; busy++) {
		every_list(&s, busy);
		every_inline(&s, busy);
	}
	every_flag(&s);
	lists(&s);
	go_round(&s);
	fill(&s);
	receives(&s);
	arming(&s);
	again(&s);
	script_qp_close(&s);
	for (int i = 0; i < 2; i++) {
		open_qp(&s, &caps[i]);
		post_and_finish(&s, true, IBV_WR_SEND, 1, 24, 0);
		script_recv(&s, 1, 24);
		script_qp_close(&s);
	}
	if (!is_iwarp) {
		open_loop(&s);
		post_and_finish(&s, false, IBV_WR_SEND, 1, 24, IBV_SEND_INLINE);
		script_qp_close(&s);
	}
	causes(&s);
	script_close(&s);
	return 0;
}
