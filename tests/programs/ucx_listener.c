/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UCX's own listener on librdmacm, and clients that give up before they are answered. UCX ends
 * the process if it gets an event of a connection that it did not accept.
 *
 * usage: ucx_listener IPV4-ADDRESS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>

enum {
	PORT = 7600,
	CLIENTS = 20, /* every fourth waits for the answer */
	CLIENT_QPN = 0x123456,
	REQUEST_DATA = 56,
	SECONDS = 60,
};

#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: %s: %m\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static uct_conn_request_h requests[CLIENTS];
static atomic_int arrived;

static void requested(uct_listener_h listener, void *arg,
		      const uct_cm_listener_conn_request_args_t *args)
{
	int n = atomic_load(&arrived);

	requests[n] = args->conn_request;
	atomic_store(&arrived, n + 1);
}

/* ---- UCX's side ---- */

static uct_component_h component_find(const char *name)
{
	uct_component_attr_t attr = { .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME };
	uct_component_h *components, found = NULL;
	unsigned int count;

	CHECK(uct_query_components(&components, &count) == UCS_OK);
	for (unsigned int i = 0; i < count; i++)
		if (uct_component_query(components[i], &attr) == UCS_OK && !strcmp(attr.name, name))
			found = components[i];
	return found;
}

static uct_listener_h listen_on(const struct sockaddr_in *address)
{
	uct_component_h component = component_find("rdmacm");
	uct_listener_params_t params = {
		.field_mask = UCT_LISTENER_PARAM_FIELD_CONN_REQUEST_CB,
		.conn_request_cb = requested,
	};
	ucs_async_context_t *async;
	uct_cm_config_t *config;
	uct_listener_h listener;
	uct_worker_h worker;
	ucs_status_t status;
	uct_cm_h cm;

	CHECK(component);
	CHECK(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) == UCS_OK);
	CHECK(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker) == UCS_OK);
	CHECK(uct_cm_config_read(component, NULL, NULL, &config) == UCS_OK);
	CHECK(uct_cm_open(component, worker, config, &cm) == UCS_OK);
	status = uct_listener_create(cm, (const struct sockaddr *)address, sizeof(*address),
				     &params, &listener);
	if (status != UCS_OK) {
		fprintf(stderr, "uct_listener_create: %s\n", ucs_status_string(status));
		exit(1);
	}
	return listener;
}

/* ---- the clients' ---- */

static void take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	CHECK(!rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		fprintf(stderr, "%s and not %s\n", rdma_event_str(event->event),
			rdma_event_str(type));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

/* Send a request as UCX's client does: the number of bytes behind the first two, and no error. */
static void client(const struct sockaddr_in *address, int go, int number)
{
	uint8_t data[REQUEST_DATA] = { 4 };
	struct rdma_conn_param param = { .qp_num = CLIENT_QPN + number,
					 .responder_resources = 1,
					 .private_data = data,
					 .private_data_len = sizeof(data) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	char word;

	CHECK(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)address, 60000));
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(id, 60000));
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!rdma_connect(id, &param));
	CHECK(read(go, &word, 1) == 1);
	if (number % 4 == 0)
		take(channel, RDMA_CM_EVENT_REJECTED);
	CHECK(!rdma_destroy_id(id));
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int go[CLIENTS][2], status;
	uct_listener_h listener;
	pid_t pid[CLIENTS];
	char ready;
	int start[2];

	alarm(SECONDS);
	CHECK(argc == 2 && inet_pton(AF_INET, argv[1], &address.sin_addr) == 1);
	CHECK(!pipe(start));
	for (int i = 0; i < CLIENTS; i++) {
		CHECK(!pipe(go[i]));
		pid[i] = fork();
		if (!pid[i]) {
			CHECK(read(start[0], &ready, 1) == 1);
			client(&address, go[i][0], i);
		}
	}
	listener = listen_on(&address);
	for (int i = 0; i < CLIENTS; i++) {
		CHECK(write(start[1], "s", 1) == 1);
		while (atomic_load(&arrived) <= i)
			usleep(1000);
	}
	for (int i = 0; i < CLIENTS; i++)
		CHECK(write(go[i][1], "g", 1) == 1);
	usleep(300000); /* for late events of these clients */
	/* the order of the requests is that of the clients' starts, which is unknown */
	for (int i = 0; i < CLIENTS; i++)
		uct_listener_reject(listener, requests[i]);
	for (int i = 0; i < CLIENTS; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && !status);
	printf("%d clients, and UCX goes on\n", CLIENTS);
	fflush(stdout);
	_exit(0); /* UCX would report at its end what the program left open */
}
