/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections between two hosts of which one end is killed, and requests to a host without any
 * listener: the other end gets an event without sending anything. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7400,
	PORT_NEIGHBOUR,
	RESOLVE_MS = 60000,
	QPN = 0x123456, /* no such QP exists */
	LIVES = 1,	/* seconds of a connection before one end is killed */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct sockaddr *address(const char *text, uint16_t port)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, text, &in.sin_addr);
	return (struct sockaddr *)&in;
}

static struct rdma_cm_id *ask(struct rdma_event_channel *events)
{
	struct rdma_conn_param param = { .qp_num = QPN, .responder_resources = 1 };
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, address("192.0.2.2", PORT), RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

static void listen_on(struct rdma_event_channel *events, uint16_t port)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_bind_addr(id, address("192.0.2.2", port)));
	CHECK_OK(rdma_listen(id, 0));
}

/* A process with a seccomp filter, even one that allows everything, has no guardian. */
static void confine(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { RT_COUNT(code), code };

	CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* --- the two ends; each reports when it is connected and when the connection has ended --- */

static void client(int socket, int guarded)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	if (!guarded)
		confine();
	net_enter(NET_HERE);
	events = rt_cm_channel();
	id = ask(events);
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	rt_tell(socket, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	rt_tell(socket, 1);
}

static void server(int socket, int guarded)
{
	struct rdma_conn_param param = { .qp_num = QPN, .responder_resources = 1 };
	struct rdma_event_channel *events;
	struct rdma_cm_event *event;

	if (!guarded)
		confine();
	net_enter(NET_THERE);
	events = rt_cm_channel();
	listen_on(events, PORT);
	rt_tell(socket, 0);
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	CHECK_OK(rdma_accept(event->id, &param));
	CHECK_OK(rdma_ack_cm_event(event));
	CM_TAKE(events, ESTABLISHED, 0);
	rt_tell(socket, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	rt_tell(socket, 1);
}

static void neighbour(int socket, int host)
{
	struct rdma_event_channel *events;

	net_enter(host);
	events = rt_cm_channel();
	if (host == NET_THERE)
		listen_on(events, PORT_NEIGHBOUR);
	else
		CHECK_OK(rdma_bind_addr(rt_cm_id(events, RDMA_PS_TCP), address("192.0.2.1", 0)));
	rt_tell(socket, 0);
	pause();
}

static void outlive(bool server_dies, bool others_live, bool guarded)
{
	struct rt_child there = rt_child_start(server, guarded), here, other;
	struct rt_child *dies, *lives;
	double begin;

	rt_hear(there.socket);
	here = rt_child_start(client, guarded);
	rt_hear(here.socket);
	rt_hear(there.socket);
	dies = server_dies ? &there : &here;
	lives = server_dies ? &here : &there;
	if (others_live) {
		other = rt_child_start(neighbour, server_dies ? NET_THERE : NET_HERE);
		rt_hear(other.socket);
	}
	sleep(LIVES);
	begin = seconds();
	rt_child_kill(dies);
	CHECK_INT(rt_hear(lives->socket), 1);
	printf("%s killed, %s, %s: DISCONNECTED after %.1f s\n", server_dies ? "server" : "client",
	       others_live ? "another process there" : "nobody left there",
	       guarded ? "with a guardian" : "without a guardian", seconds() - begin);
	rt_child_finish(lives);
	if (others_live)
		rt_child_kill(&other);
}

/* --- a host without any listener --- */

static void nobody(int socket, int arg)
{
	struct rdma_event_channel *events;
	double begin;

	net_enter(NET_HERE);
	events = rt_cm_channel();
	begin = seconds();
	ask(events);
	CM_TAKE(events, UNREACHABLE, -ECONNREFUSED);
	printf("nobody there: UNREACHABLE after %.1f s\n", seconds() - begin);
}

int main(void)
{
	struct rt_child child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(RT_SECONDS);
	net_make("udp");
	child = rt_child_start(nobody, 0);
	rt_child_finish(&child);
	outlive(false, false, true);
	outlive(true, false, true);
	outlive(true, false, false);
	outlive(false, true, false);
	return 0;
}
