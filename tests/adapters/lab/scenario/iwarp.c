/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC with iWARP, on an adapter whose requests take one to five slots of 64 bytes. The kernel makes
 * connections, and a process posts without a transition. The scenario posts each opcode by entries
 * and by inline bytes, lets the rings go round and fills them. It completes requests in order and
 * out of order, reads among sends, and with each cause of a failure. It flushes a queue pair that
 * has failed, resets it, and uses it again. The last queue pair gets the number of a destroyed one
 * with unread completions.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	SGES = 17,
	CAUSES = 32,
	ROUNDS = 40,
	UNKNOWN = 0x3333, /* number of no queue pair */
	CQE_SQ = 1 << 4,
	OP_READ_RESPONSE = 2,
	OP_SEND = 3,
	OP_TERMINATE = 7,
	OP_WRITE_IMM = 8,
};

static const struct ibv_qp_cap large = { 20, 10, SGES, 4, 64 };
static bool is_t4; /* an adapter without immediate data */

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
	else if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(0x01020304);
	wr.wr.rdma.remote_addr = 0x100000000 + SCRIPT_REMOTE;
	wr.wr.rdma.rkey = SCRIPT_RKEY;
	return wr;
}

static enum ibv_wc_opcode completes(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
	       : opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM
		       ? IBV_WC_RDMA_WRITE
		       : IBV_WC_SEND;
}

static void complete(struct script *s, uint32_t index, enum ibv_wr_opcode opcode)
{
	script_complete(s, false, index, opcode, (struct ibv_wc){ .opcode = completes(opcode) });
}

/* Post a request of @sges entries with @length bytes each. */
static int post(struct script *s, enum ibv_wr_opcode opcode, int sges, uint32_t length,
		unsigned flags)
{
	struct ibv_sge sge[SGES + 1] = {};
	struct ibv_send_wr wr = request(s, opcode, sge, sges, flags);

	for (int n = 0; n < sges; n++)
		sge[n] = script_sge(s, 0x40 * n + 3, length);
	return script_send(s, &wr);
}

static void post_and_complete(struct script *s, enum ibv_wr_opcode opcode, int sges,
			      uint32_t length, unsigned flags)
{
	if (!post(s, opcode, sges, length, flags | IBV_SEND_SIGNALED))
		complete(s, s->sends - 1, opcode);
}

static void every_list(struct script *s)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_INV,
						      IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_WRITE_WITH_IMM };
	static const int counts[] = { 0, 1, 2, 3, 4, 5, 16, 17 };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
			post_and_complete(s, opcodes[i], counts[c], 0x20 + c, 0);
	post(s, IBV_WR_SEND, SGES + 1, 1, IBV_SEND_SIGNALED);
	post(s, IBV_WR_SEND_WITH_IMM, 1, 1, IBV_SEND_SIGNALED);
	post(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8, IBV_SEND_SIGNALED);
	post(s, IBV_WR_LOCAL_INV, 0, 0, IBV_SEND_SIGNALED);
	post_and_complete(s, IBV_WR_SEND, 1, 1, 0);
}

static void every_inline(struct script *s)
{
	static const uint32_t lengths[] = { 0, 1, 7, 8, 9, 24, 25, 31, 56, 100, 280 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		post_and_complete(s, IBV_WR_SEND, 1, lengths[i], IBV_SEND_INLINE);
		post_and_complete(s, IBV_WR_RDMA_WRITE, 1, lengths[i], IBV_SEND_INLINE);
	}
	post_and_complete(s, IBV_WR_SEND, 7, 13, IBV_SEND_INLINE);
	post_and_complete(s, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 5, IBV_SEND_INLINE);
	post_and_complete(s, IBV_WR_SEND_WITH_INV, 3, 0, IBV_SEND_INLINE);
}

static void every_flag(struct script *s)
{
	for (unsigned flags = 0; flags < 8; flags++) {
		if (!post(s, IBV_WR_SEND, 1, 24, flags) && flags & IBV_SEND_SIGNALED)
			complete(s, s->sends - 1, IBV_WR_SEND);
		if (!post(s, IBV_WR_RDMA_WRITE, 1, 24, flags) && flags & IBV_SEND_SIGNALED)
			complete(s, s->sends - 1, IBV_WR_RDMA_WRITE);
	}
}

/* ---- completions in the words of the device */

static void entry(struct ibv_cq *cq, const uint32_t words[4])
{
	const uint32_t cqe[4] = { htonl(words[0]), htonl(words[1]), htonl(words[2]), words[3] };

	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
}

static uint32_t head(uint32_t qpn, uint32_t status, uint32_t kind)
{
	return qpn << 12 | status << 5 | kind;
}

/* The index of a send has the byte order of the processor. */
static uint32_t index_word(uint16_t index)
{
	const uint16_t halves[2] = { 0, index };
	uint32_t word;

	memcpy(&word, halves, sizeof(word));
	return word;
}

static void sent(struct script *s, uint32_t status, uint32_t kind, uint16_t index)
{
	entry(s->send_cq,
	      (uint32_t[]){ head(s->qp->qp_num, status, kind), 0, 0, index_word(index) });
}

static void received(struct script *s, uint32_t status, uint32_t kind, uint32_t msn)
{
	entry(s->recv_cq,
	      (uint32_t[]){ head(s->qp->qp_num, status, kind), 0x55, 0x77, htonl(msn) });
}

static void read_done(struct script *s, uint32_t stag)
{
	entry(s->send_cq, (uint32_t[]){ head(s->qp->qp_num, 0, OP_READ_RESPONSE), 0, stag, 0 });
}

/* Poll until the queue is empty. */
static void poll_all(struct ibv_cq *cq)
{
	for (int i = 0; i < 40; i++) {
		struct ibv_wc wc = { 0 };
		int n = ibv_poll_cq(cq, 1, &wc);

		step("poll -> %d wr_id=0x%llx status=%d opcode=%d bytes=%u vendor=0x%x", n,
		     (unsigned long long)wc.wr_id, wc.status, wc.status ? 0 : wc.opcode,
		     wc.status || wc.opcode != IBV_WC_RDMA_READ ? 0 : wc.byte_len, wc.vendor_err);
		if (n <= 0)
			return;
	}
}

static void reads(struct script *s)
{
	uint32_t first = s->sends;

	step("reads among sends");
	post(s, IBV_WR_RDMA_READ, 1, 0x100, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	read_done(s, 5);
	poll_all(s->send_cq);
	post(s, IBV_WR_RDMA_READ, 0, 0, IBV_SEND_SIGNALED);
	post(s, IBV_WR_RDMA_READ, 1, 0x80, 0);
	read_done(s, 5);
	poll_all(s->send_cq);
	read_done(s, 5);
	post(s, IBV_WR_SEND, 1, 8, IBV_SEND_SIGNALED);
	complete(s, first + 3, IBV_WR_SEND);
	post(s, IBV_WR_RDMA_READ, 1, 0x40, IBV_SEND_SIGNALED);
	post(s, IBV_WR_RDMA_READ, 1, 0x41, IBV_SEND_SIGNALED);
	step("an answer of the connection's set-up, and one that is not in order");
	read_done(s, 1);
	read_done(s, 5);
	read_done(s, 5);
	poll_all(s->send_cq);
	step("a send overtakes a read");
	post(s, IBV_WR_RDMA_READ, 1, 0x42, IBV_SEND_SIGNALED);
	post(s, IBV_WR_SEND, 1, 9, IBV_SEND_SIGNALED);
	post(s, IBV_WR_SEND, 1, 10, 0);
	post(s, IBV_WR_SEND, 1, 11, IBV_SEND_SIGNALED);
	sent(s, 0, CQE_SQ | OP_SEND, (first + 7) % 21);
	poll_all(s->send_cq);
	read_done(s, 9);
	poll_all(s->send_cq);
	sent(s, 0, CQE_SQ | OP_SEND, (first + 9) % 21);
	poll_all(s->send_cq);
	post(s, IBV_WR_RDMA_READ, 2, 8, IBV_SEND_SIGNALED);
}

static void ignored(struct script *s)
{
	step("completions of nobody");
	entry(s->send_cq, (uint32_t[]){ head(UNKNOWN, 0, CQE_SQ | OP_SEND), 0, 0, 0 });
	entry(s->send_cq, (uint32_t[]){ head(s->qp->qp_num, 0, OP_TERMINATE), 0, 0, 0 });
	poll_all(s->send_cq);
}

/* Post requests of one to five slots in turn, so that each kind crosses the end of the ring. */
static void go_round(struct script *s)
{
	static const int counts[] = { 1, 2, 17, 0, 5, 9, 13 };

	for (int i = 0; i < ROUNDS; i++) {
		enum ibv_wr_opcode opcode = i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
		int count = counts[i % 7];

		if (!post(s, opcode, count, 12, i % 3 == 2 ? IBV_SEND_SIGNALED : 0) && i % 3 == 2)
			complete(s, s->sends - 1, opcode);
	}
}

static void lists(struct script *s)
{
	struct ibv_sge sge[] = { script_sge(s, 0, 32), script_sge(s, 0x100, 16) };
	struct ibv_send_wr wr[3];

	step("lists");
	for (int i = 0; i < 3; i++)
		wr[i] = request(s, IBV_WR_SEND, sge, 1, i == 2 ? IBV_SEND_SIGNALED : 0);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	script_send(s, wr);
	complete(s, s->sends - 1, IBV_WR_SEND);
	/* A write and a small send may be one request. */
	for (int i = 0; i < 3; i++) {
		wr[0] = request(s, IBV_WR_RDMA_WRITE, sge, 1 + i % 2,
				i == 2 ? IBV_SEND_SIGNALED : 0);
		wr[1] = request(s, i == 1 ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND, &sge[1], 1,
				IBV_SEND_SIGNALED | (i == 2 ? IBV_SEND_INLINE : 0));
		wr[0].next = &wr[1];
		script_send(s, wr);
		if (i == 2)
			complete(s, s->sends - 2, IBV_WR_RDMA_WRITE);
		complete(s, s->sends - 1, wr[1].opcode);
	}
}

static void fill(struct script *s)
{
	step("fill");
	for (int i = 0; i < 21; i++)
		if (post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED))
			break;
	complete(s, s->sends - 20, IBV_WR_SEND);
	post(s, IBV_WR_SEND, 1, 65, IBV_SEND_SIGNALED);
	for (uint32_t i = 19; i >= 1; i--)
		complete(s, s->sends - i - 1, IBV_WR_SEND);
	complete(s, s->sends - 1, IBV_WR_SEND);
}

static void receives(struct script *s)
{
	uint32_t posted = 0;

	step("receives");
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 5; i++, posted++)
			script_recv(s, posted % 5, 128);
		for (uint32_t i = posted - 5; i < posted; i++)
			script_complete(s, true, i, 0,
					(struct ibv_wc){
						.opcode = i % 3 == 2 && !is_t4
								  ? IBV_WC_RECV_RDMA_WITH_IMM
								  : IBV_WC_RECV,
						.byte_len = 24 + i,
						.wc_flags = i % 3 == 2 && !is_t4 ? IBV_WC_WITH_IMM
							    : i % 3 == 1	 ? IBV_WC_WITH_INV
										 : 0,
						.imm_data = htonl(0xdeadbeef),
					});
	}
	script_recv(s, 5, 1);
	while (!script_recv(s, 1, 64))
		;
	script_recv(s, 1, 64);
	for (uint32_t i = 0; i < 4; i++, posted++)
		script_complete(s, true, posted, 0,
				(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 64 });
}

static void arming(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		struct lab_completion done = {
			.cq = s->send_cq->handle,
			.qp = s->qp->handle,
			.event = true,
		};
		struct ibv_cq *cq;
		void *context;

		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
		done.index = s->sends - 1;
		must(lab_complete && !lab_complete(&done), "complete");
		must(!ibv_get_cq_event(s->channel, &cq, &context) && cq == s->send_cq, "event");
		ibv_ack_cq_events(cq, 1);
		script_poll(s->send_cq);
	}
}

/* Bring a queue pair to ERR, as the kernel does when a connection ends. */
static void flush(struct script *s)
{
	script_modify(s, IBV_QPS_ERR);
	poll_all(s->send_cq);
	poll_all(s->recv_cq);
	post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
	script_recv(s, 1, 64);
}

/* Each status of a send, and of a receive. */
static void causes(struct script *s)
{
	const struct ibv_qp_cap cap = { CAUSES, CAUSES, 1, 1, 0 };

	script_qp(s, IBV_QPT_RC, &cap);
	for (uint32_t i = 1; i < CAUSES; i++) {
		script_recv(s, 1, 64);
		post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
	}
	for (uint32_t i = 1; i < CAUSES; i++) {
		received(s, i, OP_SEND, i);
		script_poll(s->recv_cq);
		sent(s, i, CQE_SQ | OP_SEND, i - 1);
		script_poll(s->send_cq);
	}
	script_qp_close(s);
}

static void failures(struct script *s)
{
	script_qp(s, IBV_QPT_RC, &large);
	for (int i = 0; i < 3; i++)
		script_recv(s, 1, 64);
	post(s, IBV_WR_SEND, 1, 1, IBV_SEND_SIGNALED);
	post(s, IBV_WR_RDMA_READ, 1, 1, IBV_SEND_SIGNALED);
	post(s, IBV_WR_RDMA_WRITE, 1, 1, 0);
	post(s, IBV_WR_SEND_WITH_INV, 1, 1, IBV_SEND_SIGNALED);
	step("one completion of each is there when the connection ends");
	sent(s, 0, CQE_SQ | OP_SEND, 0);
	received(s, 0, OP_SEND, 1);
	flush(s);
	step("again");
	script_modify(s, IBV_QPS_RESET);
	script_recv(s, 2, 64);
	script_qp_close(s);

	script_qp(s, IBV_QPT_RC, &large);
	script_recv(s, 1, 64);
	step("a message with another number");
	received(s, 0, OP_SEND, 7);
	script_poll(s->recv_cq);
	script_qp_close(s);

	script_qp(s, IBV_QPT_RC, &large);
	step("a message without a receive");
	received(s, 0, OP_SEND, 1);
	script_poll(s->recv_cq);
	script_qp_close(s);
}

/* The device gives the number of a destroyed queue pair out again. */
static void same_number(struct script *s)
{
	script_qp(s, IBV_QPT_RC, &large);
	for (uint32_t i = 0; i < 2; i++) {
		const struct lab_completion done = { .cq = s->send_cq->handle,
						     .qp = s->qp->handle,
						     .index = i,
						     .wc = { .opcode = IBV_WC_SEND } };

		post(s, IBV_WR_SEND, 1, 64, IBV_SEND_SIGNALED);
		must(lab_complete && !lab_complete(&done), "complete");
	}
	script_qp_close(s);
	script_qp(s, IBV_QPT_RC, &large);
	post(s, IBV_WR_RDMA_WRITE, 1, 64, IBV_SEND_SIGNALED);
	script_poll(s->send_cq);
	complete(s, 0, IBV_WR_RDMA_WRITE);
	script_qp_close(s);
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = { { 1, 1, 1, 1, 0 }, { 100, 33, 3, 2, 40 } };
	struct ibv_device_attr attr;
	struct script s = { 0 };

	script_open(&s);
	must(!ibv_query_device(s.context, &attr), "query");
	is_t4 = attr.vendor_part_id >> 12 == 4;
	script_qp(&s, IBV_QPT_RC, &large);
	every_list(&s);
	every_inline(&s);
	every_flag(&s);
	reads(&s);
	ignored(&s);
	go_round(&s);
	lists(&s);
	fill(&s);
	receives(&s);
	arming(&s);
	flush(&s);
	script_qp_close(&s);
	causes(&s);
	failures(&s);
	for (int i = 0; i < 2; i++) {
		script_qp(&s, IBV_QPT_RC, &caps[i]);
		post_and_complete(&s, IBV_WR_SEND, 1, 24, 0);
		script_qp_close(&s);
	}
	same_number(&s);
	script_close(&s);
	return 0;
}
