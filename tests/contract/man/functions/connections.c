/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples: identifiers, connections and their events. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>

#include "tests/lib/rt_cm.h"

#include "rdma_accept.h"
#include "rdma_bind_addr.h"
#include "rdma_connect.h"
#include "rdma_create_ep.h"
#include "rdma_create_event_channel.h"
#include "rdma_create_id.h"
#include "rdma_create_qp.h"
#include "rdma_create_srq.h"
#include "rdma_disconnect.h"
#include "rdma_event_str.h"
#include "rdma_get_cm_event.h"
#include "rdma_get_send_comp.h"
#include "rdma_getaddrinfo.h"
#include "rdma_init_qp_attr.h"
#include "rdma_join_multicast.h"
#include "rdma_listen.h"
#include "rdma_notify.h"
#include "rdma_post_send.h"
#include "rdma_reg_msgs.h"
#include "rdma_resolve_addr.h"
#include "rdma_resolve_addrinfo.h"
#include "rdma_set_local_ece.h"
#include "rdma_set_option.h"
#include "rdma_write_cm_event.h"

enum {
	LENGTH = 100,
	MAGIC = 'm',
};

struct two {
	struct rdma_event_channel *client_events, *server_events;
	struct rdma_cm_id *listener, *client;
	struct sockaddr_storage address; /* address of the listener */
	struct ibv_cq *cq;
};

/* Open a listener, and a client that has resolved its address. */
static struct two two_open(void)
{
	struct two t = { .client_events = rt_cm_channel(), .server_events = rt_cm_channel() };
	struct sockaddr_storage any = rt_cm_address(0);

	t.listener = listener_open(t.server_events, (struct sockaddr *)&any, &t);
	CHECK(t.listener);
	t.address = rt_cm_address(rt_cm_port(t.listener));
	t.client = rt_cm_id(t.client_events, RDMA_PS_TCP);
	CHECK_OK(timeout_shorten(t.client));
	CHECK_OK(rdma_resolve_addr(t.client, NULL, (struct sockaddr *)&t.address, 2000));
	CHECK_OK(event_expect(t.client_events, RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK_OK(rdma_resolve_route(t.client, 2000));
	CHECK_OK(event_expect(t.client_events, RDMA_CM_EVENT_ROUTE_RESOLVED));
	t.cq = ibv_create_cq(t.client->verbs, 32, NULL, NULL, 0);
	CHECK(t.cq);
	CHECK_OK(qp_open(t.client, t.cq));
	return t;
}

static void two_close(struct two *t)
{
	rdma_destroy_qp(t->client);
	CHECK_OK(ibv_destroy_cq(t->cq));
	CHECK_OK(rdma_destroy_id(t->client));
	CHECK_OK(rdma_destroy_id(t->listener));
	rdma_destroy_event_channel(t->client_events);
	rdma_destroy_event_channel(t->server_events);
}

static void connection(void)
{
	struct two t = two_open();
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	const struct ibv_async_event first = { .event_type = IBV_EVENT_COMM_EST };
	struct rdma_cm_event *event;
	struct rdma_cm_id *server;

	CHECK_OK(connect_as(t.client, "me"));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	event_print(event);
	request_handle(event, MAGIC);
	server = event->id;
	CHECK_OK(ece_negotiate(server, NULL)); /* the client offers nothing */
	CHECK_OK(request_accept(server, &attr));
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_INT(event_expect(t.client_events, RDMA_CM_EVENT_ADDR_RESOLVED),
		  -1); /* it is ESTABLISHED */
	async_event_pass(server, &first);
	CHECK_OK(event_expect(t.server_events, RDMA_CM_EVENT_ESTABLISHED));
	/* Another thread could serve the channel. */
	CHECK_OK(connection_ask_end(server));
	CHECK_OK(event_expect(t.server_events, RDMA_CM_EVENT_USER));
	CHECK_OK(rdma_disconnect(t.client));
	event = CM_EXPECT(t.server_events, DISCONNECTED, 0);
	connection_end(event);
	CHECK_OK(event_expect(t.client_events, RDMA_CM_EVENT_DISCONNECTED));
	two_close(&t);
}

static void refusal(void)
{
	struct two t = two_open();
	struct rdma_cm_event *event;
	struct rdma_cm_id *server;

	CHECK_OK(connect_as(t.client, "stranger"));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	server = event->id;
	request_handle(event, MAGIC);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_destroy_id(server));
	CHECK_OK(rdma_get_cm_event(t.client_events, &event));
	CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
	event_print(event);
	CHECK_OK(rdma_ack_cm_event(event));
	two_close(&t);
}

/* A server without events: rdma_accept() and the completion functions wait. */
static void *serve(void *argument)
{
	struct rdma_cm_id *listener = argument, *id;
	static char message[LENGTH];
	struct ibv_mr *mr;

	CHECK_OK(rdma_get_request(listener, &id));
	mr = receive_into(id, message, sizeof(message));
	CHECK(mr);
	CHECK_OK(rdma_accept(id, NULL));
	CHECK_INT(receive(id), LENGTH);
	VERIFY(message, LENGTH, 5);
	CHECK_OK(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	return NULL;
}

static struct rdma_cm_id *waiting_listener(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP },
			     *found;
	struct rdma_cm_id *listener;

	CHECK_OK(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &found));
	CHECK_OK(rdma_create_ep(&listener, found, NULL, &attr));
	rdma_freeaddrinfo(found);
	CHECK_OK(rdma_listen(listener, 0));
	return listener;
}

static void waiting(void)
{
	struct rdma_cm_id *listener = waiting_listener(), *id;
	static char message[LENGTH];
	pthread_t server;
	struct ibv_mr *mr;
	char port[8];

	snprintf(port, sizeof(port), "%u", rt_cm_port(listener));
	CHECK_OK(pthread_create(&server, NULL, serve, listener));
	id = endpoint_connect("127.0.0.1", port);
	CHECK(id);
	rt_fill(message, LENGTH, 5);
	mr = rdma_reg_msgs(id, message, LENGTH);
	CHECK(mr);
	CHECK_OK(send_and_wait(id, message, LENGTH, mr));
	CHECK_OK(pthread_join(server, NULL));
	CHECK_OK(rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

static void identifiers(void)
{
	struct rdma_event_channel *channel = channel_open_nonblocking();
	struct sockaddr_storage own = rt_cm_address(0);
	struct rdma_addrinfo *found;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK(channel);
	CHECK_INT(rdma_get_cm_event(channel, &event), -1);
	CHECK_INT(errno, EAGAIN);
	id = rt_cm_id(channel, RDMA_PS_TCP);
	CHECK(bind_anywhere(id, (struct sockaddr_in *)&own));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	found = server_find("127.0.0.1", "7471");
	CHECK(found);
	CHECK_INT(ntohs(((struct sockaddr_in *)found->ai_dst_addr)->sin_port), 7471);
	rdma_freeaddrinfo(found);
	CHECK(!server_find("nowhere.invalid", "7471"));
}

/* Resolve without a channel, and bring a queue pair of verbs to INIT with the results. */
static void resolution(void)
{
	struct sockaddr_storage server = rt_cm_address(7471);
	struct rdma_cm_id *id = rt_cm_id(NULL, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;

	CHECK_OK(resolve(id, (struct sockaddr *)&server));
	CHECK_OK(srq_open(id));
	CHECK(id->srq);
	rdma_destroy_srq(id);
	attr.send_cq = attr.recv_cq = ibv_create_cq(id->verbs, 2, NULL, NULL, 0);
	CHECK(attr.send_cq);
	qp = ibv_create_qp(id->pd, &attr);
	CHECK(qp);
	CHECK_OK(qp_bring_to(id, qp, IBV_QPS_INIT));
	CHECK_INT(qp->state, IBV_QPS_INIT);
	CHECK_OK(ibv_destroy_qp(qp));
	CHECK_OK(ibv_destroy_cq(attr.send_cq));
	CHECK_OK(rdma_destroy_id(id));
}

static void names(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addrinfo(id, "127.0.0.1", "7471", &hints));
	CHECK_OK(event_expect(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED));
	CHECK_OK(addrinfo_use(id));
	CHECK_OK(event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void group(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct sockaddr_storage own = rt_cm_address(0);
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0xefc00063) };
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_UDP);

	CHECK_OK(rdma_resolve_addr(id, (struct sockaddr *)&own, (struct sockaddr *)&address, 2000));
	CHECK_OK(event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	rt_cm_qp(id);
	CHECK_OK(group_join_sending(id, (struct sockaddr *)&address));
	CHECK_OK(event_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN));
	CHECK_OK(rdma_leave_multicast(id, (struct sockaddr *)&address));
	rt_cm_destroy(id);
	rdma_destroy_event_channel(channel);
}

static const struct rt_case cases[] = {
	{ "connection", connection }, { "refusal", refusal },
	{ "waiting", waiting },	      { "identifiers", identifiers },
	{ "resolution", resolution }, { "names", names },
	{ "group", group },
};
RT_MAIN(cases)
