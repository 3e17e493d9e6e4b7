/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One peer's objects. */
#include "tool.h"

#define GRH_SIZE 40 /* bytes in front of a received datagram */

static int grh_size(const struct tool_test *test)
{
	return test->datagrams ? GRH_SIZE : 0;
}

/*
 * Return a place of the buffer. Places for received messages come first, then places for sent ones,
 * because both exist at the same time.
 */
struct ibv_sge tool_peer_sge(const struct tool_test *test, const struct tool_peer *peer,
			     bool received)
{
	int slot = grh_size(test) + test->size;

	return (struct ibv_sge){
		.addr = (uintptr_t)peer->buffer + (received ? 0 : slot),
		.length = received ? slot : test->size,
		.lkey = peer->mr->lkey,
	};
}

static int check_mtu(struct tool_test *test, struct tool_peer *peer)
{
	struct ibv_port_attr port;
	int r, mtu;

	if (!test->datagrams)
		return 0;
	r = ibv_query_port(peer->id->verbs, peer->id->port_num, &port);
	if (r) {
		errno = r;
		return tool_perror(test->prefix, "unable to query the port");
	}
	mtu = 128 << port.active_mtu;
	if (test->size <= mtu)
		return 0;
	printf("%s: message_size %d is larger than active mtu %d\n", test->prefix, test->size, mtu);
	return -EINVAL;
}

static int open_queues(struct tool_test *test, struct tool_peer *peer)
{
	struct ibv_context *context = peer->id->verbs;
	int depth = test->messages ? test->messages : 1;

	peer->pd = ibv_alloc_pd(context);
	if (!peer->pd)
		return tool_perror(test->prefix, "unable to allocate PD");
	peer->completions = ibv_create_comp_channel(context);
	if (!peer->completions)
		return tool_perror(test->prefix, "unable to create completion channel");
	peer->send_cq = ibv_create_cq(context, depth, peer, peer->completions, 0);
	peer->recv_cq = ibv_create_cq(context, depth, peer, peer->completions, 0);
	if (!peer->send_cq || !peer->recv_cq)
		return tool_perror(test->prefix, "unable to create CQ");
	return 0;
}

static int open_qp(struct tool_test *test, struct tool_peer *peer)
{
	int depth = test->messages ? test->messages : 1;
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = peer,
		.send_cq = peer->send_cq,
		.recv_cq = peer->recv_cq,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = test->datagrams ? IBV_QPT_UD : IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = peer->pd,
		.create_flags = test->create_flags,
	};

	if (test->create_flags)
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	if (rdma_create_qp_ex(peer->id, &attr))
		return tool_perror(test->prefix, "unable to create QP");
	return 0;
}

static int open_buffer(struct tool_test *test, struct tool_peer *peer)
{
	size_t size = grh_size(test) + 2 * (size_t)test->size;

	peer->buffer = calloc(1, size + 1);
	if (!peer->buffer)
		return tool_perror(test->prefix, "failed message allocation");
	peer->mr = ibv_reg_mr(peer->pd, peer->buffer, size + 1, IBV_ACCESS_LOCAL_WRITE);
	if (!peer->mr)
		return tool_perror(test->prefix, "failed to reg MR");
	return 0;
}

static int post_receives(struct tool_test *test, struct tool_peer *peer)
{
	struct ibv_sge sge = tool_peer_sge(test, peer, true);
	struct ibv_recv_wr wr = { .wr_id = TOOL_RECV, .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < test->messages; i++) {
		int r = ibv_post_recv(peer->id->qp, &wr, &bad);

		if (r) {
			printf("failed to post receives: %d\n", r);
			return -r;
		}
	}
	return 0;
}

int tool_peer_open(struct tool_test *test, struct tool_peer *peer)
{
	static int (*const steps[])(struct tool_test *, struct tool_peer *) = {
		check_mtu, open_queues, open_qp, open_buffer, post_receives,
	};
	int r = 0;

	for (int i = 0; i < ARRAY_SIZE(steps) && !r; i++)
		r = steps[i](test, peer);
	return r;
}

void tool_peer_close(struct tool_peer *peer)
{
	if (peer->ah)
		ibv_destroy_ah(peer->ah);
	if (peer->id && peer->id->qp)
		rdma_destroy_qp(peer->id);
	if (peer->mr)
		ibv_dereg_mr(peer->mr);
	if (peer->send_cq)
		ibv_destroy_cq(peer->send_cq);
	if (peer->recv_cq)
		ibv_destroy_cq(peer->recv_cq);
	if (peer->completions)
		ibv_destroy_comp_channel(peer->completions);
	if (peer->pd)
		ibv_dealloc_pd(peer->pd);
	if (peer->id)
		rdma_destroy_id(peer->id);
	free(peer->buffer);
}

int tool_peer_set_address(struct tool_test *test, struct tool_peer *peer,
			  const struct rdma_ud_param *to)
{
	struct ibv_ah_attr attr = to->ah_attr;

	peer->remote_qpn = to->qp_num;
	peer->remote_qkey = to->qkey;
	peer->ah = ibv_create_ah(peer->pd, &attr);
	if (peer->ah)
		return 0;
	printf("%s: failure creating address handle\n", test->prefix);
	return -1;
}
