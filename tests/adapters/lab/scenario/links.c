/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device that finds a request by the request before it. The scenario posts each opcode of RC and
 * UC with lists and inline data of each length, and lists of requests of which one doorbell
 * announces a part. Rings go round and become full, also the smallest ones. The device completes
 * with each cause of a failure, for one request and for a chain of requests. Completions of two
 * queue pairs are in a completion queue that is resized. Refused requests come last, because a
 * plug-in may lose the link behind them.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum {
	SGES = 4,
	RING = 16,
	MANY = 300, /* more than one doorbell announces */
	ENTRY = 32, /* bytes of a completion */
	ADDRESSES = 133,
};

static const struct ibv_qp_cap cap_of_ring = { RING, 8, SGES, 2, 64 };

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
		if (opcode == IBV_WR_RDMA_READ && s->qp->qp_type != IBV_QPT_RC)
			continue;
		for (int count = 0; count <= SGES; count++)
			list(s, opcode, count, IBV_SEND_SIGNALED);
		for (int count = 0; count < 3 && opcode != IBV_WR_RDMA_READ; count++)
			list(s, opcode, count, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	}
	for (unsigned flags = 0; flags < 16; flags++)
		list(s, IBV_WR_SEND, 1, flags);
}

static void atomics(struct script *s)
{
	for (int i = 0; i < 4; i++) {
		struct ibv_sge sge = script_sge(s, 0x80, 8);
		enum ibv_wr_opcode opcode =
			i % 2 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
		struct ibv_send_wr wr = script_request(s, opcode, &sge, 1, IBV_SEND_SIGNALED);

		wr.send_flags |= i / 2 ? IBV_SEND_FENCE : 0;
		wr.wr.atomic.remote_addr = 0x200000000 + SCRIPT_REMOTE;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99aabbccddeeff00;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		script_post(s, &wr);
	}
}

/* Post @count sends by one call. The last one completes. */
static void several(struct script *s, int count)
{
	static struct ibv_send_wr wr[MANY];
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (int i = 0; i < count; i++) {
		wr[i] = script_request(s, IBV_WR_SEND, &sge, 1,
				       i == count - 1 ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i < count - 1 ? &wr[i + 1] : NULL;
	}
	script_send(s, wr);
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
}

static void several_receives(struct script *s, int count)
{
	static struct ibv_recv_wr wr[MANY], *bad;
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (int i = 0; i < count; i++)
		wr[i] = (struct ibv_recv_wr){ .wr_id = i,
					      .sg_list = &sge,
					      .num_sge = i % 2,
					      .next = i < count - 1 ? &wr[i + 1] : NULL };
	step("post_recv list=%d", count);
	must(!ibv_post_recv(s->qp, wr, &bad), "receives");
	s->receives += count;
	script_complete(s, true, s->receives - 1, 0, (struct ibv_wc){ .opcode = IBV_WC_RECV });
}

/* Fill the ring, and post one request more. */
static void full(struct script *s, int room)
{
	struct ibv_sge sge = script_sge(s, 0, 16);

	for (int i = 0; i <= room; i++) {
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

		must(!script_send(s, &wr) == (i < room), "room for sends");
	}
	script_complete(s, false, s->sends - 1, IBV_WR_SEND, (struct ibv_wc){});
	several(s, 1);
}

/* Put an entry of the device's format into the queue of sends. @words: pairs of place and value */
static void entry(const struct script *s, const uint32_t (*words)[2], int count)
{
	uint32_t cqe[ENTRY / 4] = { 0 };

	for (int i = 0; i < count; i++)
		cqe[words[i][0]] = htonl(words[i][1]);
	step("entry of the device");
	must(lab_entry && !lab_entry(s->send_cq->handle, cqe, sizeof(cqe)), "entry");
}

/* Return the place of the failed request in the buffer, behind the ring of receives. */
static uint32_t place(const struct script *s, uint32_t slot)
{
	return 8 * 64 + slot * 128;
}

enum {
	AT_QPN = 0,
	AT_SYNDROME = 4,
	AT_WQE = 6,
	AT_OPCODE = 7,
	ERROR_SEND = 0xff,
};

static void failed(struct script *s, uint32_t slot, uint8_t syndrome, uint16_t doorbells)
{
	const uint32_t words[][2] = {
		{ AT_QPN, s->qp->qp_num },
		{ AT_SYNDROME, (uint32_t)syndrome << 24 | 0x77 << 16 | doorbells },
		{ AT_WQE, place(s, slot) },
		{ AT_OPCODE, (uint32_t)ERROR_SEND << 24 },
	};

	entry(s, words, sizeof(words) / sizeof(words[0]));
}

/* Each cause of a failure, also unknown ones. Release 44 prints text about cause 2. */
static void causes(struct script *s)
{
	static const uint8_t all[] = { 0x01, 0x03, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14,
				       0x15, 0x16, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0xff };
	struct ibv_sge sge = script_sge(s, 0, 64);

	script_connect(s, &cap_of_ring);
	for (size_t i = 0; i < sizeof(all); i++) {
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

		script_send(s, &wr);
		failed(s, i % RING, all[i], 0);
		script_poll(s->send_cq);
	}
	script_qp_close(s);
}

static void drain(const struct script *s)
{
	struct ibv_wc wc[8] = { 0 };
	int n = ibv_poll_cq(s->send_cq, 8, wc);

	step("poll -> %d", n);
	for (int i = 0; i < n; i++)
		step("-> qp=0x%x wr_id=0x%llx status=%d vendor=0x%x", wc[i].qp_num,
		     (unsigned long long)wc[i].wr_id, wc[i].status, wc[i].vendor_err);
}

/* The first of three requests fails. They were announced by one doorbell, or by three. */
static void chain(struct script *s, bool together)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[3];

	script_connect(s, &cap_of_ring);
	for (int i = 0; i < 3; i++) {
		wr[i] = script_request(s, IBV_WR_SEND, &sge, 1, 0);
		wr[i].wr_id += i;
		wr[i].next = together && i < 2 ? &wr[i + 1] : NULL;
		if (!together)
			script_send(s, &wr[i]);
	}
	if (together)
		script_send(s, wr);
	failed(s, 0, 0x15, together ? 0 : 2);
	drain(s);
	script_qp_close(s);
}

static void unread(struct script *s, int count)
{
	struct ibv_sge sge = script_sge(s, 0, 64);

	for (int i = 0; i < count; i++) {
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
		const struct lab_completion completion = {
			.cq = s->send_cq->handle,
			.qp = s->qp->handle,
			.sent_as = IBV_WR_SEND,
			.index = s->sends,
		};

		script_send(s, &wr);
		must(lab_complete && !lab_complete(&completion), "complete");
	}
}

/* Arm before and after the events that the program reads. */
static void arming(struct script *s)
{
	for (int i = 0; i < 5; i++) {
		step("arm for %s", i % 2 ? "solicited ones" : "all");
		must(!ibv_req_notify_cq(s->send_cq, i % 2), "arm");
		several(s, 1);
	}
}

/* Resize a queue with unread completions, before and after it went round. */
static void resizing(struct script *s)
{
	static const int sizes[] = { 7, 7, 300, 15, 20, 8 };
	struct script other;

	s->send_cq = ibv_create_cq(s->context, 7, NULL, NULL, 0);
	must(s->send_cq, "cq");
	script_connect(s, &cap_of_ring);
	other = *s;
	script_connect(&other, &cap_of_ring);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unread(s, 3);
		unread(&other, 2);
		step("resize to %d", sizes[i]);
		must(!ibv_resize_cq(s->send_cq, sizes[i]), "resize");
		step("-> %d", s->send_cq->cqe);
		drain(s);
	}
	unread(s, 2);
	unread(&other, 3);
	script_modify(s, IBV_QPS_RESET);
	drain(s);
	script_qp_close(s);
	unread(&other, 2);
	script_qp_close(&other);
	drain(s);
	must(!ibv_destroy_cq(s->send_cq), "destroy cq");
}

/* Create more addresses than fit into a page, with and without a GID. Destroy some early. */
static void addresses(struct script *s)
{
	static struct ibv_ah *all[ADDRESSES];

	step("addresses");
	for (int i = 0; i < ADDRESSES; i++) {
		struct ibv_ah_attr attr = {
			.port_num = 1,
			.dlid = 0x1234 + i,
			.sl = i % 16,
			.src_path_bits = i % 128,
			.static_rate = i % 4,
			.is_global = i % 3 != 0,
			.grh = { .hop_limit = 9,
				 .traffic_class = i,
				 .flow_label = 0x45678,
				 .sgid_index = i % 2,
				 .dgid.raw = { 0xfe, 0x80, [15] = i } },
		};

		all[i] = ibv_create_ah(s->pd, &attr);
		must(all[i], "address");
		if (i == 100)
			must(!ibv_destroy_ah(all[3]) && !ibv_destroy_ah(all[70]),
			     "destroy address");
	}
	step("addresses go");
	for (int i = 0; i < ADDRESSES; i++)
		must(i == 3 || i == 70 || !ibv_destroy_ah(all[i]), "destroy address");
}

/* Requests that release 44 refuses as well. */
static void refused(struct script *s)
{
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, sge, 1, IBV_SEND_INLINE);

	script_connect(s, &cap_of_ring);
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
	script_qp_close(s);
}

int main(void)
{
	static const struct ibv_qp_cap caps[] = {
		{ MANY, MANY, 1, 1, 0 },
		{ 1, 1, 1, 1, 28 },
		{ 5, 3, 2, 5, 100 },
	};
	struct script s = { 0 };
	struct ibv_cq *first;

	script_open(&s);
	first = s.send_cq;
	script_connect(&s, &cap_of_ring);
	every_opcode(&s);
	atomics(&s);
	several(&s, 3);
	arming(&s);
	full(&s, RING);
	script_receives(&s, 3, 3, 3);
	script_modify(&s, IBV_QPS_RESET);
	script_qp_close(&s);
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		script_connect(&s, &caps[i]);
		for (uint32_t n = 0; n < 3; n++)
			several(&s, 1 + n % caps[i].max_send_wr);
		several(&s, caps[i].max_send_wr);
		several_receives(&s, caps[i].max_recv_wr);
		several_receives(&s, 1);
		script_qp_close(&s);
	}
	script_qp(&s, IBV_QPT_UC, &cap_of_ring);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	every_opcode(&s);
	script_qp_close(&s);
	causes(&s);
	chain(&s, true);
	chain(&s, false);
	resizing(&s);
	s.send_cq = first;
	addresses(&s);
	refused(&s);
	script_close(&s);
	return 0;
}
