/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measure the duration of the steps of connecting. The client executes each step for all its
 * connections before the next step. Therefore steps overlap as in a program with many connections.
 */
#include <errno.h>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmtime.h"
#include "tool.h"

enum step {
	CREATE_ID,
	BIND,
	RESOLVE_ADDR,
	RESOLVE_ROUTE,
	CREATE_QP,
	/* this step and the steps marked in the same way are measured separately only with -C */
	INIT_QP,
	CONNECT,
	RTR_QP,	   /* -C */
	RTS_QP,	   /* -C */
	ESTABLISH, /* -C */
	DISCONNECT,
	DESTROY_QP, /* -C */
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
	[INIT_QP] = { "init qp attr", "changing qp to INIT" },
	[CONNECT] = { "connect", "connecting" },
	[RTR_QP] = { "rtr qp attr", "changing qp to RTR" },
	[RTS_QP] = { "rts qp attr", "changing qp to RTS" },
	[ESTABLISH] = { "establish", "establishing" },
	[DISCONNECT] = { "disconnect", "disconnecting" },
	[DESTROY_QP] = { "destroy qp", "destroying qp" },
	[DESTROY] = { "destroy", "destroying id" },
};

/* Times of a step over all connections, in microseconds. */
struct times {
	double total, max, min;
	int count;
};

struct connection {
	struct rdma_cm_id *id;
	struct sockaddr *to;
	struct ibv_qp *qp; /* with -C; NULL with -m */
	uint32_t qp_num;
	int retries; /* retries left for the present step */
	bool failed, connected;
	double started;
};

static const char *destination, *source;
static const char *service = "7471";
static int connections = 100, retries = 2, timeout_ms = 2000;
/* With -C. */
static const char *controller, *interface;
static bool listens, plain_sockets;
static int instances = 2, threads = 1, mimic_us = -1, base_qpn = 1000;
static struct cmtime_peers peers;
static struct rdma_addrinfo *info;
static struct rdma_event_channel *channel;
static struct connection *all;
static struct times times[STEPS];
static enum step present;
/* Protects state that events change. With -C separate threads take the events. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int waiting; /* connections that have not finished the present step */
static int first_error;
/* The CQ of all queue pairs, which carry no data. It belongs to the first device that is used. */
static struct ibv_cq *cq;
static pthread_mutex_t cq_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &destination, "ADDRESS",
	  "be the client of the server there (without: be a server)" },
	{ 'b', TOOL_TEXT, &source, "ADDRESS", "local address (default: any)" },
	{ 'c', TOOL_NUMBER, &connections, "COUNT", "connections (default 100)", 1, 1 << 20 },
	{ 'p', TOOL_TEXT, &service, "PORT", "number or name (default 7471)" },
	{ 'r', TOOL_NUMBER, &retries, "COUNT", "times to resolve once more (default 2)", 0, 1000 },
	{ 't', TOOL_NUMBER, &timeout_ms, "MS", "time to resolve in (default 2000)", 1, 3600000 },
	{ 'C', TOOL_TEXT, &controller, "ADDRESS",
	  "take the steps together with others: where the controller of all is" },
	{ 'B', TOOL_TEXT, &interface, "INTERFACE", "with -C: local interface, instead of -b" },
	{ 'L', TOOL_FLAG, &listens, NULL, "with -C: be a server (without: a client)" },
	{ 'P', TOOL_NUMBER, &instances, "COUNT", "with -C: clients and servers (default 2)", 2,
	  1024 },
	{ 'n', TOOL_NUMBER, &threads, "COUNT", "with -C: threads for events (default 1)", 1, 256 },
	{ 'm', TOOL_NUMBER, &mimic_us, "US", "with -C: sleep so long instead of using queue pairs",
	  0, 10000000 },
	{ 'q', TOOL_NUMBER, &base_qpn, "NUMBER",
	  "with -m: number of the first queue pair that is not there (default 1000)", 2, 0xffffff },
	{ 'S', TOOL_FLAG, &plain_sockets, NULL, "with -C: TCP connections, to compare with" },
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

/* Return the CQ for an identifier; NULL: the identifier is on another device than the first one. */
static struct ibv_cq *cq_of(struct rdma_cm_id *id)
{
	pthread_mutex_lock(&cq_lock);
	if (!cq)
		cq = ibv_create_cq(id->verbs, 1, NULL, NULL, 0);
	pthread_mutex_unlock(&cq_lock);
	return cq && cq->context == id->verbs ? cq : NULL;
}

static int queue_pair_create(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	/*
	 * If it is NULL, because the device is another one, librdmacm makes a CQ for the queue
	 * pair.
	 */
	attr.send_cq = attr.recv_cq = cq_of(id);
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

/* ---- queue pairs of this program, or the time they take ---- */

static int mimic(void)
{
	usleep(mimic_us);
	return 0;
}

static int own_qp_create(struct rdma_cm_id *id, struct ibv_qp **ret_qp, uint32_t *ret_number)
{
	static atomic_int made;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	*ret_qp = NULL;
	*ret_number = base_qpn + atomic_fetch_add(&made, 1);
	if (mimic_us >= 0)
		return mimic();
	attr.send_cq = attr.recv_cq = cq_of(id);
	*ret_qp = attr.send_cq ? ibv_create_qp(id->pd, &attr) : NULL;
	if (!*ret_qp)
		return tool_perror("", "failure creating qp");
	*ret_number = (*ret_qp)->qp_num;
	return 0;
}

static int own_qp_modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (mimic_us >= 0)
		return mimic();
	if (rdma_init_qp_attr(id, &attr, &mask))
		return tool_perror("", "failure getting qp attributes");
	errno = ibv_modify_qp(qp, &attr, mask);
	return errno ? tool_perror("", "failure changing qp") : 0;
}

static int start_init_qp(struct connection *connection)
{
	return own_qp_modify(connection->id, connection->qp, IBV_QPS_INIT);
}

static int start_rtr_qp(struct connection *connection)
{
	return own_qp_modify(connection->id, connection->qp, IBV_QPS_RTR);
}

static int start_rts_qp(struct connection *connection)
{
	return own_qp_modify(connection->id, connection->qp, IBV_QPS_RTS);
}

static int start_establish(struct connection *connection)
{
	return rdma_establish(connection->id) ? tool_perror("", "failure establishing") : 0;
}

static int start_destroy_qp(struct connection *connection)
{
	if (connection->qp)
		ibv_destroy_qp(take_ptr(&connection->qp));
	return 0;
}

/* ---- steps of the connection manager ---- */

static int start_bind(struct connection *connection)
{
	return rdma_bind_addr(connection->id, info->ai_src_addr)
		       ? tool_perror("", "failure bind addr")
		       : 0;
}

static int start_resolve_addr(struct connection *connection)
{
	return rdma_resolve_addr(connection->id, info->ai_src_addr, connection->to, timeout_ms)
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
	if (controller)
		return own_qp_create(connection->id, &connection->qp, &connection->qp_num);
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
		.qp_num = connection->qp_num,
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
	bool waits; /* the step ends with an event */
} actions[STEPS] = {
	[CREATE_ID] = { start_create_id },
	[BIND] = { start_bind },
	[RESOLVE_ADDR] = { start_resolve_addr, true },
	[RESOLVE_ROUTE] = { start_resolve_route, true },
	[CREATE_QP] = { start_create_qp },
	[INIT_QP] = { start_init_qp },
	[CONNECT] = { start_connect, true },
	[RTR_QP] = { start_rtr_qp },
	[RTS_QP] = { start_rts_qp },
	[ESTABLISH] = { start_establish },
	[DISCONNECT] = { start_disconnect, true },
	[DESTROY_QP] = { start_destroy_qp },
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
	case RDMA_CM_EVENT_CONNECT_RESPONSE: /* with -C */
	case RDMA_CM_EVENT_ESTABLISHED:
		return step_done(connection, CONNECT);
	case RDMA_CM_EVENT_DISCONNECTED:
		connection->connected = false;
		/* Otherwise the server has ended the connection. */
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

/* Take events. One of several threads with -C. */
static void *client_thread(void *arg)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(channel, &event)) {
		pthread_mutex_lock(&lock);
		on_client_event(event);
		if (waiting <= 0)
			pthread_cond_signal(&idle);
		pthread_mutex_unlock(&lock);
		rdma_ack_cm_event(event);
	}
	return NULL;
}

static int events_wait(void)
{
	struct rdma_cm_event *event;

	if (controller) {
		pthread_mutex_lock(&lock);
		while (waiting > 0)
			pthread_cond_wait(&idle, &lock);
		pthread_mutex_unlock(&lock);
		return 0;
	}
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
	return connection->id && (step == DESTROY || step == DESTROY_QP || !connection->failed);
}

/*
 * Under the lock, because events of other threads and the end of a step without an event change the
 * same state.
 */
static void step_start(struct connection *connection, enum step step)
{
	int r;

	pthread_mutex_lock(&lock);
	connection->retries = retries;
	connection->started = now_us();
	waiting++;
	pthread_mutex_unlock(&lock);
	r = actions[step].start(connection);
	pthread_mutex_lock(&lock);
	if (r)
		step_failed(connection, -1);
	else if (!actions[step].waits)
		step_done(connection, step);
	pthread_mutex_unlock(&lock);
}

static int step_run(enum step step)
{
	double start = now_us();

	pthread_mutex_lock(&lock);
	present = step;
	pthread_mutex_unlock(&lock);
	printf("%s\n", steps[step].doing);
	for (int i = 0; i < connections; i++)
		if (step_applies(&all[i], step))
			step_start(&all[i], step);
	if (events_wait())
		return error_keep(-1);
	times[step].total = now_us() - start;
	return 0;
}

/*
 * Return whether the program takes the step. Without -C the library changes the state of queue
 * pairs.
 */
static bool step_is_taken(enum step step)
{
	return controller || (step != INIT_QP && step != RTR_QP && step != RTS_QP &&
			      step != ESTABLISH && step != DESTROY_QP);
}

static void report(void)
{
	printf("%-13s  %11s %10s %10s %10s\n", "step", "total ms", "max ms", "min us", "us / conn");
	for (int i = 0; i < STEPS; i++) {
		const struct times *t = &times[i];

		if ((i == BIND && !source) || !step_is_taken(i))
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

	for (int i = 0; i < connections && !found; i++)
		all[i].to = info->ai_dst_addr;
	for (int step = BIND; step < DESTROY && !r && !found; step++)
		if (step_is_taken(step) && (step != BIND || source))
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

/* With -C: prepare a queue pair as the client does. */
static int own_qp_prepare(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct ibv_qp *qp;
	int r = own_qp_create(id, &qp, &param->qp_num);

	id->context = qp;
	if (!r)
		r = own_qp_modify(id, qp, IBV_QPS_INIT);
	if (!r)
		r = own_qp_modify(id, qp, IBV_QPS_RTR);
	return r ? r : own_qp_modify(id, qp, IBV_QPS_RTS);
}

static int request_serve(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	if (!(controller ? own_qp_prepare(id, &param) : queue_pair_create(id))) {
		if (!rdma_accept(id, &param))
			return 0;
		tool_perror("", "failure accepting");
	}
	printf("failing connection request\n");
	rdma_reject(id, NULL, 0);
	return -1;
}

/* Return: the id that is no longer needed. */
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
		else if (controller && gone->context)
			ibv_destroy_qp(gone->context);
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

/* ---- with -C: several clients and servers ---- */

/* Find the first IPv4 address of the interface or, if it has none, its first other address. */
static int interface_address(char *text, size_t size)
{
	const struct ifaddrs *found = NULL;
	struct ifaddrs *list;
	int r = getifaddrs(&list);

	for (const struct ifaddrs *a = r ? NULL : list; a; a = a->ifa_next) {
		bool ipv4 = a->ifa_addr && a->ifa_addr->sa_family == AF_INET;

		if (strcmp(a->ifa_name, interface) || !a->ifa_addr ||
		    (!ipv4 && (found || a->ifa_addr->sa_family != AF_INET6)))
			continue;
		if (!found || found->ifa_addr->sa_family != AF_INET)
			found = a;
	}
	if (found)
		r = getnameinfo(found->ifa_addr,
				found->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
								      : sizeof(struct sockaddr_in6),
				text, size, NULL, 0, NI_NUMERICHOST);
	if (!found || r)
		fprintf(stderr, "-B %s: no address\n", interface);
	if (!r)
		freeifaddrs(list);
	return found && !r ? 0 : -1;
}

static void *server_thread(void *arg)
{
	serve();
	return NULL;
}

static int threads_start(void *(*run)(void *arg))
{
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		errno = pthread_create(&thread, NULL, run, NULL);
		if (errno)
			return tool_perror("", "failure starting a thread");
		pthread_detach(thread);
	}
	return 0;
}

static int group_listen(struct rdma_cm_id **ret_listener)
{
	if (rdma_create_id(channel, ret_listener, NULL, RDMA_PS_TCP))
		return tool_perror("", "listen request failed");
	if (rdma_bind_addr(*ret_listener, info->ai_src_addr))
		return tool_perror("", "bind address failed");
	if (rdma_listen(*ret_listener, 0))
		return tool_perror("", "failure trying to listen");
	return 0;
}

/* Execute the steps in a group: all instances begin each step together. */
static int group_steps(void)
{
	int r = 0;

	for (int step = 0; step < STEPS && !r; step++) {
		r = cmtime_peers_wait(&peers);
		if (!r && !listens)
			r = step_run(step);
	}
	return r ? r : cmtime_peers_wait(&peers);
}

static int group_connections(void)
{
	int each = connections;

	connections *= peers.server_count;
	all = calloc(max_of(connections, 1), sizeof(*all));
	if (!all)
		return tool_perror("", "out of memory");
	for (int i = 0; i < connections; i++)
		all[i].to = (struct sockaddr *)&peers.servers[i / each];
	return 0;
}

/* Connect one socket after the other, because the calls block. */
static int sockets_run(void)
{
	double start = now_us();

	times[CONNECT].count = connections;
	times[DISCONNECT].count = connections;
	for (int i = 0; i < connections; i++) {
		int fd, r = cmtime_socket_connect(all[i].to, &fd);
		double connected = now_us();

		if (r)
			return r;
		close(fd);
		times[DISCONNECT].total += now_us() - connected;
		times[CONNECT].total += connected - start;
		start = now_us();
	}
	return 0;
}

static int run_sockets(const char *port)
{
	struct sockaddr_storage own;
	int r = listens ? cmtime_sockets_listen(info->ai_src_addr, &own) : 0;

	if (!r && instances != 2) {
		fprintf(stderr, "-S is for one client and one server: -P 2\n");
		r = -1;
	}
	if (!r)
		r = cmtime_peers_join(&peers, controller, port, instances,
				      listens ? (struct sockaddr *)&own : NULL);
	if (!r)
		r = group_connections();
	if (!r && !listens)
		r = sockets_run();
	report();
	return r ? r : cmtime_peers_wait(&peers);
}

static int run_group(void)
{
	struct rdma_cm_id *listener;
	char address[INET6_ADDRSTRLEN + IF_NAMESIZE];
	const char *port = service;
	int r = interface ? interface_address(address, sizeof(address)) : 0;

	if (interface && !r)
		source = address;
	if (!r && !source) {
		fprintf(stderr, "-C needs -b or -B\n");
		r = -1;
	}
	service = NULL; /* service of the controller; other servers may have any */
	if (!r)
		r = address_find();
	if (!r && plain_sockets)
		return run_sockets(port);
	if (!r && listens)
		r = group_listen(&listener);
	if (!r)
		r = cmtime_peers_join(&peers, controller, port, instances,
				      listens ? rdma_get_local_addr(listener) : NULL);
	if (!r)
		r = group_connections();
	if (!r)
		r = threads_start(listens ? server_thread : client_thread);
	if (!r)
		r = group_steps();
	report();
	cmtime_peers_leave(&peers);
	return r ? r : first_error;
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
	if (controller) {
		r = run_group();
		if (fflush(stdout) || ferror(stdout)) {
			fputs("cmtime: the output could not be written\n", stderr);
			r = 1;
		}
		_exit(r); /* end at once, because threads wait for events */
	}
	r = destination ? run_client() : run_server();
	if (cq)
		ibv_destroy_cq(cq);
	if (info)
		rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(channel);
	return r;
}
