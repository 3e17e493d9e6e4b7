/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host sends messages of the connection manager to two other hosts that have a connection: a
 * request from its own address for every possible number of the connection's queue pair,
 * messages with the connection's ids, requests to a listener and to a port without one. The
 * connection is unaffected, other connections are made meanwhile, and the memory of the two
 * hosts stays bounded. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/device/hostile/net.h"
#include "tests/device/hostile/stranger.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7500,
	RESOLVE_MS = 60000,
	CLIENT_QPN = 0x123456, /* no such QP exists */
	SERVER_QPN = 0x654321,
	STALE = 65536, /* requests, each for another queue pair */
	STALE_FROM = CLIENT_QPN - 100,
	EARLY = 2000,	/* for a port without a listener */
	FOREIGN = 1000, /* of each kind */
	HALF_OPEN_MAX = 21846,
	BURST = 32, /* between two pauses */
	OTHERS = 200,
	IP_UDP_LEN = 28,
};

#define STRANGER "192.0.2.3"

/* The stranger's knowledge of the connection, learned from packets on the link. */
static struct world {
	uint64_t client_guid, server_guid;
	uint32_t client_id, server_id;
	uint32_t requests, established, disconnected; /* as the server sees it */
	volatile bool stop;
} * world;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static struct sockaddr *address(uint16_t port)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, "192.0.2.2", &in.sin_addr);
	return (struct sockaddr *)&in;
}

/* --- the server: takes every request --- */

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void server_step(struct rdma_event_channel *events)
{
	struct rdma_conn_param param = { .qp_num = SERVER_QPN };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK_OK(rdma_get_cm_event(events, &event));
	id = event->id;
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		world->requests++;
		(void)rdma_accept(id, &param); /* it may have gone again */
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		world->established++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		world->disconnected++;
		rdma_disconnect(id);
		break;
	default:
		break;
	}
	CHECK_OK(rdma_ack_cm_event(event));
}

static void server(int socket, int arg)
{
	struct rdma_event_channel *events;
	struct pollfd waiting = { .events = POLLIN };
	struct rdma_cm_id *listener;
	long before;

	net_enter(NET_THERE);
	events = rt_cm_channel();
	listener = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_OK(rdma_bind_addr(listener, address(PORT)));
	CHECK_OK(rdma_listen(listener, 0));
	before = resident_kib();
	rt_tell(socket, 0);
	waiting.fd = events->fd;
	while (!world->stop)
		if (poll(&waiting, 1, 10) > 0)
			server_step(events);
	printf("the server took %u requests, and %ld KiB of memory for all of them\n",
	       world->requests, resident_kib() - before);
}

/* --- the client, and others --- */

static struct rdma_cm_id *connect_to(struct rdma_event_channel *events, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, address(PORT), RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_connect(id, &param));
	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	return id;
}

static void disconnect(struct rdma_cm_id *id)
{
	CHECK_OK(rdma_disconnect(id));
	CM_TAKE(id->channel, DISCONNECTED, 0);
	CHECK_OK(rdma_destroy_id(id));
}

/* The connection that is attacked: it ends as soon as this end disconnects. */
static void client(int socket, int arg)
{
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;

	net_enter(NET_HERE);
	events = rt_cm_channel();
	id = connect_to(events, CLIENT_QPN);
	rt_tell(socket, 0);
	rt_hear(socket);
	rt_cm_expect_none(events);
	disconnect(id);
	rdma_destroy_event_channel(events);
}

/* Make ordinary connections until told to stop. */
static void others(int socket, int arg)
{
	struct rdma_event_channel *events;
	double begin, longest = 0;

	net_enter(NET_HERE);
	events = rt_cm_channel();
	for (int i = 0; i < OTHERS; i++) {
		begin = seconds();
		disconnect(connect_to(events, CLIENT_QPN + STALE + i));
		if (seconds() - begin > longest)
			longest = seconds() - begin;
	}
	printf("%d others connected and disconnected meanwhile, the slowest in %.2f s\n", OTHERS,
	       longest);
	rdma_destroy_event_channel(events);
}

/* --- the stranger listens --- */

static int link_open(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));

	if (fd < 0)
		rt_skip("cannot listen on the link: %m");
	return fd;
}

/* Read packets until the answer to the request has passed. */
static void learn(int fd)
{
	uint8_t frame[2048];

	while (!world->server_id) {
		ssize_t n = recv(fd, frame, sizeof(frame), 0);
		struct ibcm_mad mad;

		if (n < IP_UDP_LEN + STRANGER_BTH_DETH_LEN + IBCM_MAD_LEN ||
		    frame[IP_UDP_LEN] != STRANGER_UD_SEND_ONLY ||
		    ibcm_mad_unpack(frame + IP_UDP_LEN + STRANGER_BTH_DETH_LEN, &mad) < 0)
			continue;
		if (mad.type == IBCM_REQ)
			world->client_guid = mad.req.ca_guid;
		if (mad.type != IBCM_REP)
			continue;
		world->client_id = mad.remote_id;
		world->server_guid = mad.rep.ca_guid;
		world->server_id = mad.local_id;
	}
	close(fd);
}

/* --- and sends --- */

static void say(struct stranger *s, const struct ibcm_mad *mad)
{
	stranger_say(s, mad);
	if (s->sent % BURST == 0)
		usleep(500);
}

static struct ibcm_mad request(const struct stranger *s, uint32_t id, uint32_t qpn, uint16_t port)
{
	struct ibcm_mad mad = {
		.type = IBCM_REQ,
		.tid = id,
		.local_id = id,
		.req = { .service_id = (uint64_t)RDMA_PS_TCP << 16 | port,
			 .ca_guid = world->client_guid,
			 .qpn = qpn,
			 .remote_response_timeout = 31,
			 .local_response_timeout = 31,
			 .max_cm_retries = 15,
			 .mtu = IBV_MTU_1024,
			 .primary.ack_timeout = 31 },
		.private_len = IBCM_IP_LEN,
	};
	struct ibcm_ip ip = { .family = AF_INET };

	memcpy(ip.src.s6_addr + 12, &s->from.in.sin_addr, 4);
	memcpy(ip.dst.s6_addr + 12, &s->to.in.sin_addr, 4);
	ibcm_ip_pack(&ip, mad.private_data);
	return mad;
}

/* Send a message to @s->to as if from the other end. */
static void say_foreign(struct stranger *s, uint32_t local_id, uint32_t remote_id, uint32_t qpn,
			uint64_t guid)
{
	static const enum ibcm_message types[] = { IBCM_REJ, IBCM_DREQ, IBCM_DREP, IBCM_MRA,
						   IBCM_REP, IBCM_RTU,	IBCM_LAP,  IBCM_APR };

	for (int i = 0; i < FOREIGN * RT_COUNT(types); i++) {
		struct ibcm_mad mad = { .type = types[i % RT_COUNT(types)],
					.tid = i,
					.local_id = local_id,
					.remote_id = remote_id };
		uint64_t be = htobe64(guid);

		if (mad.type == IBCM_DREQ)
			mad.dreq.remote_qpn = qpn;
		if (mad.type == IBCM_APR)
			mad.apr.status = IBCM_APR_NO_CONNECTION;
		if (mad.type == IBCM_REJ) {
			mad.rej.reason = i % 16 ? IBCM_REJ_CONSUMER : IBCM_REJ_TIMEOUT;
			mad.rej.info_length = sizeof(be);
			memcpy(mad.rej.info, &be, sizeof(be));
			if (i % 32 == 0)
				mad.remote_id = 0;
		}
		say(s, &mad);
	}
}

static void attack(void)
{
	struct stranger server_side = stranger_at(STRANGER, 0, "192.0.2.2"),
			client_side = stranger_at(STRANGER, 0, "192.0.2.1");
	struct ibcm_mad mad;
	double begin = seconds();

	for (uint32_t i = 0; i < STALE; i++) {
		mad = request(&server_side, i + 1, STALE_FROM + i, PORT);
		say(&server_side, &mad);
	}
	printf("%u requests in %.1f s\n", STALE, seconds() - begin);
	for (uint32_t i = 0; i < EARLY; i++) {
		mad = request(&server_side, STALE + i + 1, i + 2, PORT + 1);
		say(&server_side, &mad);
	}
	/* the client's id of the connection too */
	mad = request(&server_side, world->client_id, CLIENT_QPN, PORT);
	say(&server_side, &mad);
	say_foreign(&server_side, world->client_id, world->server_id, SERVER_QPN,
		    world->client_guid);
	say_foreign(&client_side, world->server_id, world->client_id, CLIENT_QPN,
		    world->server_guid);
	close(server_side.fd);
	close(client_side.fd);
}

static void check_all(struct rt_child *here, struct rt_child *meanwhile)
{
	rt_child_finish(meanwhile);
	/* the others' connections, each once */
	while (world->established < 1 + OTHERS)
		usleep(1000);
	while (world->disconnected < OTHERS)
		usleep(1000);
	CHECK_INT(world->disconnected, OTHERS);
	CHECK(world->requests <= HALF_OPEN_MAX + 1 + OTHERS);
	rt_tell(here->socket, 0);
	rt_child_finish(here);
	while (world->disconnected < OTHERS + 1)
		usleep(1000);
}

int main(void)
{
	struct rt_child there, here, meanwhile;
	int link;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(RT_SECONDS);
	net_make("udp");
	/* an address on the link without a device: no process answers for the stranger */
	if (system("ip addr add 192.0.2.3/32 dev lo"))
		rt_skip("cannot have a second address");
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	link = link_open();
	there = rt_child_start(server, 0);
	rt_hear(there.socket);
	here = rt_child_start(client, 0);
	learn(link);
	rt_hear(here.socket);
	meanwhile = rt_child_start(others, 0);
	attack();
	check_all(&here, &meanwhile);
	world->stop = true;
	rt_child_finish(&there);
	return 0;
}
