/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identifiers without a channel, whose calls wait: listeners, the connections that they accept,
 * and endpoints. */
#include <arpa/inet.h>
#include <pthread.h>

#include "tests/lib/rt_cm.h"

enum {
	CLIENT_QPN = 0x123456, /* no such QP exists */
	SERVER_QPN = 0x654321,
};

static struct rdma_cm_id *listen_sync(void)
{
	struct sockaddr_storage address = rt_cm_address(0);
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, &address, RDMA_PS_TCP))
		rt_skip("no connection manager: %m");
	CHECK(id->channel);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_OK(rdma_listen(id, 4));
	return id;
}

/* Return a client with events that asked @listener; it does not continue until it is told to. */
static struct rdma_cm_id *ask(struct rdma_cm_id *listener)
{
	static uint32_t asked;
	struct rdma_conn_param param = { .qp_num = CLIENT_QPN + asked++, .responder_resources = 1 };
	struct rdma_cm_id *id =
		rt_cm_client(rt_cm_channel(), RDMA_PS_TCP, rt_cm_port(listener), false);

	CHECK_OK(rdma_connect(id, &param));
	return id;
}

struct acceptance {
	pthread_t thread;
	struct rdma_cm_id *id;
	bool done;
};

static void *accept_main(void *arg)
{
	struct rdma_conn_param param = { .qp_num = SERVER_QPN, .responder_resources = 1 };
	struct acceptance *a = arg;

	CHECK_OK(rdma_accept(a->id, &param));
	__atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* rdma_accept() waits until the client is ready, and no longer. */
static void accept_waits(struct rdma_cm_id *id, struct rdma_cm_id *client)
{
	struct acceptance a = { .id = id };

	CHECK_OK(pthread_create(&a.thread, NULL, accept_main, &a));
	CM_TAKE(client->channel, CONNECT_RESPONSE, 0);
	usleep(20000); /* time for a wrong call to return */
	CHECK(!__atomic_load_n(&a.done, __ATOMIC_ACQUIRE));
	CHECK_OK(rdma_establish(client));
	CHECK_OK(pthread_join(a.thread, NULL));
	CHECK(id->event);
	CHECK_INT(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
}

static void client_close(struct rdma_cm_id *client)
{
	struct rdma_event_channel *channel = client->channel;

	CHECK_OK(rdma_destroy_id(client));
	rdma_destroy_event_channel(channel);
}

/* The client gets the disconnect; the server waits for the client to confirm it. */
static void *disconnect_main(void *arg)
{
	struct rdma_cm_id *client = arg;

	CM_TAKE(client->channel, DISCONNECTED, 0);
	CHECK_OK(rdma_disconnect(client));
	return NULL;
}

static void disconnect_waits(struct rdma_cm_id *id, struct rdma_cm_id *client)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, disconnect_main, client));
	CHECK_OK(rdma_disconnect(id));
	CHECK_INT(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_OK(pthread_join(thread, NULL));
}

/* A program that reads the listener's channel gets a connection with a channel of its own. The
 * connection outlives the listener, and its calls wait. */
static void request_by_event(void)
{
	struct rdma_cm_id *listener = listen_sync(), *client = ask(listener), *id;
	struct rdma_cm_event *event = CM_EXPECT(listener->channel, CONNECT_REQUEST, 0);

	CHECK(event->listen_id == listener);
	id = event->id;
	CHECK(id->channel && id->channel != listener->channel);
	CHECK(id->context == listener->context);
	CHECK(id->verbs);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_destroy_id(listener));
	accept_waits(id, client);
	disconnect_waits(id, client);
	CHECK_OK(rdma_destroy_id(id));
	client_close(client);
}

/* The same, but the request is destroyed. */
static void request_destroyed(void)
{
	struct rdma_cm_id *listener = listen_sync(), *client = ask(listener), *id;
	struct rdma_cm_event *event = CM_EXPECT(listener->channel, CONNECT_REQUEST, 0);

	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_destroy_id(listener));
	CHECK_OK(rdma_destroy_id(id));
	CM_TAKE(client->channel, REJECTED, 28);
	client_close(client);
}

static void request_by_call(void)
{
	struct rdma_cm_id *listener = listen_sync(), *client = ask(listener), *id;

	CHECK_OK(rdma_get_request(listener, &id));
	CHECK(id->channel && id->channel != listener->channel);
	CHECK(id->event);
	CHECK_INT(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK_INT(id->event->param.conn.qp_num, CLIENT_QPN);
	accept_waits(id, client);
	CHECK_OK(rdma_destroy_id(listener));
	disconnect_waits(id, client);
	CHECK_OK(rdma_destroy_id(id));
	client_close(client);
}

/* Two requests wait, and are taken one after the other. */
static void request_each(void)
{
	struct rdma_cm_id *listener = listen_sync(), *clients[2], *ids[2];

	for (int i = 0; i < 2; i++)
		clients[i] = ask(listener);
	for (int i = 0; i < 2; i++)
		CHECK_OK(rdma_get_request(listener, &ids[i]));
	CHECK(ids[0]->channel != ids[1]->channel);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(rdma_reject(ids[i], "no", 2));
		CHECK_OK(rdma_destroy_id(ids[i]));
		CM_TAKE(clients[i]->channel, REJECTED, 28);
		client_close(clients[i]);
	}
	CHECK_OK(rdma_destroy_id(listener));
}

static void refused(void)
{
	struct rdma_cm_id *listener = listen_sync(), *id, *client = ask(listener);
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *other = rt_cm_id(channel, RDMA_PS_TCP);

	CHECK_INT(rdma_get_request(other, &id), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(rdma_migrate_id(listener, NULL), -1); /* it has a channel of its own already */
	CHECK_INT(errno, EINVAL);
	CHECK_OK(rdma_get_request(listener, &id));
	CHECK_OK(rdma_destroy_id(id));
	CHECK_OK(rdma_destroy_id(listener));
	CHECK_OK(rdma_destroy_id(other));
	client_close(client);
	rdma_destroy_event_channel(channel);
}

/* A client that waits: a refusal is returned as an errno. */
static void client_refused(void)
{
	struct sockaddr_storage address = rt_cm_address(9);
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		rt_skip("no connection manager: %m");
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 60000));
	CHECK_OK(rdma_resolve_route(id, 60000));
	rt_cm_qp(id);
	CHECK_INT(rdma_connect(id, NULL), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_INT(id->event->event, RDMA_CM_EVENT_REJECTED);
	CHECK_INT(id->event->status, 8);
	rt_cm_destroy(id);
}

/* ---- endpoints ---- */

static struct rdma_addrinfo *endpoint_address(uint16_t port, bool passive)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST },
			     *info;
	struct sockaddr_storage address = rt_cm_address(port);
	char node[INET6_ADDRSTRLEN], service[8];
	const void *bytes = address.ss_family == AF_INET
				    ? (void *)&((struct sockaddr_in *)&address)->sin_addr
				    : (void *)&((struct sockaddr_in6 *)&address)->sin6_addr;

	inet_ntop(address.ss_family, bytes, node, sizeof(node));
	snprintf(service, sizeof(service), "%u", port);
	if (passive)
		hints.ai_flags |= RAI_PASSIVE;
	CHECK_OK(rdma_getaddrinfo(node, service, &hints, &info));
	return info;
}

static struct ibv_qp_init_attr queue_sizes(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 2, .max_recv_wr = 3, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1
	};
}

static struct rdma_cm_id *listening_endpoint(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo *info = endpoint_address(0, true);
	struct rdma_cm_id *id;

	if (rdma_create_ep(&id, info, pd, attr))
		FAIL("rdma_create_ep: %m");
	rdma_freeaddrinfo(info);
	CHECK_OK(rdma_listen(id, 4));
	return id;
}

struct client {
	pthread_t thread;
	uint16_t port;
	struct rdma_cm_id *id;
	struct ibv_qp_init_attr attr;
};

static void *client_main(void *arg)
{
	struct client *c = arg;
	struct rdma_addrinfo *info = endpoint_address(c->port, false);

	c->attr = queue_sizes();
	CHECK_OK(rdma_create_ep(&c->id, info, NULL, &c->attr));
	rdma_freeaddrinfo(info);
	CHECK_OK(rdma_connect(c->id, NULL));
	return NULL;
}

static void *client_leave(void *arg)
{
	struct rdma_cm_id *id = arg;

	CHECK_OK(rdma_disconnect(id));
	rdma_destroy_ep(id);
	return NULL;
}

/* The endpoint of a request takes its PD from the listening one, and queue pairs by its
 * attributes. */
static void endpoints(const void *arg)
{
	const bool *with_pd = arg;
	struct ibv_qp_init_attr attr = queue_sizes(), got;
	struct rdma_cm_id *probe = listening_endpoint(NULL, NULL), *listener, *id;
	struct client client = {};
	struct ibv_qp_attr ignored;
	struct ibv_pd *pd = NULL;
	struct ibv_context *verbs = NULL;

	if (*with_pd) {
		/* the manager's own context of the device, which programs get from an identifier */
		client.port = rt_cm_port(probe);
		CHECK_OK(pthread_create(&client.thread, NULL, client_main, &client));
		CHECK_OK(rdma_get_request(probe, &id));
		verbs = id->verbs;
		pd = ibv_alloc_pd(verbs);
		CHECK(pd);
		CHECK_OK(rdma_accept(id, &(struct rdma_conn_param){ .qp_num = SERVER_QPN }));
		CHECK_OK(pthread_join(client.thread, NULL));
		rdma_destroy_ep(id);
		rdma_destroy_ep(client.id);
	}
	rdma_destroy_ep(probe);
	listener = listening_endpoint(pd, &attr);
	if (pd)
		CHECK(listener->pd == pd);
	client.port = rt_cm_port(listener);
	CHECK_OK(pthread_create(&client.thread, NULL, client_main, &client));
	CHECK_OK(rdma_get_request(listener, &id));
	CHECK(id->qp);
	CHECK(id->pd == id->qp->pd);
	if (pd)
		CHECK(id->pd == pd);
	CHECK(id->qp->send_cq == id->send_cq && id->qp->recv_cq == id->recv_cq);
	CHECK_OK(ibv_query_qp(id->qp, &ignored, IBV_QP_CAP, &got));
	CHECK(got.cap.max_recv_wr >= attr.cap.max_recv_wr);
	CHECK_INT(got.sq_sig_all, 1);
	CHECK_OK(rdma_accept(id, NULL));
	CHECK_OK(pthread_join(client.thread, NULL));
	CHECK(client.attr.send_cq == client.id->send_cq);
	CHECK_OK(pthread_create(&client.thread, NULL, client_leave, client.id));
	CHECK_OK(rdma_disconnect(id));
	CHECK_OK(pthread_join(client.thread, NULL));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	if (pd)
		CHECK_OK(ibv_dealloc_pd(pd));
}

static void endpoints_refused(void)
{
	struct ibv_qp_init_attr attr = queue_sizes();
	struct rdma_addrinfo *info = endpoint_address(9, false);
	struct rdma_cm_id *id;

	attr.cap.max_send_wr = 0x7fffffff;
	CHECK_INT(rdma_create_ep(&id, info, NULL, &attr), -1);
	CHECK(errno == EINVAL || errno == ENOMEM);
	rdma_freeaddrinfo(info);
}

static const bool own_pd = true, no_pd;

static const struct rt_case cases[] = {
	{ "a request, by event", request_by_event },
	{ "a request, by event, not accepted", request_destroyed },
	{ "a request, by rdma_get_request", request_by_call },
	{ "requests each with a channel", request_each },
	{ "what is refused", refused },
	{ "a client that is refused", client_refused },
	{ "endpoints", .run_with = endpoints, .arg = &no_pd },
	{ "endpoints with a PD", .run_with = endpoints, .arg = &own_pd },
	{ "an endpoint that cannot be", endpoints_refused },
};
RT_MAIN(cases)
