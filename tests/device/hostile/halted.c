/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several processes of a host share its RoCE port, and one of them is halted: it was stopped, or
 * it was killed while a child that the library does not know keeps its sockets. Messages of
 * another host's connection manager to the other processes, as clients and as servers, do not go
 * to the halted one. Each process in turn is halted, because the kernel's choice among them is
 * unknown. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	MEMBERS = 3,
	PORT_THERE = 7700,
	PORT_HERE, /* of the first */
	RESOLVE_MS = 60000,
	QPN_HERE = 0x100000, /* first number of QPs that do not exist; each crowd uses another */
	QPN_THERE = 0x200000,
};

enum command {
	CONNECT,
	LEAVE_CHILD,
};

static struct rdma_conn_param param;

static void name_qp(uint32_t first, int round)
{
	param = (struct rdma_conn_param){ .qp_num = first + round, .responder_resources = 1 };
}

static struct sockaddr *address(const char *text, uint16_t port)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, text, &in.sin_addr);
	return (struct sockaddr *)&in;
}

static void listen_on(struct rdma_event_channel *events, const char *text, uint16_t port)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_bind_addr(id, address(text, port)));
	CHECK_OK(rdma_listen(id, 0));
}

static struct rdma_cm_id *ask(struct rdma_event_channel *events, const char *text, uint16_t port)
{
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, address(text, port), RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

/* ---- the other host: asks every process once, and ends connections that others asked for --- */

static void other_answer(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		CHECK_OK(rdma_accept(id, &param));
	else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE)
		CHECK_OK(rdma_establish(id));
	else if (type == RDMA_CM_EVENT_ESTABLISHED)
		CHECK_OK(rdma_disconnect(id));
	else if (type == RDMA_CM_EVENT_DISCONNECTED)
		(void)rdma_disconnect(id); /* the side that got the disconnect confirms it */
}

static void other(int socket, int round)
{
	struct rdma_event_channel *events;
	struct rdma_cm_event *event;

	net_enter(NET_THERE);
	name_qp(QPN_THERE, round);
	events = rt_cm_channel();
	for (int i = 0; i < MEMBERS; i++)
		ask(events, "192.0.2.1", PORT_HERE + i);
	listen_on(events, "192.0.2.2", PORT_THERE);
	rt_tell(socket, 0);
	for (;;) {
		struct rdma_cm_id *id;
		enum rdma_cm_event_type type;

		CHECK_OK(rdma_get_cm_event(events, &event));
		id = event->id;
		type = event->event;
		CHECK_OK(rdma_ack_cm_event(event));
		other_answer(id, type);
	}
}

/* --- this host --- */

/* Create a child that only keeps memory and sockets. */
static void leave_child(int socket)
{
	if (!syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)) {
		alarm(RT_SECONDS);
		rt_tell(socket, getpid());
		for (;;)
			pause();
	}
	pause();
}

/* Each event waits for a message: RTU, DREP; REP, DREQ. */
static void connect_both_ways(struct rdma_event_channel *asked, struct rdma_cm_id *id)
{
	struct rdma_event_channel *events = rt_cm_channel();

	CHECK_OK(rdma_accept(id, &param));
	CM_TAKE(asked, ESTABLISHED, 0);
	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(asked, DISCONNECTED, 0);
	id = ask(events, "192.0.2.2", PORT_THERE);
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	CM_TAKE(events, DISCONNECTED, 0);
}

static int member_index; /* of the one that is started */

static void member(int socket, int round)
{
	struct rdma_event_channel *asked;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	net_enter(NET_HERE);
	name_qp(QPN_HERE, round);
	asked = rt_cm_channel();
	listen_on(asked, "192.0.2.1", PORT_HERE + member_index);
	rt_tell(socket, 0);
	event = CM_EXPECT(asked, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_tell(socket, 0);
	if (rt_hear(socket) == LEAVE_CHILD)
		leave_child(socket);
	connect_both_ways(asked, id);
	rt_tell(socket, 0);
	pause();
}

/* Halt a process; return the child that remains, or 0. */
static pid_t halt(struct rt_child *one, bool killed)
{
	pid_t child = 0;
	int status;

	if (killed) {
		rt_tell(one->socket, LEAVE_CHILD);
		child = rt_hear(one->socket);
		rt_child_kill(one);
	} else {
		CHECK_OK(kill(one->pid, SIGSTOP));
		CHECK(waitpid(one->pid, &status, WUNTRACED) == one->pid && WIFSTOPPED(status));
	}
	return child;
}

static void crowd(int which, bool killed)
{
	static int round;
	struct rt_child members[MEMBERS], there;
	pid_t child;

	round++;
	for (int i = 0; i < MEMBERS; i++) {
		member_index = i;
		members[i] = rt_child_start(member, round);
		rt_hear(members[i].socket);
	}
	there = rt_child_start(other, round);
	rt_hear(there.socket);
	for (int i = 0; i < MEMBERS; i++)
		rt_hear(members[i].socket);
	child = halt(&members[which], killed);
	for (int i = 0; i < MEMBERS; i++) {
		if (i == which)
			continue;
		rt_tell(members[i].socket, CONNECT);
		rt_hear(members[i].socket);
	}
	printf("process %d of %d %s: the others are reached\n", which + 1, MEMBERS,
	       killed ? "killed, and a child lives" : "stopped");
	if (child) {
		CHECK_OK(kill(child, SIGKILL));
		CHECK(waitpid(child, NULL, 0) == child);
	}
	for (int i = 0; i < MEMBERS; i++)
		if (i != which || !killed)
			rt_child_kill(&members[i]);
	rt_child_kill(&there);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(RT_SECONDS);
	net_make("udp");
	/* Adopt remaining children, so that this process knows when their sockets are closed. */
	CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int which = 0; which < MEMBERS; which++) {
		crowd(which, false);
		crowd(which, true);
	}
	return 0;
}
