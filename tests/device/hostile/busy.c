/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that never sleep: one thread polls a CQ without traffic, without pause, and checks
 * for events now and then. Two of them, on two hosts, connect many times. No QP makes the device
 * read its sockets for them. A device that waits until such a program has lost its processor
 * would need minutes instead of a second. */
#include <arpa/inet.h>
#include <fcntl.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7420,
	RESOLVE_MS = 60000,
	QPN = 0x123456,	    /* no such QP exists; each connection has its own */
	POLLS = 20,	    /* between two looks for an event */
	WARM_POLLS = 20000, /* until the device's thread leaves packets to the poller */
	CONNECTIONS = 300,
	PATIENCE = RT_SECONDS, /* for all of them; a loaded machine takes half a minute */
};

struct end {
	struct rdma_event_channel *events;
	struct ibv_cq *cq;
};

static void poll_some(struct end *end, int times)
{
	struct ibv_wc wc;

	for (int i = 0; i < times; i++)
		CHECK_INT(ibv_poll_cq(end->cq, 1, &wc), 0);
}

static struct rdma_cm_event *expect(struct end *end, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(end->events, &event)) {
		CHECK_INT(errno, EAGAIN);
		if (end->cq)
			poll_some(end, POLLS);
	}
	CHECK_INT(event->event, type);
	return event;
}

static void take(struct end *end, enum rdma_cm_event_type type)
{
	CHECK_OK(rdma_ack_cm_event(expect(end, type)));
}

static struct sockaddr *server_address(void)
{
	static struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_port = htons(PORT);
	inet_pton(AF_INET, "192.0.2.2", &in.sin_addr);
	return (struct sockaddr *)&in;
}

static struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *events = rt_cm_channel();

	CHECK_OK(fcntl(events->fd, F_SETFL, fcntl(events->fd, F_GETFL) | O_NONBLOCK));
	return events;
}

/* Create a CQ on the identifier's device and poll it until the device knows the poller. */
static void cq_begin(struct end *end, struct ibv_context *verbs)
{
	if (end->cq)
		return;
	end->cq = ibv_create_cq(verbs, 16, NULL, NULL, 0);
	CHECK(end->cq);
	poll_some(end, WARM_POLLS);
}

static void end_finish(struct end *end)
{
	CHECK_OK(ibv_destroy_cq(end->cq));
	rdma_destroy_event_channel(end->events);
}

static void connect_once(struct end *end, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn, .responder_resources = 1 };
	struct rdma_cm_id *id = rt_cm_id(end->events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, server_address(), RESOLVE_MS));
	take(end, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	take(end, RDMA_CM_EVENT_ROUTE_RESOLVED);
	cq_begin(end, id->verbs);
	CHECK_OK(rdma_connect(id, &param));
	take(end, RDMA_CM_EVENT_CONNECT_RESPONSE);
	CHECK_OK(rdma_establish(id));
	take(end, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_OK(rdma_destroy_id(id));
}

static void client(int socket, int arg)
{
	struct end end = {};

	alarm(PATIENCE);
	net_enter(NET_HERE);
	end.events = channel();
	for (int i = 0; i < CONNECTIONS; i++)
		connect_once(&end, QPN + i);
	end_finish(&end);
	rt_tell(socket, 0);
}

static void accept_once(struct end *end, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn, .responder_resources = 1 };
	struct rdma_cm_event *event = expect(end, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	CHECK_OK(rdma_accept(id, &param));
	CHECK_OK(rdma_ack_cm_event(event));
	take(end, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_OK(rdma_disconnect(id));
	take(end, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_OK(rdma_destroy_id(id));
}

static void server(int socket, int arg)
{
	struct rdma_cm_id *listener;
	struct end end = {};

	alarm(PATIENCE);
	net_enter(NET_THERE);
	end.events = channel();
	listener = rt_cm_id(end.events, RDMA_PS_TCP);
	CHECK_OK(rdma_bind_addr(listener, server_address()));
	CHECK_OK(rdma_listen(listener, 0));
	cq_begin(&end, listener->verbs);
	rt_tell(socket, 0);
	for (int i = 0; i < CONNECTIONS; i++)
		accept_once(&end, QPN + i);
	CHECK_OK(rdma_destroy_id(listener));
	end_finish(&end);
	rt_tell(socket, 1);
}

int main(void)
{
	struct rt_child here, there;

	setvbuf(stdout, NULL, _IOLBF, 0);
	net_make("udp");
	there = rt_child_start(server, 0);
	rt_hear(there.socket);
	here = rt_child_start(client, 0);
	CHECK_INT(rt_hear(here.socket), 0);
	CHECK_INT(rt_hear(there.socket), 1);
	rt_child_finish(&here);
	rt_child_finish(&there);
	return 0;
}
