/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending messages to all peers, and receiving messages from them. */
#include <poll.h>

#include "tool.h"

#define QUEUE_BATCH 16

static int post_send(struct tool_test *test, struct tool_peer *peer)
{
	struct ibv_sge sge = tool_peer_sge(test, peer, false);
	struct ibv_send_wr *bad, wr = {
		.wr_id = TOOL_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (test->datagrams) {
		/* Older programs take the destination of the answer from the immediate data. */
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htobe32(peer->id->qp->qp_num);
		wr.wr.ud.ah = peer->ah;
		wr.wr.ud.remote_qpn = peer->remote_qpn;
		wr.wr.ud.remote_qkey = peer->remote_qkey;
	}
	return -ibv_post_send(peer->id->qp, &wr, &bad);
}

int tool_test_send(struct tool_test *test)
{
	for (int i = 0; i < test->connections; i++) {
		for (int n = 0; n < test->messages; n++) {
			int r = post_send(test, &test->peers[i]);

			if (!r)
				continue;
			printf("failed to post sends: %d\n", -r);
			return r;
		}
	}
	return 0;
}

/* Take the address of the first datagram as the destination of a datagram server's answers. */
static int learn_address(struct tool_test *test, struct tool_peer *peer, struct ibv_wc *wc)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	if (ibv_query_qp(peer->id->qp, &attr, IBV_QP_QKEY, &init))
		return tool_perror(test->prefix, "unable to query QP");
	peer->remote_qkey = attr.qkey;
	peer->remote_qpn = wc->src_qp;
	peer->ah = ibv_create_ah_from_wc(peer->pd, wc, (struct ibv_grh *)peer->buffer,
					 peer->id->port_num);
	return peer->ah ? 0 : tool_perror(test->prefix, "failed to create reply AH");
}

static int completed(struct tool_test *test, struct tool_peer *peer, struct ibv_wc *wc)
{
	if (wc->status) {
		printf("%s: %s of connection %td failed: %s\n", test->prefix,
		       wc->wr_id == TOOL_SEND ? "send" : "receive", peer - test->peers,
		       ibv_wc_status_str(wc->status));
		return -EIO;
	}
	if (test->datagrams && wc->wr_id == TOOL_RECV && !peer->ah)
		return learn_address(test, peer, wc);
	return 0;
}

/* Return: the number of completions, or an error. */
static int poll_batch(struct tool_test *test, struct tool_peer *peer, struct ibv_cq *cq)
{
	struct ibv_wc wc[QUEUE_BATCH];
	int n = ibv_poll_cq(cq, QUEUE_BATCH, wc), r = 0;

	if (n < 0)
		printf("%s: failed polling CQ: %d\n", test->prefix, n);
	for (int i = 0; i < n && !r; i++)
		r = completed(test, peer, &wc[i]);
	return r ? r : n;
}

/* Sleep until there is a completion of the peer's queues, or until an event has been handled. */
static int sleep_a_while(struct tool_test *test, struct tool_peer *peer)
{
	struct pollfd fds[] = {
		{ .fd = peer->completions->fd, .events = POLLIN },
		{ .fd = test->channel->fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	void *context;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : tool_perror(test->prefix, "poll");
	if (fds[0].revents) {
		if (ibv_get_cq_event(peer->completions, &cq, &context))
			return tool_perror(test->prefix, "failed to get CQ event");
		ibv_ack_cq_events(cq, 1);
	}
	return fds[1].revents ? tool_test_event(test) : 0;
}

static int wait_completions(struct tool_test *test, struct tool_peer *peer, struct ibv_cq *cq)
{
	bool armed = false;
	int r = 0;

	for (int left = test->messages; left > 0; left -= r) {
		r = poll_batch(test, peer, cq);
		if (r < 0)
			return r;
		if (r)
			continue;
		if (armed) {
			r = sleep_a_while(test, peer);
			if (r)
				return r;
		} else if (ibv_req_notify_cq(cq, 0)) {
			return tool_perror(test->prefix, "failed to set notify");
		}
		armed = !armed;
	}
	return 0;
}

int tool_test_wait_sent(struct tool_test *test)
{
	int r = 0;

	for (int i = 0; i < test->connections && !r; i++)
		r = wait_completions(test, &test->peers[i], test->peers[i].send_cq);
	return r;
}

int tool_test_wait_received(struct tool_test *test)
{
	int r = 0;

	for (int i = 0; i < test->connections && !r; i++)
		r = wait_completions(test, &test->peers[i], test->peers[i].recv_cq);
	return r;
}
