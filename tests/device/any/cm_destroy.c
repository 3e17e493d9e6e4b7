/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One thread destroys an identifier while another one still holds an event about it: the first
 * waits for the acknowledgement, and calls of the second fail. */
#include <pthread.h>
#include <sched.h>

#include "tests/lib/rt_cm.h"

/* One connection; @event: the server's ESTABLISHED, not acknowledged. */
struct pair {
	struct rdma_event_channel *clients, *servers;
	struct rdma_cm_id *listener, *client, *server;
	struct rdma_cm_event *event;
};

static struct pair pair_connect(void)
{
	struct pair pair = { .clients = rt_cm_channel(), .servers = rt_cm_channel() };
	struct rdma_cm_event *request;

	pair.listener = rt_cm_listen(pair.servers, RDMA_PS_TCP, false);
	pair.client = rt_cm_client(pair.clients, RDMA_PS_TCP, rt_cm_port(pair.listener), true);
	CHECK_OK(rdma_connect(pair.client, NULL));
	request = CM_EXPECT(pair.servers, CONNECT_REQUEST, 0);
	pair.server = request->id;
	CHECK_OK(rdma_ack_cm_event(request));
	rt_cm_qp(pair.server);
	CHECK_OK(rdma_accept(pair.server, NULL));
	CM_TAKE(pair.clients, ESTABLISHED, 0);
	pair.event = CM_EXPECT(pair.servers, ESTABLISHED, 0);
	rdma_destroy_qp(pair.server);
	return pair;
}

static void *destroyer(void *arg)
{
	CHECK_OK(rdma_destroy_id(arg));
	return NULL;
}

/* Wait until the other thread has begun. */
static void destroy_await(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	while (!rdma_init_qp_attr(id, &attr, &mask))
		sched_yield();
}

/* Check that a call was refused. The kernel's manager has other errors, and accepts some calls. */
static void expect_refused(int r)
{
	int error = errno;

	if (rt_cm_is_kernel())
		return;
	CHECK_INT(r, -1);
	CHECK_INT(error, EINVAL);
}

static void calls(struct rdma_cm_id *id, struct rdma_event_channel *other)
{
	struct sockaddr_storage address = rt_cm_address(0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	uint8_t tos = 1;
	int mask;

	expect_refused(rdma_disconnect(id));
	expect_refused(rdma_accept(id, NULL));
	expect_refused(rdma_reject(id, NULL, 0));
	expect_refused(rdma_notify(id, IBV_EVENT_COMM_EST));
	expect_refused(rdma_init_qp_attr(id, &attr, &mask));
	expect_refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	expect_refused(rdma_listen(id, 1));
	expect_refused(rdma_migrate_id(id, other));
	expect_refused(rdma_connect(id, NULL));
	expect_refused(rdma_establish(id));
	expect_refused(rdma_bind_addr(id, (struct sockaddr *)&address));
	expect_refused(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
	expect_refused(rdma_resolve_route(id, 1000));
	expect_refused(rdma_join_multicast(id, (struct sockaddr *)&address, NULL));
}

static void connected(void)
{
	struct pair pair = pair_connect();
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, destroyer, pair.server));
	destroy_await(pair.server);
	calls(pair.server, pair.clients);
	CHECK_OK(rdma_ack_cm_event(pair.event));
	CHECK_OK(pthread_join(thread, NULL));
	CM_TAKE(pair.clients, DISCONNECTED, 0);
	rt_cm_destroy(pair.client);
	CHECK_OK(rdma_destroy_id(pair.listener));
	rdma_destroy_event_channel(pair.clients);
	rdma_destroy_event_channel(pair.servers);
}

/* Both threads run at once, without knowing how far the other one is. */
static void at_once(void)
{
	for (int i = 0; i < 20; i++) {
		struct pair pair = pair_connect();
		pthread_t thread;

		CHECK_OK(pthread_create(&thread, NULL, destroyer, pair.server));
		rdma_disconnect(pair.server);
		rdma_reject(pair.server, NULL, 0);
		rdma_notify(pair.server, IBV_EVENT_COMM_EST);
		CHECK_OK(rdma_ack_cm_event(pair.event));
		CHECK_OK(pthread_join(thread, NULL));
		rt_cm_destroy(pair.client);
		CHECK_OK(rdma_destroy_id(pair.listener));
		rdma_destroy_event_channel(pair.clients);
		rdma_destroy_event_channel(pair.servers);
	}
}

static const struct rt_case cases[] = {
	{ "calls of another thread fail", connected },
	{ "calls of another thread meanwhile", at_once },
};
RT_MAIN(cases)
