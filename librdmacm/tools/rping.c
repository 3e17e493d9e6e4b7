/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping by RDMA: the steps of both sides. rping.h describes the messages between them. */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "rping.h"

#define BACKLOG	     3
#define PING_FORMAT  "rdma-ping-%d: "
#define PING_MIN     ((int)sizeof("rdma-ping-2147483647: "))
#define PING_MAX     65535
#define FIRST_LETTER 65	 /* 'A' */
#define LAST_LETTER  122 /* 'z' */

struct rping_options rping_opt = { .port = 7174, .size = 64 };
static struct sockaddr_storage peer_addr, local_addr;

static const struct tool_option options[] = {
	{ 'c', TOOL_FLAG, &rping_opt.client, NULL, "be the client" },
	{ 's', TOOL_FLAG, &rping_opt.server, NULL, "be the server" },
	{ 'a', TOOL_TEXT, &rping_opt.address, "ADDRESS",
	  "of the server; at the server, to listen on (default: any)" },
	{ 'I', TOOL_TEXT, &rping_opt.local_address, "ADDRESS",
	  "of the client (default: by the route)" },
	{ 'p', TOOL_NUMBER, &rping_opt.port, "PORT", "of the server (default 7174)", 1,
	  UINT16_MAX },
	{ 'C', TOOL_NUMBER, &rping_opt.count, "COUNT", "pings to send (default 0: no end)", 0,
	  INT_MAX },
	{ 'S', TOOL_NUMBER, &rping_opt.size, "BYTES", "of a ping (default 64)", PING_MIN,
	  PING_MAX },
	{ 'P', TOOL_FLAG, &rping_opt.persistent, NULL,
	  "serve one client after the other, and several at once" },
	{ 'q', TOOL_FLAG, &rping_opt.own_qp, NULL,
	  "make and change the queue pair without librdmacm" },
	{ 'v', TOOL_FLAG, &rping_opt.verbose, NULL, "print the pings" },
	{ 'V', TOOL_FLAG, &rping_opt.validate, NULL, "compare what comes back" },
	{ 'd', TOOL_FLAG, &rping_opt.debug, NULL, "print each step" },
	{},
};

/* ---- server ---- */

static int serve_pings(struct rping *ping)
{
	for (;;) {
		if (rping_wait(ping, RDMA_READ_ADV, "RDMA_READ_ADV"))
			return ping->state == DISCONNECTED ? 0 : -1;
		rping_trace("server received sink adv\n");
		if (rping_post_rdma(ping, READ, ping->remote_size))
			return -1;
		rping_trace("server posted rdma read req \n");
		if (rping_wait(ping, RDMA_READ_COMPLETE, "RDMA_READ_COMPLETE"))
			return -1;
		rping_trace("server received read complete\n");
		if (rping_opt.verbose)
			printf("server ping data: %s\n", ping->sink);
		if (rping_send(ping, NULL))
			return -1;
		rping_trace("server posted go ahead\n");
		if (rping_wait(ping, RDMA_WRITE_ADV, "RDMA_WRITE_ADV"))
			return -1;
		rping_trace("server received sink adv\n");
		rping_trace("rdma write from lkey %x laddr %lx len %d\n", ping->sink_mr->lkey,
			    (unsigned long)ping->sink, ping->remote_size);
		if (rping_post_rdma(ping, WRITE, ping->remote_size) ||
		    rping_wait(ping, RDMA_WRITE_COMPLETE, "RDMA_WRITE_COMPLETE"))
			return -1;
		rping_trace("server rdma write complete \n");
		if (rping_send(ping, NULL))
			return -1;
		rping_trace("server posted go ahead\n");
	}
}

static int accept_client(struct rping *ping)
{
	struct rdma_conn_param param = rping_conn_param(ping);

	if (rping_opt.own_qp && rping_modify_to_rts(ping))
		return -1;
	rping_trace("accepting client connection request\n");
	return rdma_accept(ping->id, &param) ? rping_fail(ping, "rdma_accept") : 0;
}

static int serve(struct rping *ping)
{
	int r;

	r = rping_open(ping);
	if (!r)
		r = accept_client(ping);
	if (r)
		return r;
	r = serve_pings(ping);
	if (r)
		fprintf(stderr, "rping server failed: %d\n", r);
	rdma_disconnect(ping->id);
	return r;
}

static int listen_start(struct rping *ping)
{
	if (rdma_create_id(ping->events, &ping->listen, ping, RDMA_PS_TCP))
		return rping_fail(ping, "rdma_create_id");
	rping_trace("created cm_id %p\n", (void *)ping->listen);
	if (rdma_bind_addr(ping->listen, (struct sockaddr *)&peer_addr))
		return rping_fail(ping, "rdma_bind_addr");
	rping_trace("rdma_bind_addr successful\n");
	rping_trace("rdma_listen\n");
	return rdma_listen(ping->listen, BACKLOG) ? rping_fail(ping, "rdma_listen") : 0;
}

static int next_client(struct rping *ping)
{
	while (!ping->request && ping->state < DISCONNECTED)
		rping_take_event(ping);
	if (!ping->request)
		return -1;
	ping->id = take_ptr(&ping->request);
	ping->state = CONNECT_REQUEST;
	return 0;
}

static int run_server(struct rping *ping)
{
	int r = listen_start(ping);

	if (!r)
		r = next_client(ping);
	if (!r)
		r = serve(ping);
	rping_close(ping);
	if (ping->listen)
		rdma_destroy_id(ping->listen);
	return r;
}

/* Serve a client of a persistent server, with a separate event channel. */
static void *serve_one(void *arg)
{
	struct rping *ping = arg;

	serve(ping);
	rping_close(ping);
	rdma_destroy_event_channel(ping->events);
	free(ping);
	return NULL;
}

static int serve_in_thread(struct rdma_cm_id *id)
{
	struct rping *ping = calloc(1, sizeof(*ping));
	pthread_t thread;

	if (!ping)
		return tool_perror("", "calloc");
	*ping = (struct rping){ .side = "server", .id = id, .state = CONNECT_REQUEST };
	ping->events = rdma_create_event_channel();
	if (!ping->events || rdma_migrate_id(id, ping->events)) {
		tool_perror("", "rdma_migrate_id");
		goto fail;
	}
	errno = pthread_create(&thread, NULL, serve_one, ping);
	if (!errno)
		return pthread_detach(thread);
	tool_perror("", "pthread_create");
fail:
	rdma_destroy_id(id);
	if (ping->events)
		rdma_destroy_event_channel(ping->events);
	free(ping);
	return -1;
}

static int run_persistent(struct rping *ping)
{
	int r = listen_start(ping);

	while (!r) {
		r = next_client(ping);
		if (!r)
			r = serve_in_thread(take_ptr(&ping->id));
	}
	if (ping->listen)
		rdma_destroy_id(ping->listen);
	return r;
}

/* ---- client ---- */

/* Fill the message: number n begins with the n-th letter. */
static void ping_fill(char *text, int n)
{
	int length = snprintf(text, rping_opt.size, PING_FORMAT, n);
	int letters = LAST_LETTER - FIRST_LETTER + 1;

	for (int i = length; i < rping_opt.size - 1; i++)
		text[i] = FIRST_LETTER + (n % letters + i - length) % letters;
	text[rping_opt.size - 1] = 0;
}

static int ping_once(struct rping *ping, int n)
{
	ping_fill(ping->source, n);
	if (rping_send(ping, ping->source_mr) || rping_wait(ping, RDMA_WRITE_ADV, "RDMA_WRITE_ADV"))
		return -1;
	if (rping_send(ping, ping->sink_mr) ||
	    rping_wait(ping, RDMA_WRITE_COMPLETE, "RDMA_WRITE_COMPLETE"))
		return -1;
	if (rping_opt.validate && memcmp(ping->source, ping->sink, rping_opt.size)) {
		fprintf(stderr, "data mismatch!\n");
		ping->state = ERROR;
		return -1;
	}
	if (rping_opt.verbose)
		printf("ping data: %s\n", ping->sink);
	return 0;
}

static int ping_all(struct rping *ping)
{
	for (int n = 0; !rping_opt.count || n < rping_opt.count; n = (n + 1) & INT_MAX)
		if (ping_once(ping, n))
			return !rping_opt.count && ping->state == DISCONNECTED ? 0 : -1;
	return 0;
}

static int resolve(struct rping *ping)
{
	struct sockaddr *from = rping_opt.local_address ? (struct sockaddr *)&local_addr : NULL;

	if (rdma_create_id(ping->events, &ping->id, ping, RDMA_PS_TCP))
		return rping_fail(ping, "rdma_create_id");
	rping_trace("created cm_id %p\n", (void *)ping->id);
	if (rdma_resolve_addr(ping->id, from, (struct sockaddr *)&peer_addr, RPING_RESOLVE_MS))
		return rping_fail(ping, "rdma_resolve_addr");
	while (ping->state < ROUTE_RESOLVED && !rping_take(ping))
		;
	if (ping->state != ROUTE_RESOLVED) {
		fprintf(stderr, "waiting for addr/route resolution state %d\n", ping->state);
		return -1;
	}
	rping_trace("rdma_resolve_addr - rdma_resolve_route successful\n");
	return 0;
}

static int connect_server(struct rping *ping)
{
	struct rdma_conn_param param = rping_conn_param(ping);

	if (rdma_connect(ping->id, &param))
		return rping_fail(ping, "rdma_connect");
	if (rping_wait(ping, CONNECTED, "CONNECTED")) {
		fprintf(stderr, "connect error -1\n");
		return -1;
	}
	rping_trace("rdma_connect successful\n");
	return 0;
}

static int ping_server(struct rping *ping)
{
	int r = ping_all(ping);

	if (r)
		fprintf(stderr, "rping client failed: %d\n", r);
	if (ping->state >= DISCONNECTED)
		return r;
	if (rdma_disconnect(ping->id))
		return rping_fail(ping, "rdma_disconnect");
	while (ping->state < DISCONNECTED)
		rping_take(ping);
	return r;
}

static int run_client(struct rping *ping)
{
	int r = resolve(ping);

	if (!r)
		r = rping_open(ping);
	if (!r)
		r = connect_server(ping);
	if (!r)
		r = ping_server(ping);
	rping_close(ping);
	return r;
}

/* ---- start ---- */

static void set_port(struct sockaddr_storage *addr)
{
	/* The port has the same place in addresses of both families. */
	((struct sockaddr_in *)addr)->sin_port = htobe16(rping_opt.port);
}

static int addresses_parse(void)
{
	int r = 0;

	peer_addr.ss_family = AF_INET;
	if (rping_opt.address)
		r = tool_ip_address(rping_opt.address, &peer_addr);
	if (!r && rping_opt.local_address)
		r = tool_ip_address(rping_opt.local_address, &local_addr);
	set_port(&peer_addr);
	return r;
}

static void options_check(void)
{
	if (rping_opt.client == rping_opt.server)
		tool_mistake(EINVAL, "either -c or -s is expected");
	if (rping_opt.client && !rping_opt.address)
		tool_mistake(EINVAL, "-a is missing: the address of the server");
	if (rping_opt.count)
		rping_trace("count %d\n", rping_opt.count);
	if (rping_opt.verbose)
		rping_trace("verbose\n");
	if (rping_opt.validate)
		rping_trace("validate data\n");
}

int main(int argc, char **argv)
{
	struct rping ping = {};
	int r;

	tool_start();
	tool_options_parse(options, EINVAL, argc, argv);
	options_check();
	r = addresses_parse();
	if (r)
		return r;
	ping.side = rping_opt.client ? "client" : "server";
	ping.events = rdma_create_event_channel();
	if (!ping.events) {
		r = errno;
		tool_open_error("", "rdma_create_event_channel");
		return r;
	}
	if (rping_opt.client)
		r = run_client(&ping);
	else
		r = rping_opt.persistent ? run_persistent(&ping) : run_server(&ping);
	rdma_destroy_event_channel(ping.events);
	return r;
}
