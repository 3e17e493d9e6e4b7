/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections between processes of one host, and processes that die: whoever is left always hears
 * of it, at every step of the handshake.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt_cm.h"

/* Where the other process is when it dies, or what it does. */
enum step {
	STEP_LISTENING,
	STEP_REQUESTED, /* the server has the request */
	STEP_ACCEPTED,	/* and answered */
	STEP_ESTABLISHED,
	STEP_NEVER,
};

static void tell(int socket, uint16_t word)
{
	CHECK(write(socket, &word, sizeof(word)) == sizeof(word));
}

static uint16_t hear(int socket)
{
	uint16_t word;

	CHECK(read(socket, &word, sizeof(word)) == sizeof(word));
	return word;
}

/* The parent kills us here. */
static void reached(int socket, enum step now, enum step die)
{
	if (now != die)
		return;
	tell(socket, now);
	pause();
}

static void server(int socket, enum step die)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_TCP, true), *id;
	struct rdma_cm_event *event;

	tell(socket, rt_cm_port(listener));
	reached(socket, STEP_LISTENING, die);
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	reached(socket, STEP_REQUESTED, die);
	rt_cm_qp(id);
	CHECK_OK(rdma_accept(id, NULL));
	reached(socket, STEP_ACCEPTED, die);
	CM_SKIP(events, ESTABLISHED, 0);
	reached(socket, STEP_ESTABLISHED, die);
	CM_SKIP(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

struct child {
	pid_t pid;
	int socket;
};

static struct child start(void (*run)(int socket, enum step die), enum step die)
{
	struct child child;
	int sockets[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child.pid = fork();
	CHECK(child.pid >= 0);
	child.socket = sockets[child.pid ? 0 : 1];
	close(sockets[child.pid ? 1 : 0]);
	if (!child.pid) {
		run(child.socket, die);
		exit(0);
	}
	return child;
}

static void finish(struct child *child)
{
	int status;

	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(child->socket);
}

static void kill_child(struct child *child)
{
	int status;

	CHECK_OK(kill(child->pid, SIGKILL));
	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	close(child->socket);
}

static void two_processes(void)
{
	struct child child = start(server, STEP_NEVER);
	uint16_t port = hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);

	CHECK_OK(rdma_connect(id, NULL));
	CM_SKIP(events, ESTABLISHED, 0);
	CHECK_OK(rdma_disconnect(id));
	CM_SKIP(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
	finish(&child);
}

/* The port of a listener in another process is taken, until that process is gone. */
static void ports_of_others(void)
{
	struct child child = start(server, STEP_LISTENING);
	struct sockaddr_storage address;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	uint16_t port = hear(child.socket);

	hear(child.socket);
	events = rt_cm_channel();
	id = rt_cm_id(events, RDMA_PS_TCP);
	address = rt_cm_address(port);
	CHECK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK(errno == EADDRINUSE || errno == EADDRNOTAVAIL);
	kill_child(&child);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

/* Binds the port it is told, as the one option says, and listens when told so; tells what became
 * of it. */
static void binder(int socket, enum step reuse)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);
	struct sockaddr_storage address = rt_cm_address(hear(socket));
	int on = reuse == STEP_NEVER;

	CHECK_OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	tell(socket, rdma_bind_addr(id, (struct sockaddr *)&address) ? errno : 0);
	while (hear(socket))
		tell(socket, rdma_listen(id, 0) ? errno : 0);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static uint16_t ask(struct child *child, uint16_t word)
{
	tell(child->socket, word);
	return hear(child->socket);
}

static void release(struct child *child)
{
	tell(child->socket, 0);
	finish(child);
}

/* By the kernel's rules: with the option on both sides, until somebody listens. */
static void shared_port(void)
{
	struct child first = start(binder, STEP_NEVER), second = start(binder, STEP_NEVER),
		     late = start(binder, STEP_NEVER), other = start(binder, STEP_LISTENING);
	uint16_t port = 7600;

	CHECK_INT(ask(&first, port), 0);
	CHECK_INT(ask(&second, port), 0);
	CHECK_INT(ask(&other, port), EADDRINUSE); /* does not share */
	CHECK_INT(ask(&first, 1), EADDRINUSE);
	release(&first);
	CHECK_INT(ask(&second, 1), 0);
	CHECK_INT(ask(&late, port), EADDRINUSE);
	release(&second);
	release(&late);
	release(&other);
}

/* Ports below 1024 are for who may. */
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

static void server_dies(const void *arg)
{
	const enum step *die = arg;
	struct child child = start(server, *die);
	uint16_t port = hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(id, NULL));
	if (*die != STEP_REQUESTED)
		CM_SKIP(events, ESTABLISHED, 0);
	CHECK_INT(hear(child.socket), *die);
	kill_child(&child);
	CHECK_OK(rdma_get_cm_event(events, &event));
	if (*die == STEP_REQUESTED) /* no answer yet: the next message finds that there is nobody */
		CHECK(event->event == RDMA_CM_EVENT_REJECTED ||
		      event->event == RDMA_CM_EVENT_UNREACHABLE);
	else if (*die == STEP_ACCEPTED) /* it may have died before it heard that we are ready */
		CHECK(event->event == RDMA_CM_EVENT_DISCONNECTED ||
		      event->event == RDMA_CM_EVENT_REJECTED);
	else
		CHECK_INT(event->event, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
}

static void client(int socket, enum step die)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, hear(socket), true);

	CHECK_OK(rdma_connect(id, NULL));
	reached(socket, STEP_REQUESTED, die);
	CM_SKIP(events, ESTABLISHED, 0);
	reached(socket, STEP_ESTABLISHED, die);
}

static void client_dies_at(enum step die)
{
	struct child child = start(client, die);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_TCP, false), *id;
	struct rdma_cm_event *event;

	tell(child.socket, rt_cm_port(listener));
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	if (die == STEP_ESTABLISHED) {
		CHECK_OK(rdma_accept(id, NULL));
		CM_SKIP(events, ESTABLISHED, 0);
	}
	CHECK_INT(hear(child.socket), die);
	kill_child(&child);
	CHECK_OK(rdma_get_cm_event(events, &event));
	if (die == STEP_ESTABLISHED)
		CHECK_INT(event->event, RDMA_CM_EVENT_DISCONNECTED);
	else
		CHECK(event->event == RDMA_CM_EVENT_REJECTED ||
		      event->event == RDMA_CM_EVENT_UNREACHABLE);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static void client_dies(const void *arg)
{
	const enum step *die = arg;

	if (*die == STEP_REQUESTED && rt_cm_is_kernel())
		rt_skip("the kernel keeps to itself what becomes of a request nobody has accepted");
	client_dies_at(*die);
}

/* It ends without a word of its own, but not by a signal: the other side hears at once. */
static void client_exits(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	struct child child;

	rdma_destroy_event_channel(events);
	child = start(client, STEP_NEVER);
	events = rt_cm_channel();
	listener = rt_cm_listen(events, RDMA_PS_TCP, false);
	tell(child.socket, rt_cm_port(listener));
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	CHECK_OK(rdma_accept(id, NULL));
	CM_SKIP(events, ESTABLISHED, 0);
	CM_SKIP(events, DISCONNECTED, 0);
	finish(&child);
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static const enum step requested = STEP_REQUESTED, accepted = STEP_ACCEPTED,
		       established = STEP_ESTABLISHED;

static const struct rt_case cases[] = {
	{ "two processes", two_processes },
	{ "ports of other processes", ports_of_others },
	{ "a port that processes share", shared_port },
	{ "a port below 1024", low_port },
	{ "server dies with a request", .run_with = server_dies, .arg = &requested },
	{ "server dies with an answer", .run_with = server_dies, .arg = &accepted },
	{ "server dies while connected", .run_with = server_dies, .arg = &established },
	{ "client dies with a request", .run_with = client_dies, .arg = &requested },
	{ "client dies while connected", .run_with = client_dies, .arg = &established },
	{ "client exits while connected", client_exits },
};
RT_MAIN(cases)
