/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>

#include "tests/lib/rt_cm.h"

#define RESOLVE_MS 5000

/* Return the address in RT_ADDRESS: the GIDs of an iWARP device are no IP addresses. */
static struct sockaddr_storage named_address(uint16_t port)
{
	const char *text = getenv("RT_ADDRESS");
	struct sockaddr_storage address = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&address;

	if (!text)
		rt_skip("RT_ADDRESS does not name the address of this device");
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	CHECK_INT(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return address;
}

struct sockaddr_storage rt_cm_address(uint16_t port)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_storage address = {};
	struct rt_dev *dev = rt_open();

	if (rt_is_iwarp(dev)) {
		address = named_address(port);
	} else if (!memcmp(dev->gid.raw, ipv4, sizeof(ipv4))) {
		struct sockaddr_in *in = (struct sockaddr_in *)&address;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, dev->gid.raw + 12, 4);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, dev->gid.raw, 16);
	}
	rt_close(dev);
	return address;
}

bool rt_cm_is_kernel(void)
{
	struct rt_dev *dev = rt_open();
	bool kernel = rt_is_kernel(dev);

	rt_close(dev);
	return kernel;
}

uint16_t rt_cm_port(struct rdma_cm_id *id)
{
	return ntohs(rdma_get_src_port(id));
}

struct rdma_event_channel *rt_cm_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (channel)
		return channel;
	if (rt_cm_is_kernel())
		rt_skip("no /dev/infiniband/rdma_cm: %m");
	FAIL("rdma_create_event_channel: %m");
}

struct rdma_cm_id *rt_cm_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	CHECK_OK(rdma_create_id(channel, &id, NULL, ps));
	return id;
}

struct rdma_cm_id *rt_cm_listen(struct rdma_event_channel *channel, enum rdma_port_space ps,
				bool any)
{
	struct sockaddr_storage address = rt_cm_address(0);
	struct sockaddr_in wildcard = { .sin_family = AF_INET };
	struct rdma_cm_id *id = rt_cm_id(channel, ps);

	CHECK_OK(rdma_bind_addr(id,
				any ? (struct sockaddr *)&wildcard : (struct sockaddr *)&address));
	CHECK_OK(rdma_listen(id, 0));
	CHECK(rt_cm_port(id));
	return id;
}

void rt_cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
	};

	CHECK(id->verbs);
	CHECK_OK(rdma_create_qp(id, NULL, &attr));
}

struct rdma_cm_id *rt_cm_client(struct rdma_event_channel *channel, enum rdma_port_space ps,
				uint16_t port, bool qp)
{
	struct sockaddr_storage address = rt_cm_address(port);
	struct rdma_cm_id *id = rt_cm_id(channel, ps);

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, RESOLVE_MS));
	CM_TAKE(channel, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(channel, ROUTE_RESOLVED, 0);
	if (qp)
		rt_cm_qp(id);
	return id;
}

struct rdma_cm_event *rt_cm_expect(const char *file, int line, struct rdma_event_channel *channel,
				   enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event))
		rt_fail(file, line, "rdma_get_cm_event: %m");
	if (event->event != type || event->status != status)
		rt_fail(file, line, "%s, status %d; expected %s, status %d",
			rdma_event_str(event->event), event->status, rdma_event_str(type), status);
	return event;
}

void rt_cm_expect_none(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int flags = fcntl(channel->fd, F_GETFL);

	CHECK_OK(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK));
	if (!rdma_get_cm_event(channel, &event))
		FAIL("%s, status %d; expected nothing", rdma_event_str(event->event),
		     event->status);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(fcntl(channel->fd, F_SETFL, flags));
}

void rt_cm_await_end(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	while (!rdma_init_qp_attr(id, &attr, &mask)) {
		attr.qp_state = IBV_QPS_RTR;
		usleep(1000);
	}
	CHECK_INT(errno, EINVAL);
}

struct rdma_cm_id *rt_cm_connect(struct rdma_event_channel *client, uint16_t port,
				 struct rdma_event_channel *server, struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *id = rt_cm_client(client, RDMA_PS_TCP, port, true);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(id, NULL));
	event = CM_EXPECT(server, CONNECT_REQUEST, 0);
	*ret_server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(*ret_server);
	CHECK_OK(rdma_accept(*ret_server, NULL));
	CM_TAKE(client, ESTABLISHED, 0);
	CM_TAKE(server, ESTABLISHED, 0);
	return id;
}

void rt_cm_destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	CHECK_OK(rdma_destroy_id(id));
}

void rt_cm_disconnect(struct rdma_cm_id *client, struct rdma_cm_id *server)
{
	struct rdma_event_channel *client_events = client->channel;

	CHECK_OK(rdma_disconnect(client));
	CM_TAKE(server->channel, DISCONNECTED, 0);
	CHECK_OK(rdma_disconnect(server));
	CM_TAKE(client_events, DISCONNECTED, 0);
	rt_cm_destroy(server);
	rt_cm_destroy(client);
}
