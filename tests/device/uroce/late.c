/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces that appear after the connection manager has listed the devices. Calls find them at
 * once. Listeners on any address get the requests that come to a new interface. An interface that
 * returns is the same device again. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/device/uroce/net.h"

#define SERVER "192.0.2.1"
#define CLIENT "192.0.2.2"

enum {
	PORT = 7471,
	SOON_MS = 60000,
	DONE = 1,
};

/* How the interface appears after the server has begun to listen. */
enum lateness {
	LATE_INTERFACE,
	LATE_ADDRESS,
	LATE_UP,
};

static void run(const char *command)
{
	CHECK_OK(system(command));
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	CHECK_INT(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return in;
}

static void interface_make(void)
{
	run("ip link add late0 type veth peer name late1 && ip link set late1 addrgenmode none up &&"
	    " ip addr add " SERVER "/24 dev late0 && ip link set late0 up");
}

static void alone(void)
{
	setenv("UROCE", "on", 1);
	setenv("RT_DEVICE", "uroce_lo", 1);
	net_own();
	if (system("ip link add probe0 type veth peer name probe1 && ip link del probe0"))
		rt_skip("no interfaces can be made here");
}

/* ---- calls ---- */

static int bind_to(struct rdma_event_channel *events, const char *text)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_in in = address(text);
	int r = rdma_bind_addr(id, (struct sockaddr *)&in) ? errno : 0;

	if (!r && strcmp(text, "127.0.0.1"))
		CHECK_INT(strcmp(ibv_get_device_name(id->verbs->device), "uroce_late0"), 0);
	CHECK_OK(rdma_destroy_id(id));
	return r;
}

static int resolve_to(struct rdma_event_channel *events, const char *text)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_in in = address(text);
	int r = rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, SOON_MS) ? errno : 0;

	if (!r)
		CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_destroy_id(id));
	return r;
}

static void calls(void)
{
	struct rdma_event_channel *events;

	alone();
	events = rt_cm_channel();
	CHECK_OK(bind_to(events, "127.0.0.1"));
	CHECK_INT(bind_to(events, SERVER), EADDRNOTAVAIL);
	interface_make();
	CHECK_OK(bind_to(events, SERVER));
	CHECK_OK(resolve_to(events, SERVER));
	run("ip addr add 192.0.2.9/24 dev late0");
	CHECK_OK(bind_to(events, "192.0.2.9"));
	rdma_destroy_event_channel(events);
}

static void calls_logged(void)
{
	rt_log_capture();
	calls();
	CHECK(strstr(rt_log_text(), SERVER));
	rt_log_discard();
}

static void resolve_first(void)
{
	struct rdma_event_channel *events;

	alone();
	events = rt_cm_channel();
	CHECK_OK(resolve_to(events, "127.0.0.1"));
	interface_make();
	CHECK_OK(resolve_to(events, SERVER));
	rdma_destroy_event_channel(events);
}

static void devices_look(int expected)
{
	struct ibv_context **list;
	int count;

	list = rdma_get_devices(&count);
	CHECK(list);
	CHECK_INT(count, expected);
	rdma_free_devices(list);
}

/* The process may list its devices while the interface is away, or bind, or neither. */
static void returns(void)
{
	struct rdma_event_channel *events;

	alone();
	interface_make();
	events = rt_cm_channel();
	for (int i = 0; i < 3; i++) {
		CHECK_OK(bind_to(events, SERVER));
		CHECK_OK(resolve_to(events, SERVER));
		run("ip link del late0");
		if (i != 1)
			devices_look(1);
		if (i)
			CHECK_INT(bind_to(events, SERVER), EADDRNOTAVAIL);
		interface_make();
		if (!i)
			devices_look(2);
	}
	CHECK_OK(bind_to(events, SERVER));
	rdma_destroy_event_channel(events);
}

/* ---- listeners, with a client on another host ---- */

static struct rdma_cm_id *client_route(struct rdma_event_channel *events, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	struct sockaddr_in in = address(SERVER);

	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, SOON_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, SOON_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	rt_cm_qp(id);
	return id;
}

/* Try to connect; return whether the server was there. */
static bool client_try(struct rdma_event_channel *events, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = client_route(events, ps);
	struct rdma_cm_event *event;
	bool connected;

	CHECK_OK(rdma_connect(id, NULL));
	CHECK_OK(rdma_get_cm_event(events, &event));
	connected = event->event == RDMA_CM_EVENT_ESTABLISHED;
	if (!connected)
		CHECK(event->event == RDMA_CM_EVENT_UNREACHABLE ||
		      event->event == RDMA_CM_EVENT_REJECTED);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
	return connected;
}

/* A server may open its new device a moment after the interface has appeared. */
static void client_connect(struct rdma_event_channel *events, enum rdma_port_space ps)
{
	for (int ms = 0; ms < SOON_MS; ms += 10) {
		if (client_try(events, ps))
			return;
		usleep(10000);
	}
	FAIL("port space 0x%x: no listener heard the client", ps);
}

static void client_rsocket(void)
{
	struct sockaddr_in in = address(SERVER);
	char byte;

	in.sin_port = htons(PORT + 1);
	for (int ms = 0; ms < SOON_MS; ms += 10) {
		int fd = rsocket(AF_INET, SOCK_STREAM, 0);

		CHECK(fd >= 0);
		if (!rconnect(fd, (struct sockaddr *)&in, sizeof(in))) {
			CHECK_INT(rrecv(fd, &byte, 1, 0), 1);
			CHECK_OK(rclose(fd));
			return;
		}
		CHECK_OK(rclose(fd));
		usleep(10000);
	}
	FAIL("no listening rsocket heard the client");
}

static void client(int socket, int arg)
{
	struct rdma_event_channel *events;

	net_own();
	rt_tell(socket, DONE);
	rt_hear(socket);
	run("ip addr add " CLIENT "/24 dev late1 && ip link set late1 up");
	rt_tell(socket, DONE);
	rt_hear(socket);
	events = rt_cm_channel();
	client_connect(events, RDMA_PS_TCP);
	client_connect(events, RDMA_PS_UDP);
	client_rsocket();
	rdma_destroy_event_channel(events);
	rt_tell(socket, DONE);
}

static struct rdma_cm_id *server_listen(struct rdma_event_channel *events, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	struct sockaddr_in any = address("0.0.0.0");

	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&any));
	CHECK_OK(rdma_listen(id, 0));
	return id;
}

static int server_rsocket(void)
{
	struct sockaddr_in any = address("0.0.0.0");
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	any.sin_port = htons(PORT + 1);
	CHECK(fd >= 0);
	CHECK_OK(rbind(fd, (struct sockaddr *)&any, sizeof(any)));
	CHECK_OK(rlisten(fd, 1));
	return fd;
}

static void server_event(struct rdma_event_channel *events)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK_OK(rdma_get_cm_event(events, &event));
	id = event->id;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		CHECK_OK(strcmp(ibv_get_device_name(id->verbs->device), "uroce_late0"));
		rt_cm_qp(id);
		CHECK_OK(rdma_accept(id, NULL));
	}
	CHECK_OK(rdma_ack_cm_event(event));
}

/* Serve until the client has been answered. */
static void server_serve(struct rdma_event_channel *events, int listener, int client)
{
	struct pollfd waiting[] = {
		{ .fd = events->fd, .events = POLLIN },
		{ .fd = client, .events = POLLIN },
	};
	struct pollfd request = { .fd = listener, .events = POLLIN };

	for (;;) {
		int fd;

		CHECK(poll(waiting, 2, 10) >= 0);
		if (waiting[0].revents)
			server_event(events);
		if (rpoll(&request, 1, 0) == 1) {
			fd = raccept(listener, NULL, NULL);
			CHECK(fd >= 0);
			CHECK_INT(rsend(fd, "x", 1, 0), 1);
			CHECK_OK(rclose(fd));
		}
		if (waiting[1].revents)
			return;
	}
}

static void link_make(pid_t peer)
{
	char command[128];

	snprintf(command, sizeof(command), "ip link add late0 type veth peer name late1 netns %d",
		 peer);
	run(command);
}

static void listeners(const void *arg)
{
	enum lateness lateness = *(const enum lateness *)arg;
	struct rdma_event_channel *events;
	struct rt_child other;
	int fd;

	alone();
	other = rt_child_start(client, 0);
	CHECK_INT(rt_hear(other.socket), DONE);
	if (lateness != LATE_INTERFACE)
		link_make(other.pid);
	if (lateness == LATE_UP)
		run("ip addr add " SERVER "/24 dev late0");
	if (lateness == LATE_ADDRESS)
		run("ip link set late0 addrgenmode none up");
	events = rt_cm_channel();
	server_listen(events, RDMA_PS_TCP);
	server_listen(events, RDMA_PS_UDP);
	fd = server_rsocket();

	if (lateness == LATE_INTERFACE)
		link_make(other.pid);
	if (lateness != LATE_UP)
		run("ip addr add " SERVER "/24 dev late0");
	run("ip link set late0 up");
	rt_tell(other.socket, DONE);
	CHECK_INT(rt_hear(other.socket), DONE);
	rt_tell(other.socket, DONE);
	server_serve(events, fd, other.socket);
	CHECK_INT(rt_hear(other.socket), DONE);
	rt_child_finish(&other);
}

static const enum lateness late_interface = LATE_INTERFACE, late_address = LATE_ADDRESS,
			   late_up = LATE_UP;

static const struct rt_case cases[] = {
	{ "calls after an interface has come", calls },
	{ "the same with the log on", calls_logged },
	{ "an address is resolved", resolve_first },
	{ "an interface that returns", returns },
	{ .name = "listeners: a new interface", .run_with = listeners, .arg = &late_interface },
	{ .name = "listeners: a new address", .run_with = listeners, .arg = &late_address },
	{ .name = "listeners: an interface set up", .run_with = listeners, .arg = &late_up },
};
RT_MAIN(cases)
