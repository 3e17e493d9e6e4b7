/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loopback addresses: every host has them, so that an identifier bound to one has no device
 * until it is used. Programs use them to find their devices. */
#include <arpa/inet.h>

#include "tests/lib/rt_cm.h"

static struct sockaddr_storage loopback(const char *text, uint16_t port)
{
	struct sockaddr_storage address = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		CHECK_INT(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return address;
}

static void expect_no_device(const struct rdma_cm_id *id)
{
	CHECK(!id->verbs);
	CHECK(!id->pd);
	CHECK_INT(id->port_num, 0);
}

static struct rdma_cm_id *bound(struct rdma_event_channel *channel, enum rdma_port_space ps,
				const char *text)
{
	struct sockaddr_storage address = loopback(text, 0);
	struct rdma_cm_id *id = rt_cm_id(channel, ps);

	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_INT(id->route.addr.src_addr.sa_family, address.ss_family);
	CHECK(rt_cm_port(id));
	expect_no_device(id);
	return id;
}

static void bind_to(const void *arg)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP };
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id;

	for (int i = 0; i < RT_COUNT(spaces); i++) {
		id = bound(channel, spaces[i], arg);
		CHECK_OK(rdma_listen(id, 0));
		if (rt_cm_is_kernel())
			expect_no_device(id);
		CHECK_OK(rdma_destroy_id(id));
	}
	rdma_destroy_event_channel(channel);
}

/* The identifier has the port, and no other identifier can get it. */
static void port_taken(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_TCP, "127.0.0.1"),
			  *other = rt_cm_id(channel, RDMA_PS_TCP);
	struct sockaddr_storage same = loopback("127.0.0.1", rt_cm_port(id));

	CHECK_INT(rdma_bind_addr(other, (struct sockaddr *)&same), -1);
	CHECK(errno == EADDRINUSE || errno == EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(other));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void no_queue_pair(void)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = bound(channel, RDMA_PS_UDP, "127.0.0.1");
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	CHECK_INT(rdma_create_qp(id, NULL, &attr), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* A client that connects to the device's address reaches a listener on loopback. The connection
 * has a device. */
static void listen_and_connect(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct sockaddr_storage address = rt_cm_address(0);
	struct rdma_cm_id *listener, *client, *server;

	listener = bound(servers, RDMA_PS_TCP, address.ss_family == AF_INET ? "127.0.0.1" : "::1");
	CHECK_OK(rdma_listen(listener, 0));
	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	CHECK(server->verbs);
	CHECK_INT(server->port_num, client->port_num);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

static const struct rt_case cases[] = {
	{ "bind to 127.0.0.1", .run_with = bind_to, .arg = "127.0.0.1" },
	{ "bind to 127.8.9.10", .run_with = bind_to, .arg = "127.8.9.10" },
	{ "bind to ::1", .run_with = bind_to, .arg = "::1" },
	{ "the port is taken", port_taken },
	{ "no queue pair without a device", no_queue_pair },
	{ "listen and connect", listen_and_connect },
};
RT_MAIN(cases)
