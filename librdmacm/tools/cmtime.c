/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long the steps of connecting take. The client does each step for all its connections before
 * the next one, so that steps overlap as they do in a program with many connections.
 */
#include <string.h>
#include <time.h>

#include "tool.h"

enum step {
	CREATE_ID,
	BIND,
	RESOLVE_ADDR,
	RESOLVE_ROUTE,
	CREATE_QP,
	CONNECT,
	DISCONNECT,
	DESTROY,
	STEPS
};

static const struct {
	const char *name;
	const char *doing;
} steps[STEPS] = {
	[CREATE_ID] = { "create id", "creating id" },
	[BIND] = { "bind addr", "binding source address" },
	[RESOLVE_ADDR] = { "resolve addr", "resolving address" },
	[RESOLVE_ROUTE] = { "resolve route", "resolving route" },
	[CREATE_QP] = { "create qp", "creating qp" },
	[CONNECT] = { "connect", "connecting" },
	[DISCONNECT] = { "disconnect", "disconnecting" },
	[DESTROY] = { "destroy", "destroying id" },
};

/* Of a step, over all connections, in microseconds. */
struct times {
	double total, max, min;
	int count;
};

struct connection {
	struct rdma_cm_id *id;
	int retries; /* left, of the present step */
	bool failed, connected;
	double started;
};

static const char *destination, *source;
static const char *service = "7471";
static int connections = 100, retries = 2, timeout_ms = 2000;
static struct rdma_addrinfo *info;
static struct rdma_event_channel *channel;
static struct connection *all;
static struct times times[STEPS];
static enum step present;
static int waiting; /* connections whose present step is not over */
static int first_error;
/* The CQ of all queue pairs, which carry no data; of the first device met. */
static struct ibv_cq *cq;

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &destination, "ADDRESS",
	  "be the client of the server there (without: be a server)" },
	{ 'b', TOOL_TEXT, &source, "ADDRESS", "local address (default: any)" },
	{ 'c', TOOL_NUMBER, &connections, "COUNT", "connections (default 100)", 1, 1 << 20 },
	{ 'p', TOOL_TEXT, &service, "PORT", "number or name (default 7471)" },
	{ 'r', TOOL_NUMBER, &retries, "COUNT", "times to resolve once more (default 2)", 0, 1000 },
	{ 't', TOOL_NUMBER, &timeout_ms, "MS", "time to resolve in (default 2000)", 1, 3600000 },
	{},
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int error_keep(int error)
{
	if (!first_error)
		first_error = error;
	return error;
}

static int queue_pair_create(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (!cq)
		cq = ibv_create_cq(id->verbs, 1, NULL, NULL, 0);
	/* On another device librdmacm makes one for the queue pair. */
	if (cq && cq->context == id->verbs)
		attr.send_cq = attr.recv_cq = cq;
	return rdma_create_qp(id, NULL, &attr) ? tool_perror("", "failure creating qp") : 0;
}

/* ---- client: steps ---- */

static void step_ended(struct connection *connection, enum step step)
{
	double took = now_us() - connection->started;
	struct times *t = &times[step];

	t->max = max_of(t->max, took);
	t->min = t->count ? min_of(t->min, took) : took;
	t->count++;
}

static int start_create_id(struct connection *connection)
{
	return rdma_create_id(channel, &connection->id, connection, RDMA_PS_TCP)
		       ? tool_perror("", "failure creating id")
		       : 0;
}

static int start_bind(struct connection *connection)
{
	return rdma_bind_addr(connection->id, info->ai_src_addr)
		       ? tool_perror("", "failure bind addr")
		       : 0;
}

static int start_resolve_addr(struct connection *connection)
{
	return rdma_resolve_addr(connection->id, info->ai_src_addr, info->ai_dst_addr, timeout_ms)
		       ? tool_perror("", "failure getting addr")
		       : 0;
}

static int start_resolve_route(struct connection *connection)
{
	return rdma_resolve_route(connection->id, timeout_ms)
		       ? tool_perror("", "failure resolving route")
		       : 0;
}

static int start_create_qp(struct connection *connection)
{
	return queue_pair_create(connection->id);
}

static int start_connect(struct connection *connection)
{
	struct rdma_conn_param param = {
		.private_data = info->ai_connect,
		.private_data_len = info->ai_connect_len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = min_of(retries, 7),
	};

	return rdma_connect(connection->id, &param) ? tool_perror("", "failure rconnecting") : 0;
}

static int start_disconnect(struct connection *connection)
{
	return rdma_disconnect(connection->id) ? tool_perror("", "failure disconnecting") : 0;
}

static int start_destroy(struct connection *connection)
{
	if (connection->id->qp)
		rdma_destroy_qp(connection->id);
	return rdma_destroy_id(take_ptr(&connection->id)) ? tool_perror("", "failure destroying id")
							  : 0;
}

static const struct {
	int (*start)(struct connection *connection);
	bool waits; /* it ends with an event */
} actions[STEPS] = {
	[CREATE_ID] = { start_create_id },
	[BIND] = { start_bind },
	[RESOLVE_ADDR] = { start_resolve_addr, true },
	[RESOLVE_ROUTE] = { start_resolve_route, true },
	[CREATE_QP] = { start_create_qp },
	[CONNECT] = { start_connect, true },
	[DISCONNECT] = { start_disconnect, true },
	[DESTROY] = { start_destroy },
};

static void step_failed(struct connection *connection, int error)
{
	connection->failed = true;
	waiting--;
	error_keep(error);
}

static void resolving_failed(struct connection *connection, enum step step, const char *what,
			     int error)
{
	if (connection->retries-- > 0) {
		if (actions[step].start(connection))
			step_failed(connection, -1);
		return;
	}
	printf("%s, error: %d\n", what, error);
	step_failed(connection, error);
}

static void step_done(struct connection *connection, enum step step)
{
	step_ended(connection, step);
	waiting--;
	if (step == CONNECT)
		connection->connected = true;
}

static void on_client_event(const struct rdma_cm_event *event)
{
	struct connection *connection = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return step_done(connection, RESOLVE_ADDR);
	case RDMA_CM_EVENT_ADDR_ERROR:
		return resolving_failed(connection, RESOLVE_ADDR, "RDMA_CM_EVENT_ADDR_ERROR",
					event->status);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return step_done(connection, RESOLVE_ROUTE);
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return resolving_failed(connection, RESOLVE_ROUTE, "RDMA_CM_EVENT_ROUTE_ERROR",
					event->status);
	case RDMA_CM_EVENT_ESTABLISHED:
		return step_done(connection, CONNECT);
	case RDMA_CM_EVENT_DISCONNECTED:
		connection->connected = false;
		/* Else the server has ended it. */
		if (present == DISCONNECT)
			step_done(connection, DISCONNECT);
		return;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return;
	default:
		printf("event: %s, error: %d\n", rdma_event_str(event->event), event->status);
		tool_explain_event(event);
		step_failed(connection, event->status);
	}
}

static int events_wait(void)
{
	struct rdma_cm_event *event;

	while (waiting > 0) {
		if (rdma_get_cm_event(channel, &event))
			return tool_perror("", "failure in rdma_get_cm_event");
		on_client_event(event);
		rdma_ack_cm_event(event);
	}
	return 0;
}

static bool step_applies(const struct connection *connection, enum step step)
{
	if (step == CREATE_ID)
		return true;
	if (step == DISCONNECT)
		return connection->connected;
	return connection->id && (step == DESTROY || !connection->failed);
}

static int step_run(enum step step)
{
	double start = now_us();

	present = step;
	printf("%s\n", steps[step].doing);
	for (int i = 0; i < connections; i++) {
		struct connection *connection = &all[i];

		if (!step_applies(connection, step))
			continue;
		connection->retries = retries;
		connection->started = now_us();
		waiting++;
		if (actions[step].start(connection))
			step_failed(connection, -1);
		else if (!actions[step].waits)
			step_done(connection, step);
	}
	if (events_wait())
		return error_keep(-1);
	times[step].total = now_us() - start;
	return 0;
}

static void report(void)
{
	printf("%-13s  %11s %10s %10s %10s\n", "step", "total ms", "max ms", "min us", "us / conn");
	for (int i = 0; i < STEPS; i++) {
		const struct times *t = &times[i];

		if (i == BIND && !source)
			continue;
		printf("%-13s: %11.2f %10.2f %10.2f %10.2f\n", steps[i].name, t->total / 1e3,
		       t->max / 1e3, t->min, t->total / connections);
	}
}

static int address_find(void)
{
	const struct tool_names names = {
		.prefix = "",
		.destination = destination,
		.source = source,
		.service = service,
		.port_space = RDMA_PS_TCP,
	};

	return tool_address(&names, &info);
}

static int steps_run(void)
{
	int r = step_run(CREATE_ID);
	int found = address_find();

	for (int step = BIND; step < DESTROY && !r && !found; step++)
		if (step != BIND || source)
			r = step_run(step);
	if (!r)
		r = step_run(DESTROY);
	return found ? found : r;
}

static int run_client(void)
{
	int r;

	all = calloc(connections, sizeof(*all));
	if (!all)
		return tool_perror("", "out of memory");
	r = steps_run();
	report();
	free(all);
	return r ? r : first_error;
}

/* ---- server ---- */

static int request_serve(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	if (!queue_pair_create(id)) {
		if (!rdma_accept(id, &param))
			return 0;
		tool_perror("", "failure accepting");
	}
	printf("failing connection request\n");
	rdma_reject(id, NULL, 0);
	return -1;
}

/* Return: the id that is of no more use. */
static struct rdma_cm_id *on_server_event(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return request_serve(event->id) ? event->id : NULL;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(event->id);
		return event->id;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return NULL;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		printf("event: %s, error: %d\n", rdma_event_str(event->event), event->status);
		tool_explain_event(event);
		return event->id;
	default:
		printf("event: %s, error: %d\n", rdma_event_str(event->event), event->status);
		tool_explain_event(event);
		return NULL;
	}
}

static int serve(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *gone;

	for (;;) {
		if (rdma_get_cm_event(channel, &event))
			return tool_perror("", "failure in rdma_get_cm_event");
		gone = on_server_event(event);
		rdma_ack_cm_event(event);
		if (!gone)
			continue;
		if (gone->qp)
			rdma_destroy_qp(gone);
		rdma_destroy_id(gone);
	}
}

static int run_server(void)
{
	struct rdma_cm_id *listener;
	int r = address_find();

	if (r)
		return r;
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		return tool_perror("", "listen request failed");
	if (rdma_bind_addr(listener, info->ai_src_addr))
		return tool_perror("", "bind address failed");
	if (rdma_listen(listener, 0))
		return tool_perror("", "failure trying to listen");
	return serve();
}

int main(int argc, char **argv)
{
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	channel = rdma_create_event_channel();
	if (!channel) {
		tool_open_error("", "failed to create RDMA CM event channel");
		return 1;
	}
	r = destination ? run_client() : run_server();
	if (cq)
		ibv_destroy_cq(cq);
	if (info)
		rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(channel);
	return r;
}
