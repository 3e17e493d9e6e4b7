/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Call the hot path on a played device under callgrind: tests/adapters/lab/instructions runs it.
 * Each kind of call is dumped under its name; stdout has the number of requests of each kind. Sends
 * complete after all have been posted, so that each call meets the same state. */
#include <stdio.h>

#include <string.h>
#include <valgrind/callgrind.h>

#include "tests/adapters/lab/scenario/script.h"

enum {
	WARM = 3,
	CALLS = 4,
	LIST = 16,
	BATCH = 8,
	BYTES = 32,
};

static struct {
	struct script s;
	struct ibv_ah *ah; /* address of datagrams */
	struct ibv_sge sge;
	struct ibv_send_wr send[LIST], *bad_send;
	struct ibv_recv_wr recv[LIST], *bad_recv;
	struct ibv_wc wc[BATCH];
	uint32_t received, sent; /* completions so far */
} t;

/* @requests: number of requests of each call; @before: code that is not counted */
#define COUNT(name, requests, before, call)                       \
	do {                                                      \
		bool good = true;                                 \
		for (int i = 0; i < WARM + CALLS; i++) {          \
			before;                                   \
			if (i >= WARM)                            \
				CALLGRIND_TOGGLE_COLLECT;         \
			good &= (call);                           \
			if (i >= WARM)                            \
				CALLGRIND_TOGGLE_COLLECT;         \
		}                                                 \
		must(good, name);                                 \
		CALLGRIND_DUMP_STATS_AT(name);                    \
		printf("calls %s %d\n", name, CALLS *(requests)); \
	} while (0)

static void open_device(void)
{
	struct ibv_qp_cap cap = { 256, 256, 1, 1, BYTES };
	bool roce;

	script_open(&t.s);
	if (!strcmp(ibv_get_device_name(t.s.context->device), "mana_0"))
		cap.max_inline_data = 0; /* it has none */
	roce = t.s.context->device->transport_type == IBV_TRANSPORT_IB;
	script_qp(&t.s, roce ? IBV_QPT_RC : IBV_QPT_UD, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&t.s, state);
	if (!roce) {
		struct ibv_ah_attr attr = {
			.port_num = 1,
			.is_global = 1,
			.grh.dgid.raw = { 0xfe, 0x80, [15] = 2 },
		};

		t.ah = ibv_create_ah(t.s.pd, &attr);
		must(t.ah, "ah");
	}
}

/* Lists of @count requests. */
static void prepare(int count, unsigned int send_flags)
{
	t.sge = script_sge(&t.s, 0, BYTES);
	for (int i = 0; i < count; i++) {
		t.send[i] = (struct ibv_send_wr){
			.next = i + 1 < count ? &t.send[i + 1] : NULL,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED | send_flags,
			.sg_list = &t.sge,
			.num_sge = 1,
		};
		if (t.ah) {
			t.send[i].wr.ud.ah = t.ah;
			t.send[i].wr.ud.remote_qpn = 0x55;
		}
		t.recv[i] = (struct ibv_recv_wr){
			.next = i + 1 < count ? &t.recv[i + 1] : NULL,
			.sg_list = &t.sge,
			.num_sge = 1,
		};
	}
}

static void complete(struct ibv_cq *cq, int count)
{
	bool receive = cq == t.s.recv_cq;

	for (int i = 0; i < count; i++) {
		const struct lab_completion completion = {
			.cq = cq->handle,
			.qp = t.s.qp->handle,
			.receive = receive,
			.sent_as = IBV_WR_SEND,
			.index = receive ? t.received++ : t.sent++,
			.wc = { .opcode = receive ? IBV_WC_RECV : IBV_WC_SEND, .byte_len = BYTES },
		};

		must(lab_complete && !lab_complete(&completion), "complete");
	}
}

int main(void)
{
	struct ibv_cq *send_cq, *recv_cq;

	open_device();
	send_cq = t.s.send_cq;
	recv_cq = t.s.recv_cq;
	CALLGRIND_START_INSTRUMENTATION;
	COUNT("nothing", 1, , true);
	COUNT("post_send", 1, prepare(1, 0), !ibv_post_send(t.s.qp, t.send, &t.bad_send));
	if (t.s.max_inline >= BYTES)
		COUNT("post_inline", 1, prepare(1, IBV_SEND_INLINE),
		      !ibv_post_send(t.s.qp, t.send, &t.bad_send));
	COUNT("post_list", LIST, prepare(LIST, 0), !ibv_post_send(t.s.qp, t.send, &t.bad_send));
	COUNT("post_recv", 1, prepare(1, 0), !ibv_post_recv(t.s.qp, t.recv, &t.bad_recv));
	COUNT("post_recv_list", LIST, prepare(LIST, 0),
	      !ibv_post_recv(t.s.qp, t.recv, &t.bad_recv));
	/*
	 * "one" polls for a single completion. Such a poll does not show that the queue is empty.
	 */
	COUNT("poll", 1, complete(recv_cq, 1), ibv_poll_cq(recv_cq, BATCH, t.wc) == 1);
	COUNT("poll_one", 1, complete(recv_cq, 1), ibv_poll_cq(recv_cq, 1, t.wc) == 1);
	COUNT("poll_batch", BATCH, complete(recv_cq, BATCH),
	      ibv_poll_cq(recv_cq, BATCH, t.wc) == BATCH);
	COUNT("poll_sent", 1, complete(send_cq, 1), ibv_poll_cq(send_cq, BATCH, t.wc) == 1);
	COUNT("poll_sent_one", 1, complete(send_cq, 1), ibv_poll_cq(send_cq, 1, t.wc) == 1);
	COUNT("poll_sent_batch", BATCH, complete(send_cq, BATCH),
	      ibv_poll_cq(send_cq, BATCH, t.wc) == BATCH);
	COUNT("poll_empty", 1, , !ibv_poll_cq(recv_cq, BATCH, t.wc));
	COUNT("arm", 1, , !ibv_req_notify_cq(send_cq, 0));
	CALLGRIND_STOP_INSTRUMENTATION;
	must(!t.ah || !ibv_destroy_ah(t.ah), "destroy ah");
	script_qp_close(&t.s);
	script_close(&t.s);
	return 0;
}
