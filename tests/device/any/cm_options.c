/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of identifiers: which identifiers accept them, and their effect on the queue pair. */
#include "tests/lib/rt_cm.h"

static int set(struct rdma_cm_id *id, int name, int value, size_t length)
{
	return rdma_set_option(id, RDMA_OPTION_ID, name, &value, length);
}

static int set_ack_timeout(struct rdma_cm_id *id, int value)
{
	return set(id, RDMA_OPTION_ID_ACK_TIMEOUT, value, 1);
}

/* Only connections with acknowledgements have a timeout for them. */
static void ack_timeout_of(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *tcp = rt_cm_id(channel, RDMA_PS_TCP),
			  *udp = rt_cm_id(channel, RDMA_PS_UDP);

	CHECK_OK(set_ack_timeout(tcp, 14));
	REFUSED(set_ack_timeout(udp, 14), EINVAL);
	CHECK_OK(rdma_destroy_id(tcp));
	CHECK_OK(rdma_destroy_id(udp));
	rdma_destroy_event_channel(channel);
}

static void lengths(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);

	REFUSED(set(id, RDMA_OPTION_ID_TOS, 1, 4), EINVAL);
	REFUSED(set(id, RDMA_OPTION_ID_ACK_TIMEOUT, 1, 4), EINVAL);
	REFUSED(set(id, RDMA_OPTION_ID_REUSEADDR, 1, 1), EINVAL);
	REFUSED(set(id, RDMA_OPTION_ID_AFONLY, 1, 1), EINVAL);
	REFUSED(set(id, 99, 1, 4), ENOSYS);
	REFUSED(rdma_set_option(id, 99, RDMA_OPTION_ID_TOS, &(int){ 1 }, 1), ENOSYS);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* Return the default, which differs between kernels. */
static uint8_t usual_life_time(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(channel, RDMA_PS_TCP, 7, false);
	uint8_t life_time = id->route.path_rec->packet_life_time;

	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return life_time;
}

/* Connect and return the client's queue pair and path with that timeout. */
static struct ibv_qp_attr connect_with(int value, uint8_t *ret_life_time)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(servers, RDMA_PS_TCP, false), *server, *client;
	struct rdma_conn_param param = { .qp_num = 0x300000 + value, .responder_resources = 1 };
	struct sockaddr_storage address = rt_cm_address(rt_cm_port(listener));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct rdma_cm_event *event;
	int mask;

	client = rt_cm_id(clients, RDMA_PS_TCP);
	CHECK_OK(set_ack_timeout(client, value));
	CHECK_OK(rdma_resolve_addr(client, NULL, (struct sockaddr *)&address, 60000));
	CM_TAKE(clients, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(client, 60000));
	CM_TAKE(clients, ROUTE_RESOLVED, 0);
	*ret_life_time = client->route.path_rec->packet_life_time;
	CHECK_OK(rdma_connect(client, &param));
	event = CM_EXPECT(servers, CONNECT_REQUEST, 0);
	server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	param.qp_num += 0x1000;
	CHECK_OK(rdma_accept(server, &param));
	CM_TAKE(clients, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_init_qp_attr(client, &attr, &mask));
	CHECK(mask & IBV_QP_TIMEOUT);
	CHECK_OK(rdma_establish(client));
	CM_TAKE(servers, ESTABLISHED, 0);
	CHECK_OK(rdma_destroy_id(client));
	CHECK_OK(rdma_destroy_id(server));
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
	return attr;
}

/* The timeout is used as it was set, including 0, which is infinite, and values that no queue
 * pair accepts. */
static void ack_timeout(const void *arg)
{
	const int *value = arg;
	uint8_t life_time;
	struct ibv_qp_attr attr = connect_with(*value, &life_time);

	CHECK_INT(attr.timeout, *value);
	CHECK_INT(life_time, *value ? *value - 1 : usual_life_time());
}

static const int none, usual = 14, longest = 31, too_long = 40;

static const struct rt_case cases[] = {
	{ "acknowledgements of datagrams", ack_timeout_of },
	{ "lengths and names", lengths },
	{ "timeout 0", .run_with = ack_timeout, .arg = &none },
	{ "timeout 14", .run_with = ack_timeout, .arg = &usual },
	{ "timeout 31", .run_with = ack_timeout, .arg = &longest },
	{ "timeout 40", .run_with = ack_timeout, .arg = &too_long },
};
RT_MAIN(cases)
