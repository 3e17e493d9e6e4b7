/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: cm_peer server ADDRESS
 *        cm_peer client ADDRESS
 *        cm_peer mortals ADDRESS    servers that are killed, and a surviving server
 *        cm_peer survivor ADDRESS   client of these
 *        cm_peer bereaved ADDRESS   a server whose client is killed
 *        cm_peer doomed ADDRESS     client of this
 *        cm_peer unheard ADDRESS    a client of an address without RoCE
 *
 * Two ends of connections on two hosts, with any connection manager: private data of full length
 * each way, every kind of refusal, stale connections, a datagram service. The first byte of a
 * request's private data tells the server what to do with the request.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <time.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7300,
	PORT_DIES_ASKED,
	PORT_DIES_CONNECTED,
	PORT_NOBODY = 7399,
	REQUEST_DATA = 56,
	REPLY_DATA = 196,
	REJECT_DATA = 148,
	UD_REQUEST_DATA = 180,
	UD_REPLY_DATA = 136,
	CLIENT_QPN = 0x123456, /* no such QP exists */
	LOST_QPN = 0x222222,
	DOOMED_QPN = 0x333333,
	SERVER_QPN = 0x654321,
	REASON_NOBODY = 8, /* IBTA reject reasons */
	REASON_STALE = 10,
	REASON_CONSUMER = 28,
	RESOLVE_MS = 60000,
	LIVES = 1,  /* seconds before a client is killed */
	TRIES = 60, /* half a second each: longer than any time wait */
};

enum wish {
	WISH_ACCEPT = 'a',
	WISH_REJECT = 'r',
	WISH_DESTROY = 'd',
	WISH_NAMED_QP = 'n',
	WISH_DIE = 'k',
	WISH_QUIT = 'q',
};

static struct sockaddr_in address;

static struct sockaddr *address_with(uint16_t port)
{
	address.sin_port = htons(port);
	return (struct sockaddr *)&address;
}

/* ---- server ---- */

static void accept_request(struct rdma_cm_id *id, bool ud, const void *asked)
{
	uint8_t data[REPLY_DATA];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = ud ? UD_REPLY_DATA : REPLY_DATA,
		.responder_resources = 1,
		.initiator_depth = 1,
	};

	VERIFY((const uint8_t *)asked + 1, (ud ? UD_REQUEST_DATA : REQUEST_DATA) - 1, 1);
	rt_fill(data, sizeof(data), 2);
	rt_cm_qp(id);
	param.qp_num = id->qp->qp_num;
	CHECK_OK(rdma_accept(id, &param));
}

static void reject_request(struct rdma_cm_id *id)
{
	uint8_t data[REJECT_DATA];

	rt_fill(data, sizeof(data), 3);
	CHECK_OK(rdma_reject(id, data, sizeof(data)));
	rt_cm_destroy(id);
}

static bool on_request(struct rdma_cm_event *event)
{
	struct rdma_conn_param named = { .qp_num = SERVER_QPN };
	struct rdma_cm_id *id = event->id;
	bool ud = id->ps == RDMA_PS_UDP;
	const uint8_t *asked = ud ? event->param.ud.private_data : event->param.conn.private_data;
	uint8_t length = ud ? event->param.ud.private_data_len : event->param.conn.private_data_len;
	enum wish wish = asked[0];

	CHECK_INT(length, ud ? UD_REQUEST_DATA : REQUEST_DATA);
	if (wish == WISH_ACCEPT)
		accept_request(id, ud, asked);
	CHECK_OK(rdma_ack_cm_event(event));
	if (wish == WISH_REJECT || wish == WISH_QUIT)
		reject_request(id);
	else if (wish == WISH_DESTROY)
		rt_cm_destroy(id);
	else if (wish == WISH_DIE)
		raise(SIGKILL);
	else if (wish == WISH_NAMED_QP)
		CHECK_OK(rdma_accept(id, &named));
	return wish != WISH_QUIT;
}

static bool server_step(struct rdma_event_channel *events, uint16_t port)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK_OK(rdma_get_cm_event(events, &event));
	id = event->id;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return on_request(event);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED && port == PORT_DIES_CONNECTED)
		raise(SIGKILL);
	if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
		CHECK_OK(rdma_ack_cm_event(event));
		rdma_disconnect(id);
		rt_cm_destroy(id);
		return true;
	}
	CHECK(event->event == RDMA_CM_EVENT_ESTABLISHED ||
	      event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	CHECK_OK(rdma_ack_cm_event(event));
	return true;
}

static void server(uint16_t port)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *tcp = rt_cm_id(events, RDMA_PS_TCP),
			  *udp = rt_cm_id(events, RDMA_PS_UDP);

	CHECK_OK(rdma_bind_addr(tcp, address_with(port)));
	CHECK_OK(rdma_bind_addr(udp, address_with(port)));
	CHECK_OK(rdma_listen(tcp, 0));
	CHECK_OK(rdma_listen(udp, 0));
	while (server_step(events, port))
		;
	CHECK_OK(rdma_destroy_id(tcp));
	CHECK_OK(rdma_destroy_id(udp));
	rdma_destroy_event_channel(events);
}

static void mortal(int socket, int port)
{
	server(port);
}

/* The surviving process also answers that the others have gone, if there is no kernel's manager. */
static void mortals(void)
{
	struct rt_child asked = rt_child_start(mortal, PORT_DIES_ASKED),
			connected = rt_child_start(mortal, PORT_DIES_CONNECTED);

	server(PORT);
	rt_child_kill(&asked);
	rt_child_kill(&connected);
}

/* ---- client ---- */

static struct rdma_cm_id *ask_as(struct rdma_event_channel *events, enum rdma_port_space ps,
				 uint16_t port, enum wish wish, uint32_t qpn)
{
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	uint8_t data[UD_REQUEST_DATA];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = ps == RDMA_PS_UDP ? UD_REQUEST_DATA : REQUEST_DATA,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.qp_num = qpn,
	};

	data[0] = wish;
	rt_fill(data + 1, sizeof(data) - 1, 1);
	CHECK_OK(rdma_resolve_addr(id, NULL, address_with(port), RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	if (wish != WISH_NAMED_QP)
		rt_cm_qp(id);
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

static struct rdma_cm_id *ask(struct rdma_event_channel *events, enum rdma_port_space ps,
			      uint16_t port, enum wish wish)
{
	return ask_as(events, ps, port, wish, CLIENT_QPN);
}

static void ask_refused(struct rdma_event_channel *events, uint16_t port, enum wish wish,
			int reason)
{
	struct rdma_cm_id *id = ask(events, RDMA_PS_TCP, port, wish);
	struct rdma_cm_event *event = CM_EXPECT(events, REJECTED, reason);

	CHECK_INT(event->param.conn.private_data_len, REJECT_DATA);
	if (wish == WISH_REJECT)
		VERIFY(event->param.conn.private_data, REJECT_DATA, 3);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
}

static void ask_accepted(struct rdma_event_channel *events)
{
	struct rdma_cm_id *id = ask(events, RDMA_PS_TCP, PORT, WISH_ACCEPT);
	struct rdma_cm_event *event = CM_EXPECT(events, ESTABLISHED, 0);

	CHECK_INT(event->param.conn.private_data_len, REPLY_DATA);
	VERIFY(event->param.conn.private_data, REPLY_DATA, 2);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(events, DISCONNECTED, 0);
	rt_cm_destroy(id);
}

static void ask_datagram(struct rdma_event_channel *events)
{
	struct rdma_cm_id *id = ask(events, RDMA_PS_UDP, PORT, WISH_ACCEPT);
	struct rdma_cm_event *event = CM_EXPECT(events, ESTABLISHED, 0);

	CHECK_INT(event->param.ud.private_data_len, UD_REPLY_DATA);
	VERIFY(event->param.ud.private_data, UD_REPLY_DATA, 2);
	CHECK_INT(event->param.ud.qkey, RDMA_UDP_QKEY);
	CHECK(event->param.ud.qp_num);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
}

/* The new connection is refused, and the old one ends, because one of the two must be wrong. */
static void ask_stale(struct rdma_event_channel *events)
{
	struct rdma_cm_id *first = ask(events, RDMA_PS_TCP, PORT, WISH_NAMED_QP), *second;
	struct rdma_cm_event *event = CM_EXPECT(events, CONNECT_RESPONSE, 0);

	CHECK_INT(event->param.conn.qp_num, SERVER_QPN);
	CHECK_OK(rdma_ack_cm_event(event));
	CHECK_OK(rdma_establish(first));
	second = ask(events, RDMA_PS_TCP, PORT, WISH_NAMED_QP);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(rdma_get_cm_event(events, &event));
		CHECK_INT(event->event, event->id == second ? RDMA_CM_EVENT_REJECTED
							    : RDMA_CM_EVENT_DISCONNECTED);
		if (event->id == second)
			CHECK_INT(event->status, REASON_STALE);
		CHECK_OK(rdma_ack_cm_event(event));
	}
	rdma_disconnect(first);
	CHECK_OK(rdma_destroy_id(first));
	CHECK_OK(rdma_destroy_id(second));
}

/* Connect, and end. */
static void lost_client(int socket, int qpn)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = ask_as(events, RDMA_PS_TCP, PORT, WISH_NAMED_QP, qpn);

	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	rt_tell(socket, 0);
	pause();
}

/* Another process uses the same number. The server refuses it as stale if it does not know yet that
 * the first process has gone, and during the time wait of the old connection, but not for long. */
static void ask_after_loss(struct rdma_event_channel *events)
{
	int refused = 0;

	for (int i = 0; i < TRIES; i++) {
		struct rdma_cm_id *id = ask_as(events, RDMA_PS_TCP, PORT, WISH_NAMED_QP, LOST_QPN);
		struct rdma_cm_event *event;
		bool accepted;

		CHECK_OK(rdma_get_cm_event(events, &event));
		accepted = event->event == RDMA_CM_EVENT_CONNECT_RESPONSE;
		if (!accepted) {
			CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
			CHECK_INT(event->status, REASON_STALE);
		}
		CHECK_OK(rdma_ack_cm_event(event));
		if (accepted) {
			CHECK_OK(rdma_establish(id));
			CHECK_OK(rdma_disconnect(id));
			CM_TAKE(events, DISCONNECTED, 0);
			CHECK_OK(rdma_destroy_id(id));
			printf("after a process was lost: %d times stale, then accepted\n",
			       refused);
			return;
		}
		CHECK_OK(rdma_destroy_id(id));
		refused++;
		usleep(500000);
	}
	FAIL("the number of a lost process stays refused");
}

static void client(void)
{
	struct rt_child lost = rt_child_start(lost_client, LOST_QPN);
	struct rdma_event_channel *events;

	rt_hear(lost.socket);
	rt_child_kill(&lost);
	events = rt_cm_channel();
	ask_after_loss(events);
	ask_accepted(events);
	ask_refused(events, PORT, WISH_REJECT, REASON_CONSUMER);
	ask_refused(events, PORT, WISH_DESTROY, REASON_CONSUMER);
	ask_refused(events, PORT_NOBODY, WISH_REJECT + 1, REASON_NOBODY);
	ask_stale(events);
	ask_datagram(events);
	ask_refused(events, PORT, WISH_QUIT, REASON_CONSUMER);
	rdma_destroy_event_channel(events);
}

/* No process is left to answer the request: that is reported at once, or after a repetition. */
static void expect_death(struct rdma_event_channel *events, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	CHECK_OK(rdma_get_cm_event(events, &event));
	CHECK(event->id == id && event->status);
	CHECK(event->event == RDMA_CM_EVENT_REJECTED || event->event == RDMA_CM_EVENT_UNREACHABLE);
	printf("the listener died: %s, %d\n", rdma_event_str(event->event), event->status);
	CHECK_OK(rdma_ack_cm_event(event));
	rt_cm_destroy(id);
}

/* The server's host reports its end, with any connection manager. */
static void lose_server(struct rdma_event_channel *events)
{
	struct rdma_cm_id *id = ask(events, RDMA_PS_TCP, PORT_DIES_CONNECTED, WISH_NAMED_QP);

	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	CM_TAKE(events, DISCONNECTED, 0);
	rdma_disconnect(id);
	CHECK_OK(rdma_destroy_id(id));
}

static void survivor(void)
{
	struct rdma_event_channel *events = rt_cm_channel(), *others = rt_cm_channel();
	struct rdma_cm_id *unanswered;

	/* All of them listen by now. */
	ask_refused(events, PORT, WISH_REJECT, REASON_CONSUMER);
	ask_refused(events, PORT_DIES_ASKED, WISH_REJECT, REASON_CONSUMER);
	ask_refused(events, PORT_DIES_CONNECTED, WISH_REJECT, REASON_CONSUMER);
	unanswered = ask(others, RDMA_PS_TCP, PORT_DIES_ASKED, WISH_DIE);
	lose_server(events);
	expect_death(others, unanswered);
	ask_refused(events, PORT, WISH_QUIT, REASON_CONSUMER);
	rdma_destroy_event_channel(events);
	rdma_destroy_event_channel(others);
}

/* ---- a client that is killed ---- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The two hosts have two clocks. */
static void bereaved(void)
{
	struct rdma_conn_param param = { .qp_num = SERVER_QPN };
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *listener = rt_cm_id(events, RDMA_PS_TCP), *id;
	struct rdma_cm_event *event;
	double begin;

	CHECK_OK(rdma_bind_addr(listener, address_with(PORT)));
	CHECK_OK(rdma_listen(listener, 0));
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	id = event->id;
	CHECK_OK(rdma_accept(id, &param));
	CHECK_OK(rdma_ack_cm_event(event));
	CM_TAKE(events, ESTABLISHED, 0);
	begin = seconds();
	CM_TAKE(events, DISCONNECTED, 0);
	printf("a client that is killed after %d s: DISCONNECTED after %.2f s\n", LIVES,
	       seconds() - begin);
	rdma_disconnect(id);
	CHECK_OK(rdma_destroy_id(id));
	CHECK_OK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(events);
}

static void doomed(void)
{
	struct rt_child client = rt_child_start(lost_client, DOOMED_QPN);

	rt_hear(client.socket);
	sleep(LIVES);
	rt_child_kill(&client);
}

static void unheard(void)
{
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = ask(events, RDMA_PS_TCP, PORT, WISH_ACCEPT);
	time_t start = time(NULL);

	CM_TAKE(events, UNREACHABLE, -ETIMEDOUT);
	printf("unreachable after %d seconds\n", (int)(time(NULL) - start));
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
}

static void serve(void)
{
	server(PORT);
}

static const struct {
	const char *name;
	void (*run)(void);
} roles[] = {
	{ "server", serve },	  { "client", client },	    { "mortals", mortals },
	{ "survivor", survivor }, { "bereaved", bereaved }, { "doomed", doomed },
	{ "unheard", unheard },
};

int main(int argc, char **argv)
{
	address.sin_family = AF_INET;
	for (int i = 0; argc == 3 && i < RT_COUNT(roles); i++) {
		if (strcmp(argv[1], roles[i].name) ||
		    inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
			continue;
		roles[i].run();
		return 0;
	}
	fprintf(stderr, "usage: cm_peer server|client|mortals|survivor|bereaved|doomed|"
			"unheard ADDRESS\n");
	return 2;
}
