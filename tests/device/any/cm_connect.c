/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections by IP address: their beginning, refusal and end, with both ends in one process. */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>

#include "tests/lib/rt_cm.h"

/* Bytes of private data in each message that a program can use. */
enum {
	REQUEST_DATA = 56,
	REPLY_DATA = 196,
	REJECT_DATA = 148,
	UD_REQUEST_DATA = 180,
	UD_REPLY_DATA = 136,
};

struct two {
	struct rdma_event_channel *client_events, *server_events;
	struct rdma_cm_id *listener;
	uint16_t port;
};

static struct two two_open(enum rdma_port_space ps, bool any)
{
	struct two t = { .client_events = rt_cm_channel(), .server_events = rt_cm_channel() };

	t.listener = rt_cm_listen(t.server_events, ps, any);
	t.port = rt_cm_port(t.listener);
	return t;
}

static void two_close(struct two *t)
{
	CHECK_OK(rdma_destroy_id(t->listener));
	rdma_destroy_event_channel(t->client_events);
	rdma_destroy_event_channel(t->server_events);
}

/* Return a client that asked, and the identifier of its request. */
static struct rdma_cm_id *request(struct two *t, enum rdma_port_space ps,
				  struct rdma_conn_param *param, struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *client = rt_cm_client(t->client_events, ps, t->port, true);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(client, param));
	event = CM_EXPECT(t->server_events, CONNECT_REQUEST, 0);
	CHECK(event->listen_id == t->listener);
	*ret_server = event->id;
	CHECK((*ret_server)->verbs == client->verbs);
	CHECK_INT(rdma_get_dst_port(event->id), rdma_get_src_port(client));
	CHECK_INT(ntohs(rdma_get_src_port(event->id)), t->port);
	CHECK_OK(rdma_ack_cm_event(event));
	return client;
}

static void private_data(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	uint8_t asked[REQUEST_DATA], answered[REPLY_DATA];
	struct rdma_conn_param ask = { .private_data = asked,
				       .private_data_len = sizeof(asked),
				       .responder_resources = 1,
				       .initiator_depth = 2,
				       .retry_count = 5,
				       .rnr_retry_count = 6 },
			       reply = { .private_data = answered,
					 .private_data_len = sizeof(answered),
					 .responder_resources = 2,
					 .initiator_depth = 1 };
	struct rdma_cm_id *client = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true),
			  *server;
	struct rdma_cm_event *event;

	rt_fill(asked, sizeof(asked), 1);
	rt_fill(answered, sizeof(answered), 2);
	CHECK_OK(rdma_connect(client, &ask));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	CHECK_INT(event->param.conn.private_data_len, REQUEST_DATA);
	VERIFY(event->param.conn.private_data, REQUEST_DATA, 1);
	CHECK_INT(event->param.conn.responder_resources, 2);
	CHECK_INT(event->param.conn.initiator_depth, 1);
	CHECK_INT(event->param.conn.retry_count, 5);
	CHECK_INT(event->param.conn.rnr_retry_count, 6);
	CHECK_INT(event->param.conn.qp_num, client->qp->qp_num);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	CHECK_OK(rdma_accept(server, &reply));
	event = CM_EXPECT(t.client_events, ESTABLISHED, 0);
	CHECK_INT(event->param.conn.private_data_len, REPLY_DATA);
	VERIFY(event->param.conn.private_data, REPLY_DATA, 2);
	CHECK_OK(rdma_ack_cm_event(event));
	CM_TAKE(t.server_events, ESTABLISHED, 0);
	rt_cm_disconnect(client, server);
	two_close(&t);
}

static void private_data_too_long(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	uint8_t data[REPLY_DATA + 1] = {};
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = REQUEST_DATA + 1 };
	struct rdma_cm_id *client = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true),
			  *server;
	struct rdma_cm_event *event;

	CHECK(rdma_connect(client, &param));
	CHECK_INT(errno, EINVAL);
	param.private_data_len = REQUEST_DATA;
	CHECK_OK(rdma_connect(client, &param));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	param.private_data_len = REPLY_DATA + 1;
	CHECK(rdma_accept(server, &param));
	CHECK_INT(errno, EINVAL);
	rt_cm_destroy(server);
	CM_TAKE(t.client_events, REJECTED, 28);
	rt_cm_destroy(client);
	two_close(&t);
}

static void reject(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	uint8_t data[REJECT_DATA];
	struct rdma_cm_id *server, *client = request(&t, RDMA_PS_TCP, NULL, &server);
	struct rdma_cm_event *event;

	rt_fill(data, sizeof(data), 3);
	CHECK_OK(rdma_reject(server, data, sizeof(data)));
	event = CM_EXPECT(t.client_events, REJECTED, 28);
	CHECK_INT(event->param.conn.private_data_len, REJECT_DATA);
	VERIFY(event->param.conn.private_data, REJECT_DATA, 3);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(server);
	rt_cm_destroy(client);
	two_close(&t);
}

/* Destroying a request refuses it. */
static void destroy_request(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *server, *client = request(&t, RDMA_PS_TCP, NULL, &server);

	rt_cm_destroy(server);
	CM_TAKE(t.client_events, REJECTED, 28);
	rt_cm_destroy(client);
	two_close(&t);
}

/* Destroying a listener refuses the requests that it never read. */
static void destroy_listener(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *client = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true);

	CHECK_OK(rdma_connect(client, NULL));
	CHECK_INT(poll(&(struct pollfd){ t.server_events->fd, POLLIN, 0 }, 1, -1), 1);
	CHECK_OK(rdma_destroy_id(t.listener));
	CHECK_OK(rdma_ack_cm_event(
		rt_cm_expect(__FILE__, __LINE__, t.client_events, RDMA_CM_EVENT_REJECTED, 28)));
	rt_cm_destroy(client);
	rdma_destroy_event_channel(t.client_events);
	rdma_destroy_event_channel(t.server_events);
}

static void nobody_listens(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *client = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true);

	CHECK_OK(rdma_destroy_id(t.listener));
	CHECK_OK(rdma_connect(client, NULL));
	CM_TAKE(t.client_events, REJECTED, 8);
	rt_cm_destroy(client);
	rdma_destroy_event_channel(t.client_events);
	rdma_destroy_event_channel(t.server_events);
}

static void disconnect_by(bool server_first, bool destroy_only)
{
	struct two t = two_open(RDMA_PS_TCP, true);
	struct rdma_cm_id *server,
		*client = rt_cm_connect(t.client_events, t.port, t.server_events, &server);
	struct rdma_cm_id *first = server_first ? server : client,
			  *second = server_first ? client : server;

	if (destroy_only) {
		rt_cm_destroy(first);
		CM_TAKE(second->channel, DISCONNECTED, 0);
		rt_cm_destroy(second);
	} else {
		rt_cm_disconnect(first, second);
	}
	two_close(&t);
}

static void disconnect_client(void)
{
	disconnect_by(false, false);
}

static void disconnect_server(void)
{
	disconnect_by(true, false);
}

static void destroy_connected(void)
{
	disconnect_by(false, true);
}

/* Both sides disconnect at once: both get the event, and neither waits for the other. */
static void disconnect_both(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *server,
		*client = rt_cm_connect(t.client_events, t.port, t.server_events, &server);

	CHECK_OK(rdma_disconnect(client));
	/* not checked: if the client's disconnect came first, this call only answers it */
	rdma_disconnect(server);
	CM_TAKE(t.client_events, DISCONNECTED, 0);
	CM_TAKE(t.server_events, DISCONNECTED, 0);
	rt_cm_destroy(client);
	rt_cm_destroy(server);
	two_close(&t);
}

/* A QP that is connected already, in the view of the other side. */
static void stale(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_conn_param param = { .qp_num = 0x123456, .responder_resources = 1 };
	struct rdma_cm_id *first = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, false),
			  *second = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, false),
			  *server;
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(first, &param));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	param.qp_num = 0x654321;
	CHECK_OK(rdma_accept(server, &param));
	CM_TAKE(t.client_events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(first));
	CM_TAKE(t.server_events, ESTABLISHED, 0);
	param.qp_num = 0x123456;
	CHECK_OK(rdma_connect(second, &param));
	/* The new connection is refused; the old one ends, because one of the two must be wrong. */
	event = NULL;
	for (int i = 0; i < 2; i++) {
		CHECK_OK(rdma_get_cm_event(t.client_events, &event));
		if (event->id == second) {
			CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
			CHECK_INT(event->status, 10);
		} else {
			CHECK_INT(event->event, RDMA_CM_EVENT_DISCONNECTED);
		}
		CHECK_OK(rdma_ack_cm_event(event));
	}
	CHECK_OK(rdma_destroy_id(first));
	CHECK_OK(rdma_destroy_id(second));
	CHECK_OK(rdma_destroy_id(server));
	two_close(&t);
}

/* Connect with a QP number that belongs to no QP. */
static struct rdma_cm_id *connect_named(struct two *t, uint32_t qpn, struct rdma_cm_id **ret_server)
{
	struct rdma_conn_param param = { .qp_num = qpn, .responder_resources = 1 };
	struct rdma_cm_id *client = rt_cm_client(t->client_events, RDMA_PS_TCP, t->port, false);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(client, &param));
	event = CM_EXPECT(t->server_events, CONNECT_REQUEST, 0);
	*ret_server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	param.qp_num = 0x654321;
	CHECK_OK(rdma_accept(*ret_server, &param));
	CM_TAKE(t->client_events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(client));
	CM_TAKE(t->server_events, ESTABLISHED, 0);
	return client;
}

/* The next process may have the same numbers at once: a connection that has ended reserves none. */
static void same_numbers(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *client, *server;

	if (rt_cm_is_kernel())
		rt_skip("the kernel refuses the number of a queue pair in time wait");
	for (int i = 0; i < 3; i++) {
		client = connect_named(&t, 0x123456, &server);
		rt_cm_disconnect(client, server);
	}
	two_close(&t);
}

static void datagram(void)
{
	struct two t = two_open(RDMA_PS_UDP, false);
	uint8_t asked[UD_REQUEST_DATA], answered[UD_REPLY_DATA];
	struct rdma_conn_param ask = { .private_data = asked, .private_data_len = sizeof(asked) },
			       reply = { .private_data = answered,
					 .private_data_len = sizeof(answered) };
	struct rdma_cm_id *client = rt_cm_client(t.client_events, RDMA_PS_UDP, t.port, true),
			  *server;
	struct rdma_cm_event *event;

	rt_fill(asked, sizeof(asked), 4);
	rt_fill(answered, sizeof(answered), 5);
	CHECK_OK(rdma_connect(client, &ask));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	CHECK_INT(event->param.ud.private_data_len, UD_REQUEST_DATA);
	VERIFY(event->param.ud.private_data, UD_REQUEST_DATA, 4);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	reply.qp_num = server->qp->qp_num;
	CHECK_OK(rdma_accept(server, &reply));
	event = CM_EXPECT(t.client_events, ESTABLISHED, 0);
	CHECK_INT(event->param.ud.private_data_len, UD_REPLY_DATA);
	VERIFY(event->param.ud.private_data, UD_REPLY_DATA, 5);
	CHECK_INT(event->param.ud.qp_num, server->qp->qp_num);
	CHECK_INT(event->param.ud.qkey, RDMA_UDP_QKEY);
	CHECK(event->param.ud.ah_attr.is_global);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(client);
	rt_cm_destroy(server);
	two_close(&t);
}

static void datagram_reject(void)
{
	struct two t = two_open(RDMA_PS_UDP, false);
	struct rdma_cm_id *server, *client = request(&t, RDMA_PS_UDP, NULL, &server);

	CHECK_OK(rdma_reject(server, NULL, 0));
	CM_TAKE(t.client_events, UNREACHABLE, 2);
	rt_cm_destroy(server);
	rt_cm_destroy(client);
	two_close(&t);
}

static struct ibv_qp_attr qp_attributes(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(id->qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT, &init));
	return attr;
}

/* The options appear in the queue pair; the type of service also appears in the other side's. */
static void options(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct sockaddr_storage address = rt_cm_address(t.port);
	struct rdma_cm_id *client = rt_cm_id(t.client_events, RDMA_PS_TCP), *server;
	uint8_t tos = 0x20, timeout = 9;
	struct rdma_cm_event *event;

	CHECK_OK(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	CHECK_OK(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				 sizeof(timeout)));
	CHECK_OK(rdma_resolve_addr(client, NULL, (struct sockaddr *)&address, 60000));
	CM_TAKE(t.client_events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(client, 60000));
	CM_TAKE(t.client_events, ROUTE_RESOLVED, 0);
	CHECK_INT(client->route.path_rec->traffic_class, tos);
	rt_cm_qp(client);
	CHECK_OK(rdma_connect(client, NULL));
	event = CM_EXPECT(t.server_events, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(server);
	CHECK_OK(rdma_accept(server, NULL));
	CM_TAKE(t.client_events, ESTABLISHED, 0);
	CM_TAKE(t.server_events, ESTABLISHED, 0);
	CHECK_INT(qp_attributes(client).timeout, timeout);
	CHECK_INT(qp_attributes(client).ah_attr.grh.traffic_class, tos);
	CHECK_INT(qp_attributes(server).ah_attr.grh.traffic_class, tos);
	rt_cm_disconnect(client, server);
	two_close(&t);
}

static int bind_port(struct rdma_cm_id *id, bool any, uint16_t port)
{
	struct sockaddr_storage address = rt_cm_address(port);
	struct sockaddr_in wildcard = { .sin_family = AF_INET, .sin_port = htons(port) };

	return rdma_bind_addr(id, any ? (struct sockaddr *)&wildcard : (struct sockaddr *)&address);
}

static void ports(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *first = rt_cm_listen(events, RDMA_PS_TCP, false),
			  *second = rt_cm_id(events, RDMA_PS_TCP),
			  *other = rt_cm_id(events, RDMA_PS_UDP);
	uint16_t port = rt_cm_port(first);

	CHECK(bind_port(second, false, port));
	CHECK_INT(errno, EADDRINUSE);
	CHECK(bind_port(second, true, port));
	CHECK(errno == EADDRINUSE || errno == EADDRNOTAVAIL);
	CHECK_OK(bind_port(other, false, port)); /* another port space */
	CHECK_OK(rdma_destroy_id(first));
	CHECK_OK(bind_port(second, false, port));
	CHECK_OK(rdma_destroy_id(second));
	CHECK_OK(rdma_destroy_id(other));
	rdma_destroy_event_channel(events);
}

static void reuse_ports(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *ids[2] = { rt_cm_id(events, RDMA_PS_TCP),
				      rt_cm_id(events, RDMA_PS_TCP) };
	int on = 1;

	for (int i = 0; i < 2; i++)
		CHECK_OK(rdma_set_option(ids[i], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
					 sizeof(on)));
	CHECK_OK(bind_port(ids[0], false, 0));
	CHECK_OK(bind_port(ids[1], false, rt_cm_port(ids[0])));
	CHECK(rdma_listen(ids[0], 0)); /* a listener shares its port with no other */
	CHECK_INT(errno, EADDRINUSE);
	CHECK_OK(rdma_destroy_id(ids[1]));
	CHECK_OK(rdma_listen(ids[0], 0));
	CHECK_OK(rdma_destroy_id(ids[0]));
	rdma_destroy_event_channel(events);
}

static struct rdma_cm_id *reusing_id(struct rdma_event_channel *events)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &(int){ 1 },
				 sizeof(int)));
	return id;
}

/* A listener does not share its port with later identifiers either. */
static void reuse_of_listener(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = reusing_id(events), *late = reusing_id(events);

	CHECK_OK(bind_port(listener, false, 0));
	CHECK_OK(rdma_listen(listener, 0));
	CHECK(bind_port(late, false, rt_cm_port(listener)));
	CHECK_INT(errno, EADDRINUSE);
	CHECK(bind_port(late, true, rt_cm_port(listener)));
	CHECK_INT(errno, EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(listener));
	CHECK_OK(rdma_destroy_id(late));
	rdma_destroy_event_channel(events);
}

/* Return an IPv6 address of the device. */
static struct sockaddr_in6 address6(uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct rt_dev *dev = rt_open();
	struct ibv_gid_entry entries[64];
	ssize_t count = ibv_query_gid_table(dev->ctx, entries, 64, 0);

	for (ssize_t i = 0; i < count; i++) {
		memcpy(&in6.sin6_addr, entries[i].gid.raw, sizeof(in6.sin6_addr));
		if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
		    !IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) {
			rt_close(dev);
			return in6;
		}
	}
	rt_skip("the device has no IPv6 address");
}

static struct rdma_cm_id *client6(struct two *t, uint16_t port)
{
	struct rdma_cm_id *client = rt_cm_id(t->client_events, RDMA_PS_TCP);
	struct sockaddr_in6 to = address6(port);

	CHECK_OK(rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 60000));
	CM_TAKE(t->client_events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(client, 60000));
	CM_TAKE(t->client_events, ROUTE_RESOLVED, 0);
	rt_cm_qp(client);
	CHECK_OK(rdma_connect(client, NULL));
	return client;
}

static int listen6(struct rdma_cm_id *id, uint16_t port, bool only)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int v6only = only;

	CHECK_OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &v6only,
				 sizeof(v6only)));
	return rdma_bind_addr(id, (struct sockaddr *)&any) ? -1 : rdma_listen(id, 0);
}

/* Check that the next request is for @listener, and refuse it. */
static void expect_request(struct two *t, struct rdma_cm_id *listener, struct rdma_cm_id *client)
{
	struct rdma_cm_event *event = CM_EXPECT(t->server_events, CONNECT_REQUEST, 0);
	struct rdma_cm_id *server = event->id;

	CHECK(event->listen_id == listener);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(server);
	CM_TAKE(t->client_events, REJECTED, 28);
	rt_cm_destroy(client);
}

/* 0.0.0.0 is for IPv4 only. [::] is for both families, or for IPv6 beside a listener on 0.0.0.0. */
static void families(void)
{
	struct two t = two_open(RDMA_PS_TCP, true);
	struct rdma_cm_id *six = rt_cm_id(t.server_events, RDMA_PS_TCP), *client;
	struct rdma_cm_event *event;

	client = client6(&t, t.port);
	CHECK_OK(rdma_get_cm_event(t.client_events, &event));
	CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
	/* the kernel's manager checks addresses only after it has found the port */
	CHECK(event->status == 8 || event->status == 28);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(client);
	CHECK(listen6(six, t.port, false));
	CHECK_INT(errno, EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(six));

	six = rt_cm_id(t.server_events, RDMA_PS_TCP);
	CHECK_OK(listen6(six, t.port, true));
	expect_request(&t, six, client6(&t, t.port));
	client = rt_cm_client(t.client_events, RDMA_PS_TCP, t.port, true);
	CHECK_OK(rdma_connect(client, NULL));
	expect_request(&t, t.listener, client);
	CHECK_OK(rdma_destroy_id(six));

	six = rt_cm_id(t.server_events, RDMA_PS_TCP);
	CHECK_OK(listen6(six, 0, false));
	expect_request(&t, six, client6(&t, rt_cm_port(six)));
	client = rt_cm_client(t.client_events, RDMA_PS_TCP, rt_cm_port(six), true);
	CHECK_OK(rdma_connect(client, NULL));
	expect_request(&t, six, client);
	CHECK_OK(rdma_destroy_id(six));
	two_close(&t);
}

static void wrong_state(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	REFUSED(rdma_resolve_route(id, 100), EINVAL);
	REFUSED(rdma_connect(id, NULL), EINVAL);
	REFUSED(rdma_accept(id, NULL), EINVAL);
	REFUSED(rdma_disconnect(id), EINVAL);
	REFUSED(rdma_reject(id, NULL, 0), EINVAL);
	REFUSED(rdma_init_qp_attr(id, &attr, &mask), EINVAL);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* A client gives up before its request is accepted. The program cannot be told yet, because the
 * identifier has a context of its own only after rdma_accept(). It gets the event after it
 * accepts. */
static void give_up_request(const void *arg)
{
	const enum rdma_port_space *ps = arg;
	struct two t = two_open(*ps, false);
	struct rdma_cm_id *server, *client = request(&t, *ps, NULL, &server);

	rt_cm_qp(server);
	rt_cm_destroy(client);
	if (*ps == RDMA_PS_TCP) {
		rt_cm_await_end(server);
		CHECK_INT(rdma_accept(server, NULL), -1);
		CHECK_INT(errno, EINVAL);
	} else {
		CHECK_OK(rdma_accept(server, NULL)); /* the client of this answer has gone */
	}
	rt_cm_expect_none(t.server_events);
	rt_cm_destroy(server);
	rt_cm_expect_none(t.server_events);
	two_close(&t);
}

/*
 * Identifiers are destroyed during a connect. The program gets an event for each accepted request.
 */
static void give_up_answer(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *server, *client = request(&t, RDMA_PS_TCP, NULL, &server);
	struct rdma_cm_event *event;

	rt_cm_qp(server);
	CHECK_OK(rdma_accept(server, NULL));
	rt_cm_destroy(client); /* before the client reads the answer */
	CHECK_OK(rdma_get_cm_event(t.server_events, &event));
	CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
	CHECK(event->id == server);
	CHECK(event->status == 4 || event->status == 28); /* the answer may have arrived or not */
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(server);
	two_close(&t);
}

/* After a disconnect by both sides there is a time wait, and then each side gets one event. */
static void time_wait(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *server,
		*client = rt_cm_connect(t.client_events, t.port, t.server_events, &server);

	CHECK_OK(rdma_disconnect(client));
	CM_TAKE(t.server_events, DISCONNECTED, 0);
	CHECK_OK(rdma_disconnect(server));
	CM_TAKE(t.client_events, DISCONNECTED, 0);
	CM_TAKE(t.server_events, TIMEWAIT_EXIT, 0);
	CM_TAKE(t.client_events, TIMEWAIT_EXIT, 0);
	rt_cm_expect_none(t.server_events);
	rt_cm_expect_none(t.client_events);
	rt_cm_destroy(client);
	rt_cm_destroy(server);
	two_close(&t);
}

static const enum rdma_port_space connected = RDMA_PS_TCP, datagrams = RDMA_PS_UDP;

/* Return how often the threads of this process went to sleep. */
static long wakeups(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	long total = 0, n;

	CHECK(tasks);
	while ((task = readdir(tasks))) {
		char path[300], line[128];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
				total += n;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return total;
}

/* Idle connections and listeners wake no thread: there is a second in which only this thread
 * slept. (A change of the host's addresses wakes the library's thread.) */
static void idle(void)
{
	struct two t = two_open(RDMA_PS_TCP, false);
	struct rdma_cm_id *server,
		*client = rt_cm_connect(t.client_events, t.port, t.server_events, &server);
	long before, fewest = 1000;

#ifdef __SANITIZE_THREAD__
	rt_skip("ThreadSanitizer has a thread that is never idle");
#endif
	for (int i = 0; i < 10 && fewest > 1; i++) {
		before = wakeups();
		sleep(1);
		before = wakeups() - before;
		if (before < fewest)
			fewest = before;
	}
	CHECK_INT(fewest, 1);
	rt_cm_disconnect(client, server);
	two_close(&t);
}

/* A call on a channel that another thread has destroyed fails. */
static void channel_gone(void)
{
	for (int i = 0; i < 8; i++) {
		struct rdma_event_channel *events = rt_cm_channel();
		struct rdma_cm_event *event;

		rdma_destroy_event_channel(events);
		CHECK_INT(rdma_get_cm_event(events, &event), -1);
		CHECK_INT(errno, EBADF);
	}
}

static const struct rt_case cases[] = {
	{ "private data of full length each way", private_data },
	{ "private data that is too long", private_data_too_long },
	{ "reject", reject },
	{ "destroy a request", destroy_request },
	{ "destroy a listener with requests", destroy_listener },
	{ "nobody listens", nobody_listens },
	{ "disconnect by the client", disconnect_client },
	{ "disconnect by the server", disconnect_server },
	{ "destroy while connected", destroy_connected },
	{ "disconnect by both", disconnect_both },
	{ "stale connection", stale },
	{ "same numbers as a connection that is over", same_numbers },
	{ "datagram service", datagram },
	{ "datagram service, reject", datagram_reject },
	{ "options", options },
	{ "ports", ports },
	{ "reuse of ports", reuse_ports },
	{ "reuse of a listener's port", reuse_of_listener },
	{ "families of addresses", families },
	{ "calls in the wrong state", wrong_state },
	{ "a client that gives up", .run_with = give_up_request, .arg = &connected },
	{ "a client of datagrams that gives up", .run_with = give_up_request, .arg = &datagrams },
	{ "a client that gives up when it is answered", give_up_answer },
	{ "time wait", time_wait },
	{ "idle", idle },
	{ "channel gone", channel_gone },
};
RT_MAIN(cases)
