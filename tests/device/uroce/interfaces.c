/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces that are removed with connections, listeners and resolved addresses on them;
 * interfaces without a device; and interfaces without a peer. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <infiniband/ib.h>

#include "tests/lib/rt_cm.h"
#include "tests/device/uroce/net.h"

#define ADDRESS "192.0.2.1"

enum {
	SOON_MS = 60000,
};

static void run(const char *command)
{
	CHECK_OK(system(command));
}

static void interface_make(void)
{
	run("ip link add gone0 type veth peer name gone1 && ip link set gone1 up &&"
	    " ip link set gone0 addrgenmode none up && ip addr add " ADDRESS "/24 dev gone0");
}

static struct sockaddr *address(const char *text, uint16_t port)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	CHECK_INT(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return (struct sockaddr *)&in;
}

static struct rdma_cm_id *listen_on(struct rdma_event_channel *events, const char *text)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_bind_addr(id, address(text, 0)));
	CHECK_OK(rdma_listen(id, 0));
	return id;
}

static struct rdma_cm_id *route_to(struct rdma_event_channel *events, const char *text,
				   uint16_t port)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, address(text, port), SOON_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, SOON_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	return id;
}

static struct rdma_cm_id *connect_to(struct rdma_event_channel *clients, const char *text,
				     struct rdma_cm_id *listener, struct rdma_cm_id **ret_server)
{
	struct rdma_cm_id *id = route_to(clients, text, rt_cm_port(listener));
	struct rdma_cm_event *event;

	rt_cm_qp(id);
	CHECK_OK(rdma_connect(id, NULL));
	event = CM_EXPECT(listener->channel, CONNECT_REQUEST, 0);
	*ret_server = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(*ret_server);
	CHECK_OK(rdma_accept(*ret_server, NULL));
	CM_TAKE(clients, ESTABLISHED, 0);
	CM_TAKE(listener->channel, ESTABLISHED, 0);
	return id;
}

/* Check that each of @ids gets the event once. */
static void expect_removal(struct rdma_event_channel *events, struct rdma_cm_id *ids[], int count)
{
	for (int left = count; left; left--) {
		struct rdma_cm_event *event = CM_EXPECT(events, DEVICE_REMOVAL, 0);
		int i = 0;

		while (i < count && ids[i] != event->id)
			i++;
		CHECK(i < count);
		ids[i] = NULL;
		CHECK_OK(rdma_ack_cm_event(event));
	}
}

static void expect_none(struct rdma_event_channel *events)
{
	struct pollfd waiting = { .fd = events->fd, .events = POLLIN };

	CHECK_INT(poll(&waiting, 1, 0), 0);
}

static void prepare(void)
{
	net_own();
	if (system("ip link add probe0 type veth peer name probe1 && ip link del probe0"))
		rt_skip("no interfaces can be made here");
	setenv("UROCE", "on:lo,gone0", 1);
	setenv("RT_DEVICE", "uroce_gone0", 1);
	interface_make();
}

static void removal(void)
{
	struct rdma_event_channel *clients, *servers;
	struct rdma_cm_id *listener, *client, *server, *bound, *resolved, *other, *any;
	struct rdma_cm_id *other_client, *other_server, *again;

	prepare();
	clients = rt_cm_channel();
	servers = rt_cm_channel();
	listener = listen_on(servers, ADDRESS);
	client = connect_to(clients, ADDRESS, listener, &server);
	bound = rt_cm_id(clients, RDMA_PS_UDP);
	CHECK_OK(rdma_bind_addr(bound, address(ADDRESS, 0)));
	resolved = route_to(clients, ADDRESS, 7);
	/* no event for another device, nor for a listener on all addresses */
	other = listen_on(servers, "127.0.0.1");
	other_client = connect_to(clients, "127.0.0.1", other, &other_server);
	any = listen_on(servers, "0.0.0.0");

	run("ip link del gone0");
	expect_removal(clients, (struct rdma_cm_id *[]){ client, bound, resolved }, 3);
	expect_removal(servers, (struct rdma_cm_id *[]){ listener, server }, 2);
	rt_cm_destroy(client);
	rt_cm_destroy(server);
	rt_cm_destroy(bound);
	rt_cm_destroy(resolved);
	rt_cm_destroy(listener);
	again = rt_cm_id(clients, RDMA_PS_TCP);
	CHECK_INT(rdma_bind_addr(again, address(ADDRESS, 0)), -1);
	CHECK_INT(errno, EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(again));
	expect_none(clients);
	expect_none(servers);

	rt_cm_disconnect(other_client, other_server);
	CHECK_OK(rdma_destroy_id(other));
	CHECK_OK(rdma_destroy_id(any));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

/* The interface comes back under its name, and everything works; then it is removed again. */
static void back_again(void)
{
	struct rdma_event_channel *clients, *servers;
	struct rdma_cm_id *listener, *client, *server, *any;

	prepare();
	clients = rt_cm_channel();
	servers = rt_cm_channel();
	any = listen_on(servers, "0.0.0.0");
	for (int i = 0; i < 2; i++) {
		listener = listen_on(servers, ADDRESS);
		client = connect_to(clients, ADDRESS, i ? any : listener, &server);
		run("ip link del gone0");
		expect_removal(clients, &(struct rdma_cm_id *){ client }, 1);
		expect_removal(servers, (struct rdma_cm_id *[]){ listener, server }, 2);
		rt_cm_destroy(client);
		rt_cm_destroy(server);
		CHECK_OK(rdma_destroy_id(listener));
		interface_make();
		for (int ms = 0; ms < SOON_MS; ms += 10) {
			struct rdma_cm_id *probe = rt_cm_id(clients, RDMA_PS_TCP);
			int r = rdma_bind_addr(probe, address(ADDRESS, 0));

			CHECK_OK(rdma_destroy_id(probe));
			if (!r)
				break;
			usleep(10000);
		}
	}
	CHECK_OK(rdma_destroy_id(any));
	rdma_destroy_event_channel(clients);
	rdma_destroy_event_channel(servers);
}

/* An address of this host on an interface without a device has another error than an address of
 * another host. */
static void no_device(void)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	prepare();
	run("ip addr add 198.51.100.1/32 dev gone1");
	events = rt_cm_channel();
	id = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_INT(rdma_bind_addr(id, address("198.51.100.1", 0)), -1);
	CHECK_INT(errno, ENODEV);
	CHECK_INT(rdma_bind_addr(id, address("198.51.100.2", 0)), -1);
	CHECK_INT(errno, EADDRNOTAVAIL);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* Addresses of InfiniBand are refused, with the alternative in the log. */
static void infiniband_address(void)
{
	struct sockaddr_ib gid = { .sib_family = AF_IB };
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	rt_log_capture();
	prepare();
	CHECK_INT(inet_pton(AF_INET6, "::ffff:" ADDRESS, &gid.sib_addr), 1);
	events = rt_cm_channel();
	id = rt_cm_id(events, RDMA_PS_IB);
	CHECK_INT(rdma_bind_addr(id, (struct sockaddr *)&gid), -1);
	CHECK_INT(errno, EAFNOSUPPORT);
	CHECK(strstr(rt_log_text(), "a GID is an IP address: use " ADDRESS " as AF_INET"));
	CHECK_INT(rdma_resolve_addr(id, NULL, (struct sockaddr *)&gid, SOON_MS), -1);
	CHECK_INT(errno, EAFNOSUPPORT);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
	rt_log_discard();
}

/* A wrong address fails when the kernel has found no neighbour, not after 16 requests. */
static void nobody_there(void)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *tcp, *udp;

	prepare();
	events = rt_cm_channel();
	tcp = route_to(events, "192.0.2.77", 7471);
	rt_cm_qp(tcp);
	CHECK_OK(rdma_connect(tcp, NULL));
	udp = rt_cm_id(events, RDMA_PS_UDP);
	CHECK_OK(rdma_resolve_addr(udp, NULL, address("192.0.2.78", 7471), SOON_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(udp, SOON_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	rt_cm_qp(udp);
	CHECK_OK(rdma_connect(udp, NULL));
	CM_TAKE(events, UNREACHABLE, -EHOSTUNREACH);
	CM_TAKE(events, UNREACHABLE, -EHOSTUNREACH);
	rt_cm_destroy(tcp);
	rt_cm_destroy(udp);
	rdma_destroy_event_channel(events);
}

static const struct rt_case cases[] = {
	{ "everything on the interface is told", removal },
	{ "an interface that comes back", back_again },
	{ "an interface without a device", no_device },
	{ "an address of InfiniBand", infiniband_address },
	{ "an address nobody has", nobody_there },
};
RT_MAIN(cases)
