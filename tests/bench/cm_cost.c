/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections one after the other: the cost of each phase for a client.
 *
 *   cm_cost ADDRESS CONNECTIONS
 *   cm_cost ADDRESS CONNECTIONS storm
 *
 * The server is a child, so that strace without -f counts only the system calls of the client.
 * Prints "phase <name> <microseconds per connection>" for each phase and "rate <connections/s>".
 * The second form makes all connections at once. The server then dies, and the client destroys them
 * with their events unread. It prints "storm <microseconds per identifier>".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define PORT 7499

enum phase {
	RESOLVE_ADDR,
	RESOLVE_ROUTE,
	CREATE_QP,
	CONNECT,
	DISCONNECT,
	DESTROY,
	PHASES,
};

static const char *const names[PHASES] = { "resolve_addr", "resolve_route", "create_qp",
					   "connect",	   "disconnect",    "destroy" };
static double spent[PHASES];

static void die(const char *what)
{
	fprintf(stderr, "cm_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

#define CHECK(call)                 \
	do {                        \
		if (call)           \
			die(#call); \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static struct rdma_cm_id *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK(rdma_get_cm_event(ch, &event));
	id = event->id;
	if (event->event != type) {
		fprintf(stderr, "cm_cost: %s (%d) instead of %s\n", rdma_event_str(event->event),
			event->status, rdma_event_str(type));
		exit(1);
	}
	CHECK(rdma_ack_cm_event(event));
	return id;
}

static struct ibv_cq *cq_of(struct rdma_cm_id *id)
{
	static struct ibv_cq *cq;

	if (!cq)
		cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	return cq;
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_cq *cq = cq_of(id);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	CHECK(rdma_create_qp(id, NULL, &attr));
}

static void serve(struct sockaddr_in *addr, int connections, int ready)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;

	if (!ch)
		die("rdma_create_event_channel");
	CHECK(rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP));
	CHECK(rdma_bind_addr(listener, (struct sockaddr *)addr));
	CHECK(rdma_listen(listener, 16));
	CHECK(write(ready, "", 1) != 1);
	while (connections--) {
		id = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
		create_qp(id);
		CHECK(rdma_accept(id, &param));
		expect(ch, RDMA_CM_EVENT_ESTABLISHED);
		expect(ch, RDMA_CM_EVENT_DISCONNECTED);
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		CHECK(rdma_destroy_id(id));
	}
	CHECK(rdma_destroy_id(listener));
	rdma_destroy_event_channel(ch);
	exit(0);
}

static void phase_end(enum phase phase, double *since)
{
	double t = now();

	spent[phase] += t - *since;
	*since = t;
}

static void connect_once(struct rdma_event_channel *ch, struct sockaddr_in *addr)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };
	struct rdma_cm_id *id;
	double t = now();

	CHECK(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, 2000));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	phase_end(RESOLVE_ADDR, &t);
	CHECK(rdma_resolve_route(id, 2000));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	phase_end(RESOLVE_ROUTE, &t);
	create_qp(id);
	phase_end(CREATE_QP, &t);
	CHECK(rdma_connect(id, &param));
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	phase_end(CONNECT, &t);
	CHECK(rdma_disconnect(id));
	expect(ch, RDMA_CM_EVENT_DISCONNECTED);
	phase_end(DISCONNECT, &t);
	rdma_destroy_qp(id);
	CHECK(rdma_destroy_id(id));
	phase_end(DESTROY, &t);
}

/* --- all at once; queue pairs are only named --- */

static void storm_serve(struct sockaddr_in *addr, int connections, int ready, int dies)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *listener;
	char byte;

	if (!ch)
		die("rdma_create_event_channel");
	CHECK(rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP));
	CHECK(rdma_bind_addr(listener, (struct sockaddr *)addr));
	CHECK(rdma_listen(listener, 16));
	CHECK(write(ready, "", 1) != 1);
	while (connections--) {
		param.qp_num++;
		CHECK(rdma_accept(expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST), &param));
		expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	}
	(void)!read(dies, &byte, 1);
	raise(SIGKILL);
}

static struct rdma_cm_id *storm_connect(struct rdma_event_channel *ch, struct sockaddr_in *addr,
					uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };
	struct rdma_cm_id *id;

	CHECK(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, 2000));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(rdma_resolve_route(id, 2000));
	expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(rdma_connect(id, &param));
	expect(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	CHECK(rdma_establish(id));
	return id;
}

static int storm(struct sockaddr_in *addr, int connections)
{
	struct rdma_cm_id **ids = calloc(connections, sizeof(*ids));
	struct rdma_event_channel *ch;
	int ready[2], dies[2];
	double start;
	pid_t server;
	char byte;

	CHECK(pipe(ready));
	CHECK(pipe(dies));
	server = fork();
	if (!server) {
		close(dies[1]);
		storm_serve(addr, connections, ready[1], dies[0]);
	}
	ch = rdma_create_event_channel();
	if (!ids || !ch || read(ready[0], &byte, 1) != 1)
		return 1;
	for (int i = 0; i < connections; i++)
		ids[i] = storm_connect(ch, addr, i + 2);
	close(dies[1]);
	waitpid(server, NULL, 0);
	sleep(2); /* all events are there */
	start = now();
	for (int i = 0; i < connections; i++)
		CHECK(rdma_destroy_id(ids[connections - 1 - i]));
	printf("storm %.2f\n", (now() - start) / connections);
	rdma_destroy_event_channel(ch);
	free(ids);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int connections = argc > 2 ? atoi(argv[2]) : 0, ready[2], status;
	struct rdma_event_channel *ch;
	double start;
	pid_t server;
	char byte;

	if (argc < 3 || connections < 1 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: cm_cost ADDRESS CONNECTIONS [storm]\n");
		return 2;
	}
	if (argc > 3)
		return storm(&addr, connections);
	CHECK(pipe(ready));
	server = fork();
	if (!server)
		serve(&addr, connections, ready[1]);
	CHECK(close(ready[1]));
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	ch = rdma_create_event_channel();
	if (!ch)
		die("rdma_create_event_channel");
	start = now();
	for (int i = 0; i < connections; i++)
		connect_once(ch, &addr);
	printf("rate %.0f\n", connections * 1e6 / (now() - start));
	for (int i = 0; i < PHASES; i++)
		printf("phase %s %.1f\n", names[i], spent[i] / connections);
	rdma_destroy_event_channel(ch);
	waitpid(server, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
