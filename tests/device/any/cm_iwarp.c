/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Differences on a device of iWARP, whose connections are those of TCP. */
#include <arpa/inet.h>

#include "tests/lib/rt_cm.h"

enum {
	LONGEST = 250, /* bytes of private data; with a few more siw loses the request */
	SOME = 7,
};

/* Connect with @length bytes of private data both ways, and check that they arrive with that
 * length. */
static void connect_with(int length)
{
	struct rdma_event_channel *events = rt_cm_channel(), *server_events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(server_events, RDMA_PS_TCP, true);
	struct rdma_cm_id *client = rt_cm_client(events, RDMA_PS_TCP, rt_cm_port(listener), true);
	uint8_t asked[LONGEST], answered[LONGEST];
	struct rdma_conn_param ask = { .private_data = asked,
				       .private_data_len = length,
				       .responder_resources = 1,
				       .initiator_depth = 1 };
	struct rdma_conn_param answer = ask;
	struct rdma_cm_event *event;
	struct rdma_cm_id *server;

	rt_fill(asked, sizeof(asked), 1);
	rt_fill(answered, sizeof(answered), 2);
	answer.private_data = answered;
	CHECK_OK(rdma_connect(client, &ask));
	event = CM_EXPECT(server_events, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_INT(event->param.conn.private_data_len, length);
	VERIFY(event->param.conn.private_data, length, 1);
	/* A listener on every address reports the address and the device that the request came
	 * to. */
	CHECK(server->verbs == client->verbs);
	CHECK_INT(rdma_get_local_addr(server)->sa_family, AF_INET);
	CHECK(((struct sockaddr_in *)rdma_get_local_addr(server))->sin_addr.s_addr ==
	      inet_addr(getenv("RT_ADDRESS")));
	CHECK_INT(ntohs(rdma_get_src_port(server)), rt_cm_port(listener));
	CHECK_INT(rdma_get_dst_port(server), rdma_get_src_port(client));
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	CHECK_OK(rdma_accept(server, &answer));
	event = CM_EXPECT(events, ESTABLISHED, 0);
	CHECK_INT(event->param.conn.private_data_len, length);
	VERIFY(event->param.conn.private_data, length, 2);
	CHECK_OK(rdma_ack_cm_event(event));
	CM_TAKE(server_events, ESTABLISHED, 0);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
	rdma_destroy_event_channel(server_events);
}

static void private_data(void)
{
	connect_with(SOME);
	connect_with(LONGEST);
	connect_with(0);
}

/* A refusal ends the TCP connection and carries its data. */
static void reject(void)
{
	struct rdma_event_channel *events = rt_cm_channel(), *server_events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(server_events, RDMA_PS_TCP, false);
	struct rdma_cm_id *client = rt_cm_client(events, RDMA_PS_TCP, rt_cm_port(listener), true);
	struct rdma_conn_param ask = { .initiator_depth = 1 };
	struct rdma_cm_event *event;
	uint8_t data[SOME];

	rt_fill(data, SOME, 3);
	CHECK_OK(rdma_connect(client, &ask));
	event = CM_EXPECT(server_events, CONNECT_REQUEST, 0);
	CHECK_OK(rdma_reject(event->id, data, SOME));
	rt_cm_destroy(event->id);
	CHECK_OK(rdma_ack_cm_event(event));
	event = CM_EXPECT(events, REJECTED, -ECONNRESET);
	CHECK_INT(event->param.conn.private_data_len, SOME);
	VERIFY(event->param.conn.private_data, SOME, 3);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(client);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
	rdma_destroy_event_channel(server_events);
}

/* An address has one listener, on every address or on this one. */
static void places(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *first = rt_cm_listen(events, RDMA_PS_TCP, false);
	struct rdma_cm_id *second = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_in wildcard = { .sin_family = AF_INET,
					.sin_port = htons(rt_cm_port(first)) };
	struct sockaddr_storage address = rt_cm_address(rt_cm_port(first));

	REFUSED(rdma_bind_addr(second, (struct sockaddr *)&address), EADDRINUSE);
	REFUSED(rdma_bind_addr(second, (struct sockaddr *)&wildcard), EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(first));
	CHECK_OK(rdma_bind_addr(second, (struct sockaddr *)&wildcard));
	CHECK_OK(rdma_listen(second, 0));
	CHECK_OK(rdma_destroy_id(second));
	rdma_destroy_event_channel(events);
}

/* There are no datagrams. */
static void no_datagrams(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct sockaddr_storage address = rt_cm_address(7471);
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_UDP);
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	REFUSED(rdma_create_qp(id, NULL, &attr), EOPNOTSUPP);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void on_iwarp(const void *body)
{
	struct rt_dev *dev = rt_open();
	bool iwarp = rt_is_iwarp(dev);

	rt_close(dev);
	if (!iwarp)
		rt_skip("the device is none of iWARP");
	(*(void (*const *)(void))body)();
}

static void (*const bodies[])(void) = { private_data, reject, places, no_datagrams };

static const struct rt_case cases[] = {
	{ "private data", .run_with = on_iwarp, .arg = &bodies[0] },
	{ "reject", .run_with = on_iwarp, .arg = &bodies[1] },
	{ "places", .run_with = on_iwarp, .arg = &bodies[2] },
	{ "no datagrams", .run_with = on_iwarp, .arg = &bodies[3] },
};
RT_MAIN(cases)
