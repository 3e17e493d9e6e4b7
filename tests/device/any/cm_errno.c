/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errors of addresses, and values of members that have none yet: the same on each device. */
#include <arpa/inet.h>
#include <string.h>

#include "tests/lib/rt_cm.h"

enum {
	SOON_MS = 60000,
	NOISE = 0xa5,
};

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage storage = {};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;
	struct sockaddr_in *in = (struct sockaddr_in *)&storage;

	storage.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (storage.ss_family == AF_INET6)
		CHECK_INT(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	else
		CHECK_INT(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return storage;
}

static void bind_refused(const char *text, enum rdma_port_space ps, int error)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	struct sockaddr_storage to = address(text);

	REFUSED(rdma_bind_addr(id, (struct sockaddr *)&to), error);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void binds(void)
{
	bind_refused("198.51.100.77", RDMA_PS_TCP, EADDRNOTAVAIL);
	bind_refused("239.1.1.1", RDMA_PS_UDP, EADDRNOTAVAIL);
	bind_refused("ff0e::1:1", RDMA_PS_UDP, EADDRNOTAVAIL);
	bind_refused("fe80::1", RDMA_PS_TCP, EINVAL);
}

/* A source that this host does not have. */
static void source(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage from = address("198.51.100.77"), to = rt_cm_address(7471);

	if (to.ss_family == AF_INET6)
		from = address("2001:db8:77::77");
	REFUSED(rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, SOON_MS),
		EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* A link-local address of no interface: the call begins, and an event reports the failure. */
static void no_scope(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage to = address("fe80::7:7:7:7");
	struct rdma_cm_event *event;

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	CHECK_OK(rdma_get_cm_event(events, &event));
	CHECK_INT(event->event, RDMA_CM_EVENT_ADDR_ERROR);
	CHECK(event->status < 0);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void route_without_time(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage to = rt_cm_address(7471);

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, SOON_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	REFUSED(rdma_resolve_route(id, 0), EINVAL);
	CHECK_OK(rdma_resolve_route(id, SOON_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* The peer's address of an identifier that is only bound has a family and no address. */
static void peer_of_bound(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage to = rt_cm_address(0);

	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&to));
	CHECK_INT(rdma_get_peer_addr(id)->sa_family, to.ss_family);
	CHECK_INT(rdma_get_dst_port(id), 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* Members outside of the mask are set to 0, whatever their value was. */
static void attributes(void)
{
	struct rdma_event_channel *clients = rt_cm_channel(), *servers = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(servers, RDMA_PS_TCP, false), *client, *server;
	struct ibv_qp_attr attr;
	int mask;

	client = rt_cm_connect(clients, rt_cm_port(listener), servers, &server);
	memset(&attr, NOISE, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	CHECK_OK(rdma_init_qp_attr(client, &attr, &mask));
	CHECK_INT(attr.qp_state, IBV_QPS_RTR);
	CHECK(!(mask & (IBV_QP_SQ_PSN | IBV_QP_QKEY | IBV_QP_TIMEOUT)));
	CHECK_INT(attr.sq_psn, 0);
	CHECK_INT(attr.qkey, 0);
	CHECK_INT(attr.timeout, 0);
	rt_cm_disconnect(client, server);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

static const struct rt_case cases[] = {
	{ "addresses that cannot be bound", binds },
	{ "a source of another host", source },
	{ "a link-local address without a scope", no_scope },
	{ "a route that has no time", route_without_time },
	{ "the peer of a bound identifier", peer_of_bound },
	{ "attributes outside of the mask", attributes },
};
RT_MAIN(cases)
