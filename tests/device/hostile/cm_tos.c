/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The type of service that a client chose is in every message of its connection, both ways, as
 * seen on the link, and in both queue pairs. It is also in messages without an identifier: the
 * probe whether the peer is alive, and the message after a kill. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "librdmacm/ibcm/mad.h"
#include "tests/device/hostile/net.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7500,
	STRANGE_PORT, /* has no listener */
	TOS = 0x68,
	OTHER_TOS = 0x20,
	RESOLVE_MS = 60000,
	CLIENT_QPN = 0x123456, /* no such QP exists */
	SERVER_QPN = 0x654321,
	UD_SEND_ONLY = 0x64,
	UDP_PORT = 4791,
	IP_LEN = 20,
	IP_UDP_LEN = 28,
	BTH_DETH_LEN = 20,
};

static void at_port(struct sockaddr_in *in, uint16_t port)
{
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, "192.0.2.2", &in->sin_addr);
}

/* ---- both ends ---- */

/* Enter a host, and end with the test. */
static void enter(int host)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	net_enter(host);
}

static void check_class(struct rdma_cm_id *id, int tos)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	CHECK_OK(rdma_init_qp_attr(id, &attr, &mask));
	CHECK_INT(attr.ah_attr.grh.traffic_class, tos);
}

static struct rdma_cm_id *serve_from(struct rdma_event_channel *events, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	struct sockaddr_in in;

	at_port(&in, PORT);
	CHECK_OK(rdma_bind_addr(id, (struct sockaddr *)&in));
	CHECK_OK(rdma_listen(id, 0));
	return id;
}

static struct rdma_cm_id *take(struct rdma_event_channel *events)
{
	struct rdma_cm_event *event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	struct rdma_cm_id *id = event->id;

	CHECK_OK(rdma_ack_cm_event(event));
	return id;
}

static void server(int socket, int count)
{
	struct rdma_conn_param param = { .qp_num = SERVER_QPN, .responder_resources = 1 };
	struct rdma_cm_id *tcp, *udp, *id;
	struct rdma_event_channel *events;

	enter(NET_THERE);
	events = rt_cm_channel();
	tcp = serve_from(events, RDMA_PS_TCP);
	udp = serve_from(events, RDMA_PS_UDP);
	rt_tell(socket, 0);
	id = take(events);
	check_class(id, TOS);
	CHECK_OK(rdma_accept(id, &param));
	CM_TAKE(events, ESTABLISHED, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	CHECK_OK(rdma_disconnect(id));
	CHECK_OK(rdma_destroy_id(id));
	id = take(events);
	CHECK_OK(rdma_accept(id, &param));
	CHECK_OK(rdma_destroy_id(id));
	/* the request of another client, which chose its own type of service */
	id = take(events);
	check_class(id, OTHER_TOS);
	CHECK_OK(rdma_reject(id, NULL, 0));
	CHECK_OK(rdma_destroy_id(id));
	/* a client that is killed */
	id = take(events);
	CHECK_OK(rdma_accept(id, &param));
	CM_TAKE(events, ESTABLISHED, 0);
	CM_TAKE(events, DISCONNECTED, 0);
	CHECK_OK(rdma_destroy_id(id));
	CHECK_OK(rdma_destroy_id(udp));
	CHECK_OK(rdma_destroy_id(tcp));
	rdma_destroy_event_channel(events);
}

static struct rdma_cm_id *ask(struct rdma_event_channel *events, enum rdma_port_space ps,
			      uint16_t port, uint8_t tos)
{
	struct rdma_conn_param param = { .qp_num = CLIENT_QPN, .responder_resources = 1 };
	struct rdma_cm_id *id = rt_cm_id(events, ps);
	struct sockaddr_in to;

	at_port(&to, port);
	CHECK_OK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1));
	CHECK_OK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

static void client(int socket, int arg)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	enter(NET_HERE);
	events = rt_cm_channel();
	id = ask(events, RDMA_PS_TCP, PORT, TOS);
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	check_class(id, TOS);
	CHECK_OK(rdma_establish(id));
	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(events, DISCONNECTED, 0);
	CHECK_OK(rdma_destroy_id(id));
	id = ask(events, RDMA_PS_UDP, PORT, TOS);
	CM_TAKE(events, ESTABLISHED, 0);
	CHECK_OK(rdma_destroy_id(id));
	rt_tell(socket, 0);
	rt_hear(socket);
	id = ask(events, RDMA_PS_TCP, PORT, OTHER_TOS);
	CM_TAKE(events, REJECTED, 28);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void client_refused(int socket, int arg)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	enter(NET_HERE);
	events = rt_cm_channel();
	id = ask(events, RDMA_PS_TCP, STRANGE_PORT, TOS);
	CM_TAKE(events, REJECTED, 8);
	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
}

static void client_killed(int socket, int arg)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	enter(NET_HERE);
	events = rt_cm_channel();
	id = ask(events, RDMA_PS_TCP, PORT, TOS);
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	rt_tell(socket, 0);
	for (;;)
		pause();
}

/* ---- on the link ---- */

static int link_open(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));

	if (fd < 0)
		rt_skip("cannot listen on the link: %m");
	return fd;
}

/* Return the kind of message, or a negative number for a message that is not the connection
 * manager's. */
static int kind_of(const uint8_t *frame, ssize_t length)
{
	struct ibcm_mad mad;

	if (length < IP_UDP_LEN + BTH_DETH_LEN + IBCM_MAD_LEN || frame[0] != 0x45 ||
	    (frame[IP_LEN + 2] << 8 | frame[IP_LEN + 3]) != UDP_PORT ||
	    frame[IP_UDP_LEN] != UD_SEND_ONLY ||
	    ibcm_mad_unpack(frame + IP_UDP_LEN + BTH_DETH_LEN, &mad) < 0)
		return -1;
	return mad.type;
}

/* Check that all messages on the link have a type of service that a client chose; the last one's
 * may come a second time, late. Return a bit for each kind of message with this type of service. */
static uint32_t check_link(int fd, uint8_t tos)
{
	uint8_t frame[2048];
	uint32_t seen = 0;
	ssize_t n;

	while ((n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT)) >= 0) {
		int kind = kind_of(frame, n);

		/* an answer carries the type of service of its request */
		if (kind < 0 || kind == IBCM_SIDR_REP)
			continue;
		if (frame[1] != TOS && frame[1] != OTHER_TOS)
			FAIL("a message of kind %d has type of service 0x%x", kind, frame[1]);
		if (frame[1] == tos)
			seen |= 1u << kind;
	}
	return seen;
}

/* Wait until a message of this kind has passed. */
static void await_link(int fd, enum ibcm_message kind)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	while (!(check_link(fd, TOS) & 1u << kind))
		(void)poll(&wait, 1, -1);
}

int main(void)
{
	const uint32_t all = 1u << IBCM_REQ | 1u << IBCM_REP | 1u << IBCM_RTU | 1u << IBCM_DREQ |
			     1u << IBCM_DREP | 1u << IBCM_SIDR_REQ;
	struct rt_child there, here;
	int link;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(RT_SECONDS);
	net_make("udp");
	link = link_open();
	there = rt_child_start(server, 0);
	rt_hear(there.socket);
	here = rt_child_start(client, 0);
	rt_hear(here.socket);
	CHECK_INT(check_link(link, TOS) & all, all);
	rt_tell(here.socket, 0);
	rt_child_finish(&here);
	CHECK(check_link(link, OTHER_TOS) & 1u << IBCM_REJ);
	here = rt_child_start(client_refused, 0);
	rt_child_finish(&here);
	CHECK(check_link(link, TOS) & 1u << IBCM_REJ);
	here = rt_child_start(client_killed, 0);
	rt_hear(here.socket);
	await_link(link, IBCM_LAP);
	(void)check_link(link, TOS);
	rt_child_kill(&here);
	await_link(link, IBCM_DREQ);
	rt_child_finish(&there);
	return 0;
}
