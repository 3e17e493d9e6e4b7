/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections between processes of one host, and the ports that they share. */
#include <sys/prctl.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

/* Serve one connection; or none, and wait to be killed by the parent. */
static void server(int socket, int only_listen)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_TCP, true), *id;
	struct rdma_cm_event *event;

	rt_tell(socket, rt_cm_port(listener));
	if (only_listen) {
		rt_tell(socket, 0);
		pause();
	}
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	CHECK_OK(rdma_accept(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static void two_processes(void)
{
	struct rt_child child = rt_child_start(server, false);
	uint16_t port = rt_hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);

	CHECK_OK(rdma_connect(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
	rt_child_finish(&child);
}

/* The port of a listener in another process is taken, until that process is gone. */
static void ports_of_others(void)
{
	struct rt_child child = rt_child_start(server, true);
	struct sockaddr_storage address;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	uint16_t port = rt_hear(child.socket);

	rt_hear(child.socket);
	events = rt_cm_channel();
	id = rt_cm_id(events, RDMA_PS_TCP);
	address = rt_cm_address(port);
	CHECK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK(errno == EADDRINUSE || errno == EADDRNOTAVAIL);
	rt_child_kill(&child);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* Bind the given port with the given option, and listen if told to. Report the results to the
 * parent. */
static void binder(int socket, int reuse)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage address = rt_cm_address(rt_hear(socket));

	CHECK_OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse,
				 sizeof(reuse)));
	rt_tell(socket, rdma_bind_addr(id, (struct sockaddr *)&address) ? errno : 0);
	while (rt_hear(socket))
		rt_tell(socket, rdma_listen(id, 0) ? errno : 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static uint16_t ask(struct rt_child *child, uint16_t word)
{
	rt_tell(child->socket, word);
	return rt_hear(child->socket);
}

static void release(struct rt_child *child)
{
	rt_tell(child->socket, 0);
	rt_child_finish(child);
}

/* The rules of the kernel: the option is set on both sides, until one listens. */
static void shared_port(void)
{
	struct rt_child first = rt_child_start(binder, true), second = rt_child_start(binder, true),
			late = rt_child_start(binder, true), other = rt_child_start(binder, false);
	uint16_t port = 7600;

	CHECK_INT(ask(&first, port), 0);
	CHECK_INT(ask(&second, port), 0);
	CHECK_INT(ask(&other, port), EADDRINUSE); /* the other one lacks the option */
	CHECK_INT(ask(&first, 1), EADDRINUSE);
	release(&first);
	CHECK_INT(ask(&second, 1), 0);
	CHECK_INT(ask(&late, port), EADDRINUSE);
	release(&second);
	release(&late);
	release(&other);
}

/* Ports below 1024 need a privilege. */
static void low_port(void)
{
	struct sockaddr_storage address = rt_cm_address(999);
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	if (geteuid())
		rt_skip("who is not root already has nothing to give up");
	events = rt_cm_channel();
	id = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_OK(rdma_destroy_id(id));
	CHECK_OK(prctl(PR_SET_KEEPCAPS, 0));
	CHECK_OK(setuid(65534));
	id = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_INT(rdma_bind_addr(id, (struct sockaddr *)&address), -1);
	CHECK_INT(errno, EACCES);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* Connect, and exit without a disconnect. */
static void client(int socket, int arg)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, rt_hear(socket), true);

	CHECK_OK(rdma_connect(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
}

/* The client exits without a disconnect, but not by a signal: the other side gets the event at
 * once. */
static void client_exits(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	struct rt_child child;

	rdma_destroy_event_channel(events);
	child = rt_child_start(client, 0);
	events = rt_cm_channel();
	listener = rt_cm_listen(events, RDMA_PS_TCP, false);
	rt_tell(child.socket, rt_cm_port(listener));
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	CHECK_OK(rdma_accept(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	rt_child_finish(&child);
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

/* Connect without a disconnect, and wait to be killed if @stays. */
static void client_of_many(int socket, int stays)
{
	client(socket, 0);
	if (stays)
		pause();
}

static void serve_one(int socket, struct rdma_event_channel *events)
{
	struct rdma_cm_event *event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	struct rdma_cm_id *id = event->id;

	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	CHECK_OK(rdma_accept(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	rt_tell(socket, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
	rt_tell(socket, 0);
}

static void server_of_many(int socket, int count)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_TCP, false);
	struct rt_use before = {}, after;

	rt_tell(socket, rt_cm_port(listener));
	for (int i = 0; i < count; i++) {
		if (i == count / 2)
			before = rt_use();
		serve_one(socket, events);
	}
	after = rt_use();
	printf("  %d processes after %d: %+d descriptors, %+d mappings\n", count - count / 2,
	       count / 2, after.descriptors - before.descriptors, after.mappings - before.mappings);
	/* The resources of the last process may not have been freed yet. */
	CHECK(after.descriptors <= before.descriptors + 4);
	CHECK(after.mappings <= before.mappings + 4);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

/* Clients exit and are killed in turn: the server frees all that it shared with each. */
static void come_and_go(void)
{
	const char *text = getenv("CM_PROCESSES");
	int count = text ? atoi(text) : 8;
	struct rt_child server = rt_child_start(server_of_many, count), other;
	uint16_t port = rt_hear(server.socket);

	for (int i = 0; i < count; i++) {
		other = rt_child_start(client_of_many, i % 2);
		rt_tell(other.socket, port);
		rt_hear(server.socket);
		if (i % 2)
			rt_child_kill(&other);
		else
			rt_child_finish(&other);
		rt_hear(server.socket);
	}
	rt_child_finish(&server);
}

static const struct rt_case cases[] = {
	{ "two processes", two_processes },
	{ "ports of other processes", ports_of_others },
	{ "a port that processes share", shared_port },
	{ "a port below 1024", low_port },
	{ "client exits while connected", client_exits },
	{ "clients come and go", come_and_go },
};
RT_MAIN(cases)
