/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The queue pairs of rt_pair.c on a device of iWARP, which only the connection manager connects. */
#include "tests/lib/rt_cm.h"

struct rt_connection {
	struct rdma_event_channel *client_events, *server_events;
	struct rdma_cm_id *listener, *client, *server;
};

static struct rdma_conn_param side_param(const struct rt_side *side)
{
	uint8_t depth = side->options.rd_atomic ? side->options.rd_atomic : 1;

	return (struct rdma_conn_param){
		.responder_resources = depth,
		.initiator_depth = depth,
		.qp_num = side->qp->qp_num,
	};
}

struct rt_connection *rt_iwarp_connect(struct rt_side *a, struct rt_side *b)
{
	struct rdma_conn_param ask = side_param(a), answer = side_param(b);
	struct rt_connection *c = calloc(1, sizeof(*c));
	struct rdma_cm_event *event;

	c->client_events = rt_cm_channel();
	c->server_events = rt_cm_channel();
	c->listener = rt_cm_listen(c->server_events, RDMA_PS_TCP, false);
	c->client = rt_cm_client(c->client_events, RDMA_PS_TCP, rt_cm_port(c->listener), false);
	CHECK_OK(rdma_connect(c->client, &ask));
	event = CM_EXPECT(c->server_events, CONNECT_REQUEST, 0);
	c->server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_accept(c->server, &answer));
	CM_TAKE(c->client_events, ESTABLISHED, 0);
	CM_TAKE(c->server_events, ESTABLISHED, 0);
	return c;
}

void rt_iwarp_close(struct rt_connection *c)
{
	CHECK_OK(rdma_destroy_id(c->client));
	CHECK_OK(rdma_destroy_id(c->server));
	CHECK_OK(rdma_destroy_id(c->listener));
	rdma_destroy_event_channel(c->client_events);
	rdma_destroy_event_channel(c->server_events);
	free(c);
}
