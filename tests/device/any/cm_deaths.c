/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes with connections die: the survivor always gets an event, in every state of a
 * connection, and can continue. */
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

/* State of the other process when it dies. */
enum step {
	STEP_LISTENING,
	STEP_REQUESTED, /* the server has the request */
	STEP_ACCEPTED,	/* and answered it */
	STEP_ANSWERED,	/* the client has the answer, but does not report that it is ready */
	STEP_ESTABLISHED,
	STEP_LEFT,  /* it disconnected */
	STEP_ASKED, /* the other side disconnected */
	STEP_OVER,  /* and it confirmed that */
};

enum { /* no such QPs exist */
	CLIENT_QPN = 0x123456,
};

/* Tell the parent, which kills this process here. */
static void reached(int socket, enum step now, int die)
{
	if (now != die)
		return;
	rt_tell(socket, now);
	pause();
}

/* End the connection, unless the process dies at an earlier step. */
static void leave(int socket, struct rdma_cm_id *id, int die)
{
	if (die == STEP_LEFT)
		CHECK_OK(rdma_disconnect(id));
	reached(socket, STEP_LEFT, die);
	CM_TAKE(id->channel, DISCONNECTED, 0);
	reached(socket, STEP_ASKED, die);
	CHECK_OK(rdma_disconnect(id));
	reached(socket, STEP_OVER, die);
	rt_cm_destroy(id);
}

static struct rdma_cm_id *take_request(struct rdma_event_channel *events)
{
	struct rdma_cm_event *event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	struct rdma_cm_id *id = event->id;

	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_qp(id);
	return id;
}

static void server_of(enum rdma_port_space ps, int socket, int die)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, ps, true), *id;

	rt_tell(socket, rt_cm_port(listener));
	reached(socket, STEP_LISTENING, die);
	id = take_request(events);
	reached(socket, STEP_REQUESTED, die);
	CHECK_OK(rdma_accept(id, NULL));
	reached(socket, STEP_ACCEPTED, die);
	CM_TAKE(events, ESTABLISHED, 0);
	reached(socket, STEP_ESTABLISHED, die);
	leave(socket, id, die);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static void server(int socket, int die)
{
	server_of(RDMA_PS_TCP, socket, die);
}

static void datagram_server(int socket, int die)
{
	server_of(RDMA_PS_UDP, socket, die);
}

/* --- the server dies --- */

/* Survive a connection whose other side dies at @die. */
static void outlive(struct rt_child *child, struct rdma_cm_id *id, enum step die)
{
	if (die == STEP_ASKED || die == STEP_OVER)
		CHECK_OK(rdma_disconnect(id));
	if (die == STEP_LEFT || die == STEP_OVER)
		CM_TAKE(id->channel, DISCONNECTED, 0);
	CHECK_INT(rt_hear(child->socket), die);
	rt_child_kill(child);
	if (die == STEP_ESTABLISHED || die == STEP_ASKED)
		CM_TAKE(id->channel, DISCONNECTED, 0);
	rdma_disconnect(id); /* may fail: the connection has ended already, or the peer has gone */
	rt_cm_destroy(id);
}

/* A process died in the middle of a handshake. The kernel's manager refuses for the dead
 * process. Without it, the peer gets the event UNREACHABLE. */
static void expect_gone(struct rdma_event_channel *events)
{
	if (rt_cm_is_kernel())
		CM_TAKE(events, REJECTED, 28);
	else
		CM_TAKE(events, UNREACHABLE, -ECONNRESET);
}

static void server_dies(const void *arg)
{
	const enum step *die = arg;
	struct rt_child child = rt_child_start(server, *die);
	uint16_t port = rt_hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);

	CHECK_OK(rdma_connect(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	outlive(&child, id, *die);
	rdma_destroy_event_channel(events);
}

static void server_dies_listening(void)
{
	struct rt_child child = rt_child_start(server, STEP_LISTENING);
	uint16_t port = rt_hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);

	CHECK_INT(rt_hear(child.socket), STEP_LISTENING);
	rt_child_kill(&child);
	CHECK_OK(rdma_connect(id, NULL));
	CM_TAKE(events, REJECTED, 8); /* no process listens */
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
}

/* There was no answer. The kernel refuses then (28, or 2 for datagrams). Otherwise the repeated
 * requests find that no process listens (8, 1). */
static void server_dies_requested(void)
{
	struct rt_child child = rt_child_start(server, STEP_REQUESTED),
			datagrams = rt_child_start(datagram_server, STEP_REQUESTED);
	struct rdma_event_channel *events = rt_cm_channel(), *ud_events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, rt_hear(child.socket), true),
			  *ud = rt_cm_client(ud_events, RDMA_PS_UDP, rt_hear(datagrams.socket),
					     true);

	CHECK_OK(rdma_connect(id, NULL));
	CHECK_OK(rdma_connect(ud, NULL));
	CHECK_INT(rt_hear(child.socket), STEP_REQUESTED);
	CHECK_INT(rt_hear(datagrams.socket), STEP_REQUESTED);
	rt_child_kill(&child);
	rt_child_kill(&datagrams);
	CM_TAKE(events, REJECTED, rt_cm_is_kernel() ? 28 : 8);
	CM_TAKE(ud_events, UNREACHABLE, rt_cm_is_kernel() ? 2 : 1);
	rt_cm_destroy(id);
	rt_cm_destroy(ud);
	rdma_destroy_event_channel(events);
	rdma_destroy_event_channel(ud_events);
}

/* The server may have died before it got the message that the client is ready. */
static void server_dies_accepted(void)
{
	struct rt_child child = rt_child_start(server, STEP_ACCEPTED);
	uint16_t port = rt_hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, true);
	struct rdma_cm_event *event;

	CHECK_OK(rdma_connect(id, NULL));
	CM_TAKE(events, ESTABLISHED, 0);
	CHECK_INT(rt_hear(child.socket), STEP_ACCEPTED);
	rt_child_kill(&child);
	CHECK_OK(rdma_get_cm_event(events, &event));
	CHECK(event->event == RDMA_CM_EVENT_DISCONNECTED || event->event == RDMA_CM_EVENT_REJECTED);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
}

/* A client that creates its queue pair itself has the answer, but has not yet reported that it is
 * ready. */
static struct rdma_cm_id *ask_named(struct rdma_event_channel *events, uint16_t port)
{
	struct rdma_conn_param param = { .qp_num = CLIENT_QPN, .responder_resources = 1 };
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, port, false);

	CHECK_OK(rdma_connect(id, &param));
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	return id;
}

static void server_dies_answered(void)
{
	struct rt_child child = rt_child_start(server, STEP_ACCEPTED);
	uint16_t port = rt_hear(child.socket);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = ask_named(events, port);

	CHECK_INT(rt_hear(child.socket), STEP_ACCEPTED);
	rt_child_kill(&child);
	expect_gone(events);
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
}

/* --- the client dies --- */

static void client(int socket, int die)
{
	struct rdma_event_channel *events = rt_cm_channel();
	uint16_t port = rt_hear(socket);
	struct rdma_cm_id *id;

	if (die == STEP_ANSWERED) {
		ask_named(events, port);
		reached(socket, STEP_ANSWERED, die);
	}
	id = rt_cm_client(events, RDMA_PS_TCP, port, true);
	CHECK_OK(rdma_connect(id, NULL));
	reached(socket, STEP_REQUESTED, die);
	CM_TAKE(events, ESTABLISHED, 0);
	reached(socket, STEP_ESTABLISHED, die);
	leave(socket, id, die);
}

static void datagram_client(int socket, int die)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_UDP, rt_hear(socket), true);

	CHECK_OK(rdma_connect(id, NULL));
	reached(socket, STEP_REQUESTED, die);
}

/* The listener continues to serve. */
static void serve_another(struct rdma_event_channel *events, uint16_t port)
{
	struct rdma_event_channel *others = rt_cm_channel();
	struct rdma_cm_id *accepted, *asked = rt_cm_connect(others, port, events, &accepted);

	rt_cm_disconnect(asked, accepted);
	rdma_destroy_event_channel(others);
}

/* The end of a request is not reported before it is accepted. Accepting reports it. */
static void accept_nobody(struct rdma_cm_id *id)
{
	rt_cm_await_end(id);
	rt_cm_expect_none(id->channel);
	CHECK_INT(rdma_accept(id, NULL), -1);
	CHECK_INT(errno, EINVAL);
	rt_cm_expect_none(id->channel);
	rt_cm_destroy(id);
}

static void client_dies_at(enum step die)
{
	struct rt_child child = rt_child_start(client, die);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_TCP, false), *id;
	uint16_t port = rt_cm_port(listener);

	rt_tell(child.socket, port);
	id = take_request(events);
	if (die >= STEP_ANSWERED)
		CHECK_OK(rdma_accept(id, NULL));
	if (die == STEP_REQUESTED) {
		CHECK_INT(rt_hear(child.socket), die);
		rt_child_kill(&child);
		accept_nobody(id);
	} else if (die >= STEP_ESTABLISHED) {
		CM_TAKE(events, ESTABLISHED, 0);
		outlive(&child, id, die);
	} else {
		CHECK_INT(rt_hear(child.socket), die);
		rt_child_kill(&child);
		expect_gone(events);
		rt_cm_destroy(id);
	}
	serve_another(events, port);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static void client_dies(const void *arg)
{
	const enum step *die = arg;

	if (*die == STEP_ANSWERED && rt_cm_is_kernel())
		rt_skip("a queue pair that nobody has is none to the kernel's software devices");
	client_dies_at(*die);
}

/* The client of this answer has gone, and the server continues. */
static void datagram_client_dies(void)
{
	struct rt_child child = rt_child_start(datagram_client, STEP_REQUESTED);
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_listen(events, RDMA_PS_UDP, false), *id;

	rt_tell(child.socket, rt_cm_port(listener));
	id = take_request(events);
	CHECK_INT(rt_hear(child.socket), STEP_REQUESTED);
	rt_child_kill(&child);
	CHECK_OK(rdma_accept(id, NULL));
	rt_cm_destroy(id);
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static const enum step requested = STEP_REQUESTED, answered = STEP_ANSWERED,
		       established = STEP_ESTABLISHED, left = STEP_LEFT, asked = STEP_ASKED,
		       over = STEP_OVER;

static const struct rt_case cases[] = {
	{ "server dies and nobody asked", server_dies_listening },
	{ "server dies with a request, connected and datagram", server_dies_requested },
	{ "server dies with an answer", server_dies_accepted },
	{ "server dies and the client is not ready", server_dies_answered },
	{ "server dies while connected", .run_with = server_dies, .arg = &established },
	{ "server dies after it disconnected", .run_with = server_dies, .arg = &left },
	{ "server dies asked to disconnect", .run_with = server_dies, .arg = &asked },
	{ "server dies after the end", .run_with = server_dies, .arg = &over },
	{ "client dies with a request", .run_with = client_dies, .arg = &requested },
	{ "client dies and never was ready", .run_with = client_dies, .arg = &answered },
	{ "client dies while connected", .run_with = client_dies, .arg = &established },
	{ "client dies after it disconnected", .run_with = client_dies, .arg = &left },
	{ "client dies asked to disconnect", .run_with = client_dies, .arg = &asked },
	{ "client dies after the end", .run_with = client_dies, .arg = &over },
	{ "client dies with a datagram service's request", datagram_client_dies },
};
RT_MAIN(cases)
